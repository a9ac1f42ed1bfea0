package connection

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/loglevel"
	"github.com/mcpwright/mcp/runtime/internal/outbound"
	"github.com/mcpwright/mcp/runtime/internal/request"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// FromContext returns the connection of the message that is being handled. It is not nil in a
// handler that a [Dispatcher] called, and nil elsewhere.
func FromContext(ctx context.Context) *Connection {
	if s := sessionFrom(ctx); s != nil {
		return s.conn
	}
	return nil
}

// RequestIDFromContext returns the id of the request that is being handled. It is zero for a
// notification and outside of a handler.
func RequestIDFromContext(ctx context.Context) wire.RequestID {
	if s := sessionFrom(ctx); s != nil {
		return s.in.ID
	}
	return wire.RequestID{}
}

// RequestFromContext returns the request that is being handled. It is nil for a notification and
// outside of a handler. A handler whose parameters are only a part of the request, such as the
// arguments of a tool, finds the rest here:
//
//	if req, ok := connection.RequestFromContext(ctx).(*mcp.CallToolRequest); ok && req.Meta != nil {
//		log.Printf("for %s", req.Meta.Extra["com.example/user"])
//	}
//
// The caller must not change the request, and must not use it after the handler has returned.
func RequestFromContext(ctx context.Context) peer.Message {
	if s := sessionFrom(ctx); s != nil && !s.unhandled {
		return s.request
	}
	return nil
}

// SenderMetaFromContext returns the message metadata of the message that is being handled, for a
// message of a stateless revision that is handled again, see [Dispatcher.ServeStateless]. It
// returns nil outside of a handler.
func SenderMetaFromContext(ctx context.Context) *mcp.RequestMeta {
	if s := sessionFrom(ctx); s != nil {
		return s.senderMeta()
	}
	return nil
}

// senderMeta returns the message metadata of the message.
func (s *session) senderMeta() *mcp.RequestMeta {
	caps, params := s.conn.state.client()
	meta := &mcp.RequestMeta{ProtocolVersion: s.conn.state.Revision().String(), ClientCapabilities: caps, LogLevel: s.logs.Level()}
	if params != nil {
		meta.ClientInfo = &params.ClientInfo
	}
	return meta
}

// ClientSessionFromContext returns the session in the context of a client's handler. It returns
// nil elsewhere.
func ClientSessionFromContext(ctx context.Context) *mcp.ClientSession {
	if s := sessionFrom(ctx); s != nil && s.conn.client {
		return &mcp.ClientSession{SessionCore: s}
	}
	return nil
}

// RoundFromContext returns the round of the request that is being handled, or nil if the request
// has none. After the handler has returned, it returns a round that has ended.
func RoundFromContext(ctx context.Context) Round {
	if s := sessionFrom(ctx); s != nil {
		return s.currentRound()
	}
	return nil
}

// EndRound ends the round of the request that is being handled. It returns the round, or nil if
// none has begun.
func EndRound(ctx context.Context) Round {
	s := sessionFrom(ctx)
	if s == nil {
		return nil
	}
	s.roundMu.Lock()
	defer s.roundMu.Unlock()
	s.roundEnded = true
	if _, pending := s.round.(*pendingRound); pending || s.round == nil {
		return nil
	}
	s.round.End()
	return s.round
}

// ServerSession returns the session with which a server's handler of in calls the client. The
// [Dispatcher] makes one for each message, and handlers get it with [mcp.SessionFromContext].
func (c *Connection) ServerSession(in *peer.Inbound) *mcp.ServerSession {
	return &newSession(context.Background(), c, in).server
}

// ClientSession returns the session with which a client's handler of in calls the server.
// Handlers get it with [ClientSessionFromContext].
func (c *Connection) ClientSession(in *peer.Inbound) *mcp.ClientSession {
	return &mcp.ClientSession{SessionCore: newSession(context.Background(), c, in)}
}

// session implements [mcp.SessionCore] for one message that is being handled. It may be used
// after its handler has returned, when the channel refuses messages; the params of the message
// may not.
type session struct {
	conn       *Connection
	in         *peer.Inbound
	received   received          // by the middleware
	ctx        context.Context   // of the message
	request    peer.Message      // the decoded request; nil before it is decoded, and for a notification
	unhandled  bool              // request was decoded by the transport, and no handler has been called with it
	logs       loglevel.Severity // the level in the metadata of the request
	roundEnded bool              // roundMu guards it
	roundMu    sync.Mutex        // held only to begin and to end the round
	round      Round             // nil if the result cannot ask for input; roundMu guards it
	effect     func(error) error // called with the error of the result, returns its new error; may be nil

	server mcp.ServerSession
}

// received contains the parts of a message that middleware may change.
type received struct {
	message, value peer.Message
	params         json.RawMessage
}

// newSession returns the session of a message.
func newSession(ctx context.Context, conn *Connection, in *peer.Inbound) *session {
	s := new(session)
	s.init(ctx, conn, in, decodedIn(in, conn.state.Revision()))
	if conn.stateless() {
		s.logs = requestedLevel(in)
	}
	return s
}

// init makes s the session of a message. The decoded message is nil if it has not been decoded
// yet. The caller sets the level of the log messages.
func (s *session) init(ctx context.Context, conn *Connection, in *peer.Inbound, decoded peer.Message) {
	s.conn, s.in, s.ctx = conn, in, ctx
	s.received = received{in.Message, in.Value, in.Params}
	s.request, s.unhandled = decoded, decoded != nil
	s.server.SessionCore = s
}

