package dispatch

import (
	"context"
	"log/slog"

	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// reply is an answer that has been written down.
type reply struct {
	buf      *buffer
	envelope Envelope
	out      Writer
}

// size is how many bytes the answer takes while it waits.
func (r reply) size() int { return cap(r.buf.b) }

func (r *reply) free() {
	if r.buf != nil {
		r.buf.free()
		r.buf = nil
	}
}

// newReply writes down an error. One whose data are no JSON is told without.
func newReply(id wire.RequestID, e *peer.Error, log *slog.Logger) *reply {
	r := &reply{buf: newBuffer(), envelope: Envelope{ID: id, Error: e}}
	x := wire.ErrorObject(*e)
	var err error
	if r.buf.b, err = wire.AppendError(r.buf.b, id, &x); err != nil {
		log.Error("data of an error left out", "id", id, "error", err)
		x.Data = nil
		r.buf.b, _ = wire.AppendError(r.buf.b, id, &x) // nothing left that could be wrong
	}
	return r
}

// sendReply writes an answer.
func (c *Conn) sendReply(ctx context.Context, r *reply) {
	defer r.free()
	if err := send(ctx, r.out, r.envelope, r.buf.b); err != nil {
		c.opts.Logger.Debug("answer could not be written", "id", r.envelope.ID, "error", err)
	}
}

// refuse answers a message that gets no further than to the reader, which must
// not wait for the peer to take the answer. Where no request is to blame, a
// client stays silent.
func (c *Conn) refuse(id wire.RequestID, e *peer.Error, o *Origin, b *batch) {
	if id.IsZero() && c.opts.Client {
		b.add(nil)
		return
	}
	r := newReply(id, e, c.opts.Logger)
	if b != nil {
		b.add(r.buf.b)
		r.free()
		return
	}
	r.out = o.Back
	c.later(*r)
}

// later has an answer written by another goroutine.
func (c *Conn) later(r reply) {
	if r.out == nil {
		r.out = c.out
	}
	if !c.replies.put(r, r.size()) {
		r.free()
		c.opts.Logger.Warn("answer dropped: too many others wait for the peer to read them", "id", r.envelope.ID)
	}
}

func (c *Conn) writeReply(r reply) { c.sendReply(context.Background(), &r) }
