package wiretrace

import (
	"bytes"
	"sync"
	"time"

	"github.com/mcpwright/mcp/runtime/mcptest"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Pipe observes a pipe with one message on each line.
type Pipe struct {
	recorder  *Recorder
	conn      *connection
	validator *mcptest.Validator
	mu        sync.Mutex
	lines     [2]clipped
	gap       bool // a line was lost
}

// Pipe returns an observer for a new pipe.
func (r *Recorder) Pipe() *Pipe {
	return &Pipe{recorder: r, conn: r.newConnection(r.open()), validator: mcptest.NewValidator(wire.Revision{})}
}

// Copied adds the next bytes that one side has sent. It does not keep b.
func (p *Pipe) Copied(from mcptest.Sender, b []byte) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		line, rest, complete := bytes.Cut(b, []byte{'\n'})
		p.lines[from].add(line, p.recorder.opts.MaxMessage)
		if !complete {
			return
		}
		p.endLine(from, now)
		b = rest
	}
}

// Ended adds the end of the bytes of one side. The last line needs no line end.
func (p *Pipe) Ended(from mcptest.Sender) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endLine(from, time.Now())
}

// endLine passes a line to the recorder. The mutex is locked.
func (p *Pipe) endLine(from mcptest.Sender, now time.Time) {
	raw, size := p.lines[from].take()
	if len(bytes.TrimSpace(raw)) == 0 {
		return
	}
	if size == int64(len(raw)) {
		raw = bytes.TrimSuffix(raw, []byte{'\r'})
		size = int64(len(raw))
	}
	part, gap := &part{time: now, from: from, raw: raw, size: size}, p.gap
	p.gap = !p.recorder.add(len(raw), func() {
		p.conn.gap = p.conn.gap || gap
		p.conn.observe(part, p.check)
	})
}

func (p *Pipe) check(from mcptest.Sender, raw []byte) ([]*mcptest.Violation, wire.Revision) {
	return p.validator.Check(from, raw), p.validator.Revision()
}

// clipped is a message that is not complete yet. It stores the beginning only.
type clipped struct {
	raw  []byte
	size int64
}

func (c *clipped) add(b []byte, limit int) {
	c.size += int64(len(b))
	c.raw = append(c.raw, b[:min(len(b), limit-len(c.raw))]...)
}

// take returns the message, and begins the next one.
func (c *clipped) take() ([]byte, int64) {
	raw, size := c.raw, c.size
	*c = clipped{}
	return raw, size
}
