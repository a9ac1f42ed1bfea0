// Package logbook keeps what is logged, for tests that read it.
package logbook

import (
	"bytes"
	"log/slog"
	"sync"
)

// Book is all that has been logged, as text. The zero Book is empty and ready, and
// safe for concurrent use.
type Book struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Logger returns a logger of every level that writes to the book.
func (b *Book) Logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(b, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// Write implements [io.Writer].
func (b *Book) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// String returns the text so far.
func (b *Book) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
