package streamable

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/buffer"
	"github.com/mcpwright/mcp/runtime/internal/revisions"
	"github.com/mcpwright/mcp/runtime/streamable/internal/mcphttp"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Handler serves one endpoint over HTTP, in all revisions of its dispatcher. It is safe
// for concurrent use. The caller ends it with [Handler.Shutdown] or [Handler.Close].
type Handler struct {
	backend   *backend // of all requests; nil if choose is set
	choose    chooser  // of [NewChoosingHandler]
	opts      Options
	admission admission
	bodies    bodyReader
	sessions  sessionTable
	inFlight  inFlight
	date      dateHeader
}

// NewHandler returns an [http.Handler] that serves a server at one URL, in every revision:
//
//	http.Handle("/mcp", streamable.NewHandler(server, nil))
//
// Nil options are the defaults. If the server is shut down, it also shuts the handler down.
func NewHandler(server Server, opts *Options) *Handler {
	d := server.Dispatcher()
	h := newHandler(withLogger(opts, d))
	h.backend = h.newBackend(d)
	if d.Attach(h) != nil {
		h.Close()
	}
	return h
}

// withLogger returns options with the logger of a dispatcher, unless they have one.
func withLogger(opts *Options, d *connection.Dispatcher) *Options {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Logger == nil {
		o.Logger = d.Logger()
	}
	return &o
}

func newHandler(opts *Options) *Handler {
	h := &Handler{opts: opts.complete()}
	h.opts.Connection.Outbound, h.opts.Connection.Client = nil, false
	h.admission.hosts, h.admission.origins = h.opts.Hosts, h.opts.Origins
	h.bodies.init(&h.opts)
	h.sessions.init(&h.opts)
	h.inFlight.init(&h.opts)
	return h
}

// ServeHTTP implements [http.Handler]. It waits here, and not in a function below, for
// the events of a stream that was requested with GET: a goroutine keeps the stack of all
// its calls while it waits.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f := h.serve(w, r)
	if f == nil {
		return
	}
	for changed := f.sendPending(); changed != nil; changed = f.sendPending() {
		<-changed
	}
}

// serve serves a request. The header with the revision decides whether it belongs to a
// session. The result is a stream whose events must be sent, or nil.
func (h *Handler) serve(w http.ResponseWriter, r *http.Request) *follower {
	revision := headerRevision(r.Header)
	handshake := revisions.Handshake(revision)
	refused, b := h.admission.check(r), h.backend
	if refused == nil && b == nil {
		b, refused = h.backendOf(r, revision)
	}
	switch {
	case refused != nil:
		refused.write(w, !handshake)
		return nil
	case b.handshake && handshake:
		return h.serveSession(w, r, b, revision)
	}
	h.serveStateless(w, r, b, revision)
	return nil
}

// headerRevision returns the revision in the header of a request, or the zero value if
// it is unknown. Without the header, it is the last revision that has no such header.
func headerRevision(header http.Header) (r wire.Revision) {
	switch values := header[mcphttp.HeaderVersion]; len(values) {
	case 0:
		r = mcp.Revision20250326
	case 1:
		r, _ = mcp.ParseRevision(values[0])
	}
	return r
}

// readBody reads the body of a POST request and the content types that the client
// accepts.
func (h *Handler) readBody(r *http.Request) (*buffer.Buffer, acceptedTypes, *refusal) {
	accepts := parseAccept(r.Header)
	if !accepts.json && !accepts.events {
		return nil, accepts, notAcceptable()
	}
	buf, refused := h.bodies.read(r)
	return buf, accepts, refused
}

func notAcceptable() *refusal {
	return refuse(http.StatusNotAcceptable, "Invalid request: Accept must include application/json and text/event-stream")
}

// notAllowed responds to a request whose HTTP method is not supported. The text is for
// users who open the URL in a browser.
func notAllowed(w http.ResponseWriter, allow string) {
	w.Header().Set("Allow", allow)
	http.Error(w, "This is an endpoint of the Model Context Protocol. It supports "+allow+".", http.StatusMethodNotAllowed)
}

// endTimeout limits the time for handlers to return after their context is cancelled.
const endTimeout = 5 * time.Second

// refuseTimeout is the part of endTimeout for clients to receive an error in place of the response
// of a handler that has not returned.
const refuseTimeout = time.Second

// Shutdown stops serving. It refuses new requests and ends idle streams. Requests in
// flight may finish until ctx ends. Then their contexts are cancelled, and Shutdown
// waits at most five more seconds for their handlers. The requests of handlers that have not
// returned then fail with an error. Shutdown also ends the sessions. It returns the error of
// ctx if requests had to be cancelled, otherwise nil.
//
// Callers usually call it before [http.Server.Shutdown], which waits for streams
// without ending them.
func (h *Handler) Shutdown(ctx context.Context) error {
	h.inFlight.close()
	h.sessions.endStandaloneStreams()
	err := h.inFlight.wait(ctx)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	h.inFlight.cancel()
	h.sessions.end(last)
	handlers, cancel := context.WithTimeout(last, endTimeout-refuseTimeout)
	defer cancel()
	if h.inFlight.wait(handlers) != nil {
		h.inFlight.refuseRemaining(last)
	}
	return err
}

// Close ends the handler like Shutdown, without waiting for requests in flight.
func (h *Handler) Close() error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := h.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// NewHTTPServer returns an HTTP server with timeouts for reading requests. It has no
// timeout for responses, because streams may be open for a long time; a [Handler]
// limits its writes with [Options].WriteTimeout. The arguments are those of
// [http.ListenAndServe].
//
//	server := streamable.NewHTTPServer("localhost:8080", mux)
//	go server.ListenAndServe()
//	…
//	handler.Shutdown(ctx)
//	server.Shutdown(ctx)
func NewHTTPServer(addr string, handler http.Handler) *http.Server {
	return &http.Server{
		Addr:              addr,
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
	}
}
