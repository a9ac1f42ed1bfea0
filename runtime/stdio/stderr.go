package stdio

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
)

// stderrLog reads the standard error of a child without delay. It stores the last
// lines and forwards all text to a writer.
type stderrLog struct {
	done chan struct{} // closed when all text has been read and stored
	to   *forwarder    // or nil

	mu    sync.Mutex
	lines lastLines
}

// readStderr starts to read from r. If to is not nil, all text is forwarded to it.
func readStderr(r io.Reader, to io.Writer, log *slog.Logger) *stderrLog {
	l := &stderrLog{done: make(chan struct{})}
	if to != nil {
		l.to = forward(to, log)
	}
	go l.read(r) // returns when all writers of the pipe have closed it, or r is closed
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
	l.lines.add(text)
	l.mu.Unlock()
	if l.to != nil {
		l.to.add(text)
	}
}

// last returns the last lines.
func (l *stderrLog) last() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines.get()
}

// flushed returns a channel that is closed when all text has been forwarded. It must
// not be called before done is closed.
func (l *stderrLog) flushed() <-chan struct{} {
	if l.to == nil {
		return l.done
	}
	return l.to.end()
}

const (
	// maxLines limits the lines of a child's standard error in an error.
	maxLines = 12
	// maxLinesSize limits the bytes that are stored of these lines.
	maxLinesSize = 4 << 10
)

// lastLines stores the last lines of a text, and the last line that states an error.
type lastLines struct {
	text   []byte
	cut    bool   // earlier text was dropped
	line   []byte // the beginning of the line that is not complete
	reason string // the last line that states an error, or ""
}

// add appends to the text.
func (l *lastLines) add(more []byte) {
	l.findReason(more)
	if over := len(l.text) + len(more) - maxLinesSize; over > 0 {
		l.cut = true
		l.text = l.text[:copy(l.text, l.text[min(over, len(l.text)):])]
		more = more[max(0, len(more)-maxLinesSize):]
	}
	l.text = append(l.text, more...)
}

// maxReason limits the bytes that are examined and stored of a line that states an error.
const maxReason = 512

// findReason looks for errors in the lines of a text that is appended.
func (l *lastLines) findReason(more []byte) {
	for len(more) > 0 {
		part, rest, complete := bytes.Cut(more, []byte("\n"))
		l.line = append(l.line, part[:min(len(part), maxReason-len(l.line))]...)
		if complete {
			l.endLine()
		}
		more = rest
	}
}

func (l *lastLines) endLine() {
	l.reason = l.reasonSoFar()
	l.line = l.line[:0]
}

// reasonSoFar returns the last line that states an error, which may not be complete.
func (l *lastLines) reasonSoFar() string {
	if text := bytes.TrimSpace(l.line); statesError(text) {
		return strings.ToValidUTF8(string(text), "\uFFFD")
	}
	return l.reason
}

// statesError reports whether a line states why a program failed, as interpreters, shells
// and the Go runtime write it. A line of a stack trace does not.
func statesError(line []byte) bool {
	if bytes.HasPrefix(line, []byte("at ")) {
		return false
	}
	for _, sign := range errorSigns {
		if bytes.Contains(line, []byte(sign)) {
			return true
		}
	}
	return false
}

var errorSigns = []string{
	"Error:", "Error [", "Exception:", "error:", "panic:", "fatal", "FATAL", "Fatal",
	"Cannot find", "cannot open", "not found", "No such file",
}

// get returns the last lines without the blank ones. It leaves out a first line whose
// beginning was dropped, unless that is the only line. If a line that states an error
// comes before these lines, such as the line before a stack trace, it is the first.
func (l *lastLines) get() []string {
	lines, reason := l.lastOnly(), l.reasonSoFar()
	has := func(line string) bool { return strings.Contains(line, reason) }
	if reason != "" && !slices.ContainsFunc(lines, has) {
		lines = append([]string{reason}, lines...)
	}
	return lines
}

func (l *lastLines) lastOnly() []string {
	text := l.text
	if first := bytes.IndexByte(text, '\n'); l.cut && first >= 0 && first < len(text)-1 {
		text = text[first+1:]
	}
	var lines []string
	for line := range strings.Lines(strings.ToValidUTF8(string(text), "\uFFFD")) {
		if line = strings.TrimRight(line, " \t\r\n"); line != "" {
			lines = append(lines, line)
		}
	}
	return lines[max(0, len(lines)-maxLines):]
}

// forwardLimit limits the bytes that a forwarder buffers for a slow writer.
const forwardLimit = 1 << 20

// forwarder forwards text to a writer that may be slow. Its methods never wait for the
// writer: text that exceeds the buffer is dropped, and the number of dropped bytes is
// written in its place.
type forwarder struct {
	w    io.Writer
	log  *slog.Logger
	wake chan struct{} // has a capacity of one and wakes run
	done chan struct{} // closed when nothing more will be written

	mu      sync.Mutex
	text    []byte
	dropped int
	ended   bool
}

func forward(w io.Writer, log *slog.Logger) *forwarder {
	f := &forwarder{w: w, log: log, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go f.run() // returns when all text has been written after end, or writing failed
	return f
}

// add copies the text to the buffer.
func (f *forwarder) add(text []byte) {
	f.mu.Lock()
	fits := min(len(text), forwardLimit-len(f.text))
	if f.dropped > 0 { // once text is dropped, drop the rest until the buffer is written
		fits = 0
	}
	f.text = append(f.text, text[:fits]...)
	f.dropped += len(text) - fits
	f.mu.Unlock()
	f.signal()
}

// end marks the end of the text. It returns a channel that is closed when all text has
// been written, or writing failed.
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

// take returns the buffered text and replaces the buffer with an empty one.
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

// write writes the text and reports whether that succeeded.
func (f *forwarder) write(text []byte) bool {
	if _, err := f.w.Write(text); err != nil {
		f.log.Warn("cannot forward standard error of child", "cause", err)
		return false
	}
	return true
}
