package mcpotel

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/http"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// middleware records each message that is received.
func (t *telemetry) middleware(next peer.Handler) peer.Handler { return &handler{t, next} }

type handler struct {
	t    *telemetry
	next peer.Handler
}

// IgnoresLists marks middleware that does not use lists, see [peer.Observer].
func (h *handler) IgnoresLists() {}

// Handle implements [peer.Handler].
func (h *handler) Handle(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
	p := h.t.current()
	if p == nil {
		return h.next.Handle(ctx, in)
	}
	return h.record(ctx, p, in)
}

// record handles a message in a span of the kind SERVER.
func (h *handler) record(ctx context.Context, p *providers, in *peer.Inbound) (reply peer.Reply, err error) {
	o := &operation{t: h.t, p: p, m: inboundMessage(in), kind: trace.SpanKindServer, id: in.ID}
	conn := connection.FromContext(ctx)
	if conn != nil {
		o.revision, o.session = revisionName(conn.Revision()), conn.SessionID()
	}
	var header http.Header
	if in.Transport != nil {
		o.from, o.transport, header = in.Transport, transportOf(in.Transport.Kind()), http.Header(in.Transport.Header())
	}
	if isReport(in.Method) {
		return h.measureOnly(ctx, o, in)
	}
	ctx, links := h.t.extract(ctx, p, o.m.meta, header)
	ctx = o.start(ctx, links...)
	done := false
	defer func() {
		if !done { // the handler panicked or ended its goroutine
			o.end(ctx, nil, errPanic)
		}
	}()
	reply, err = h.next.Handle(ctx, in)
	done = true
	if in.Method == mcp.MethodInitialize && err == nil && conn != nil {
		o.beginSession(conn, reply.Result)
	}
	o.end(ctx, reply.Result, err)
	return reply, err
}

// measureOnly handles a progress report or a log message, which have no span.
func (h *handler) measureOnly(ctx context.Context, o *operation, in *peer.Inbound) (peer.Reply, error) {
	o.span, o.begun = noSpan, time.Now()
	reply, err := h.next.Handle(ctx, in)
	o.end(ctx, nil, err)
	return reply, err
}

// isReport reports whether a notification has no span because there may be many of
// them for one request.
func isReport(method string) bool {
	return method == mcp.MethodProgress || method == "notifications/message"
}

// extract returns a context with the trace context of a received message. The
// metadata has precedence over the span of the context, and that over the headers. If
// a span of the context is not the parent, it becomes a link.
func (t *telemetry) extract(ctx context.Context, p *providers, meta metaReader, header http.Header) (context.Context, []trace.Link) {
	ambient := trace.SpanContextFromContext(ctx)
	propagation := p.propagation()
	if len(meta) > 0 {
		sent := propagation.extract(ctx, meta)
		parent := trace.SpanContextFromContext(sent)
		if parent.IsValid() && !parent.Equal(ambient) {
			if ambient.IsValid() {
				return sent, []trace.Link{{SpanContext: ambient}}
			}
			return sent, nil
		}
		ctx = sent // may have baggage
	}
	if header != nil && !ambient.IsValid() {
		ctx = propagation.propagator.Extract(ctx, headerReader(header))
	}
	return ctx, nil
}

// headerReader is a carrier of the headers of a request. It finds the names of W3C without
// allocating their canonical form.
type headerReader http.Header

// Get returns the first value of a header, or "".
func (h headerReader) Get(key string) string {
	switch key {
	case keyParent:
		key = "Traceparent"
	case keyState:
		key = "Tracestate"
	case keyBaggage:
		key = "Baggage"
	default:
		key = http.CanonicalHeaderKey(key)
	}
	if values := h[key]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// Set does nothing.
func (headerReader) Set(string, string) {}

// Keys returns the names of the headers.
func (h headerReader) Keys() []string { return slices.Collect(maps.Keys(h)) }

// clientAddress returns the IP address of an HTTP client, or "".
func clientAddress(t peer.TransportContext) string {
	with, ok := t.(interface{ Request() *http.Request })
	if !ok || with.Request() == nil {
		return ""
	}
	host, _, err := net.SplitHostPort(with.Request().RemoteAddr)
	if err != nil {
		return ""
	}
	return host
}

// beginSession measures the session of a connection when it is closed.
func (o *operation) beginSession(conn *connection.Connection, result wire.Value) {
	if o.p.metrics == nil {
		return
	}
	s := o.newSession(result)
	conn.OnClose(func(ctx context.Context) error {
		s.end(ctx)
		return nil
	})
}

// inputRequired returns the questions in a result or an error, or nil.
func inputRequired(result wire.Value, err error) *mcp.InputRequiredResult {
	if e, ok := errors.AsType[*mcp.InputRequiredError](err); ok {
		return e.Result
	}
	res, _ := result.(*mcp.InputRequiredResult)
	return res
}
