package wire

import (
	"encoding/json"
	"reflect"
)

// Frame describes how to write or read one message. A nil *Frame is equivalent to
// the zero Frame. This package never changes a Frame, so goroutines may share one.
type Frame struct {
	// Revision is the protocol revision to write or to expect. The zero
	// Revision selects the all-revisions form.
	Revision Revision

	// Meta contains members that encoding adds to the "_meta" of the top-level
	// value, in this order. An entry replaces a member of the same name, unless
	// GivesWay is set. Names must be unique. Decoding ignores Meta.
	Meta []Entry

	// Also contains members that [AppendResult] adds to the result if the
	// result does not have them. Decoding ignores Also.
	Also []Entry

	// MaxDepth limits the nesting of objects and arrays. If it is 0 or
	// negative, the limit is DefaultMaxDepth. Values above 10,000 mean 10,000.
	// Encoding applies the limit to each raw value.
	MaxDepth int

	// Checked asserts that raw values are valid. When encoding, it means that
	// all raw values in the value, in Meta and in Also came from a Decoder or
	// from Compact. They are copied without a check. When decoding, it means
	// that this package has accepted the bytes before. Raw values are then not
	// checked again.
	Checked bool

	// KeepFalse is for programs that send decoded values on. An explicit false of a
	// member that has the same meaning without it is stored in Extra, under the
	// member's name, so that it is encoded again. Encoding ignores KeepFalse.
	KeepFalse bool
}

// Entry is one member of a JSON object, usually of a "_meta".
type Entry struct {
	Name  string
	Value json.RawMessage
	// GivesWay means that the entry does not replace a member of the same name
	// in the value. It is supported for the first 64 entries of a frame.
	GivesWay bool
	// Checked asserts that Name is valid UTF-8 and that this package wrote Value.
	// The entry is then copied without a check.
	Checked bool
}

const (
	// DefaultMaxDepth limits the nesting of objects and arrays if a Frame sets
	// no limit.
	DefaultMaxDepth = 256

	// maxNesting is the highest value of MaxDepth. Reading recurses once per level.
	maxNesting = 10_000
)

// noFrame is used in place of a nil *Frame.
var noFrame Frame

// depth returns the effective limit on nesting.
func (f *Frame) depth() int {
	if f.MaxDepth <= 0 {
		return DefaultMaxDepth
	}
	return min(f.MaxDepth, maxNesting)
}

// Value is implemented by types that can be written and read as JSON. Generated
// types implement it with pointer receivers.
type Value interface {
	// AppendJSON appends exactly one JSON value to b and returns the extended
	// slice. It reports failures to e; its result is then ignored.
	AppendJSON(b []byte, e *Encoder) []byte

	// DecodeJSON reads exactly one JSON value. It reports failures to d.
	DecodeJSON(d *Decoder)
}

// Params is implemented by types that can be the "params" of a request or
// notification. Its methods are like those of [Value], but the JSON value is
// always an object.
type Params interface {
	AppendParams(b []byte, e *Encoder) []byte
	DecodeParams(d *Decoder)
}

// ReadOnly can be embedded in a type that is only read, so that the type
// implements [Value] or [Params]. Writing such a type fails.
type ReadOnly struct{}

// AppendJSON implements [Value].
func (ReadOnly) AppendJSON(b []byte, e *Encoder) []byte { return e.Missing(b, "a value") }

// AppendParams implements [Params].
func (ReadOnly) AppendParams(b []byte, e *Encoder) []byte { return e.Missing(b, "a value") }

// Append appends v to b as JSON. If it fails, it returns b unchanged and an
// *EncodeError.
func Append(b []byte, f *Frame, v Value) ([]byte, error) {
	e := newEncoder(f, v, len(b))
	return e.finish(b, v.AppendJSON(b, e))
}

// AppendParams is like [Append] for params. It adds the frame's Meta even if p
// does not call [AppendMeta].
func AppendParams(b []byte, f *Frame, p Params) ([]byte, error) {
	e := newEncoder(f, p, len(b))
	return e.finish(b, e.mergeFrameMeta(p.AppendParams(b, e), len(b)))
}

// Decode reads v from data, which must contain exactly one JSON value. The error
// is a *DecodeError; v then contains the members read before the failure.
func Decode(data []byte, f *Frame, v Value) error {
	d := newDecoder(data, f)
	v.DecodeJSON(d)
	return d.finish()
}

// DecodeWith is like [Decode] for a type that is not a [Value]. It calls read to
// read v.
func DecodeWith[V any](data []byte, f *Frame, v V, read func(*Decoder, V)) error {
	d := newDecoder(data, f)
	read(d, v)
	return d.finish()
}

// DecodeParams is like [Decode] for params.
func DecodeParams(data []byte, f *Frame, p Params) error {
	d := newDecoder(data, f)
	p.DecodeParams(d)
	return d.finish()
}

// Marshal returns v as JSON in the all-revisions form. Generated MarshalJSON
// methods call it. It is not inlined, because programs have more than a hundred of them.
//
//go:noinline
func Marshal(v Value) ([]byte, error) {
	b, err := Append(nil, nil, v)
	if err != nil {
		return nil, err
	}
	return b, nil
}

// Unmarshal sets v, which is a pointer, to its zero value, and reads it from data in the
// all-revisions form. Generated UnmarshalJSON methods call it.
func Unmarshal(data []byte, v Value) error {
	reflect.ValueOf(v).Elem().SetZero()
	return Decode(data, nil, v)
}
