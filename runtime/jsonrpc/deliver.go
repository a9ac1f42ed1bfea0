package jsonrpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Deliver takes one message from the peer, or one batch. It returns when the
// message is routed, not when it is handled, except for requests that are
// handled inline. Messages take effect in the order in which they are
// delivered; one goroutine delivers where that order means anything.
//
// The bytes belong to the dispatcher until it frees o.Buffer, or calls o.Release.
// What the message's handler sees are the values of ctx, and it ends when ctx does
// unless o is detached.
func (c *Conn) Deliver(ctx context.Context, data []byte, o Source) {
	if o.Message != nil {
		c.deliverRead(ctx, &o)
		return
	}
	c.deliver(ctx, parcel{data, o.lender()}, &o, arrival{})
}

// arrival is how a message has come.
type arrival struct {
	more  bool // other messages are there already
	alone bool // whoever has read it may handle it, if it is a request
}

// deliver is Deliver. It returns a request that the caller is to handle, nil for
// none.
func (c *Conn) deliver(ctx context.Context, p parcel, o *Source, a arrival) *exchange {
	switch {
	case c.over():
		p.free()
	case len(p.data) > c.opts.MaxMessage:
		c.tooLong(p, o)
	case wire.Kind(p.data) == '[':
		c.batch(ctx, p, o)
	default:
		in := inbound{parcel: p, arrival: a}
		if c.opts.Read != nil {
			in.m, in.frame, in.err = c.opts.Read(p.data)
		} else {
			in.m, in.err = wire.ReadMessage(p.data, nil)
		}
		return c.route(ctx, &in, o, nil)
	}
	return nil
}

// deliverRead routes a message that the transport has read.
func (c *Conn) deliverRead(ctx context.Context, o *Source) {
	m, l := o.Message, o.lender()
	switch {
	case m.Method != "" && !m.ID.IsZero():
		x := new(exchange)
		x.begin(ctx, c, m, o.Frame, l, o)
		x.in.Token = o.Token
		c.serveHere(x)
	case c.over():
		l.free()
	default:
		c.route(ctx, &inbound{m: *m, frame: o.Frame, parcel: parcel{m.Params, l}}, o, nil)
	}
}

// serveHere handles a request, or refuses it, in the goroutine that delivers
// it.
func (c *Conn) serveHere(x *exchange) {
	c.opts.arrives(&x.in)
	_, _, err := c.state.admit(x, c.opts.MaxInFlight, true, false)
	if err == nil {
		x.serve()
		c.state.leave()
		return
	}
	x.free()
	if e := peer.AsError(err); e != nil {
		x.refuse(context.Background(), e)
	} else if err == errCameLate {
		x.unanswered()
	}
}

// inbound is a message on its way from the reader to where it belongs.
type inbound struct {
	m      wire.Message
	frame  *wire.Frame // that m.Into was read with
	err    error       // why it could not be read, m is then what is known of it
	parcel parcel
	arrival
}

