package mcpotel

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"reflect"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// The members of the metadata that W3C trace context and baggage use.
const (
	keyParent  = "traceparent"
	keyState   = "tracestate"
	keyBaggage = "baggage"
)

// w3c is the propagator of programs that have not set one.
var w3c = propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})

// chosen is a propagator in use.
type chosen struct {
	propagator propagation.TextMapPropagator
	w3c        bool                          // it is W3C trace context and baggage
	global     propagation.TextMapPropagator // it was chosen for, or nil
}

// propagation returns the propagator in use.
func (p *providers) propagation() *chosen {
	var global propagation.TextMapPropagator
	if p.propagator == nil {
		global = otel.GetTextMapPropagator()
	}
	if c := p.chosen.Load(); c != nil && identical(c.global, global) {
		return c
	}
	c := &chosen{propagator: p.propagator, global: global}
	if c.propagator == nil {
		c.propagator = global
	}
	if isGlobalDefault(c.propagator) {
		c.propagator = w3c
	}
	c.w3c = reflect.DeepEqual(c.propagator, w3c)
	p.chosen.Store(c)
	return c
}

// identical reports whether two propagators are the same pointer, or the same slice. It
// is false for values of other types, which may differ although they are equal.
func identical(a, b propagation.TextMapPropagator) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	v, w := reflect.ValueOf(a), reflect.ValueOf(b)
	if v.Type() != w.Type() {
		return false
	}
	switch v.Kind() {
	case reflect.Pointer:
		return v.Pointer() == w.Pointer()
	case reflect.Slice:
		return v.Pointer() == w.Pointer() && v.Len() == w.Len()
	}
	return false
}

// inject writes the trace context of ctx into the metadata of a message.
func (c *chosen) inject(ctx context.Context, meta *metaWriter) {
	if !c.w3c {
		c.propagator.Inject(ctx, meta)
		return
	}
	if sc := trace.SpanContextFromContext(ctx); sc.IsValid() {
		if state := sc.TraceState(); state.Len() > 0 {
			meta.Set(keyState, state.String())
		}
		meta.setParent(sc)
	}
	if baggage.FromContext(ctx).Len() > 0 {
		propagation.Baggage{}.Inject(ctx, meta)
	}
}

// extract returns a context with the trace context in the metadata of a message.
func (c *chosen) extract(ctx context.Context, meta metaReader) context.Context {
	var parent trace.SpanContextConfig
	if !c.w3c || !readParent(meta[keyParent], &parent) {
		return c.propagator.Extract(ctx, meta)
	}
	if _, has := meta[keyState]; has {
		parent.TraceState, _ = trace.ParseTraceState(meta.Get(keyState)) // an invalid state is ignored
	}
	ctx = trace.ContextWithRemoteSpanContext(ctx, trace.NewSpanContext(parent))
	if _, has := meta[keyBaggage]; has {
		ctx = propagation.Baggage{}.Extract(ctx, meta)
	}
	return ctx
}

// The flags of a traceparent that are known.
const knownFlags = trace.FlagsSampled | trace.FlagsRandom

// lengthOfParent is the length of a traceparent of version 0, as a JSON string.
const lengthOfParent = len(`"00-` + `0af7651916cd43dd8448eb211c80319c-` + `b7ad6b7169203331-` + `01"`)

// readParent reads a traceparent of version 0. It reports whether it has read one. If it
// has not, the value may still be valid in another form.
func readParent(raw json.RawMessage, to *trace.SpanContextConfig) bool {
	if len(raw) != lengthOfParent || string(raw[:4]) != `"00-` || raw[36] != '-' || raw[53] != '-' || raw[56] != '"' {
		return false
	}
	for _, c := range raw[4:56] {
		if c >= 'A' && c <= 'F' { // which package hex accepts
			return false
		}
	}
	var flags [1]byte
	for _, part := range []struct{ to, from []byte }{
		{to.TraceID[:], raw[4:36]}, {to.SpanID[:], raw[37:53]}, {flags[:], raw[54:56]},
	} {
		if _, err := hex.Decode(part.to, part.from); err != nil {
			return false
		}
	}
	to.TraceFlags = trace.TraceFlags(flags[0])
	return to.TraceFlags&^knownFlags == 0 && to.TraceID.IsValid() && to.SpanID.IsValid()
}

// appendParent appends the traceparent of a span, as a JSON string.
func appendParent(b []byte, sc trace.SpanContext) []byte {
	id, span := sc.TraceID(), sc.SpanID()
	b = append(b, `"00-`...)
	b = append(hex.AppendEncode(b, id[:]), '-')
	b = append(hex.AppendEncode(b, span[:]), '-')
	return append(hex.AppendEncode(b, []byte{byte(sc.TraceFlags() & knownFlags)}), '"')
}
