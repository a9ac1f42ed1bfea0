package mcptest

import (
	"bytes"
	"io"
	"sync"
)

// TapPipe returns a pipe through which everything passes to and from another
// one, and is judged on its way, line by line. What is written to it comes from
// the given side, what is read from it from the other.
func TapPipe(report func(*Violation), pipe io.ReadWriteCloser, writer Sender) io.ReadWriteCloser {
	j := NewJudge("")
	j.waiting = true
	return &tappedPipe{
		ReadWriteCloser: pipe,
		in:              lines{judge: j, from: writer.other(), report: report},
		out:             lines{judge: j, from: writer, report: report},
	}
}

type tappedPipe struct {
	io.ReadWriteCloser
	in, out lines
}

// Read judges what was read before anybody else sees it.
func (p *tappedPipe) Read(b []byte) (int, error) {
	n, err := p.ReadWriteCloser.Read(b)
	p.in.take(b[:n])
	if err == io.EOF {
		p.in.end()
	}
	return n, err
}

// Write judges what is written before the other side can answer it.
func (p *tappedPipe) Write(b []byte) (int, error) {
	p.out.take(b)
	return p.ReadWriteCloser.Write(b)
}

// lines judges a stream of messages, one on each line.
type lines struct {
	judge  *Judge
	from   Sender
	report func(*Violation)

	mu   sync.Mutex
	rest []byte // a line whose end has not come yet
}

func (l *lines) take(b []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		line, more, complete := bytes.Cut(b, []byte("\n"))
		l.rest = append(l.rest, line...)
		if !complete {
			return
		}
		l.flush()
		b = more
	}
}

// end judges a last line without an end.
func (l *lines) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flush()
}

func (l *lines) flush() {
	line := bytes.TrimSpace(l.rest)
	if len(line) > 0 {
		for _, v := range l.judge.Check(l.from, line) {
			l.report(v)
		}
	}
	l.rest = l.rest[:0]
}
