// Package testlog records log output for tests.
package testlog

import (
	"bytes"
	"log/slog"
	"regexp"
	"sync"
)

// Recorder records log output as text. The zero Recorder is empty and ready to use. It is safe for
// concurrent use.
type Recorder struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Logger returns a logger that writes all levels to the recorder.
func (r *Recorder) Logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(r, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// Write implements [io.Writer].
func (r *Recorder) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

// String returns the recorded text.
func (r *Recorder) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

var ids = regexp.MustCompile(` \(id [0-9a-f]{16}\)| id=[0-9a-f]{16}\b`)

// WithoutIDs removes the random ids of errors from a text.
func WithoutIDs(text string) string { return ids.ReplaceAllString(text, "") }
