package wire

import (
	"fmt"
	"sync"
)

// Decoder reads one JSON document, from front to back, once. It is handed to
// DecodeJSON methods, which must not keep it, and is for one goroutine.
//
// The first failure stops it: from then on every method returns a zero value
// and every loop ends, so that generated code needs no error checks.
type Decoder struct {
	data    []byte // doc, until a failure empties it: then every read finds the end
	pos     int
	depth   int
	max     int
	mask    Window
	checked bool // the document has been accepted before
	breaks  bool // a line break was skipped between tokens
	doc     []byte
	rev     Revision
	err     *DecodeError // its pointer is derived at the end

	levels []level // the objects being read with a table

	// The names of the objects being read, see names.
	keys    []nameSpan
	text    []byte
	many    map[bigName]struct{}
	objects int

	ahead lookahead

	familiar *familiar // outlasts the document; nil where no strings are read
}

var decoders = sync.Pool{New: func() any { return &Decoder{familiar: new(familiar)} }}

func newDecoder(data []byte, f *Frame) *Decoder {
	d := decoders.Get().(*Decoder)
	d.start(data, f)
	return d
}

// start begins a document. One copy of it serves both kinds of reader.
//
//go:noinline
func (d *Decoder) start(data []byte, f *Frame) {
	if f == nil {
		f = &noFrame
	}
	d.doc, d.data, d.pos, d.depth = data, data, 0, 0
	d.mask, d.rev, d.checked, d.max = f.Revision.mask(), f.Revision, f.Checked, f.depth()
	d.next()
}

// finish ends the document, gives d back to the pool and returns the failure if
// there was one.
func (d *Decoder) finish() error {
	d.end()
	err := d.outcome()
	decoders.Put(d)
	return err
}

// outcome returns the failure if there was one, and forgets the document.
func (d *Decoder) outcome() (err error) {
	if d.err != nil {
		err = d.result()
	}
	d.doc, d.data, d.err = nil, nil, nil
	d.keys, d.text, d.levels = d.keys[:0], d.text[:0], d.levels[:0]
	const most = 1024
	if d.many != nil || d.ahead.known > 0 || cap(d.keys) > most || cap(d.text) > 16*most {
		d.clear(most)
	}
	return err
}

// clear makes d forget the scratch space that only a rare document needs.
func (d *Decoder) clear(most int) {
	if cap(d.keys) > most || cap(d.text) > 16*most {
		d.keys, d.text = nil, nil
	}
	d.many = nil
	d.ahead.clear(most)
}

// end fails unless the cursor stands at the end of the document.
func (d *Decoder) end() {
	if d.pos < len(d.data) {
		d.trailing()
	}
}

// trailing fails unless only white space is left.
func (d *Decoder) trailing() {
	if d.next(); d.pos < len(d.data) {
		d.fail(d.pos, true, errTrailing)
	}
}

// result is the failure, complete with its pointer, nil if there was none.
func (d *Decoder) result() *DecodeError {
	if d.err != nil {
		d.recheck()
		d.err.Pointer = pointerAt(d.doc[:d.err.Offset])
	}
	return d.err
}

// recheck sees to it that a document is blamed for its shape only if it is
// JSON in the first place: it reads the rest, as any JSON, and lets a failure
// there take precedence.
func (d *Decoder) recheck() {
	if d.err.Syntax || d.checked {
		return
	}
	shape := d.err
	d.err, d.data = nil, d.doc
	d.rewind(place0)
	d.value()
	d.end()
	d.data, d.pos = nil, 0
	if d.err == nil {
		d.err, d.checked = shape, true
	}
}

// mark is a place in the document that the decoder can go back to.
type mark struct{ pos, depth, keys, text, levels int }

// place0 is the start of the document.
var place0 mark

func (d *Decoder) mark() mark { return mark{d.pos, d.depth, len(d.keys), len(d.text), len(d.levels)} }

func (d *Decoder) rewind(m mark) {
	d.pos, d.depth = m.pos, m.depth
	d.keys, d.text, d.levels = d.keys[:m.keys], d.text[:m.text], d.levels[:m.levels]
}

// fail records the first failure and lets every later read find the end.
func (d *Decoder) fail(at int, syntax bool, err error) {
	if d.err != nil {
		return
	}
	d.err = &DecodeError{Offset: at, Syntax: syntax, Err: err}
	d.data, d.pos = nil, 0
}

// duplicate fails because the name just read occurs twice. The failure is
// behind the name, so that the pointer ends with it.
func (d *Decoder) duplicate(name string) {
	d.fail(d.pos, true, fmt.Errorf("duplicate member %q", clip(name)))
}

// want fails because the next value is not what was asked for.
func (d *Decoder) want(what string) {
	if d.err != nil {
		return
	}
	kind := kindOf(d.next())
	if kind == 0 {
		d.unexpected()
		return
	}
	d.fail(d.pos, false, fmt.Errorf("want %s, have %s", what, kindName(kind)))
}

// Fail reports that the JSON has the wrong shape, at the value that begins or
// has just ended where the decoder stands. The first failure wins. The format
// is that of fmt.Errorf.
func (d *Decoder) Fail(format string, args ...any) {
	if d.err == nil {
		d.FailWith(fmt.Errorf(format, args...))
	}
}

// FailWith is Fail with an error that errors.As will find. Nil is no failure.
func (d *Decoder) FailWith(err error) {
	if d.err == nil && err != nil {
		d.next()
		d.fail(d.pos, false, err)
	}
}

// Err returns the first failure, a *DecodeError, nil if there was none.
func (d *Decoder) Err() error {
	if d.err == nil {
		return nil
	}
	err := *d.err
	err.Pointer = pointerAt(d.doc[:err.Offset])
	return &err
}

// Revision returns the revision that the document is read for.
func (d *Decoder) Revision() Revision { return d.rev }

// Has reports whether something that exists in w exists in the revision; in
// the all-revisions form, whether it exists at all.
func (d *Decoder) Has(w Window) bool { return d.mask&w != 0 }

// Needs reports whether something that w requires is required in the revision;
// in the all-revisions form, whether every revision requires it.
func (d *Decoder) Needs(w Window) bool { return d.mask&^w == 0 }

// MaxItems fails when a list that was just read has n items and max are allowed.
func (d *Decoder) MaxItems(n, max int) {
	if n > max {
		d.Fail("have %d items, at most %d are allowed", n, max)
	}
}
