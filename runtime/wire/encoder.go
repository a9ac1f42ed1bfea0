package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sort"
	"strconv"
	"sync"
	"unicode/utf8"
)

// Encoder holds the state of writing one message. It is passed to AppendJSON
// methods, which must not retain it. It is not safe for concurrent use.
//
// A failure does not stop the writing. The first failure is recorded, and the
// output is discarded at the end.
type Encoder struct {
	frame *Frame
	mask  Window // the window of the frame's revision
	start int    // offset of the message in the output
	err   *EncodeError

	top         any    // the value passed to Append
	inMeta      bool   // the "_meta" of top is being written and merged with the frame's Meta
	metaDone    bool   // the "_meta" of top was written, or top has none
	metaStart   int    // offset of the current "_meta" in the output
	omitsParams bool   // params that are {} are omitted
	keptEntries uint64 // a bit for each entry of Meta that gave way to a member of the value

	names   []string // a stack of names to be sorted, reused to save allocations
	checker Decoder  // checks raw values
}

// Revision returns the revision that is written.
func (e *Encoder) Revision() Revision { return e.frame.Revision }

// Has reports whether the revision is in w: a member with the window w then
// exists. In the all-revisions form it reports whether w contains any revision.
func (e *Encoder) Has(w Window) bool { return e.mask&w != 0 }

// Needs reports whether the revision is in w: a member with the required window w
// is then required. In the all-revisions form it reports whether w contains every
// revision.
func (e *Encoder) Needs(w Window) bool { return e.mask&^w == 0 }

// OmitsParams reports whether the params that are being written are omitted if they are {}.
func (e *Encoder) OmitsParams() bool { return e.omitsParams }

// Err returns the first failure as an *EncodeError, or nil.
func (e *Encoder) Err() error {
	if e.err == nil {
		return nil
	}
	return e.err
}

// Fail reports that the value cannot be written. The position of the failure is
// the end of b, the output so far. Only the first failure is recorded. The format
// is the format of fmt.Errorf.
func (e *Encoder) Fail(b []byte, format string, args ...any) {
	if e.err == nil {
		e.FailWith(b, fmt.Errorf(format, args...))
	}
}

// FailWith is like [Encoder.Fail], but it wraps err so that errors.As finds it. If
// err is nil, it does nothing.
func (e *Encoder) FailWith(b []byte, err error) {
	if e.err == nil && err != nil {
		e.err = &EncodeError{Pointer: pointerAt(b[e.start:]), Revision: e.frame.Revision, Err: err}
	}
}

// Missing fails with an error that what is required and not set. It returns b. It is not inlined,
// because nearly every encoder calls it.
//
//go:noinline
func (e *Encoder) Missing(b []byte, what string) []byte {
	e.Fail(b, "%s is required and not set", what)
	return b
}

// Lacks fails with an error that the revision does not have what. It returns b. It is not inlined,
// like Missing.
//
//go:noinline
func (e *Encoder) Lacks(b []byte, what string) []byte {
	e.Fail(b, "revision has no %s", what)
	return b
}

// MaxItems fails if n, the length of a list to be written, is more than max.
func (e *Encoder) MaxItems(b []byte, n, max int) {
	if n > max {
		e.Fail(b, "have %d items, at most %d are allowed", n, max)
	}
}

// Enum appends v, which must be a value of m in the revision.
func (e *Encoder) Enum(b []byte, v string, m *Enum) []byte {
	if _, err := m.find(v, e.mask); err != nil {
		e.FailWith(b, err)
		return b
	}
	return AppendString(b, v)
}

// EnumIn is like [Encoder.Enum] in the revisions of w. In the others, and in the
// all-revisions form, v may be any string.
func (e *Encoder) EnumIn(b []byte, v string, m *Enum, w Window) []byte {
	if e.Needs(w) {
		return e.Enum(b, v, m)
	}
	return AppendString(b, v)
}

