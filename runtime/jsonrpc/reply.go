package jsonrpc

import (
	"context"
	"log/slog"

	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// reply is an answer that has been written down and waits to be sent.
type reply struct {
	buf      *Buffer
	envelope MessageInfo
	out      Writer
}

// size is how many bytes the answer takes while it waits.
func (r reply) size() int { return cap(r.buf.Bytes) }

// writeError writes down an error. One whose data are no JSON is told without.
func writeError(id wire.RequestID, e *peer.Error, log *slog.Logger) *Buffer {
	buf := NewBuffer()
	x := wire.ErrorObject(*e)
	var err error
	if buf.Bytes, err = wire.AppendError(buf.Bytes, id, &x); err != nil {
		log.Error("data of an error left out", "id", id, "error", err)
		x.Data = nil
		buf.Bytes, _ = wire.AppendError(buf.Bytes, id, &x) // nothing left that could be wrong
	}
	return buf
}

// sendReply writes an answer.
func (c *Conn) sendReply(ctx context.Context, out Writer, e MessageInfo, answer []byte) {
	var err error
	if w, ok := out.(InfoWriter); ok {
		err = w.WriteWithInfo(ctx, e, answer)
	} else {
		err = out.WriteMessage(ctx, answer)
	}
	if err != nil {
		c.opts.Logger.Debug("answer could not be written", "id", e.ID, "error", err)
	}
}

// refuse answers a message that gets no further than to the reader, which must
// not wait for the peer to take the answer. Where no request is to blame, a
// client stays silent.
func (c *Conn) refuse(id wire.RequestID, e *peer.Error, o *Source, b *batch) {
	if id.IsZero() && c.opts.Client {
		b.add(nil)
		return
	}
	buf := writeError(id, e, c.opts.Logger)
	if b != nil {
		b.add(buf.Bytes)
		buf.Free()
		return
	}
	c.later(reply{buf, MessageInfo{ID: id, Error: e}, o.Back})
}

// later has an answer written by another goroutine.
func (c *Conn) later(r reply) {
	if r.out == nil {
		r.out = c.out
	}
	if !c.replies.put(r, r.size()) {
		r.buf.Free()
		c.opts.Logger.Warn("answer dropped: too many others wait for the peer to read them", "id", r.envelope.ID)
	}
}

func (c *Conn) writeReply(r reply) {
	c.sendReply(context.Background(), r.out, r.envelope, r.buf.Bytes)
	r.buf.Free()
}
