package peer

import "github.com/mcpwright/mcp/runtime/wire"

// MethodInfo is what the schemas, and the few facts that only the
// specification's prose holds, say about a method. The generated package has
// one for each.
type MethodInfo struct {
	// Name is the method on the wire.
	Name string
	// Notification tells a notification from a request.
	Notification bool
	// FromClient and FromServer are the revisions in which each side may
	// send the message on its own.
	FromClient, FromServer wire.Window
	// Embedded are the revisions in which the request travels inside a
	// result that asks for input, instead of on its own.
	Embedded wire.Window
	// MultiRoundTrip are the revisions in which the answer may ask for input.
	MultiRoundTrip wire.Window
	// Cacheable are the revisions in which the result carries cache hints.
	Cacheable wire.Window
	// Paged tells that the result is one page of a list.
	Paged bool
	// Standalone tells that a session sends the message on the connection's
	// own channel, never on that of a request.
	Standalone bool
	// Capability is the member of the receiver's capabilities that must be
	// declared, empty where none is needed. For a notification it is the
	// sender that must have declared it.
	Capability string
	// NameMember is the params member that the Mcp-Name header repeats,
	// empty where there is no such header.
	NameMember string
	// FilterMember is the member of a subscription's filter that asks for
	// the notification, empty where none does.
	FilterMember string
}

// ErrorInfo describes an error code of the protocol.
type ErrorInfo struct {
	// Code is the number on the wire.
	Code int64
	// Name is the schema's name for the error.
	Name string
	// In are the revisions that define it.
	In wire.Window
}

// RevisionInfo describes a revision of the protocol.
type RevisionInfo struct {
	// Revision is the value that frames carry.
	Revision wire.Revision
	// Handshake tells whether a session begins with initialize; without, each
	// request carries what the handshake would have settled.
	Handshake bool
}
