package jsonrpc

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/mcpwright/mcp/runtime/internal/batch"
	"github.com/mcpwright/mcp/runtime/internal/limit"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Deliver processes one message or one batch from the peer. It returns when the message has been
// dispatched; it waits for the handler only if the request is handled inline. Messages take effect
// in the order in which they are delivered. If that order is relevant, one goroutine must deliver
// them all.
//
// The connection uses data until it calls o.Release. The handler's context has the values of ctx,
// and ends when ctx ends unless o.Detached is set.
func (c *Conn) Deliver(ctx context.Context, data []byte, o Source) {
	m := memory{release: o.Release}
	if o.Message != nil {
		c.deliverMessage(ctx, m, &o)
		return
	}
	c.deliver(ctx, payload{data, m}, &o, arrival{})
}

// arrival describes how a message arrived.
type arrival struct {
	more  bool // other messages have arrived already
	alone bool // the goroutine that read the message may handle it, if it is a request
}

// received is a message that has been read and not been dispatched.
type received struct {
	m       wire.Message
	frame   *wire.Frame // that m.Into was read with
	err     error       // if the message cannot be read; m is then incomplete
	payload payload
	arrival
}

// deliver is Deliver for a message that has not been read. It returns a request that the caller
// must handle, or nil.
func (c *Conn) deliver(ctx context.Context, p payload, o *Source, a arrival) *inboundMessage {
	switch {
	case c.isClosed():
		p.free()
	case len(p.data) > c.opts.MaxMessage:
		c.tooLong(p, o)
	case wire.Kind(p.data) == '[':
		c.deliverBatch(ctx, p, o)
	default:
		in := received{payload: p, arrival: a}
		if c.opts.Read != nil {
			in.m, in.frame, in.err = c.opts.Read(p.data)
		} else {
			in.m, in.err = wire.ReadMessage(p.data, nil)
		}
		return c.dispatch(ctx, &in, o, nil)
	}
	return nil
}

// deliverMessage is Deliver for a message that the transport has read.
func (c *Conn) deliverMessage(ctx context.Context, mem memory, o *Source) {
	m := o.Message
	switch {
	case m.Method != "" && !m.ID.IsZero():
		x := new(inboundMessage)
		x.init(ctx, c, m, o.Frame, mem, o)
		x.in.Token = o.Token
		c.handleInline(x)
	case c.isClosed():
		mem.free()
	default:
		c.dispatch(ctx, &received{m: *m, frame: o.Frame, payload: payload{m.Params, mem}}, o, nil)
	}
}

// deliverBatch is Deliver for a batch. A batch cannot contain initialize.
func (c *Conn) deliverBatch(ctx context.Context, p payload, o *Source) {
	list, err := c.readBatch(p.data)
	if err != nil {
		c.unreadable(&received{err: err, payload: p}, o, nil)
		return
	}
	size := len(p.data)
	p.free()
	b := &batchResponse{conn: c, out: o.Back, principal: cmp.Or(o.Transport, c.opts.Transport).Principal(), pending: 1}
	if b.messages, err = c.opts.Budget.Reserve(b.principal, size); err != nil {
		c.opts.limitExceeded("Budget")
		c.refuse(wire.RequestID{}, errOverBudget, o, nil)
		return
	}
	for i := range list {
		if list[i].needsResponse() {
			b.pending++
		}
	}
	for i := range list {
		in := &list[i]
		if in.err == nil && in.m.Method == methodInitialize && !in.m.ID.IsZero() {
			c.refuse(in.m.ID, errNotInBatches, o, b)
			continue
		}
		c.dispatch(ctx, in, o, b)
	}
	b.add(wire.RequestID{}, nil)
}

// readBatch reads the messages of a batch. Each has its own memory.
func (c *Conn) readBatch(data []byte) ([]received, error) {
	if c.opts.Batches == nil || !c.opts.Batches() {
		if err := wire.Check(data, 0); err != nil {
			return nil, err
		}
		return nil, errors.New("batches are not supported")
	}
	raw, err := batch.Read(data)
	if err != nil {
		return nil, err
	}
	if len(raw) == 0 {
		return nil, errors.New("batch is empty")
	}
	list := make([]received, len(raw))
	for i := range raw {
		list[i].payload.data = raw[i]
		list[i].m, list[i].err = wire.ReadMessage(raw[i], nil)
	}
	return list, nil
}

// needsResponse reports whether a message of a batch adds a response to the batch.
func (in *received) needsResponse() bool {
	if in.err == nil {
		return in.m.Method != "" && !in.m.ID.IsZero()
	}
	f := formOf(in)
	return !f.isResponse() && !f.isNotification()
}

// dispatch passes a message on. The batch that contains the message is b, or nil. It returns a
// request that the caller must handle, or nil.
func (c *Conn) dispatch(ctx context.Context, in *received, o *Source, b *batchResponse) *inboundMessage {
	if o.Admit != nil {
		m := in.m // a copy, so that in.m needs no heap memory if Admit is nil
		err := o.Admit(&m, in.err)
		if in.m = m; err != nil {
			c.notAdmitted(in, err, b)
			return nil
		}
	}
	switch {
	case in.err != nil:
		c.unreadable(in, o, b)
	case in.m.Method == "":
		c.response(in)
	case in.m.ID.IsZero():
		c.notification(ctx, in, o)
	default:
		return c.request(ctx, in, o, b)
	}
	return nil
}

