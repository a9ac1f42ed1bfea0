// Package logbook records log output for tests.
package logbook

import (
	"bytes"
	"log/slog"
	"sync"
)

// Book records log output as text. The zero Book is empty and ready to use. It is safe for concurrent
// use.
type Book struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Logger returns a logger that writes all levels to the book.
func (b *Book) Logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(b, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// Write implements [io.Writer].
func (b *Book) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// String returns the recorded text.
func (b *Book) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
