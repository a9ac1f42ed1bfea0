package wire

import (
	"errors"
	"fmt"
	"math"
	"sync"
)

var (
	errMissing = errors.New("a required value is not set")
	errNoID    = errors.New("request id is required and not set")
	errEmpty   = errors.New("an empty text is no JSON value")
)

// Encoder carries what the appending of one message needs to know. It is
// handed to AppendJSON methods, which must not keep it, and is for one
// goroutine.
//
// A failure does not stop the appending: the first one is kept, and the output
// is dropped in the end.
type Encoder struct {
	frame *Frame
	mask  Window // of the frame's revision
	start int    // where the message begins in the output
	err   *EncodeError

	top  any    // the value handed to Append
	over bool   // its "_meta" is being written, and the frame's goes over it
	met  bool   // it has been
	own  int    // where it begins in the output
	kept uint64 // bits of the entries that have given way in it

	names []string // scratch: names to be sorted, a stack
	scan  Decoder  // checks raw values
}

var encoders = sync.Pool{New: func() any { return new(Encoder) }}

// newEncoder takes an encoder for the message that begins at start.
func newEncoder(f *Frame, top any, start int) *Encoder {
	e := encoders.Get().(*Encoder)
	if f == nil {
		f = &noFrame
	}
	e.frame, e.mask, e.top, e.start = f, f.Revision.mask(), top, start
	return e
}

// finish gives e back. It returns out, or, after a failure, b.
func (e *Encoder) finish(b, out []byte) ([]byte, error) {
	err := e.err
	e.err, e.top, e.frame, e.over, e.met = nil, nil, nil, false, false
	if e.scan.doc != nil || cap(e.names) > 1024 {
		e.clear()
	}
	encoders.Put(e)
	if err != nil {
		return b, err
	}
	return out, nil
}

// clear makes e forget the scratch space that it need not keep.
func (e *Encoder) clear() {
	if cap(e.names) > 1024 {
		e.names = nil
	}
	e.scan.outcome() // there is none left: scanned takes it
}

// Revision returns the revision that is written.
func (e *Encoder) Revision() Revision { return e.frame.Revision }

// Has reports whether something that exists in w exists in the revision; in
// the all-revisions form, whether it exists at all.
func (e *Encoder) Has(w Window) bool { return e.mask&w != 0 }

// Needs reports whether something that w requires is required in the revision;
// in the all-revisions form, whether every revision requires it.
func (e *Encoder) Needs(w Window) bool { return e.mask&^w == 0 }

// Err returns the first failure, an *EncodeError, nil if there was none.
func (e *Encoder) Err() error {
	if e.err == nil {
		return nil
	}
	return e.err
}

// Fail reports that the value cannot be written, at the place that the output
// so far, b, leads up to. The first failure wins. The format is that of
// fmt.Errorf.
func (e *Encoder) Fail(b []byte, format string, args ...any) {
	if e.err == nil {
		e.FailWith(b, fmt.Errorf(format, args...))
	}
}

// FailWith is Fail with an error that errors.As will find. Nil is no failure.
func (e *Encoder) FailWith(b []byte, err error) {
	if e.err == nil && err != nil {
		e.err = &EncodeError{Pointer: pointerAt(b[e.start:]), Revision: e.frame.Revision, Err: err}
	}
}

// Missing fails because what is required and not set. It returns b.
func (e *Encoder) Missing(b []byte, what string) []byte {
	e.Fail(b, "%s is required and not set", what)
	return b
}

// Lacks fails because the revision has no such thing as what. It returns b.
func (e *Encoder) Lacks(b []byte, what string) []byte {
	e.Fail(b, "revision has no %s", what)
	return b
}

// MaxItems fails when a list to be written has n items and max are allowed.
func (e *Encoder) MaxItems(b []byte, n, max int) {
	if n > max {
		e.Fail(b, "have %d items, at most %d are allowed", n, max)
	}
}

// Enum appends v, which must be one of the values of m in the revision.
func (e *Encoder) Enum(b []byte, v string, m *Enum) []byte {
	if _, err := m.find(v, e.mask); err != nil {
		e.FailWith(b, err)
		return b
	}
	return AppendString(b, v)
}

// Number appends v, which must be finite and within the bounds. The bounds may
// be infinite.
func (e *Encoder) Number(b []byte, v float64, min, max float64) []byte {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		e.Fail(b, "JSON has no number %v", v)
	case v < min || v > max:
		e.FailWith(b, outside(v, min, max, min > -math.MaxFloat64, max < math.MaxFloat64))
	default:
		return AppendFloat(b, v)
	}
	return b
}

// Int appends v, which must be within the bounds.
func (e *Encoder) Int(b []byte, v int64, min, max int64) []byte {
	if v < min || v > max {
		e.FailWith(b, outside(v, min, max, min != math.MinInt64, max != math.MaxInt64))
		return b
	}
	return AppendInt(b, v)
}

// IntIn is [Encoder.Int] with bounds that hold in the revisions of w.
func (e *Encoder) IntIn(b []byte, v int64, w Window, min, max int64) []byte {
	if !e.Has(w) {
		return AppendInt(b, v)
	}
	return e.Int(b, v, min, max)
}

// NumberIn is [Encoder.Number] with bounds that hold in the revisions of w.
func (e *Encoder) NumberIn(b []byte, v float64, w Window, min, max float64) []byte {
	if !e.Has(w) {
		min, max = math.Inf(-1), math.Inf(1)
	}
	return e.Number(b, v, min, max)
}

// ID appends id, which must be set.
func (e *Encoder) ID(b []byte, id RequestID) []byte {
	if id.IsZero() {
		return e.Missing(b, "request id")
	}
	return id.AppendTo(b)
}

// Token appends t, which must be set.
func (e *Encoder) Token(b []byte, t ProgressToken) []byte {
	if t.IsZero() {
		return e.Missing(b, "progress token")
	}
	return t.AppendTo(b)
}
