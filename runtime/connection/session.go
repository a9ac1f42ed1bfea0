package connection

import (
	"context"
	"sync"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/outbound"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Session returns what the handler of a server calls its client with while it
// handles in. The [Dispatcher] makes one for each message; handlers have it with
// [mcp.SessionFromContext].
func Session(conn *Connection, in *peer.Inbound) *mcp.ServerSession {
	return &newCore(context.Background(), conn, in).server
}

// ClientSession returns what the handler of a client calls its server with
// while it handles in. Handlers have it with [ClientSessionFromContext].
func ClientSession(conn *Connection, in *peer.Inbound) *mcp.ClientSession {
	return &mcp.ClientSession{SessionCore: newCore(context.Background(), conn, in)}
}

// FromContext returns the connection that the message being handled came on. It is not
// nil in a handler that a [Dispatcher] called, and nil elsewhere.
func FromContext(ctx context.Context) *Connection {
	if c := coreFrom(ctx); c != nil {
		return c.conn
	}
	return nil
}

// SenderMetaFromContext returns the "_meta" with which the message being handled says who sent
// it, as far as that counts: of a message in a revision without a handshake that is
// to be handled once more, see [Dispatcher.ServeStateless]. It is nil outside a handler.
func SenderMetaFromContext(ctx context.Context) *mcp.RequestMeta {
	c := coreFrom(ctx)
	if c == nil {
		return nil
	}
	caps, params := c.conn.state.sender()
	meta := &mcp.RequestMeta{ProtocolVersion: c.conn.state.Revision().String(), ClientCapabilities: caps, LogLevel: c.logs.level()}
	if params != nil {
		meta.ClientInfo = &params.ClientInfo
	}
	return meta
}

// ClientSessionFromContext returns the session of the handler that ctx was given to,
// nil outside a client's handler.
func ClientSessionFromContext(ctx context.Context) *mcp.ClientSession {
	if c := coreFrom(ctx); c != nil && c.conn.client {
		return &mcp.ClientSession{SessionCore: c}
	}
	return nil
}

// core is a session: one message being handled. A session may outlive its
// handler, but not the params of its message; the channel then refuses.
type core struct {
	conn    *Connection
	in      *peer.Inbound
	ctx     context.Context   // that the message came with
	request peer.Message      // as the handler has it, nil before and for a notification
	unheard bool              // request is what in was read into already, for a handler still to be called
	logs    severity          // asked for by the request itself
	ended   bool              // the round has; rounds guards it
	rounds  sync.Mutex        // held to begin a round and to end it, and for nothing else
	round   Round             // nil where the answer never asks; rounds guards it
	effect  func(error) error // what comes of the outcome, which it may change; nil for nothing

	server mcp.ServerSession
}

// handlerContext is a core as the context of its handler: that of the message,
// with the session in it.
type handlerContext core

type coreKey struct{}

func (c *handlerContext) Deadline() (time.Time, bool) { return c.ctx.Deadline() }
func (c *handlerContext) Done() <-chan struct{}       { return c.ctx.Done() }
func (c *handlerContext) Err() error                  { return c.ctx.Err() }
func (c *handlerContext) Value(key any) any {
	switch key.(type) {
	case coreKey:
		return (*core)(c)
	case mcp.SessionKey:
		if !c.conn.client {
			return &c.server
		}
	}
	return c.ctx.Value(key)
}

func coreFrom(ctx context.Context) *core {
	c, _ := ctx.Value(coreKey{}).(*core)
	return c
}

// newCore makes the session of one message.
func newCore(ctx context.Context, conn *Connection, in *peer.Inbound) *core {
	c := new(core)
	c.begin(ctx, conn, in, readAs(in, conn.state.Revision()))
	if conn.perRequest() {
		c.logs = requestedLevel(in)
	}
	return c
}

// begin makes c the session of a message that has been read already, or is still to be
// where that is nil. The level of its logs is left to the caller.
func (c *core) begin(ctx context.Context, conn *Connection, in *peer.Inbound, message peer.Message) {
	c.conn, c.in, c.ctx = conn, in, ctx
	c.request, c.unheard = message, message != nil
	c.server.SessionCore = c
}

// readAs is what a message has been read into in a revision, nil where it has not.
func readAs(in *peer.Inbound, r wire.Revision) peer.Message {
	if in.Message != nil && in.Frame.Revision.Index() == r.Index() {
		return in.Message
	}
	return nil
}

// back is the channel of the message.
func (c *core) back() peer.BackChannel {
	if c.in.Back == nil {
		return outbound.None{}
	}
	return c.in.Back
}

// requestedLevel is the level of the logs that a message asks for where logs travel
// with requests. Only a request can.
func requestedLevel(in *peer.Inbound) severity {
	if in.ID.IsZero() {
		return 0
	}
	var l letter
	l.read(paramsOf(in))
	return severityOf(l.LogLevel)
}

// transportFor is a transport's context as a handler sees it: where the revision
// has no requests to the client, the transport has none either.
func transportFor(t peer.TransportContext, perRequest bool) peer.TransportContext {
	switch {
	case t == nil:
		return peer.NewTransportContext("", !perRequest, nil, "")
	case !t.CanSendRequest():
		return t
	}
	if t, ok := t.(interface{ NotifyOnly() peer.TransportContext }); ok {
		return t.NotifyOnly()
	}
	return &notifyOnlyTransport{t}
}

// notifyOnlyTransport is the context of a transport that cannot say itself that
// it carries no requests.
type notifyOnlyTransport struct{ peer.TransportContext }

func (*notifyOnlyTransport) CanSendRequest() bool { return false }

// Unwrap returns the transport's own context.
func (t *notifyOnlyTransport) Unwrap() peer.TransportContext { return t.TransportContext }

// Call implements [peer.Outbound] on the channel of the message.
func (c *core) Call(ctx context.Context, req peer.Message, res wire.Value, opts ...peer.CallOption) error {
	return c.door().call(ctx, req, res, opts)
}

// Notify implements [peer.Outbound] on the channel of the message.
func (c *core) Notify(ctx context.Context, n peer.Notification, opts ...peer.CallOption) error {
	return c.door().notify(ctx, n, opts)
}

// TryNotify implements [outbound.TryNotifier] where the channel of the message does.
func (c *core) TryNotify(n peer.Notification, opts ...peer.CallOption) (taken bool) {
	return c.door().post(n, opts)
}

func (c *core) door() door {
	return door{conn: c.conn, facts: c.conn.state.snapshot(), out: c.back(), core: c}
}

// Standalone implements [mcp.SessionCore].
func (c *core) Standalone() peer.Outbound { return (*standalone)(c) }

// standalone is the connection's own channel as a session has it. What can only
// travel with the message being handled still does.
type standalone core

func (s *standalone) Call(ctx context.Context, req peer.Message, res wire.Value, opts ...peer.CallOption) error {
	return s.conn.Call(ctx, req, res, opts...)
}

func (s *standalone) Notify(ctx context.Context, n peer.Notification, opts ...peer.CallOption) error {
	if n.Method() == mcp.MethodLoggingMessage && !s.conn.state.snapshot().handshake {
		return (*core)(s).Notify(ctx, n, opts...)
	}
	return s.conn.Notify(ctx, n, opts...)
}

// Transport implements [mcp.SessionCore].
func (c *core) Transport() peer.TransportContext {
	if perRequest := c.conn.perRequest(); perRequest || c.in.Transport == nil {
		return transportFor(c.in.Transport, perRequest)
	}
	return c.in.Transport
}

// Revision implements [mcp.SessionCore].
func (c *core) Revision() wire.Revision { return c.conn.Revision() }

// ClientInfo implements [mcp.SessionCore].
func (c *core) ClientInfo() *mcp.Implementation { return c.conn.ClientInfo() }

// ClientCapabilities implements [mcp.SessionCore].
func (c *core) ClientCapabilities() *mcp.ClientCapabilities { return c.conn.ClientCapabilities() }

// HasClientCapability implements [mcp.SessionCore].
func (c *core) HasClientCapability(want *mcp.ClientCapabilities) bool {
	return c.conn.HasClientCapability(want)
}

// Progress implements [mcp.SessionCore].
func (c *core) Progress(ctx context.Context, p peer.Progress) error {
	info := mcp.MethodByName(mcp.MethodProgress)
	if r := c.conn.state.Revision(); c.listens() || c.conn.client && !info.FromClient.Has(r) {
		return nil
	}
	return c.report(ctx, p)
}

// listens tells whether the message being handled is a subscription, on which
// nothing travels but what it is about.
func (c *core) listens() bool { return c.in.Method == mcp.MethodSubscriptionsListen }

// ownProgress tells whether a progress notification is a report about the
// message being handled that says no more than a report can.
func (c *core) ownProgress(p *mcp.ProgressNotification) bool {
	return !c.in.Token.IsZero() && p.ProgressToken == c.in.Token && p.Meta == nil && len(p.Extra) == 0
}
