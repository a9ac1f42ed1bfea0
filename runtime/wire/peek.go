package wire

import (
	"slices"
)

// Peek is like [Decoder.Peek] for the value in document, which this package must
// have accepted before. The text may alias document.
func Peek(document []byte, name string) (value string, kind byte) {
	d := Decoder{data: document}
	d.extents.scanned = len(document) // do not record extents for a single search
	return d.Peek(name)
}

// Kind returns the kind of the next value without reading it: '{', '[', '"', 't',
// 'f', 'n', or '0' for a number. It returns 0 if no value begins there, or after a
// failure.
func (d *Decoder) Kind() byte { return kindOf(d.first()) }

// Peek looks for the member name of the next value, without reading the value. It
// returns the kind of that member, as [Decoder.Kind] does, and its text if it is a
// string. The kind is 0 if the next value is not an object or does not have the
// member. The text may alias the document and is valid until the next call.
//
// If the name occurs more than once, Peek finds the first member. Reading the
// object afterwards then fails.
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

// Probe reports whether the next value has a member at the path, without reading
// the value. Each name of the path leads one object deeper.
func (d *Decoder) Probe(path ...string) bool {
	i := skipSpaces(d.data, d.pos)
	for _, name := range path {
		if i = d.find(i, name); i < 0 {
			return false
		}
	}
	return i < len(d.data)
}

// textAt returns the text of the string at i. It returns "" if the string is
// malformed; reading the string will fail.
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

// find returns the offset of the value of the member name in the object at i, or
// -1.
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
		i = d.endOfName(name, key)
		found := i > 0
		if !found {
			if i = skipText(d.data, key); i < 0 {
				return -1
			}
			found = unescapesTo(d.data[key+1:i-1], name)
		}
		if i = skipSpaces(d.data, i); at(d.data, i) != ':' {
			return -1
		}
		i = skipSpaces(d.data, i+1)
		if found {
			return i
		}
		if i = d.extents.skip(d.data, i); i < 0 {
			return -1
		}
		if i = skipSpaces(d.data, i); at(d.data, i) != ',' {
			return -1
		}
	}
}

// endOfName returns the offset after the string at i if the string is name and has
// no escapes. Otherwise it returns -1.
func (d *Decoder) endOfName(name string, i int) int {
	from, n := i+1, len(name)
	if len(d.data)-from <= n || d.data[from+n] != '"' || string(d.data[from:from+n]) != name {
		return -1
	}
	return from + n + 1
}

// unescapesTo reports whether raw, the bytes of a string between its quotes, is
// equal to name after unescaping.
func unescapesTo(raw []byte, name string) bool {
	if len(raw) < len(name) {
		return false
	}
	if string(raw) == name {
		return true
	}
	return len(raw) > len(name) && slices.Contains(raw, '\\') &&
		string(appendUnescaped(nil, raw)) == name
}

// extentCache stores where the larger objects and arrays end that Peek has
// skipped. Without it, calling Peek at every level of a deep document would cost
// the depth times the size of the document.
type extentCache struct {
	scanned int      // ends contains the larger values before this offset
	ends    []extent // sorted by start
	open    []int    // during a scan: the indexes in ends of the open values
}

// extent is the range of bytes of an object or array.
type extent struct{ start, end int }

// smallExtent is the size up to which skipping a value again is cheaper than
// storing where it ends.
const smallExtent = 128

// skip is like the function skip, but uses the cache.
func (l *extentCache) skip(data []byte, i int) int {
	switch {
	case at(data, i) != '{' && at(data, i) != '[':
		return skip(data, i)
	case i >= l.scanned:
		return l.scan(data, i)
	}
	n, ok := slices.BinarySearchFunc(l.ends, i, func(x extent, start int) int { return x.start - start })
	if ok {
		return l.ends[n].end
	}
	return skip(data, i)
}

// scan skips the object or array at i and stores the extents of the larger values
// in it.
func (l *extentCache) scan(data []byte, i int) int {
	l.open = l.open[:0]
	l.scanned = len(data) // if the value does not end, no other scan can succeed
	for i < len(data) && len(l.open) <= maxNesting {
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
				l.scanned = i + 1
				return i + 1
			}
		}
		i++
	}
	return -1
}

// close records the end of the innermost open value. If the value is small, close
// removes it; the values in it are smaller and were removed before.
func (l *extentCache) close(end int) {
	n := l.open[len(l.open)-1]
	l.open = l.open[:len(l.open)-1]
	l.ends[n].end = end
	if end-l.ends[n].start <= smallExtent {
		l.ends = l.ends[:n]
	}
}

// clear empties the cache. It drops slices with a capacity of more than most.
func (l *extentCache) clear(most int) {
	l.scanned, l.ends, l.open = 0, l.ends[:0], l.open[:0]
	if cap(l.ends) > most || cap(l.open) > most {
		l.ends, l.open = nil, nil
	}
}
