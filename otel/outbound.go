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

// sending contains the parts of a message being sent that outlive a stack frame. It is one
// value, so that they are allocated at once.
type sending struct {
	call peer.CallOptions // of the caller
	meta metaWriter
	room [3]peer.CallOption // for the options of the caller and apply
}

// Call implements [peer.Outbound].
func (s *sender) Call(ctx context.Context, req peer.Message, res wire.Value, opts ...peer.CallOption) error {
	m := newSending(opts)
	if isQuestion(req.Method(), m.call.Frame) {
		err := s.out.Call(ctx, req, res, opts...)
		trace.SpanFromContext(ctx).AddEvent("mcp.question", trace.WithAttributes(
			attribute.String(keyMethod, req.Method()), attribute.Bool("mcp.question.answered", err == nil)))
		return err
	}
	o := s.operation(req, m)
	o.id = m.call.ID
	ctx = o.start(ctx)
	err := s.out.Call(ctx, req, res, m.inject(ctx, s.p.propagation(), opts)...)
	if err == nil && req.Method() == mcp.MethodInitialize {
		o.awaitEnd(ctx, s.out, res)
	}
	o.end(ctx, res, err)
	return err
}

// Notify implements [peer.Outbound].
func (s *sender) Notify(ctx context.Context, n peer.Notification, opts ...peer.CallOption) error {
	m := newSending(opts)
	o := s.operation(n, m)
	if isReport(n.Method()) {
		trace.SpanFromContext(ctx).AddEvent(n.Method())
		o.begun, o.span = time.Now(), noSpan
		err := s.out.Notify(ctx, n, opts...)
		o.end(ctx, nil, err)
		return err
	}
	ctx = o.start(ctx)
	err := s.out.Notify(ctx, n, m.inject(ctx, s.p.propagation(), opts)...)
	o.end(ctx, nil, err)
	return err
}

// newSending returns a message that is sent with these options.
func newSending(opts []peer.CallOption) *sending {
	m := new(sending)
	for _, opt := range opts {
		opt(&m.call)
	}
	return m
}

// operation returns what is recorded of a message.
func (s *sender) operation(msg peer.Message, m *sending) operation {
	o := operation{t: s.t, p: s.p, kind: trace.SpanKindClient}
	o.m.method = msg.Method()
	o.m.target(msg)
	if m.call.Frame != nil {
		o.revision = revisionName(m.call.Frame.Revision)
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
func (m *sending) inject(ctx context.Context, p *chosen, opts []peer.CallOption) []peer.CallOption {
	m.meta.use(m.call.Frame)
	if p.inject(ctx, &m.meta); m.meta.n == 0 {
		return opts
	}
	return append(append(m.room[:0], opts...), m.apply)
}

// apply is a [peer.CallOption] that sets the frame.
func (m *sending) apply(c *peer.CallOptions) { c.Frame = &m.meta.frame }

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