// response passes a response to the call that waits for it.
func (c *Conn) response(in *received) {
	m := &in.m
	switch {
	case c.state.deliverResponse(m, in.payload, nil):
		return
	case m.ID.IsZero():
		c.opts.report(fmt.Errorf("error of the peer without a request id: %w", (*peer.Error)(m.Error)))
	default:
		c.opts.Logger.Debug("response dropped: no call has its id", "id", m.ID)
	}
	in.payload.free()
}

// unreadable processes a message that cannot be read. A request gets an error as response. A
// response ends its call with an error. A notification is only reported.
func (c *Conn) unreadable(in *received, o *Source, b *batchResponse) {
	defer in.payload.free()
	switch form := formOf(in); {
	case form.isResponse():
		err := fmt.Errorf("response of the peer: %w", in.err)
		if !c.state.deliverResponse(&in.m, payload{}, err) {
			c.opts.report(err)
		}
	case form.isNotification():
		c.opts.report(fmt.Errorf("notification of the peer: %w", in.err))
	default:
		c.opts.report(fmt.Errorf("message of the peer%s: %w", c.quoteOutput(in.payload.data), in.err))
		e := &peer.Error{Code: codeRequest, Message: "Invalid request", Data: jsonText(in.err.Error())}
		if form.invalidJSON {
			e.Code, e.Message = codeParse, "Parse error"
		}
		if form.invalidJSON && in.m.Method == "" {
			in.m.ID = wire.RequestID{} // it may be the id of a response
		}
		c.refuse(in.m.ID, e, o, b)
	}
}

// quoteOutput returns the beginning of what a server has sent in place of a message, for an error.
// Usually it is a line that the program has printed to its standard output. It returns nothing for
// broken messages, which may contain secrets.
func (c *Conn) quoteOutput(data []byte) string {
	if !c.opts.Client || bytes.Contains(data, []byte(`"jsonrpc"`)) {
		return ""
	}
	return fmt.Sprintf(" %q", limit.Name(string(data[:min(len(data), maxExcerpt)])))
}

// notAdmitted drops a message that Admit returned an error for.
func (c *Conn) notAdmitted(in *received, err error, b *batchResponse) {
	if b != nil && in.needsResponse() {
		b.add(in.m.ID, nil)
	}
	in.payload.free()
	if in.err == nil && in.m.Method == "" && !c.state.hasCall(in.m.ID) {
		c.opts.Logger.Debug("response dropped: no call has its id", "id", in.m.ID, "error", err)
		return
	}
	c.opts.report(fmt.Errorf("message of the peer: %w", err))
}

// tooLong processes a message that is longer than allowed; p contains an excerpt of it. If the
// excerpt contains the id of a response, its call fails. If it contains the id of a request, the
// request gets an error as response. So nothing waits for the message.
func (c *Conn) tooLong(p payload, o *Source) {
	defer p.free()
	in := received{payload: payload{data: p.data[:min(len(p.data), maxExcerpt)]}}
	in.m, in.err = wire.ReadMessage(in.payload.data, nil)
	if in.m.ID.IsZero() {
		in.m.ID = idAtEnd(p.data)
	}
	err := fmt.Errorf("message of the peer is longer than %d bytes", c.opts.MaxMessage)
	c.opts.limitExceeded("MaxMessage")
	if o.Admit != nil {
		if reason := o.Admit(&in.m, err); reason != nil {
			c.notAdmitted(&in, reason, nil)
			return
		}
	}
	if formOf(&in).isResponse() && c.state.deliverResponse(&in.m, payload{}, err) {
		return
	}
	c.opts.report(err)
	if in.m.Method == "" {
		in.m.ID = wire.RequestID{} // it may be the id of a response
	}
	text := fmt.Sprintf("Message is longer than %d bytes", c.opts.MaxMessage)
	c.refuse(in.m.ID, &peer.Error{Code: codeParse, Message: text}, o, nil)
}

// idAtEnd returns the id of a response whose id follows the result, as in the messages of the
// TypeScript and C# SDKs. The end of the message, after the beginning of a response, must be
// complete JSON: then the id is a member of the message and not of the result.
func idAtEnd(data []byte) wire.RequestID {
	end := data[max(0, len(data)-maxExcerpt):]
	if i := bytes.LastIndex(end, []byte(`,"id":`)); i >= 0 {
		for _, begin := range []string{`{"jsonrpc":"2.0","result":{}`, `{"result":{}`} {
			if m, err := wire.ReadMessage(append([]byte(begin), end[i:]...), nil); err == nil {
				return m.ID
			}
		}
	}
	return wire.RequestID{}
}

// form is what can be recognized of a message that cannot be read.
type form struct {
	wire.ReadOnly
	invalidJSON         bool
	id, method, outcome bool // the message has an id, a method, a result or error
}

func (f form) isResponse() bool     { return f.outcome && !f.method }
func (f form) isNotification() bool { return f.method && !f.id && !f.invalidJSON }

var formMembers = wire.NewMembers("message",
	wire.Member{Name: "id", In: wire.Always},
	wire.Member{Name: "method", In: wire.Always},
	wire.Member{Name: "result", In: wire.Always},
	wire.Member{Name: "error", In: wire.Always},
)

// formOf examines a message that could not be read.
func formOf(in *received) form {
	var f form
	_ = wire.Decode(in.payload.data, validated, &f) // reads until the first error
	if e, ok := errors.AsType[*wire.DecodeError](in.err); ok {
		f.invalidJSON = e.Syntax
	}
	return f
}

// DecodeJSON implements [wire.Value].
func (f *form) DecodeJSON(d *wire.Decoder) {
	for o := d.Object(formMembers); o.Next(); {
		switch o.Name {
		case "id":
			f.id = true
		case "method":
			f.method = true
		case "result", "error":
			f.outcome = true
		}
		d.Skip()
	}
}
