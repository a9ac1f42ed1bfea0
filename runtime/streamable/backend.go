package streamable

import (
	"net/http"

	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/revisions"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable/internal/mcphttp"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Backend handles the messages of a request or a session.
type Backend struct {
	// Dispatcher handles the messages.
	Dispatcher *connection.Dispatcher
	// Outgoing replaces the option of [Options].Connection.
	Outgoing []func(peer.Outbound) peer.Outbound
}

// NewChoosingHandler is like [NewHandler] with a function that chooses who handles a request. It
// is called for each request that belongs to no session, including the request that begins a
// session. All further requests of the session have the same backend. If choose returns nil, the
// client gets the status 404. The function may be called concurrently.
//
// NewChoosingHandler panics if [Options].Sharing is set, because there is no request when a
// session continues at another replica.
func NewChoosingHandler(choose func(*http.Request) *Backend, opts *Options) *Handler {
	if opts != nil && opts.Sharing != nil {
		panic("streamable: NewChoosingHandler: sessions cannot be shared")
	}
	h := newHandler(opts)
	h.choose = choose
	return h
}

// backend is a [Backend] with what follows from it. It never changes.
type backend struct {
	dispatcher *connection.Dispatcher
	connection connection.Options
	handshake  bool        // the dispatcher has handshake revisions
	stateless  wire.Window // the stateless revisions of the dispatcher
}

func (h *Handler) newBackend(b *Backend) *backend {
	made := &backend{dispatcher: b.Dispatcher, connection: h.opts.Connection}
	made.connection.Outgoing = b.Outgoing
	for _, r := range b.Dispatcher.Revisions() {
		if revisions.Handshake(r) {
			made.handshake = true
		} else if i := r.Index(); i >= 0 {
			made.stateless |= 1 << i
		}
	}
	return made
}

// noBackend is the error of a request for which no backend was chosen.
const noBackend = "Invalid request: there is no server for this request"

// backendOf returns the backend of a request: the backend of its session, or the chosen one.
func (h *Handler) backendOf(r *http.Request, revision wire.Revision) (*backend, *refusal) {
	if revisions.Handshake(revision) && !h.opts.Stateless && r.Header[mcphttp.HeaderSession] != nil {
		s, refused := h.findSession(r, revision)
		if refused != nil {
			return nil, refused
		}
		defer s.endUse()
		return s.backend, nil
	}
	chosen := h.choose(r)
	if chosen == nil {
		return nil, refuse(http.StatusNotFound, noBackend)
	}
	return h.newBackend(chosen), nil
}
