package stdio

import (
	"io"
	"log/slog"
	"sync"
)

// stderrLog reads what a child writes to its standard error, as fast as it
// comes: keeps the last lines and passes everything on.
type stderrLog struct {
	done chan struct{} // closed at the end of the text, with all of it in the tail
	to   *forwarder    // nil where nobody wants it

	mu   sync.Mutex
	tail tail
}

// readStderr starts to read from r. Where to is not nil, everything is passed
// on to it.
func readStderr(r io.Reader, to io.Writer, log *slog.Logger) *stderrLog {
	l := &stderrLog{done: make(chan struct{})}
	if to != nil {
		l.to = forward(to, log)
	}
	go l.read(r) // ends when nobody holds the other end of r, or r is closed
	return l
}

func (l *stderrLog) read(r io.Reader) {
	defer close(l.done)
	buf := make([]byte, 16<<10)
	for {
		n, err := r.Read(buf)
		l.add(buf[:n])
		if err != nil {
			return
		}
	}
}

func (l *stderrLog) add(text []byte) {
	l.mu.Lock()
	l.tail.add(text)
	l.mu.Unlock()
	if l.to != nil {
		l.to.add(text)
	}
}

// last returns the last lines.
func (l *stderrLog) last() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tail.lines()
}

// flushed returns a channel that is closed when all that was read has been
// passed on. Reading must be over.
func (l *stderrLog) flushed() <-chan struct{} {
	if l.to == nil {
		return l.done
	}
	return l.to.end()
}
