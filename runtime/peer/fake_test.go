package peer_test

import (
	"context"
	"errors"

	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// ask is a request with the result answer.
type ask struct{ text string }

func (*ask) Method() string                                  { return "test/ask" }
func (*ask) NewResult() *answer                              { return new(answer) }
func (a *ask) AppendParams(b []byte, _ *wire.Encoder) []byte { return append(b, "{}"...) }
func (a *ask) DecodeParams(d *wire.Decoder)                  { d.Skip() }

// answer is the result of ask.
type answer struct{ text string }

func (a *answer) AppendJSON(b []byte, _ *wire.Encoder) []byte { return wire.AppendString(b, a.text) }
func (a *answer) DecodeJSON(d *wire.Decoder)                  { a.text = d.String() }

// tell is a notification.
type tell struct{ text string }

func (*tell) Method() string                                { return "test/tell" }
func (*tell) IsNotification()                               {}
func (*tell) AppendParams(b []byte, _ *wire.Encoder) []byte { return append(b, "{}"...) }
func (*tell) DecodeParams(d *wire.Decoder)                  { d.Skip() }

// channel is an Outbound that records messages and responds with reply or err.
type channel struct {
	name   string
	reply  string
	err    error
	sent   []peer.Message
	opts   []peer.CallOptions
	result wire.Value
	alone  *channel
}

func (c *channel) note(m peer.Message, opts []peer.CallOption) {
	var o peer.CallOptions
	for _, opt := range opts {
		opt(&o)
	}
	c.sent, c.opts = append(c.sent, m), append(c.opts, o)
}

func (c *channel) Call(_ context.Context, req peer.Message, res wire.Value, opts ...peer.CallOption) error {
	c.note(req, opts)
	c.result = res
	if c.err != nil {
		return c.err
	}
	res.(*answer).text = c.reply
	return nil
}

func (c *channel) Notify(_ context.Context, n peer.Notification, opts ...peer.CallOption) error {
	c.note(n, opts)
	return c.err
}

// session is a channel that has a standalone channel.
type session struct{ *channel }

func (s session) Standalone() peer.Outbound { return s.alone }

var errBroken = errors.New("broken")