// route hands a message on. b is the batch that it is in, if it is in one. It
// returns a request that the caller is to handle, nil for none.
func (c *Conn) route(ctx context.Context, in *inbound, o *Source, b *batch) *exchange {
	if o.Admit != nil {
		m := in.m // where nobody admits, the message stays off the heap
		err := o.Admit(&m, in.err)
		if in.m = m; err != nil {
			c.turnAway(in, err, b)
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

// response hands an answer to the call that waits for it.
func (c *Conn) response(in *inbound) {
	m := &in.m
	switch {
	case c.state.answer(m, in.parcel, nil):
		return
	case m.ID.IsZero():
		c.opts.report(fmt.Errorf("peer reports an error without saying of which request: %w", (*peer.Error)(m.Error)))
	default:
		c.opts.Logger.Debug("answer dropped: nobody waits for it", "id", m.ID)
	}
	in.parcel.free()
}

// unreadable deals with a message that is none. A request is told so; an answer
// ends its call, with an error that only the caller sees; notifications are
// never answered.
func (c *Conn) unreadable(in *inbound, o *Source, b *batch) {
	defer in.parcel.free()
	switch kind := kindOf(in); {
	case kind.isAnswer():
		err := fmt.Errorf("answer of the peer: %w", in.err)
		if !c.state.answer(&in.m, parcel{}, err) {
			c.opts.report(err)
		}
	case kind.isNotification():
		c.opts.report(fmt.Errorf("notification of the peer: %w", in.err))
	default:
		c.opts.report(fmt.Errorf("message of the peer: %w", in.err))
		e := &peer.Error{Code: codeRequest, Message: "Invalid request", Data: text(in.err.Error())}
		if kind.broken {
			e.Code, e.Message = codeParse, "Parse error"
		}
		if kind.broken && in.m.Method == "" {
			in.m.ID = wire.RequestID{} // nobody knows what it was the id of
		}
		c.refuse(in.m.ID, e, o, b)
	}
}

// turnAway drops a message that is not wanted where it came from.
func (c *Conn) turnAway(in *inbound, err error, b *batch) {
	if b != nil && in.isAnswered() {
		b.add(nil)
	}
	in.parcel.free()
	if in.err == nil && in.m.Method == "" && !c.state.waits(in.m.ID) {
		c.opts.Logger.Debug("answer dropped: nobody waits for it", "id", in.m.ID, "error", err)
		return
	}
	c.opts.report(fmt.Errorf("message of the peer: %w", err))
}

// mostGlimpsed is how much of a message that is too long is looked at, at either
// end.
const mostGlimpsed = 4 << 10

// glimpse drops the middle of what is too long.
func glimpse(b []byte) []byte {
	if len(b) <= 2*mostGlimpsed {
		return b
	}
	return append(b[:mostGlimpsed], b[len(b)-mostGlimpsed:]...)
}

// tooLong deals with a message that is longer than allowed and of which p has a
// glimpse. If that says whose answer it is, or which request, its call fails or
// the request is refused: nobody waits in vain.
func (c *Conn) tooLong(p parcel, o *Source) {
	defer p.free()
	in := inbound{parcel: parcel{data: p.data[:min(len(p.data), mostGlimpsed)]}}
	in.m, in.err = wire.ReadMessage(in.parcel.data, nil)
	if in.m.ID.IsZero() {
		in.m.ID = idAtEnd(p.data)
	}
	err := fmt.Errorf("message of the peer: longer than %d bytes", c.opts.MaxMessage)
	if o.Admit != nil {
		if unwanted := o.Admit(&in.m, err); unwanted != nil {
			c.turnAway(&in, unwanted, nil)
			return
		}
	}
	if kindOf(&in).isAnswer() && c.state.answer(&in.m, parcel{}, err) {
		return
	}
	c.opts.report(err)
	if in.m.Method == "" {
		in.m.ID = wire.RequestID{} // nobody knows what it was the id of
	}
	say := fmt.Sprintf("Message is longer than %d bytes", c.opts.MaxMessage)
	c.refuse(in.m.ID, &peer.Error{Code: codeParse, Message: say}, o, nil)
}

// idAtEnd returns the id of a message that has it behind all that is long, as the
// SDKs for TypeScript and C# write it. What ends the message with no more than one
// brace to close is a member of the message itself.
func idAtEnd(data []byte) wire.RequestID {
	end := data[max(0, len(data)-mostGlimpsed):]
	if i := bytes.LastIndex(end, []byte(`,"id":`)); i >= 0 {
		for _, begin := range []string{`{"jsonrpc":"2.0","result":{}`, `{"result":{}`} {
			if m, err := wire.ReadMessage(append([]byte(begin), end[i:]...), nil); err == nil {
				return m.ID
			}
		}
	}
	return wire.RequestID{}
}

// kind is what a message that cannot be read seems to be.
type kind struct {
	wire.ReadOnly
	broken              bool // it is no JSON
	id, method, outcome bool // it has such members, as far as one can see
}

func (k kind) isAnswer() bool       { return k.outcome && !k.method }
func (k kind) isNotification() bool { return k.method && !k.id && !k.broken }

var kindMembers = wire.NewMembers("message",
	wire.Member{Name: "id", In: wire.Always},
	wire.Member{Name: "method", In: wire.Always},
	wire.Member{Name: "result", In: wire.Always},
	wire.Member{Name: "error", In: wire.Always},
)

// kindOf looks at a message that could not be read.
func kindOf(in *inbound) kind {
	var k kind
	_ = wire.Decode(in.parcel.data, checked, &k) // as far as it goes
	if e, ok := errors.AsType[*wire.DecodeError](in.err); ok {
		k.broken = e.Syntax
	}
	return k
}

// DecodeJSON notes which members are there.
func (k *kind) DecodeJSON(d *wire.Decoder) {
	for o := d.Object(kindMembers); o.Next(); {
		switch o.Name {
		case "id":
			k.id = true
		case "method":
			k.method = true
		case "result", "error":
			k.outcome = true
		}
		d.Skip()
	}
}