// Number appends v, which must be finite and from min to max. The bounds may be
// infinite.
func (e *Encoder) Number(b []byte, v float64, min, max float64) []byte {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		e.Fail(b, "JSON cannot represent the number %v", v)
	case v < min || v > max:
		e.FailWith(b, outside(v, min, max, min > -math.MaxFloat64, max < math.MaxFloat64))
	default:
		return AppendFloat(b, v)
	}
	return b
}

// NumberIn is like [Encoder.Number], but the bounds apply only in the revisions of
// w. In the all-revisions form they apply if w has every revision.
func (e *Encoder) NumberIn(b []byte, v float64, w Window, min, max float64) []byte {
	if !e.Needs(w) {
		min, max = math.Inf(-1), math.Inf(1)
	}
	return e.Number(b, v, min, max)
}

// Integer is like [Encoder.Number], but in the revisions of w the number must be an
// integer that fits int64. If exact is the text of an integer that float64 rounds to v,
// Integer appends exact in these revisions.
func (e *Encoder) Integer(b []byte, v float64, exact json.RawMessage, w Window, min, max float64) []byte {
	switch {
	case !e.Needs(w) || math.IsInf(v, 0) || v < min || v > max:
		return e.Number(b, v, min, max)
	case v != math.Trunc(v):
		e.Fail(b, "want an integer, have %v", v)
		return b
	}
	if n, ok := exactInteger(exact); ok && float64(n) == v {
		return AppendInt(b, n)
	}
	if v < -1<<63 || v >= 1<<63 {
		e.Fail(b, "%v does not fit 64 bits", v)
		return b
	}
	return AppendInt(b, int64(v))
}

