package streamable

import (
	"net/http"
	"time"
)

// Kind is what the transport contexts of this package call themselves.
const Kind = "streamable-http"

// TransportContextContext is what the server's end knows about an inbound message. Handlers
// reach it by type assertion:
//
//	if t, ok := session.Transport().(*streamable.TransportContext); ok {
//		log.Printf("from %s", t.Request().RemoteAddr)
//	}
//
// It says itself what a [peer.NewTransportContext] would: nearly all of that is in the request.
type TransportContext struct {
	request   *http.Request
	answer    *sessionPost // nil where nothing is answered, and outside sessions
	principal string
	asks      bool // requests can be sent back
}

// Kind implements [peer.TransportContext]. It is [Kind].
func (t *TransportContext) Kind() string { return Kind }

// CanSendRequest implements [peer.TransportContext].
func (t *TransportContext) CanSendRequest() bool { return t.asks }

// Header implements [peer.TransportContext].
func (t *TransportContext) Header() http.Header { return t.request.Header }

// Principal implements [peer.TransportContext].
func (t *TransportContext) Principal() string { return t.principal }

// Request is the HTTP request that brought the message. Its body has been read.
func (t *TransportContext) Request() *http.Request { return t.request }

// EndStream ends the stream of the answer while the request is still being
// handled, and asks the client to come back for the rest of it after a while.
// What is sent from then on, and the answer, waits for that. It saves both ends
// a connection while something takes long.
//
// It returns false, and nothing happens, where the client could not come back:
// outside a session, before revision 2025-11-25, without [Options].Polling, or
// with [Options].DisableResumption or JSONOnly.
func (t *TransportContext) EndStream(retry time.Duration) bool {
	return t.answer != nil && t.answer.part(retry)
}
