package wire

import (
	"fmt"
	"sync"
)

// Decoder reads one JSON document, once, from the start to the end. It is passed
// to DecodeJSON methods, which must not retain it. It is not safe for concurrent
// use.
//
// After the first failure every method returns a zero value and every loop ends.
// So generated code does not check for errors.
type Decoder struct {
	data      []byte // doc, or nil after a failure, so that every read finds the end
	pos       int
	depth     int
	max       int
	mask      Window
	checked   bool // the document has been accepted before
	keepFalse bool // see Frame.KeepFalse
	breaks    bool // a line break between tokens was skipped
	doc       []byte
	rev       Revision
	err       *DecodeError // its Pointer is computed at the end

	levels []level // the objects that are being read by Object

	// The names of the objects that are being read, see nameSet.
	keys        []nameSpan
	keyText     []byte
	largeSets   map[largeSetKey]struct{}
	objectCount int

	extents extentCache

	interned *internTable // kept for later documents; nil if no strings are read
}

// Revision returns the revision that the document is read for.
func (d *Decoder) Revision() Revision { return d.rev }

// Has reports whether the revision is in w: a member with the window w then
// exists. In the all-revisions form it reports whether w contains any revision.
func (d *Decoder) Has(w Window) bool { return d.mask&w != 0 }

// Needs reports whether the revision is in w: a member with the required window w
// is then required. In the all-revisions form it reports whether w contains every
// revision.
func (d *Decoder) Needs(w Window) bool { return d.mask&^w == 0 }

// Fail reports that the JSON has the wrong shape. The position of the failure is
// the value that comes next or that has just been read. Only the first failure is
// recorded. The format is the format of fmt.Errorf.
func (d *Decoder) Fail(format string, args ...any) {
	if d.err == nil {
		d.FailWith(fmt.Errorf(format, args...))
	}
}

// FailWith is like [Decoder.Fail], but it wraps err so that errors.As finds it. If
// err is nil, it does nothing.
func (d *Decoder) FailWith(err error) {
	if d.err == nil && err != nil {
		d.next()
		d.fail(d.pos, false, err)
	}
}

// MaxItems fails if n, the length of a list that was just read, is more than max.
func (d *Decoder) MaxItems(n, max int) {
	if n > max {
		d.Fail("have %d items, at most %d are allowed", n, max)
	}
}

// Err returns the first failure as a *DecodeError, or nil.
func (d *Decoder) Err() error {
	if d.err == nil {
		return nil
	}
	err := *d.err
	err.Pointer = pointerAt(d.doc[:err.Offset])
	return &err
}

// Try calls decode to read the next value and reports whether it succeeded. If the
// value has the wrong shape, d returns to the start of the value and the failure
// is discarded. If the document is not valid JSON, the failure remains.
//
// Try is for the few unions whose types can be distinguished only by decoding. A
// type that calls Try for values that call Try again doubles the cost on every
// level of nesting.
func (d *Decoder) Try(decode func(*Decoder)) bool {
	if d.err != nil {
		return false
	}
	start, data := d.mark(), d.data
	decode(d)
	if d.err == nil {
		return true
	}
	if !d.err.Syntax {
		d.err, d.data = nil, data
		d.rewind(start)
	}
	return false
}

// Place is a position of a Decoder, see [Decoder.Here].
type Place struct {
	mark mark
	good bool // the decoder had not failed
}

// Here returns the current position of d, for use with [Decoder.Back].
func (d *Decoder) Here() Place {
	return Place{d.mark(), d.err == nil}
}

// Back returns to the value at the position to, so that it can be read as another
// type. It does so only if that value is an object whose member name is the string
// text, and reports whether it is. A failure since the call of Here is discarded,
// but Back does nothing if the document is not valid JSON or d had failed before.
func (d *Decoder) Back(to Place, name, text string) bool {
	if !to.good || d.err != nil && d.err.Syntax {
		return false
	}
	value := Decoder{data: d.doc, pos: to.mark.pos}
	if got, kind := value.Peek(name); kind != '"' || got != text {
		return false
	}
	d.err, d.data = nil, d.doc
	d.rewind(to.mark)
	return true
}

var decoders = sync.Pool{New: func() any { return &Decoder{interned: new(internTable)} }}

