package peer

import (
	"context"
	"encoding/json"

	"github.com/mcpwright/mcp/runtime/wire"
)

// Handler handles the messages of the peer. It is called concurrently. If it returns an error for a
// request, the peer receives [AsError] of the error, or an internal error without details if that
// is nil. Errors for notifications are only logged.
type Handler interface {
	Handle(ctx context.Context, in *Inbound) (Reply, error)
}

// HandlerFunc is a function that implements [Handler].
type HandlerFunc func(ctx context.Context, in *Inbound) (Reply, error)

// Handle calls f.
func (f HandlerFunc) Handle(ctx context.Context, in *Inbound) (Reply, error) { return f(ctx, in) }

// Middleware wraps a handler. It is called for every message of the peer, including unknown
// methods.
type Middleware func(Handler) Handler

// Observer is a [HandlerFunc] of middleware that does not use the results of list requests. It
// behaves like a HandlerFunc. If all middleware of a server are observers, lists are not decoded for
// them: the Result of their replies may have another type than the result of the method.
type Observer func(ctx context.Context, in *Inbound) (Reply, error)

// Handle calls f.
func (f Observer) Handle(ctx context.Context, in *Inbound) (Reply, error) { return f(ctx, in) }

// IgnoresLists marks handlers that do not use the results of list requests.
func (Observer) IgnoresLists() {}

// Inbound is a message from the peer that is being handled. It must not be used after its handler has
// returned.
//
// Middleware may change the request for the next handlers: it passes a copy with another Message,
// with other Params, or with another Value. Changes in place have the same effect, and outer
// middleware sees them, too. Of several changes, the Message counts before the Params, and those
// before the Value. The Method, ID, Token and Back must not be changed.
type Inbound struct {
	// Method is the name of the method.
	Method string
	// ID is the id of a request. It is zero for a notification.
	ID wire.RequestID
	// Params contains the params as they were received. They are valid JSON, but not decoded. It is
	// nil if the message has no params, or if Value is set.
	Params json.RawMessage
	// Value is the message, if it was sent in process without being encoded. Otherwise it is nil.
	Value Message
	// Message contains the decoded params, if the transport has decoded them with Frame. Otherwise
	// it is nil. The handler may keep the message.
	Message Message
	Frame   *wire.Frame
	// Token is the progress token of a request. It is zero if the sender does not want progress
	// reports.
	Token wire.ProgressToken
	// Transport is what the transport knows about the message.
	Transport TransportContext
	// Back sends messages to the peer that belong to this message. It refuses messages after the
	// handler has returned.
	Back BackChannel
}

// Decode decodes the params into m, as defined by the frame's revision. Missing params are an empty
// object. A Value is encoded first. The frame may be nil.
func (in *Inbound) Decode(f *wire.Frame, m wire.Params) error {
	validated := wire.Frame{Checked: true}
	if f != nil {
		validated = *f
		validated.Checked = true
	}
	params := in.Params
	if in.Value != nil {
		var err error
		if params, err = wire.AppendParams(nil, &wire.Frame{Revision: validated.Revision}, in.Value); err != nil {
			return err
		}
	}
	if params == nil {
		params = json.RawMessage("{}")
	}
	return wire.DecodeParams(params, &validated, m)
}

// RequestInfo describes a request that is being handled.
type RequestInfo struct {
	// ID is the id that the peer has chosen.
	ID wire.RequestID
	// Method is the method of the request.
	Method string
	// Name is the name of the tool, prompt or resource, or the empty string.
	Name string
	// Asks reports whether the handler waits for a response of the peer. It is always false in
	// process.
	Asks bool
}

// BackChannel sends messages to the sender of a message while the message is being handled.
type BackChannel interface {
	Outbound
	// Progress reports progress of the request. It does nothing if the sender does not want
	// progress reports, if the progress is not greater than in the previous report, and after the
	// handler has returned.
	Progress(ctx context.Context, p Progress) error
}

// Reply is the result of a handler, and how to encode it.
type Reply struct {
	// Result is nil for a notification.
	Result wire.Value
	// Frame defines how the result is encoded. Nil is the form of all revisions.
	Frame *wire.Frame
}

// TransportContext is what a transport knows about one inbound message. It is immutable. The type
// of a transport usually embeds a TransportContext and adds methods, which handlers use after a
// type assertion.
type TransportContext interface {
	// Kind returns the name of the transport, such as "stdio" or "streamable-http".
	Kind() string
	// CanSendRequest reports whether the handler of the message can send requests to the peer.
	CanSendRequest() bool
	// Header returns the HTTP headers of the message, or nil if the transport has none. They must
	// not be changed.
	Header() Header
	// Principal returns the identity of the sender that the transport has verified, or "".
	Principal() string
}

// NewTransportContext returns a TransportContext with these values.
func NewTransportContext(kind string, canSendRequest bool, header map[string][]string, principal string) TransportContext {
	return &transportContext{kind, canSendRequest, header, principal}
}

type transportContext struct {
	kind           string
	canSendRequest bool
	header         Header
	principal      string
}

func (t *transportContext) Kind() string         { return t.kind }
func (t *transportContext) CanSendRequest() bool { return t.canSendRequest }
func (t *transportContext) Header() Header       { return t.header }
func (t *transportContext) Principal() string    { return t.principal }
