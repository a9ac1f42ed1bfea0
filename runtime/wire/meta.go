package wire

import (
	"bytes"
	"encoding/json"
)

// AppendMeta appends a comma and the member "_meta" of owner, if there is one to
// write. That is the case if meta is not nil, if the revision is in required, or
// if owner is the value passed to Append and the frame has Meta. A nil meta is
// written like an empty one. A meta is omitted if it is not empty, but the revision
// has none of its members.
//
// The meta type merges the frame's entries: its AppendJSON omits each member for
// which [Encoder.Over] returns true, and calls [Encoder.Overlay] at the end.
func AppendMeta[T any, P interface {
	*T
	Value
}](b []byte, e *Encoder, owner any, meta P, required Window) []byte {
	if meta == nil && len(e.frame.Meta) == 0 && !e.Needs(required) {
		return b
	}
	isTop := e.isTop(owner)
	e.metaDone = e.metaDone || isTop
	needed := e.Needs(required)
	if meta == nil && !isTop && !needed {
		return b
	}
	before := len(b)
	b = append(b, `,"_meta":`...)
	if meta == nil && !needed {
		start := len(b)
		return CloseObject(e.appendEntries(b), start)
	}
	if meta == nil {
		meta = new(T)
	}
	outerInMeta, outerStart, outerKept := e.inMeta, e.metaStart, e.keptEntries
	e.inMeta, e.metaStart, e.keptEntries = isTop, len(b), 0
	start := len(b)
	b = meta.AppendJSON(b, e)
	e.inMeta, e.metaStart, e.keptEntries = outerInMeta, outerStart, outerKept
	if !needed && len(b) == start+len("{}") && !isEmpty(meta) {
		return b[:before]
	}
	return b
}

// isEmpty reports whether a meta has no members in any revision.
func isEmpty(meta Value) bool {
	b, err := Append(nil, nil, meta)
	return err == nil && string(b) == "{}"
}

// NoMeta declares that owner has no "_meta" in this revision. The frame's Meta is
// then not written.
func (e *Encoder) NoMeta(owner any) { e.metaDone = e.metaDone || e.isTop(owner) }

// Over reports whether the frame replaces the member name of the "_meta" that is
// being written. The meta type must then omit its own member. It must call Over
// only for members that it would write otherwise, because such a call makes an
// entry with GivesWay give way.
func (e *Encoder) Over(name string) bool {
	i := e.entryIndex(name)
	if i < 0 {
		return false
	}
	if e.frame.Meta[i].GivesWay {
		e.keptEntries |= 1 << i
	}
	return !e.frame.Meta[i].GivesWay
}

// Overlay appends the frame's entries, each preceded by a comma, if the frame's
// Meta applies to the "_meta" that is being written.
func (e *Encoder) Overlay(b []byte) []byte {
	if !e.inMeta {
		return b
	}
	return e.appendEntries(b)
}

// Forward makes the frame's Meta apply to the value to instead of owner. An owner
// calls it if another value writes its members.
func (e *Encoder) Forward(owner, to any) {
	if e.top == owner {
		e.top = to
	}
}

// isTop reports whether owner is the value to which the frame's Meta applies.
func (e *Encoder) isTop(owner any) bool { return len(e.frame.Meta) > 0 && e.top == owner }

// entryIndex returns the index of the frame's entry for the member name of the
// "_meta" that is being written, or -1.
func (e *Encoder) entryIndex(name string) int {
	if !e.inMeta {
		return -1
	}
	for i := range e.frame.Meta {
		if e.frame.Meta[i].Name == name {
			return i
		}
	}
	return -1
}

// appendEntries appends the frame's entries, except those that gave way.
func (e *Encoder) appendEntries(b []byte) []byte {
	for i := range e.frame.Meta {
		if e.keptEntries&(1<<i) != 0 {
			continue
		}
		entry := &e.frame.Meta[i]
		b = append(b, ',')
		if entry.Checked {
			b = append(append(AppendString(b, entry.Name), ':'), entry.Value...)
		} else {
			b = e.appendName(b, entry.Name)
			b = e.Raw(b, entry.Value, "")
		}
		if i > 0 {
			e.failOnDuplicateEntry(b, i)
		}
	}
	return b
}

// failOnDuplicateEntry fails if an entry before entry i has the same name.
func (e *Encoder) failOnDuplicateEntry(b []byte, i int) {
	for j := range i {
		if name := e.frame.Meta[i].Name; e.frame.Meta[j].Name == name {
			e.Fail(b, "duplicate name %q in Frame.Meta", name)
		}
	}
}

// replaced reports whether the frame replaces the extra member name of the object
// that is being written. The frame replaces only direct members of the "_meta",
// not members of objects within it.
func (e *Encoder) replaced(b []byte, name string) bool {
	return e.entryIndex(name) >= 0 && len(pathAt(b[e.metaStart:])) <= 1 && e.Over(name)
}

// addFrameMembers adds the frame's Meta and Also to the result that begins at
// start, unless its type wrote them. Types that are not generated may not support
// them.
func (e *Encoder) addFrameMembers(b []byte, start int) []byte {
	if len(e.frame.Meta) > 0 && !e.metaDone {
		b = e.addFrameMeta(b, start)
	}
	for _, x := range e.frame.Also {
		b = e.addMember(b, start, x.Name, func(b []byte) []byte { return e.Raw(b, x.Value, "") })
	}
	return b
}

// addFrameMeta adds a "_meta" with the frame's entries to the object that begins
// at start.
func (e *Encoder) addFrameMeta(b []byte, start int) []byte {
	return e.addMember(b, start, "_meta", func(b []byte) []byte {
		inner := len(b)
		return CloseObject(e.appendEntries(b), inner)
	})
}

// mergeFrameMeta adds the frame's Meta to the params that begin at start, unless
// their type did so. The type may have written a "_meta" without the frame's
// entries, for example because it embeds another type. Its members are then merged
// with the entries.
func (e *Encoder) mergeFrameMeta(b []byte, start int) []byte {
	if len(e.frame.Meta) == 0 || e.metaDone || e.err != nil {
		return b
	}
	params := Decoder{data: b[start:]}
	from := params.find(0, "_meta")
	if from < 0 {
		return e.addFrameMeta(b, start)
	}
	var meta metaReader
	to := skip(params.data, from)
	if to < 0 || Decode(bytes.Clone(params.data[from:to]), nil, &meta) != nil {
		return b
	}
	rest := bytes.Clone(params.data[to:])
	b = b[:start+from]
	e.inMeta, e.keptEntries = true, 0
	for _, m := range meta.members {
		if !e.Over(m.Name) {
			b = append(append(AppendString(append(b, ','), m.Name), ':'), m.Value...)
		}
	}
	b = CloseObject(e.appendEntries(b), start+from)
	e.inMeta, e.keptEntries = false, 0
	return append(b, rest...)
}

// metaReader reads the members of a "_meta".
type metaReader struct {
	ReadOnly
	members []metaMember
}

type metaMember struct {
	Name  string
	Value json.RawMessage
}

// DecodeJSON implements [Value].
func (m *metaReader) DecodeJSON(d *Decoder) {
	m.members = OrderedMap(d, func(d *Decoder, name string, m *metaMember) { m.Name, m.Value = name, d.Raw() })
}

// addMember adds a member to the object that begins at start. It does nothing if
// the object has the member, or if the value is not an object.
func (e *Encoder) addMember(b []byte, start int, name string, value func([]byte) []byte) []byte {
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
