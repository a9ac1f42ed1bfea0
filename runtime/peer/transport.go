package peer

import "net/http"

// TransportContext is what a transport knows about one inbound message. It is
// immutable. Each transport has a type of its own, which may embed [TransportContext],
// and adds what only it can know; handlers reach that by type assertion.
type TransportContext interface {
	// Kind names the transport, such as "stdio" or "streamable-http".
	Kind() string
	// CanSendRequest tells whether a request sent while the message is being
	// handled can reach the peer and be answered.
	CanSendRequest() bool
	// Header holds the HTTP headers that came with the message, nil on
	// transports without them. It is not to be changed.
	Header() http.Header
	// Principal is the caller as verified by the transport, empty where
	// nobody was.
	Principal() string
}

// Transport is the part that all transports' contexts share, to be embedded by those
// that do not have it anyway; [NewTransport] makes one.
type Transport struct {
	kind           string
	canSendRequest bool
	header         http.Header
	principal      string
}

// NewTransport returns the shared part of a transport's context.
func NewTransport(kind string, canSendRequest bool, header http.Header, principal string) Transport {
	return Transport{kind, canSendRequest, header, principal}
}

// Kind implements [TransportContext].
func (t Transport) Kind() string { return t.kind }

// CanSendRequest implements [TransportContext].
func (t Transport) CanSendRequest() bool { return t.canSendRequest }

// Header implements [TransportContext].
func (t Transport) Header() http.Header { return t.header }

// Principal implements [TransportContext].
func (t Transport) Principal() string { return t.principal }
