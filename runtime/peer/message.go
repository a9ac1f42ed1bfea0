package peer

import "github.com/mcpwright/mcp/runtime/wire"

// Message is a request or a notification. The generated message types implement it.
type Message interface {
	wire.Params
	// Method returns the name of the method. It is constant for a type, and may be called on a nil
	// pointer.
	Method() string
}

// Request is a message that is answered with a result of type R.
type Request[R wire.Value] interface {
	Message
	// NewResult returns an empty result, for decoding the response.
	NewResult() R
}

// Named is a message about a tool, prompt or resource. In stateless revisions, the HTTP transport
// repeats the name in a header.
type Named interface {
	Message
	// NameMember returns the name, or "".
	NameMember() string
}

// Extension is a message of an extension of the protocol. It is available in stateless revisions,
// if both peers have declared the extension; for a [ServerExtension], if the server has. In
// handshake revisions, another message may have the same method.
type Extension interface {
	Message
	// Extension returns the identifier of the extension. It is constant for a type, and may be
	// called on a nil pointer.
	Extension() string
}

// ServerExtension is a message of an extension that only servers declare. A server accepts it from
// all clients.
type ServerExtension interface {
	Extension
	// DeclaredByServer does nothing. It marks the messages of such an extension.
	DeclaredByServer()
}

// Notification is a message without a response.
type Notification interface {
	Message
	// IsNotification does nothing. It prevents that requests are sent as notifications.
	IsNotification()
}

// MethodInfo describes a method of the protocol, as defined by the schemas and the text of the
// specification. The generated package has one for each method.
type MethodInfo struct {
	// Name is the name of the method.
	Name string
	// Notification reports whether the message is a notification.
	Notification bool
	// FromClient and FromServer are the revisions in which each side may send the message, other
	// than inside a result.
	FromClient, FromServer wire.Window
	// Embedded are the revisions in which the request is sent inside a result that asks for input.
	Embedded wire.Window
	// MultiRoundTrip are the revisions in which the response may ask for input.
	MultiRoundTrip wire.Window
	// Cacheable are the revisions in which the result has cache hints.
	Cacheable wire.Window
	// Paged reports whether the result is one page of a list.
	Paged bool
	// Standalone reports whether a session sends the message on the connection's own channel, never
	// on the channel of a request.
	Standalone bool
	// Capability is the capability that the receiver of a request, or the sender of a notification,
	// must have declared. It is empty if none is needed.
	Capability string
	// NameMember is the member of the params that the Mcp-Name header repeats. It is empty if there
	// is no such header.
	NameMember string
	// FilterMember is the member of a subscription's filter that requests the notification. It is
	// empty if the notification cannot be subscribed to.
	FilterMember string
}

// ErrorInfo describes an error code of the protocol.
type ErrorInfo struct {
	// Code is the error code.
	Code int64
	// Name is the name of the error in the schema.
	Name string
	// In are the revisions that define the error.
	In wire.Window
	// Others are the codes of the error in revisions with another code than Code.
	Others []OtherCode
}

// OtherCode is the code of an error in some revisions.
type OtherCode struct {
	// Code is the error code.
	Code int64
	// In are the revisions with this code.
	In wire.Window
}

// CodeIn returns the code of the error in a revision.
func (e *ErrorInfo) CodeIn(r wire.Revision) int64 {
	for _, o := range e.Others {
		if o.In.Has(r) {
			return o.Code
		}
	}
	return e.Code
}

// RevisionInfo describes a revision of the protocol.
type RevisionInfo struct {
	// Revision is the value for [wire.Frame].
	Revision wire.Revision
	// Handshake reports whether a session begins with initialize. If not, the revision is
	// stateless: each request contains what the handshake would have defined.
	Handshake bool
}
