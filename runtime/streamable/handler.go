package streamable

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/buffer"
	"github.com/mcpwright/mcp/runtime/internal/eras"
	"github.com/mcpwright/mcp/runtime/wire"
)

// ErrClosing is why the context of a handler ends when its [Handler] shuts down.
var ErrClosing = errors.New("server is shutting down")

// Handler serves one endpoint over HTTP, in every revision that its kernel has.
// It is safe for concurrent use.
type Handler struct {
	kernel   *connection.Dispatcher
	opts     Options
	door     door
	loops    bool        // the kernel has revisions with a handshake
	alone    wire.Window // its revisions without
	uploads  uploads
	sessions sessionTable
	work     work
	date     date
}

// NewHandler returns the handler of an endpoint. Nil as options is the default.
func NewHandler(kernel *connection.Dispatcher, opts *Options) *Handler {
	h := &Handler{kernel: kernel, opts: opts.complete()}
	h.opts.Connection.Outbound, h.opts.Connection.Client = nil, false
	h.door.hosts, h.door.origins = h.opts.Hosts, h.opts.Origins
	for _, r := range kernel.Revisions() {
		if eras.Handshake(r) {
			h.loops = true
		} else if i := r.Index(); i >= 0 {
			h.alone |= 1 << i
		}
	}
	h.uploads.init(&h.opts)
	h.sessions.init(&h.opts)
	h.work.init(&h.opts)
	return h
}

// ServeHTTP implements [http.Handler]. A client that follows a stream waits here:
// for as long as it does it holds the stack of all that has been called.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f := h.serve(w, r)
	if f == nil {
		return
	}
	for changed := f.catchUp(); changed != nil; changed = f.catchUp() {
		<-changed
	}
}

// serve serves a request. The header with the revision alone tells which way it
// goes. What it returns is a stream that is still to be followed, nil for none.
func (h *Handler) serve(w http.ResponseWriter, r *http.Request) *follow {
	revision := revisionOf(r.Header)
	handshake := eras.Handshake(revision)
	switch no := h.door.check(r); {
	case no != nil:
		no.write(w, !handshake)
		return nil
	case h.loops && handshake:
		return h.serveSession(w, r, revision)
	}
	h.servePerRequest(w, r, revision)
	return nil
}

// revisionOf is the revision that a request is in, zero where it names none that
// there is. The oldest ones are not named.
func revisionOf(header http.Header) (r wire.Revision) {
	switch values := header[headerVersion]; len(values) {
	case 0:
		r = mcp.Revision20250326
	case 1:
		r, _ = mcp.ParseRevision(values[0])
	}
	return r
}

// body reads the body of a POST, and what the client takes as an answer.
func (h *Handler) body(r *http.Request) (*buffer.Buffer, accepted, *refusal) {
	takes := acceptedBy(r.Header)
	if !takes.json && !takes.events {
		return nil, takes, notAcceptable()
	}
	buf, no := h.uploads.read(r)
	return buf, takes, no
}

func notAcceptable() *refusal {
	return refuse(http.StatusNotAcceptable, "Invalid request: the client has to accept application/json and text/event-stream")
}

// notAllowed answers a request with another HTTP method, in words for somebody
// who came with a browser.
func notAllowed(w http.ResponseWriter, allow string) {
	w.Header().Set("Allow", allow)
	http.Error(w, "This is an endpoint of the Model Context Protocol. Its clients use "+allow+".", http.StatusMethodNotAllowed)
}

// farewell is how long sessions have to end once nothing is awaited any more.
const farewell = 5 * time.Second

// Shutdown stops serving. New requests are refused, streams that only wait end
// in order, and what is being handled may finish until ctx ends; then it is
// cancelled, and left behind if it does not heed that within five seconds.
// Sessions end last. The error is that of ctx where something had to be
// cancelled.
//
// It is usually called before that of the [http.Server], which waits for
// streams as long as they last.
func (h *Handler) Shutdown(ctx context.Context) error {
	h.work.close()
	h.sessions.hangUp()
	err := h.work.wait(ctx)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	h.work.cancel()
	h.sessions.end(last)
	h.work.wait(last)
	return err
}

// Close is a Shutdown that waits for nobody.
func (h *Handler) Close() error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := h.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}
