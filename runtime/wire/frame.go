package wire

import "encoding/json"

const (
	// DefaultMaxDepth is how deep objects and arrays may nest where a Frame
	// sets no other bound.
	DefaultMaxDepth = 256

	// deepest bounds MaxDepth itself: reading recurses once per level.
	deepest = 10_000
)

// Frame says how one message is written or read. A nil *Frame is the zero
// Frame. It is only read, and may be shared by goroutines.
type Frame struct {
	// Revision is the protocol revision to write or to expect. The zero
	// Revision is the all-revisions form.
	Revision Revision

	// Meta is written over the "_meta" of the top-level value while encoding,
	// in this order: a name in here replaces the value's own, unless the entry
	// gives way. Names must differ. Decoding ignores it.
	Meta []Entry

	// Also is for a result that does not have these members of its own, see
	// [AppendResult]. Decoding ignores it.
	Also []Entry

	// MaxDepth bounds the nesting of objects and arrays; 0 is
	// DefaultMaxDepth, more than 10,000 is 10,000. While encoding it bounds
	// each raw value.
	MaxDepth int

	// Checked vouches for raw values. While encoding: those in the value and
	// in Meta came from a decoder or from Compact; they are copied, not
	// scanned. While decoding: this package has accepted the bytes before;
	// raw values are not examined again.
	Checked bool
}

// noFrame is what a nil *Frame stands for.
var noFrame Frame

// depth is the bound on nesting that MaxDepth stands for.
func (f *Frame) depth() int {
	if f.MaxDepth <= 0 {
		return DefaultMaxDepth
	}
	return min(f.MaxDepth, deepest)
}

// Entry is one member of an object, in most cases of a "_meta".
type Entry struct {
	Name  string
	Value json.RawMessage
	// GivesWay leaves the value's own member alone where there is one. At most
	// the first 64 entries of a frame may give way.
	GivesWay bool
	// Checked vouches for the entry: its name is UTF-8, and its value is what this
	// package has written.
	Checked bool
}

// Value is what can be written and read as JSON. Generated types implement it
// with pointer receivers.
type Value interface {
	// AppendJSON appends exactly one JSON value to b. Failures are reported
	// to e; what is returned then does not matter.
	AppendJSON(b []byte, e *Encoder) []byte

	// DecodeJSON reads exactly one JSON value. Failures are reported to d.
	DecodeJSON(d *Decoder)
}

// Params is what can be the "params" of a request or notification: as Value,
// but always an object.
type Params interface {
	AppendParams(b []byte, e *Encoder) []byte
	DecodeParams(d *Decoder)
}

// ReadOnly is embedded in a reader to make it a [Value] or [Params]: writing it
// fails.
type ReadOnly struct{}

// AppendJSON implements [Value].
func (ReadOnly) AppendJSON(b []byte, e *Encoder) []byte { return e.Missing(b, "a value") }

// AppendParams implements [Params].
func (ReadOnly) AppendParams(b []byte, e *Encoder) []byte { return e.Missing(b, "a value") }

// Append appends v as JSON. On an error, an *EncodeError, b is returned as it
// was given.
func Append(b []byte, f *Frame, v Value) ([]byte, error) {
	e := newEncoder(f, v, len(b))
	return e.finish(b, v.AppendJSON(b, e))
}

// AppendParams is Append for params. The frame's Meta is in them also where p
// does not know of it.
func AppendParams(b []byte, f *Frame, p Params) ([]byte, error) {
	e := newEncoder(f, p, len(b))
	return e.finish(b, e.overlay(p.AppendParams(b, e), len(b)))
}

// Decode reads v from data, which must hold one JSON value and nothing else.
// An error is a *DecodeError; v then holds what was read before it.
func Decode(data []byte, f *Frame, v Value) error {
	d := newDecoder(data, f)
	v.DecodeJSON(d)
	return d.finish()
}

// DecodeWith is Decode for what is no [Value]: read reads v.
func DecodeWith[V any](data []byte, f *Frame, v V, read func(*Decoder, V)) error {
	d := newDecoder(data, f)
	read(d, v)
	return d.finish()
}

// DecodeParams is Decode for params.
func DecodeParams(data []byte, f *Frame, p Params) error {
	d := newDecoder(data, f)
	p.DecodeParams(d)
	return d.finish()
}

// Marshal writes v in the all-revisions form. It is what a MarshalJSON method
// calls.
func Marshal(v Value) ([]byte, error) {
	b, err := Append(nil, nil, v)
	if err != nil {
		return nil, err
	}
	return b, nil
}

// Unmarshal reads v in the all-revisions form. It is what an UnmarshalJSON
// method calls.
func Unmarshal(data []byte, v Value) error { return Decode(data, nil, v) }
