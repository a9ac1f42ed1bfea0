package mcpotel

import (
	"context"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// operation is one message that is being sent or handled.
type operation struct {
	t         *telemetry
	p         *providers
	m         message
	kind      trace.SpanKind
	revision  string
	transport string
	session   string
	id        wire.RequestID
	from      peer.TransportContext // of a received message

	span   trace.Span
	name   string  // of the span
	series *series // nil before the start, and for a report until it succeeds
	begun  time.Time
}

// noSpan is the span of operations that have none.
var noSpan = trace.SpanFromContext(context.Background())

// start begins the span of the operation. The links may be nil. A sampler gets the
// name and the kind of the span, the method, and the tool or prompt. The other attributes
// follow if the span is recorded.
func (o *operation) start(ctx context.Context, links ...trace.Link) context.Context {
	o.begun = time.Now()
	o.series = o.t.seriesOf(o.key())
	o.name = o.series.name
	opts := o.series.start
	if len(links) > 0 {
		opts = append(slices.Clip(opts), trace.WithLinks(links...))
	}
	ctx, o.span = o.p.tracer.Start(ctx, o.name, opts...)
	if o.span.IsRecording() {
		o.span.SetAttributes(o.series.attrs...)
		o.span.SetAttributes(o.ownAttributes()...)
	}
	return ctx
}

// key returns the key of the operation's series.
func (o *operation) key() seriesKey {
	return seriesKey{o.kind, o.m.method, o.m.tool, o.m.prompt, o.revision, o.transport}
}

// ownAttributes returns the attributes that differ from operation to operation.
func (o *operation) ownAttributes() []attribute.KeyValue {
	all := make([]attribute.KeyValue, 0, 8)
	add := func(key, value string) {
		if value != "" {
			all = append(all, attribute.String(key, clip(value)))
		}
	}
	add(keySession, o.session)
	if !o.id.IsZero() {
		add(keyRequestID, o.id.String())
	}
	add(keyURI, o.m.uri)
	add(keyClient, o.client())
	names := &o.t.names
	if names.method(o.m.method) == other {
		add(keyMethod, o.m.method)
	}
	if !names.tools.has(o.m.tool) {
		add(keyTool, o.m.tool)
	}
	if !names.prompts.has(o.m.prompt) {
		add(keyPrompt, o.m.prompt)
	}
	return all
}

// client returns the address of the client, or "".
func (o *operation) client() string {
	if o.from == nil {
		return ""
	}
	return clientAddress(o.from)
}

// end ends the operation with its result.
func (o *operation) end(ctx context.Context, result wire.Value, err error) {
	f := failureOf(result, err)
	if f.kind == "" {
		o.learn(result)
	}
	if o.span.IsRecording() {
		o.finish(result, err, f)
	}
	o.span.End()
	if o.p.metrics != nil {
		o.measure(ctx, f)
	}
}

// learn adds the names that a successful operation has shown to exist.
func (o *operation) learn(result wire.Value) {
	names := &o.t.names
	if o.series == nil || !o.series.known {
		names.tools.add(o.m.tool, maxTools)
		names.prompts.add(o.m.prompt, maxPrompts)
		if !isProtocolMethod(o.m.method) && !o.id.IsZero() {
			names.methods.add(o.m.method, maxMethods)
		}
		o.series = o.t.seriesOf(o.key())
	}
	if o.m.method == mcp.MethodListTools || o.m.method == mcp.MethodListPrompts {
		names.learnList(result)
	}
}

// finish adds what is known after the operation to a span that is recorded.
func (o *operation) finish(result wire.Value, err error, f failure) {
	if !o.series.known {
		o.series = o.t.seriesOf(o.key())
	}
	if o.series.name != o.name {
		o.span.SetName(o.series.name)
	}
	redact := o.t.opts.Redact
	if f.kind != "" {
		o.span.SetAttributes(attribute.String(keyErrorType, f.kind))
		text := ""
		if redact != nil && f.text != "" {
			text = redact(keyErrorText, o.m.tool, f.text)
		}
		o.span.SetStatus(codes.Error, text)
	}
	if f.code != "" {
		o.span.SetAttributes(attribute.String(keyStatusCode, f.code))
	}
	if input := inputRequired(result, err); input != nil {
		o.span.AddEvent("mcp.input_required", trace.WithAttributes(attribute.Int("mcp.input_required.requests", len(input.InputRequests))))
	}
	if redact != nil && o.m.tool != "" {
		o.recordContent(result)
	}
}

// recordContent records the arguments and the result of a tool as far as the program
// allows.
func (o *operation) recordContent(result wire.Value) {
	record := func(key attribute.Key, value string) {
		if text := o.t.opts.Redact(key, o.m.tool, value); text != "" {
			o.span.SetAttributes(key.String(text))
		}
	}
	if o.m.arguments != nil {
		record(keyArguments, string(o.m.arguments))
	}
	if res, ok := result.(*mcp.CallToolResult); ok && res != nil {
		if data, err := wire.Append(nil, nil, res); err == nil {
			record(keyResult, string(data))
		}
	}
}

// measure records the duration of the operation.
func (o *operation) measure(ctx context.Context, f failure) {
	h := o.p.metrics.serverOperation
	if o.kind == trace.SpanKindClient {
		h = o.p.metrics.clientOperation
	}
	if !h.Enabled(ctx) {
		return
	}
	var record []metric.RecordOption
	if f.kind != "" {
		record = o.failed(f) // there may be no series
	} else {
		record = o.series.record
	}
	h.Record(ctx, time.Since(o.begun).Seconds(), record...)
}

// failed returns the labels of an operation that has failed.
func (o *operation) failed(f failure) []metric.RecordOption {
	names := &o.t.names
	if f.code != "" {
		if names.codes.add(f.code, maxCodes); !names.codes.has(f.code) {
			f.kind, f.code = other, other
		}
	}
	key := o.key()
	key.limit(names)
	l := key.labels()
	l.errorType, l.statusCode = f.kind, f.code
	return o.t.labels.get(l, (*labels).option)
}

// session is a session that is measured when it ends.
type session struct {
	metrics *metrics
	kind    trace.SpanKind
	labels  labels
	begun   time.Time
}

// newSession returns the session that the operation has begun with this result.
func (o *operation) newSession(result wire.Value) *session {
	s := &session{o.p.metrics, o.kind, labels{revision: o.revision, transport: o.transport}, o.begun}
	if data, err := wire.Append(nil, nil, result); err == nil {
		var res probe
		if wire.DecodeParams(data, nil, &res) == nil && isRevision(res.revision) {
			s.labels.revision = res.revision
		}
	}
	return s
}

// end records the duration of the session.
func (s *session) end(ctx context.Context) {
	h := s.metrics.serverSession
	if s.kind == trace.SpanKindClient {
		h = s.metrics.clientSession
	}
	h.Record(ctx, time.Since(s.begun).Seconds(), s.labels.option()...)
}
