package mcpotel

import (
	"context"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// outgoing records each message that is sent.
func (t *telemetry) outgoing(out peer.Outbound) peer.Outbound {
	p := t.current()
	if p == nil {
		return out
	}
	return &sender{t, p, out}
}

type sender struct {
	t   *telemetry
	p   *providers
	out peer.Outbound
}

// Call implements [peer.Outbound].
func (s *sender) Call(ctx context.Context, req peer.Message, res wire.Value, opts ...peer.CallOption) error {
	var c peer.CallOptions
	for _, opt := range opts {
		opt(&c)
	}
	o := s.operation(req, &c)
	if isQuestion(req.Method(), c.Frame) {
		err := s.out.Call(ctx, req, res, opts...)
		trace.SpanFromContext(ctx).AddEvent("mcp.question", trace.WithAttributes(
			attribute.String(keyMethod, req.Method()), attribute.Bool("mcp.question.answered", err == nil)))
		return err
	}
	o.id = c.ID
	ctx = o.start(ctx)
	err := s.out.Call(ctx, req, res, s.inject(ctx, &c, opts)...)
	if err == nil && req.Method() == mcp.MethodInitialize {
		o.awaitEnd(ctx, s.out, res)
	}
	o.end(ctx, res, err)
	return err
}

// Notify implements [peer.Outbound].
func (s *sender) Notify(ctx context.Context, n peer.Notification, opts ...peer.CallOption) error {
	var c peer.CallOptions
	for _, opt := range opts {
		opt(&c)
	}
	o := s.operation(n, &c)
	if isReport(n.Method()) {
		trace.SpanFromContext(ctx).AddEvent(n.Method())
		o.begun, o.span = time.Now(), noSpan
		err := s.out.Notify(ctx, n, opts...)
		o.end(ctx, nil, err)
		return err
	}
	ctx = o.start(ctx)
	err := s.out.Notify(ctx, n, s.inject(ctx, &c, opts)...)
	o.end(ctx, nil, err)
	return err
}

// operation returns the operation of a message that is sent.
func (s *sender) operation(m peer.Message, c *peer.CallOptions) *operation {
	o := &operation{t: s.t, p: s.p, kind: trace.SpanKindClient}
	o.m.method = m.Method()
	o.m.target(m)
	if c.Frame != nil {
		o.revision = revisionName(c.Frame.Revision)
	}
	switch link := s.out.(type) {
	case interface{ SessionID() string }: // a client over HTTP
		o.session, o.transport = link.SessionID(), overTCP
	case interface{ PID() int }: // a child process
		o.transport = pipe
	}
	return o
}

// isQuestion reports whether a request is sent in the result of another request.
func isQuestion(method string, frame *wire.Frame) bool {
	if frame == nil {
		return false
	}
	info := mcp.MethodByName(method)
	return info != nil && info.Embedded.Has(frame.Revision) && !info.FromServer.Has(frame.Revision) && !info.FromClient.Has(frame.Revision)
}

// inject returns options that add the trace context to the metadata of a message.
func (s *sender) inject(ctx context.Context, c *peer.CallOptions, opts []peer.CallOption) []peer.CallOption {
	w := new(metaWriter)
	w.use(c.Frame)
	if s.p.propagation().Inject(ctx, w); w.n == 0 {
		return opts
	}
	return append(slices.Clip(opts), w.apply)
}

// awaitEnd measures the session that a client has begun, if the connection reports
// its end.
func (o *operation) awaitEnd(ctx context.Context, out peer.Outbound, result wire.Value) {
	link, ok := out.(interface{ Done() <-chan struct{} })
	if !ok || o.p.metrics == nil {
		return
	}
	s := o.newSession(result)
	ctx = context.WithoutCancel(ctx)
	go func() { // ends with the connection
		<-link.Done()
		s.end(ctx)
	}()
}