func newDecoder(data []byte, f *Frame) *Decoder {
	d := decoders.Get().(*Decoder)
	d.start(data, f)
	return d
}

// start begins to read a document. It is not inlined because it has two callers
// and is large.
//
//go:noinline
func (d *Decoder) start(data []byte, f *Frame) {
	if f == nil {
		f = &noFrame
	}
	d.doc, d.data, d.pos, d.depth = data, data, 0, 0
	d.mask, d.rev, d.checked, d.max, d.keepFalse = f.Revision.mask(), f.Revision, f.Checked, f.depth(), f.KeepFalse
	d.next()
}

// finish ends the document, returns d to the pool and returns the failure, or nil.
func (d *Decoder) finish() error {
	d.end()
	err := d.reset()
	decoders.Put(d)
	return err
}

// reset returns the failure, or nil, and drops all references to the document.
func (d *Decoder) reset() (err error) {
	if d.err != nil {
		err = d.finalError()
	}
	d.doc, d.data, d.err = nil, nil, nil
	d.keys, d.keyText, d.levels = d.keys[:0], d.keyText[:0], d.levels[:0]
	const most = 1024
	if d.largeSets != nil || d.extents.scanned > 0 || cap(d.keys) > most || cap(d.keyText) > 16*most {
		d.clear(most)
	}
	return err
}

// clear releases memory that only unusual documents need.
func (d *Decoder) clear(most int) {
	if cap(d.keys) > most || cap(d.keyText) > 16*most {
		d.keys, d.keyText = nil, nil
	}
	d.largeSets = nil
	d.extents.clear(most)
}

// end fails if there is data after the cursor, other than white space.
func (d *Decoder) end() {
	if d.pos < len(d.data) {
		d.endSlow()
	}
}

// endSlow is end for a cursor that is not at the end of the data.
func (d *Decoder) endSlow() {
	if d.next(); d.pos < len(d.data) {
		d.fail(d.pos, true, errTrailing)
	}
}

// mark is a position in the document to which the decoder can return.
type mark struct{ pos, depth, keys, keyText, levels int }

// documentStart is the start of the document.
var documentStart mark

func (d *Decoder) mark() mark {
	return mark{d.pos, d.depth, len(d.keys), len(d.keyText), len(d.levels)}
}

func (d *Decoder) rewind(m mark) {
	d.pos, d.depth = m.pos, m.depth
	d.keys, d.keyText, d.levels = d.keys[:m.keys], d.keyText[:m.keyText], d.levels[:m.levels]
}

// fail records the first failure and empties the data, so that every later read
// finds the end.
func (d *Decoder) fail(at int, syntax bool, err error) {
	if d.err != nil {
		return
	}
	d.err = &DecodeError{Offset: at, Syntax: syntax, Err: err}
	d.data, d.pos = nil, 0
}

// failDuplicate fails because the name that was just read occurs twice. The
// position is after the name, so that the pointer ends with the name.
func (d *Decoder) failDuplicate(name string) {
	d.fail(d.pos, true, fmt.Errorf("duplicate member %q", clip(name)))
}

// failKind fails because the next value does not have the kind what.
func (d *Decoder) failKind(what string) {
	if d.err != nil {
		return
	}
	kind := kindOf(d.next())
	if kind == 0 {
		d.failUnexpected()
		return
	}
	d.fail(d.pos, false, fmt.Errorf("want %s, have %s", what, kindName(kind)))
}

// finalError returns the failure with its pointer, or nil.
func (d *Decoder) finalError() *DecodeError {
	if d.err != nil {
		d.recheck()
		d.err.Pointer = pointerAt(d.doc[:d.err.Offset])
	}
	return d.err
}

// recheck replaces a failure about the shape of the JSON if the document is not
// valid JSON: the syntax error takes precedence. It reads the whole document to
// find such an error.
func (d *Decoder) recheck() {
	if d.err.Syntax || d.checked {
		return
	}
	shape := d.err
	d.err, d.data = nil, d.doc
	d.rewind(documentStart)
	d.value()
	d.end()
	d.data, d.pos = nil, 0
	if d.err == nil {
		d.err, d.checked = shape, true
	}
}
