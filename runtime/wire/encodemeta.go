package wire

import (
	"bytes"
	"encoding/json"
)

// AppendMeta appends the member "_meta" of owner, with its comma, if there is
// something to write: meta is not nil, or the revision is in required, or
// owner is the value handed to Append and the frame has entries for it. A nil
// meta counts as empty.
//
// The frame's entries are merged in by the meta type itself: it leaves out
// what [Encoder.Over] names and ends with [Encoder.Overlay].
func AppendMeta[T any, P interface {
	*T
	Value
}](b []byte, e *Encoder, owner any, meta P, required Window) []byte {
	if meta == nil && len(e.frame.Meta) == 0 && !e.Needs(required) {
		return b
	}
	over := e.isTop(owner)
	e.met = e.met || over
	needed := e.Needs(required)
	if meta == nil && !over && !needed {
		return b
	}
	b = append(b, `,"_meta":`...)
	if meta == nil && !needed {
		start := len(b)
		return CloseObject(e.entries(b), start)
	}
	if meta == nil {
		meta = new(T)
	}
	outerOver, outerOwn, outerKept := e.over, e.own, e.kept
	e.over, e.own, e.kept = over, len(b), 0
	b = meta.AppendJSON(b, e)
	e.over, e.own, e.kept = outerOver, outerOwn, outerKept
	return b
}

// NoMeta says that owner has no "_meta" in this revision: what the frame has for it
// stays out.
func (e *Encoder) NoMeta(owner any) { e.met = e.met || e.isTop(owner) }

// complete adds to a result that begins at start what the frame has for it and its type
// did not write: a type of somebody's own need not know.
func (e *Encoder) complete(b []byte, start int) []byte {
	if len(e.frame.Meta) > 0 && !e.met {
		b = e.supplement(b, start)
	}
	for _, x := range e.frame.Also {
		b = e.member(b, start, x.Name, func(b []byte) []byte { return e.Raw(b, x.Value, "") })
	}
	return b
}

// supplement adds the frame's "_meta" to the object that begins at start.
func (e *Encoder) supplement(b []byte, start int) []byte {
	return e.member(b, start, "_meta", func(b []byte) []byte {
		inner := len(b)
		return CloseObject(e.entries(b), inner)
	})
}

// overlay does so for params, of which a type may have written a "_meta" that
// is not the frame's: one that embeds another type, or does it by hand.
func (e *Encoder) overlay(b []byte, start int) []byte {
	if len(e.frame.Meta) == 0 || e.met || e.err != nil {
		return b
	}
	look := Decoder{data: b[start:]}
	from := look.find(0, "_meta")
	if from < 0 {
		return e.supplement(b, start)
	}
	var own ownMeta
	to := skip(look.data, from)
	if to < 0 || Decode(bytes.Clone(look.data[from:to]), nil, &own) != nil {
		return b
	}
	rest := bytes.Clone(look.data[to:])
	b = b[:start+from]
	e.over, e.kept = true, 0
	for _, m := range own.members {
		if !e.Over(m.Name) {
			b = append(append(AppendString(append(b, ','), m.Name), ':'), m.Value...)
		}
	}
	b = CloseObject(e.entries(b), start+from)
	e.over, e.kept = false, 0
	return append(b, rest...)
}

// ownMeta reads the members of a "_meta".
type ownMeta struct {
	ReadOnly
	members []Named[json.RawMessage]
}

// DecodeJSON implements [Value].
func (m *ownMeta) DecodeJSON(d *Decoder) { m.members = NamedList(d, (*Decoder).Raw) }

// member adds a member to the object that begins at start, unless that has it or is
// no object after all.
func (e *Encoder) member(b []byte, start int, name string, value func([]byte) []byte) []byte {
	if e.err != nil {
		return b
	}
	object := b[start:]
	if _, kind := Peek(object, name); kind != 0 || at(object, 0) != '{' || object[len(object)-1] != '}' {
		return b
	}
	b = b[:len(b)-1]
	if skipSpaces(object, 1) < len(object)-1 {
		b = append(b, ',')
	}
	return append(value(append(AppendString(b, name), ':')), '}')
}

// isTop reports whether owner is the value whose "_meta" the frame completes.
func (e *Encoder) isTop(owner any) bool { return len(e.frame.Meta) > 0 && e.top == owner }

// Over reports whether the frame replaces the member name of the "_meta" that
// is being written: the meta type then leaves its own out. It is asked of what
// the meta type has, and of what it has to have: an entry that gives way does so
// then.
func (e *Encoder) Over(name string) bool {
	i := e.entry(name)
	if i < 0 {
		return false
	}
	if e.frame.Meta[i].GivesWay {
		e.kept |= 1 << i
	}
	return !e.frame.Meta[i].GivesWay
}

// entry returns the place of the frame's entry for a member of the "_meta" that
// is being written, -1 where there is none.
func (e *Encoder) entry(name string) int {
	if !e.over {
		return -1
	}
	for i := range e.frame.Meta {
		if e.frame.Meta[i].Name == name {
			return i
		}
	}
	return -1
}

// Overlay appends the frame's entries, each with its comma, if the "_meta"
// that is being written is the one they belong to.
func (e *Encoder) Overlay(b []byte) []byte {
	if !e.over {
		return b
	}
	return e.entries(b)
}

// entries appends the frame's entries.
func (e *Encoder) entries(b []byte) []byte {
	for i := range e.frame.Meta {
		if e.kept&(1<<i) != 0 {
			continue
		}
		entry := &e.frame.Meta[i]
		b = append(b, ',')
		if entry.Checked {
			b = append(append(AppendString(b, entry.Name), ':'), entry.Value...)
		} else {
			b = e.name(b, entry.Name)
			b = e.Raw(b, entry.Value, "")
		}
		if i > 0 {
			e.once(b, i)
		}
	}
	return b
}

// once fails if the entry i of the frame has the name of one before.
func (e *Encoder) once(b []byte, i int) {
	for j := range i {
		if name := e.frame.Meta[i].Name; e.frame.Meta[j].Name == name {
			e.Fail(b, "the frame's meta names %q twice", name)
		}
	}
}

// replaced reports whether an extra member of the object being written is
// replaced by the frame. Objects inside a "_meta" write extra members too:
// those are never replaced.
func (e *Encoder) replaced(b []byte, name string) bool {
	return e.entry(name) >= 0 && len(pathAt(b[e.own:])) <= 1 && e.Over(name)
}

// Forward makes to, which writes the members of owner for it, the value that
// the frame's meta belongs to.
func (e *Encoder) Forward(owner, to any) {
	if e.top == owner {
		e.top = to
	}
}
