package streamable

import (
	"net/http"

	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/revisions"
	"github.com/mcpwright/mcp/runtime/streamable/internal/mcphttp"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Server is what a handler serves: a Server of package mcpserver, or a [connection.Dispatcher] of a
// program that uses package connection itself.
type Server interface {
	// Dispatcher returns the handler of messages.
	Dispatcher() *connection.Dispatcher
}

// chooser returns the dispatcher for a request, or nil if there is no server for it.
type chooser func(*http.Request) *connection.Dispatcher

// chooserOf returns the chooser for a function that chooses servers.
func chooserOf[S interface {
	comparable
	Server
}](choose func(*http.Request) S) chooser {
	return func(r *http.Request) *connection.Dispatcher {
		var none S
		s := choose(r)
		if s == none {
			return nil
		}
		if s, ok := any(s).(interface{ ShuttingDown() bool }); ok && s.ShuttingDown() {
			return nil
		}
		return s.Dispatcher()
	}
}

// NewChoosingHandler is like [NewHandler] for several servers, for example one for each customer, or
// one with the tools that the caller of a request may use:
//
//	http.Handle("/mcp", streamable.NewChoosingHandler(func(r *http.Request) *mcpserver.Server {
//		return servers[r.PathValue("customer")]
//	}, nil))
//
// The function choose is called for each request of a stateless revision, and for the request that
// begins a session; all further requests of the session have the same server. It may return a new
// server for each call, and may be called concurrently. If it returns nil, or a server that has
// been shut down, the client gets the status 404. Middleware in front of the handler can verify
// the caller.
//
// The program shuts the handler down, which ends the sessions of all servers. Servers that have
// tasks, subscriptions, or a Bus must be used for more than one request, and are shut down by the
// program, too. The handler lists the sessions; the servers do not.
//
// NewChoosingHandler panics if [Options].Sharing is set, because there is no request when a
// session continues at another replica.
func NewChoosingHandler[S interface {
	comparable
	Server
}](choose func(*http.Request) S, opts *Options) *Handler {
	if opts != nil && opts.Sharing != nil {
		panic("streamable: NewChoosingHandler: sessions cannot be shared")
	}
	h := newHandler(opts)
	h.choose = chooserOf(choose)
	return h
}

// backend is a dispatcher with what follows from it. It never changes.
type backend struct {
	dispatcher *connection.Dispatcher
	connection connection.Options
	handshake  bool        // the dispatcher has handshake revisions
	stateless  wire.Window // the stateless revisions of the dispatcher
}

func (h *Handler) newBackend(d *connection.Dispatcher) *backend {
	made := &backend{dispatcher: d, connection: connectionOptions(&h.opts, d)}
	for _, r := range d.Revisions() {
		if revisions.Handshake(r) {
			made.handshake = true
		} else if i := r.Index(); i >= 0 {
			made.stateless |= 1 << i
		}
	}
	return made
}

// connectionOptions returns the options of the connections of a dispatcher.
func connectionOptions(o *Options, d *connection.Dispatcher) connection.Options {
	c := o.Connection
	if c.Outgoing == nil {
		c.Outgoing = d.Outgoing()
	}
	return c
}

// noBackend is the error of a request for which no server was chosen.
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
