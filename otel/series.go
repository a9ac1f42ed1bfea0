package mcpotel

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// seriesKey contains what the operations of a series have in common.
type seriesKey struct {
	kind                trace.SpanKind
	method              string
	tool, prompt        string
	revision, transport string
}

// slots is the number of series that are found without a lock.
const slots = 64

// slot returns a number below slots. Tools that are called in turn mostly have
// different ones.
func (k *seriesKey) slot() int {
	n := int(k.kind) + 8*len(k.method) + 3*len(k.prompt)
	if last := len(k.tool) - 1; last >= 0 {
		n += 5*last + int(k.tool[0]) + 2*int(k.tool[last])
	}
	return n % slots
}

// series contains the prepared parts of the spans and measurements of many operations,
// so that an operation builds none of them.
type series struct {
	key    seriesKey
	known  bool // no name is replaced
	name   string
	start  []trace.SpanStartOption
	attrs  []attribute.KeyValue  // that spans which are recorded have in addition
	record []metric.RecordOption // the labels of operations that succeed
}

// seriesOf returns the series of a key. Names that are not known are replaced, so the
// number of series has a limit.
func (t *telemetry) seriesOf(k seriesKey) *series {
	recent := &t.recent[k.slot()]
	if s := recent.Load(); s != nil && s.key == k {
		return s
	}
	if s, ok := t.series.find(&k); ok { // all names are known
		recent.Store(s)
		return s
	}
	k.limit(&t.names)
	return t.series.get(k, (*seriesKey).series)
}

// limit replaces the names that are not known.
func (k *seriesKey) limit(n *names) {
	k.method, k.tool, k.prompt = n.method(k.method), n.tools.known(k.tool), n.prompts.known(k.prompt)
}

// series creates the series of a key whose names have been limited.
func (k *seriesKey) series() *series {
	l := k.labels()
	s := &series{
		key:    *k,
		known:  k.method != other && k.tool != other && k.prompt != other,
		name:   k.name(),
		record: l.option(),
	}
	target := labels{method: k.method, tool: k.tool, prompt: k.prompt}
	if k.tool == other {
		target.tool = "" // the attribute will have the name
	}
	if k.prompt == other {
		target.prompt = ""
	}
	s.start = []trace.SpanStartOption{trace.WithSpanKind(k.kind), trace.WithAttributes(target.names()...)}
	s.attrs = l.others()
	return s
}

// name returns the name of a span: the method and, if it is known, the tool or the
// prompt.
func (k *seriesKey) name() string {
	switch {
	case k.tool != "" && k.tool != other:
		return k.method + " " + k.tool
	case k.prompt != "" && k.prompt != other:
		return k.method + " " + k.prompt
	}
	return k.method
}

// labels returns the labels of the operations that succeed.
func (k *seriesKey) labels() labels {
	return labels{method: k.method, tool: k.tool, prompt: k.prompt, revision: k.revision, transport: k.transport}
}

// labels are the attributes of a measurement. Each has a limited number of values.
type labels struct {
	method, tool, prompt  string
	revision, transport   string
	errorType, statusCode string
}

// names returns the method, the tool and the prompt as attributes.
func (l *labels) names() []attribute.KeyValue {
	return texts(keyMethod, l.method, keyTool, l.tool, keyPrompt, l.prompt)
}

// others returns the other labels as attributes.
func (l *labels) others() []attribute.KeyValue {
	operation := ""
	if l.tool != "" {
		operation = executeTool
	}
	all := texts(keyOperation, operation, keyRevision, l.revision, keyErrorType, l.errorType, keyStatusCode, l.statusCode)
	return append(all, transportAttributes(l.transport)...)
}

// option returns the labels as an option.
func (l *labels) option() []metric.RecordOption {
	return []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(append(l.names(), l.others()...)...))}
}

// texts returns attributes with the values that are not empty.
func texts(pairs ...string) []attribute.KeyValue {
	all := make([]attribute.KeyValue, 0, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			all = append(all, attribute.String(pairs[i], pairs[i+1]))
		}
	}
	return all
}
