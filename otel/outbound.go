package mcpotel

import (
	"context"
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

// sending is a message that is being sent. It is one value, so that it is allocated at once.
type sending struct {
	operation
	call peer.CallOptions // of the caller
	meta metaWriter
	room [4]peer.CallOption // for the options of the caller and apply
}

// Call implements [peer.Outbound].
func (s *sender) Call(ctx context.Context, req peer.Message, res wire.Value, opts ...peer.CallOption) error {
	o := s.sending(req, opts)
	if isQuestion(req.Method(), o.call.Frame) {
		err := s.out.Call(ctx, req, res, opts...)
		trace.SpanFromContext(ctx).AddEvent("mcp.question", trace.WithAttributes(
			attribute.String(keyMethod, req.Method()), attribute.Bool("mcp.question.answered", err == nil)))
		return err
	}
	o.id = o.call.ID
	ctx = o.start(ctx)
	err := s.out.Call(ctx, req, res, o.inject(ctx, opts)...)
	if err == nil && req.Method() == mcp.MethodInitialize {
		o.awaitEnd(ctx, s.out, res)
	}
	o.end(ctx, res, err)
	return err
}

// Notify implements [peer.Outbound].
func (s *sender) Notify(ctx context.Context, n peer.Notification, opts ...peer.CallOption) error {
	o := s.sending(n, opts)
	if isReport(n.Method()) {
		trace.SpanFromContext(ctx).AddEvent(n.Method())
		o.begun, o.span = time.Now(), noSpan
		err := s.out.Notify(ctx, n, opts...)
		o.end(ctx, nil, err)
		return err
	}
	ctx = o.start(ctx)
	err := s.out.Notify(ctx, n, o.inject(ctx, opts)...)
	o.end(ctx, nil, err)
	return err
}

// sending returns what is recorded of a message that is sent with these options.
func (s *sender) sending(m peer.Message, opts []peer.CallOption) *sending {
	o := &sending{operation: operation{t: s.t, p: s.p, kind: trace.SpanKindClient}}
	for _, opt := range opts {
		opt(&o.call)
	}
	o.m.method = m.Method()
	o.m.target(m)
	if o.call.Frame != nil {
		o.revision = revisionName(o.call.Frame.Revision)
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

// inject returns the options of the caller with the trace context in the metadata.
func (o *sending) inject(ctx context.Context, opts []peer.CallOption) []peer.CallOption {
	o.meta.use(o.call.Frame)
	if o.p.propagation().Inject(ctx, &o.meta); o.meta.n == 0 {
		return opts
	}
	return append(append(o.room[:0], opts...), o.apply)
}

// apply is a [peer.CallOption] that sets the frame.
func (o *sending) apply(c *peer.CallOptions) { c.Frame = &o.meta.frame }

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