// decodedIn returns the message that the transport has decoded, or nil if it has not decoded it in
// the revision r.
func decodedIn(in *peer.Inbound, r wire.Revision) peer.Message {
	if in.Message != nil && in.Frame.Revision.Index() == r.Index() {
		return in.Message
	}
	return nil
}

// requestedLevel returns the level of log messages in the metadata of a request.
func requestedLevel(in *peer.Inbound) loglevel.Severity {
	if in.ID.IsZero() {
		return 0
	}
	var m metadataReader
	m.read(paramsOf(in))
	return loglevel.Of(m.LogLevel)
}

// handlerContext is the context of a handler: the context of the message, with the session.
type handlerContext session

type sessionKey struct{}

func (c *handlerContext) Deadline() (time.Time, bool) { return c.ctx.Deadline() }
func (c *handlerContext) Done() <-chan struct{}       { return c.ctx.Done() }
func (c *handlerContext) Err() error                  { return c.ctx.Err() }
func (c *handlerContext) Value(key any) any {
	switch key.(type) {
	case sessionKey:
		return (*session)(c)
	case mcp.SessionKey:
		if !c.conn.client {
			return &c.server
		}
	case request.Key:
		return (*requestSetter)(c)
	}
	return c.ctx.Value(key)
}

func sessionFrom(ctx context.Context) *session {
	s, _ := ctx.Value(sessionKey{}).(*session)
	return s
}

// requestSetter implements [request.Setter].
type requestSetter session

// SetRequest replaces the request that [RequestFromContext] returns.
func (s *requestSetter) SetRequest(req peer.Message) { s.request = req }

// WantsProgress reports whether the sender asked for progress.
func (s *requestSetter) WantsProgress() bool { return !s.in.Token.IsZero() }

// LogLevel returns the lowest level of the log messages that the client gets while the request is
// handled, or the empty level if it gets none.
func (s *requestSetter) LogLevel() mcp.LoggingLevel {
	facts := s.conn.state.snapshot()
	switch level := facts.logs.Level(); {
	case !facts.handshake && s.logs == 0:
		return ""
	case !facts.handshake:
		return s.logs.Level()
	case level == "":
		return mcp.LoggingLevelInfo // the client has not set a level
	default:
		return level
	}
}

// expectRound sets a round that begins when it is needed.
func (s *session) expectRound(p *pendingRound) {
	s.roundMu.Lock()
	s.round, s.roundEnded = p, false
	s.roundMu.Unlock()
}

// currentRound returns the round, and begins it if it has not begun.
func (s *session) currentRound() Round {
	s.roundMu.Lock()
	defer s.roundMu.Unlock()
	if p, pending := s.round.(*pendingRound); pending {
		s.round = p.rounds.Begin((*handlerContext)(s), s.in)
		if s.roundEnded {
			s.round.End()
		}
	}
	return s.round
}

// hasRound reports whether there is a round, and whether it has ended.
func (s *session) hasRound() (ok, ended bool) {
	s.roundMu.Lock()
	defer s.roundMu.Unlock()
	return s.round != nil, s.roundEnded
}

// back returns the channel for messages that are related to the message being handled.
func (s *session) back() peer.BackChannel {
	if s.in.Back == nil {
		return outbound.None{}
	}
	return s.in.Back
}

// listens reports whether the message being handled is a subscription, whose stream carries no
// other messages.
func (s *session) listens() bool { return s.in.Method == mcp.MethodSubscriptionsListen }

// reportsProgress reports whether a progress notification is about the message being handled and
// has no members that [peer.Progress] does not have.
func (s *session) reportsProgress(p *mcp.ProgressNotification) bool {
	return !s.in.Token.IsZero() && p.ProgressToken == s.in.Token && p.Meta == nil && len(p.Extra) == 0
}

// Revision implements [mcp.SessionCore].
func (s *session) Revision() wire.Revision { return s.conn.Revision() }

// ClientInfo implements [mcp.SessionCore].
func (s *session) ClientInfo() *mcp.Implementation { return s.conn.ClientInfo() }

// ClientCapabilities implements [mcp.SessionCore].
func (s *session) ClientCapabilities() *mcp.ClientCapabilities { return s.conn.ClientCapabilities() }

// HasClientCapability implements [mcp.SessionCore].
func (s *session) HasClientCapability(want *mcp.ClientCapabilities) bool {
	return s.conn.HasClientCapability(want)
}

// Transport implements [mcp.SessionCore].
func (s *session) Transport() peer.TransportContext {
	if stateless := s.conn.stateless(); stateless || s.in.Transport == nil {
		return transportFor(s.in.Transport, stateless)
	}
	return s.in.Transport
}

// transportFor returns the transport context for a handler. In a stateless revision, it cannot
// send requests.
func transportFor(t peer.TransportContext, stateless bool) peer.TransportContext {
	switch {
	case t == nil:
		return peer.NewTransportContext("", !stateless, nil, "")
	case !t.CanSendRequest():
		return t
	}
	if t, ok := t.(interface{ NotifyOnly() peer.TransportContext }); ok {
		return t.NotifyOnly()
	}
	return &notifyOnlyTransport{t}
}

// notifyOnlyTransport is a transport context that cannot send requests.
type notifyOnlyTransport struct{ peer.TransportContext }

func (*notifyOnlyTransport) CanSendRequest() bool { return false }

// Unwrap returns the transport's own context.
func (t *notifyOnlyTransport) Unwrap() peer.TransportContext { return t.TransportContext }
