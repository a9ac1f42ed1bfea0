package mcpotel

import (
	"context"
	"iter"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
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

	span  trace.Span
	name  string // of the span
	begun time.Time
}

// noSpan is the span of operations that have none.
var noSpan = trace.SpanFromContext(context.Background())

// start begins the span of the operation. The links may be nil. A sampler gets the
// attributes that many operations have in common; the others follow if the span is
// recorded.
func (o *operation) start(ctx context.Context, links ...trace.Link) context.Context {
	o.begun = time.Now()
	begin := o.t.starts.get(o.startKey(), (*startKey).beginning)
	opts := begin.opts
	if len(links) > 0 {
		opts = append(slices.Clip(opts), trace.WithLinks(links...))
	}
	o.name = begin.name
	ctx, o.span = o.p.tracer.Start(ctx, begin.name, opts...)
	if o.span.IsRecording() {
		o.span.SetAttributes(o.ownAttributes()...)
	}
	return ctx
}

// startKey is what the beginnings of many spans have in common. Each of its members
// has a limited number of values.
type startKey struct {
	kind                trace.SpanKind
	method              string
	tool, prompt        string
	revision, transport string
}

// startKey returns the key of the operation.
func (o *operation) startKey() startKey {
	names := &o.t.names
	return startKey{
		o.kind, names.method(o.m.method), names.tools.known(o.m.tool), names.prompts.known(o.m.prompt),
		o.revision, o.transport,
	}
}

// beginning is the name and the options of a span.
type beginning struct {
	name string
	opts []trace.SpanStartOption
}

// beginning creates the name and the options of the spans with a key.
func (k *startKey) beginning() *beginning {
	l := labels{method: k.method, tool: k.tool, prompt: k.prompt, revision: k.revision, transport: k.transport}
	if l.tool == other {
		l.tool = "" // the attribute will have the name
	}
	if l.prompt == other {
		l.prompt = ""
	}
	attrs := l.attributes()
	if k.tool == other {
		attrs = append(attrs, attribute.String(keyOperation, executeTool))
	}
	return &beginning{k.name(), []trace.SpanStartOption{trace.WithSpanKind(k.kind), trace.WithAttributes(attrs...)}}
}

// name returns the name of a span: the method and, if it is known, the tool or the
// prompt. So the number of names has a limit.
func (k *startKey) name() string {
	switch {
	case k.tool != "" && k.tool != other:
		return k.method + " " + k.tool
	case k.prompt != "" && k.prompt != other:
		return k.method + " " + k.prompt
	}
	return k.method
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
	names.tools.add(o.m.tool, maxTools)
	names.prompts.add(o.m.prompt, maxPrompts)
	if !isProtocolMethod(o.m.method) && !o.id.IsZero() {
		names.methods.add(o.m.method, maxMethods)
	}
	switch res := result.(type) {
	case interface {
		Items() iter.Seq[mcpserver.Item]
	}: // an encoded list of a server
		for item := range res.Items() {
			switch item.Kind {
			case mcpserver.KindTool:
				names.tools.add(item.Name, maxTools)
			case mcpserver.KindPrompt:
				names.prompts.add(item.Name, maxPrompts)
			}
		}
	case *mcp.ListToolsResult:
		for i := range res.Tools {
			names.tools.add(res.Tools[i].Name, maxTools)
		}
	case *mcp.ListPromptsResult:
		for i := range res.Prompts {
			names.prompts.add(res.Prompts[i].Name, maxPrompts)
		}
	}
}

// finish adds what is known after the operation to a span that is recorded.
func (o *operation) finish(result wire.Value, err error, f failure) {
	key := o.startKey()
	if name := key.name(); name != o.name {
		o.span.SetName(name)
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
	names := &o.t.names
	if f.code != "" {
		if names.codes.add(f.code, maxCodes); !names.codes.has(f.code) {
			f.kind, f.code = other, other
		}
	}
	l := labels{
		method:     names.method(o.m.method),
		tool:       names.tools.known(o.m.tool),
		prompt:     names.prompts.known(o.m.prompt),
		revision:   o.revision,
		transport:  o.transport,
		errorType:  f.kind,
		statusCode: f.code,
	}
	h := o.p.metrics.serverOperation
	if o.kind == trace.SpanKindClient {
		h = o.p.metrics.clientOperation
	}
	o.p.metrics.record(ctx, h, time.Since(o.begun).Seconds(), &l)
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
	s.metrics.record(ctx, h, time.Since(s.begun).Seconds(), &s.labels)
}
