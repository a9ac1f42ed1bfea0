package connection

import (
	"context"
	"encoding/json"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/outbound"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Outbound returns the connection's own channel, for messages that are not related to a request.
// It includes all checks.
func (c *Connection) Outbound() peer.Outbound { return c }

// Call implements [peer.Outbound] for the connection's own channel.
func (c *Connection) Call(ctx context.Context, req peer.Message, res wire.Value, opts ...peer.CallOption) error {
	return c.sender().call(ctx, req, res, opts)
}

// Notify implements [peer.Outbound] for the connection's own channel. It drops and logs
// notifications that cannot be delivered, and returns an error only if the notification cannot be
// encoded.
func (c *Connection) Notify(ctx context.Context, n peer.Notification, opts ...peer.CallOption) error {
	return c.sender().notify(ctx, n, opts)
}

// TryNotify sends a notification if it can do so without waiting for the peer, and reports
// whether it has. If it reports false, the caller calls [Connection.Notify]. Nil means the frame of
// the connection.
func (c *Connection) TryNotify(n peer.Notification, f *wire.Frame) (sent bool) {
	return c.sender().tryNotify(n, f)
}

func (c *Connection) sender() sender {
	return sender{checker: checker{c, c.state.snapshot()}, out: c.out}
}

// Ping sends a ping and waits for the response. Stateless revisions have no ping.
func (c *Connection) Ping(ctx context.Context, opts ...peer.CallOption) error {
	_, err := peer.SendRequest(ctx, c, &mcp.PingRequest{}, opts...)
	return err
}

// Log sends a log message that is not related to a request. It drops messages below the level
// that the client has set. In stateless revisions it drops all messages.
func (c *Connection) Log(ctx context.Context, n *mcp.LoggingMessageNotification) error {
	return c.Notify(ctx, n)
}

// SendToolListChanged notifies the client that the list of tools has changed.
func (c *Connection) SendToolListChanged(ctx context.Context) error {
	return c.Notify(ctx, &mcp.ToolListChangedNotification{})
}

// SendPromptListChanged notifies the client that the list of prompts has changed.
func (c *Connection) SendPromptListChanged(ctx context.Context) error {
	return c.Notify(ctx, &mcp.PromptListChangedNotification{})
}

// SendResourceListChanged notifies the client that the list of resources has changed.
func (c *Connection) SendResourceListChanged(ctx context.Context) error {
	return c.Notify(ctx, &mcp.ResourceListChangedNotification{})
}

// SendResourceUpdated notifies the client that a resource has changed. The caller checks whether
// the client has subscribed to it, see [State.Subscribed].
func (c *Connection) SendResourceUpdated(ctx context.Context, n *mcp.ResourceUpdatedNotification) error {
	return c.Notify(ctx, n)
}

// SendRawRequest sends a request without a Go type on the connection's own channel and returns
// the JSON of its result. The params are a JSON object, or nil. It is for requests that are not
// part of the protocol. Requests of the protocol have types, and pass the same checks here.
func (c *Connection) SendRawRequest(ctx context.Context, method string, params json.RawMessage, opts ...peer.CallOption) (json.RawMessage, error) {
	req := &rawRequest{method: method}
	if params != nil {
		if err := wire.DecodeParams(params, nil, req); err != nil {
			return nil, &InvalidError{Method: method, Err: err}
		}
	}
	res, err := peer.SendRequest(ctx, c, req, opts...)
	if err != nil {
		return nil, err
	}
	return res.JSON, nil
}

// rawRequest is a request of which only the "_meta" is decoded, because the connection adds
// members to it.
type rawRequest struct {
	method string
	meta   *rawMeta
	extra  map[string]json.RawMessage
}

func (x *rawRequest) Method() string                 { return x.method }
func (x *rawRequest) NewResult() *outbound.RawResult { return new(outbound.RawResult) }

func (x *rawRequest) AppendParams(b []byte, e *wire.Encoder) []byte {
	start := len(b)
	b = wire.AppendMeta(b, e, x, x.meta, 0)
	b = e.Extra(b, x.extra, paramsMembers)
	return wire.CloseObject(b, start)
}

func (x *rawRequest) DecodeParams(d *wire.Decoder) {
	for o := d.Object(paramsMembers); o.Next(); {
		if o.Name == "_meta" {
			x.meta = wire.New[rawMeta](d)
		} else {
			x.extra = o.Extra(x.extra)
		}
	}
}

type rawMeta struct{ extra map[string]json.RawMessage }

var noMembers = wire.NewMembers("_meta")

func (x *rawMeta) AppendJSON(b []byte, e *wire.Encoder) []byte {
	start := len(b)
	b = e.Extra(b, x.extra, noMembers)
	b = e.Overlay(b)
	return wire.CloseObject(b, start)
}

func (x *rawMeta) DecodeJSON(d *wire.Decoder) {
	for o := d.Object(noMembers); o.Next(); {
		x.extra = o.Extra(x.extra)
	}
}

// Call implements [peer.Outbound] for the channel of the message being handled.
func (s *session) Call(ctx context.Context, req peer.Message, res wire.Value, opts ...peer.CallOption) error {
	return s.sender().call(ctx, req, res, opts)
}

// Notify implements [peer.Outbound] for the channel of the message being handled.
func (s *session) Notify(ctx context.Context, n peer.Notification, opts ...peer.CallOption) error {
	return s.sender().notify(ctx, n, opts)
}

// TryNotify implements [outbound.TryNotifier] for the channel of the message being handled.
func (s *session) TryNotify(n peer.Notification, f *wire.Frame) (sent bool) {
	return s.sender().tryNotify(n, f)
}

// Progress implements [mcp.SessionCore].
func (s *session) Progress(ctx context.Context, p peer.Progress) error {
	return s.sender().progress(ctx, p)
}

func (s *session) sender() sender {
	return sender{checker: checker{s.conn, s.conn.state.snapshot()}, out: s.back(), session: s}
}

// Standalone implements [mcp.SessionCore].
func (s *session) Standalone() peer.Outbound { return (*standalone)(s) }

// standalone is the connection's own channel for a session. In stateless revisions, log messages
// are sent on the channel of the message being handled, because there is no other.
type standalone session

func (s *standalone) Call(ctx context.Context, req peer.Message, res wire.Value, opts ...peer.CallOption) error {
	return s.conn.Call(ctx, req, res, opts...)
}

func (s *standalone) Notify(ctx context.Context, n peer.Notification, opts ...peer.CallOption) error {
	if n.Method() == mcp.MethodLoggingMessage && !s.conn.state.snapshot().handshake {
		return (*session)(s).Notify(ctx, n, opts...)
	}
	return s.conn.Notify(ctx, n, opts...)
}
