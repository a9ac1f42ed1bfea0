package wire

import "slices"

// Peek looks for the member name of the next value, without reading anything.
// It returns the kind of that member, as Kind does, and its text if it is a
// string. The kind is 0 when there is no such member or the next value is no
// object. The text may alias the document: it is good until the next call.
//
// Peek finds the first member of that name. Reading the object afterwards
// refuses a second one.
func (d *Decoder) Peek(name string) (value string, kind byte) {
	i := d.find(skipSpaces(d.data, d.pos), name)
	if i < 0 {
		return "", 0
	}
	kind = kindOf(at(d.data, i))
	if kind == '"' {
		value = d.textAt(i)
	}
	return value, kind
}

// Peek is [Decoder.Peek] for a document of its own, which this package has
// accepted before. The text may alias it.
func Peek(document []byte, name string) (value string, kind byte) {
	d := Decoder{data: document}
	d.ahead.known = len(document) // one look needs no memory
	return d.Peek(name)
}

// Probe reports whether the next value has a member at the given path of
// names, each leading one object deeper, without reading anything.
func (d *Decoder) Probe(path ...string) bool {
	i := skipSpaces(d.data, d.pos)
	for _, name := range path {
		if i = d.find(i, name); i < 0 {
			return false
		}
	}
	return i < len(d.data)
}

// textAt is the text of the string at i, "" if it is malformed: reading it
// will tell.
func (d *Decoder) textAt(i int) string {
	end, size, _, err := scanText(d.data, i+1, i+1, false)
	if err != nil {
		return ""
	}
	raw := d.data[i+1 : end]
	if size == len(raw) {
		return alias(raw)
	}
	return unescaped(raw, size)
}

// find returns the offset of the value of the member name of the object at i,
// -1 if there is none.
func (d *Decoder) find(i int, name string) int {
	if at(d.data, i) != '{' {
		return -1
	}
	for {
		i = skipSpaces(d.data, i+1)
		if at(d.data, i) != '"' {
			return -1
		}
		key := i
		i = d.beyond(name, key)
		found := i > 0
		if !found {
			if i = skipText(d.data, key); i < 0 {
				return -1
			}
			found = spells(d.data[key+1:i-1], name)
		}
		if i = skipSpaces(d.data, i); at(d.data, i) != ':' {
			return -1
		}
		i = skipSpaces(d.data, i+1)
		if found {
			return i
		}
		if i = d.ahead.skip(d.data, i); i < 0 {
			return -1
		}
		if i = skipSpaces(d.data, i); at(d.data, i) != ',' {
			return -1
		}
	}
}

// beyond returns the offset behind the string at i if it is name, plainly
// spelled, and -1 otherwise.
func (d *Decoder) beyond(name string, i int) int {
	from, n := i+1, len(name)
	if len(d.data)-from <= n || d.data[from+n] != '"' || string(d.data[from:from+n]) != name {
		return -1
	}
	return from + n + 1
}

// spells reports whether raw, the inside of a string, stands for name.
func spells(raw []byte, name string) bool {
	if len(raw) < len(name) {
		return false
	}
	if string(raw) == name {
		return true
	}
	return len(raw) > len(name) && slices.Contains(raw, '\\') &&
		string(appendUnescaped(nil, raw)) == name
}

// lookahead remembers where the larger objects and arrays end that a Peek had
// to step over. Without that memory a Peek at every level of a deep document
// would cost its depth times its size.
type lookahead struct {
	known int      // everything of some size that Peek met before this offset is in ends
	ends  []extent // sorted by start
	open  []int    // while scanning: the places in ends of what is open
}

type extent struct{ start, end int }

// smallExtent is the size up to which stepping over again is cheaper than
// remembering.
const smallExtent = 128

func (l *lookahead) clear(most int) {
	l.known, l.ends, l.open = 0, l.ends[:0], l.open[:0]
	if cap(l.ends) > most || cap(l.open) > most {
		l.ends, l.open = nil, nil
	}
}

// skip is the function skip with a memory.
func (l *lookahead) skip(data []byte, i int) int {
	switch {
	case at(data, i) != '{' && at(data, i) != '[':
		return skip(data, i)
	case i >= l.known:
		return l.learn(data, i)
	}
	n, ok := slices.BinarySearchFunc(l.ends, i, func(x extent, start int) int { return x.start - start })
	if ok {
		return l.ends[n].end
	}
	return skip(data, i)
}

// learn steps over the object or array at i and remembers what it meets.
func (l *lookahead) learn(data []byte, i int) int {
	l.open = l.open[:0]
	l.known = len(data) // unless the end is found, there is none to find
	for i < len(data) && len(l.open) <= deepest {
		switch data[i] {
		case '"':
			if i = skipText(data, i); i < 0 {
				return -1
			}
			continue
		case '{', '[':
			l.open = append(l.open, len(l.ends))
			l.ends = append(l.ends, extent{i, -1})
		case '}', ']':
			if l.close(i + 1); len(l.open) == 0 {
				l.known = i + 1
				return i + 1
			}
		}
		i++
	}
	return -1
}

// close ends what was opened last. What is small is forgotten; all that it
// holds is smaller and forgotten already.
func (l *lookahead) close(end int) {
	n := l.open[len(l.open)-1]
	l.open = l.open[:len(l.open)-1]
	l.ends[n].end = end
	if end-l.ends[n].start <= smallExtent {
		l.ends = l.ends[:n]
	}
}
