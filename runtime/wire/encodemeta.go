package wire

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
	over := e.isTop(owner)
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
	outerOver, outerOwn := e.over, e.own
	e.over, e.own = over, len(b)
	b = meta.AppendJSON(b, e)
	e.over, e.own = outerOver, outerOwn
	return b
}

// isTop reports whether owner is the value whose "_meta" the frame completes.
func (e *Encoder) isTop(owner any) bool { return len(e.meta) > 0 && e.top == owner }

// Over reports whether the frame replaces the member name of the "_meta" that
// is being written: the meta type then leaves its own out.
func (e *Encoder) Over(name string) bool {
	if !e.over {
		return false
	}
	for i := range e.meta {
		if e.meta[i].Name == name {
			return true
		}
	}
	return false
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
	for i := range e.meta {
		entry := &e.meta[i]
		b = append(b, ',')
		b = e.name(b, entry.Name)
		b = e.Raw(b, entry.Value, "")
		for j := range i {
			if e.meta[j].Name == entry.Name {
				e.Fail(b, "the frame's meta names %q twice", entry.Name)
			}
		}
	}
	return b
}

// replaced reports whether an extra member of the object being written is
// replaced by the frame. Objects inside a "_meta" write extra members too:
// those are never replaced.
func (e *Encoder) replaced(b []byte, name string) bool {
	return e.Over(name) && len(pathAt(b[e.own:])) <= 1
}

// Forward makes to, which writes the members of owner for it, the value that
// the frame's meta belongs to.
func (e *Encoder) Forward(owner, to any) {
	if e.top == owner {
		e.top = to
	}
}
