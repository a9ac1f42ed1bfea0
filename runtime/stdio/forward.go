package stdio

import (
	"fmt"
	"io"
	"log/slog"
	"sync"
)

// forwardLimit is how much text a forwarder holds for a slow writer.
const forwardLimit = 1 << 20

// forwarder passes text on to a writer that may be slow, without ever making
// its own caller wait: what goes beyond its buffer is dropped, and a line says
// how much that was.
type forwarder struct {
	w    io.Writer
	log  *slog.Logger
	wake chan struct{} // holds one: there is something to do
	done chan struct{} // closed when nothing more will be written

	mu      sync.Mutex
	text    []byte
	dropped int
	ended   bool
}

func forward(w io.Writer, log *slog.Logger) *forwarder {
	f := &forwarder{w: w, log: log, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go f.run() // ends after end, when the writer has taken what was there or has failed
	return f
}

// add takes the text, which remains the caller's.
func (f *forwarder) add(text []byte) {
	f.mu.Lock()
	fits := min(len(text), forwardLimit-len(f.text))
	if f.dropped > 0 { // a gap ends only when the writer has caught up
		fits = 0
	}
	f.text = append(f.text, text[:fits]...)
	f.dropped += len(text) - fits
	f.mu.Unlock()
	f.signal()
}

// end says that no more will come; what it returns is closed when all has been
// written.
func (f *forwarder) end() <-chan struct{} {
	f.mu.Lock()
	f.ended = true
	f.mu.Unlock()
	f.signal()
	return f.done
}

func (f *forwarder) signal() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// take exchanges the text for an empty buffer.
func (f *forwarder) take(empty []byte) (text []byte, ended bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	text, f.text = f.text, empty
	if f.dropped > 0 {
		text = fmt.Appendf(text, "\n[%d bytes of standard error dropped]\n", f.dropped)
		f.dropped = 0
	}
	return text, f.ended && len(text) == 0
}

func (f *forwarder) run() {
	defer close(f.done)
	var spare []byte
	for range f.wake {
		for {
			text, ended := f.take(spare[:0])
			if ended {
				return
			}
			if len(text) == 0 {
				spare = text
				break
			}
			if !f.write(text) {
				return
			}
			spare = text
		}
	}
}

// write reports whether there is a point in writing more.
func (f *forwarder) write(text []byte) bool {
	if _, err := f.w.Write(text); err != nil {
		f.log.Warn("the child's standard error is no longer passed on", "cause", err)
		return false
	}
	return true
}