// exactInteger parses the text of an integer that [Object.Integer] has stored.
func exactInteger(text json.RawMessage) (int64, bool) {
	if len(text) == 0 {
		return 0, false
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	return n, err == nil
}

// Int appends v, which must be from min to max.
func (e *Encoder) Int(b []byte, v int64, min, max int64) []byte {
	if v < min || v > max {
		e.FailWith(b, outside(v, min, max, min != math.MinInt64, max != math.MaxInt64))
		return b
	}
	return AppendInt(b, v)
}

// IntIn is like [Encoder.Int], but the bounds apply only in the revisions of w. In the
// all-revisions form they apply if w has every revision.
func (e *Encoder) IntIn(b []byte, v int64, w Window, min, max int64) []byte {
	if !e.Needs(w) {
		return AppendInt(b, v)
	}
	return e.Int(b, v, min, max)
}

// ID appends id, which must not be zero.
func (e *Encoder) ID(b []byte, id RequestID) []byte {
	if id.IsZero() {
		return e.Missing(b, "request id")
	}
	return id.AppendTo(b)
}

// Token appends t, which must not be zero.
func (e *Encoder) Token(b []byte, t ProgressToken) []byte {
	if t.IsZero() {
		return e.Missing(b, "progress token")
	}
	return t.AppendTo(b)
}

// Raw appends a JSON value and checks it, unless the frame is Checked. If raw is
// empty, it appends zero, a JSON text. If both are empty, it fails.
func (e *Encoder) Raw(b []byte, raw json.RawMessage, zero string) []byte {
	switch {
	case raw == nil && zero == "":
		e.FailWith(b, errMissing)
		return b
	case len(raw) == 0 && zero == "":
		e.FailWith(b, errEmpty)
		return b
	case len(raw) == 0:
		return append(b, zero...)
	case e.frame.Checked:
		return append(b, raw...)
	}
	return e.appendScanned(b, raw)
}

// RawObject is like [Encoder.Raw] for a value that must be an object.
func (e *Encoder) RawObject(b []byte, raw json.RawMessage, zero string) []byte {
	kind := kindOf(at(raw, skipSpaces(raw, 0)))
	if kind != 0 && kind != '{' {
		e.Fail(b, "want an object, have %s", kindName(kind))
		return b
	}
	return e.Raw(b, raw, zero)
}

// RawIn is like [Encoder.Raw] for a value that must be an object in the revisions
// of objects.
func (e *Encoder) RawIn(b []byte, raw json.RawMessage, zero string, objects Window) []byte {
	if e.Needs(objects) {
		return e.RawObject(b, raw, zero)
	}
	return e.Raw(b, raw, zero)
}

// Extra appends the extra members of a value, sorted by name. It omits names that
// the table m has in the revision, and names that the frame's Meta replaces.
func (e *Encoder) Extra(b []byte, extra map[string]json.RawMessage, m *Members) []byte {
	if len(extra) == 0 {
		return b
	}
	return e.extra(b, extra, m)
}

var (
	errMissing = errors.New("required value is not set")
	errNoID    = errors.New("request id is required and not set")
	errEmpty   = errors.New("empty text is not a JSON value")
)

var encoders = sync.Pool{New: func() any { return new(Encoder) }}

// newEncoder returns an encoder from the pool for a message that begins at start.
func newEncoder(f *Frame, top any, start int) *Encoder {
	e := encoders.Get().(*Encoder)
	if f == nil {
		f = &noFrame
	}
	e.frame, e.mask, e.top, e.start = f, f.Revision.mask(), top, start
	return e
}

// finish returns e to the pool. It returns out, or b and the error after a failure.
func (e *Encoder) finish(b, out []byte) ([]byte, error) {
	err := e.err
	e.err, e.top, e.frame, e.inMeta, e.metaDone = nil, nil, nil, false, false
	if e.checker.doc != nil || cap(e.names) > 1024 {
		e.clear()
	}
	encoders.Put(e)
	if err != nil {
		return b, err
	}
	return out, nil
}

// clear releases memory that only unusual messages need.
func (e *Encoder) clear() {
	if cap(e.names) > 1024 {
		e.names = nil
	}
	e.checker.reset() // returns no failure: appendScanned has taken it
}

// appendScanned checks raw and appends it. A failure is reported at its own
// position in the output.
func (e *Encoder) appendScanned(b []byte, raw []byte) []byte {
	d := &e.checker
	d.doc, d.data, d.pos, d.depth, d.max = raw, raw, 0, 0, e.frame.depth()
	d.next()
	start := d.pos
	d.breaks = false
	d.value()
	end, breaks := d.pos, d.breaks
	d.end()
	if err := d.finalError(); err != nil {
		if e.err == nil {
			e.FailWith(b, err.Err)
			e.err.Pointer += err.Pointer
		}
		d.err = nil
		d.rewind(documentStart)
		return b
	}
	at := len(b)
	b = append(b, raw[start:end]...)
	if breaks {
		Unbreak(b[at:])
	}
	return b
}

func (e *Encoder) extra(b []byte, extra map[string]json.RawMessage, m *Members) []byte {
	first := len(e.names)
	for name := range extra {
		if !m.has(name, e.mask) && !e.replaced(b, name) {
			e.names = append(e.names, name)
		}
	}
	sort.Strings(e.names[first:])
	for _, name := range e.names[first:] {
		b = append(b, ',')
		b = e.appendName(b, name)
		b = e.Raw(b, extra[name], "")
	}
	e.dropNames(first)
	return b
}

// appendName appends a member name that is not from a table, and a colon.
func (e *Encoder) appendName(b []byte, name string) []byte {
	b = AppendString(b, name)
	b = append(b, ':')
	if !utf8.ValidString(name) { // replacing invalid bytes could make two names equal
		e.FailWith(b, fmt.Errorf("member name %q is not valid UTF-8", clip(name)))
	}
	return b
}

// dropNames removes the names from index first on. It clears them so that the pool
// does not keep the strings in memory.
func (e *Encoder) dropNames(first int) {
	clear(e.names[first:])
	e.names = e.names[:first]
}
