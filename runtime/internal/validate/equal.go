package validate

import (
	"sort"
	"strconv"
)

// member returns the position of the value of a member.
func (d *document) member(object uint32, name string) (at uint32, ok bool) {
	v := &d.values[object]
	if v.kind != kindObject {
		return 0, false
	}
	for i := object + 1; i < v.end; i = d.after(i + 1) {
		if d.isString(i, name) {
			return i + 1, true
		}
	}
	return 0, false
}

// isString reports whether the string at a position is equal to a text.
func (d *document) isString(at uint32, text string) bool {
	v := &d.values[at]
	if v.escaped {
		return d.string(at) == text
	}
	return d.text[v.start:v.end] == text
}

// fewMembers is the number of members up to which objects are compared without an
// index.
const fewMembers = 16

// equal reports whether the value at position i is equal to a value of another
// document.
func (d *document) equal(i uint32, other *document, j uint32) bool {
	v, w := &d.values[i], &other.values[j]
	if v.kind != w.kind {
		return false
	}
	switch v.kind {
	case kindNumber:
		return equalNumbers(d.raw(i), other.raw(j))
	case kindString:
		if w.escaped {
			return d.isString(i, other.string(j))
		}
		return d.isString(i, other.raw(j))
	case kindArray:
		if v.count != w.count {
			return false
		}
		for i, j := i+1, j+1; i < v.end; i, j = d.after(i), other.after(j) {
			if !d.equal(i, other, j) {
				return false
			}
		}
	case kindObject:
		return v.count == w.count && d.equalMembers(i, other, j)
	}
	return true
}

// equalMembers reports whether two objects of the same size are equal.
func (d *document) equalMembers(i uint32, other *document, j uint32) bool {
	var index map[string]uint32
	if end := other.values[j].end; other.values[j].count > fewMembers {
		index = make(map[string]uint32, other.values[j].count)
		for m := j + 1; m < end; m = other.after(m + 1) {
			index[other.string(m)] = m + 1
		}
	}
	for m := i + 1; m < d.values[i].end; m = d.after(m + 1) {
		var at uint32
		var ok bool
		if index != nil {
			at, ok = index[d.string(m)]
		} else {
			at, ok = other.member(j, d.string(m))
		}
		if !ok || !d.equal(m+1, other, at) {
			return false
		}
	}
	return true
}

// equalNumbers reports whether two JSON numbers have the same value.
func equalNumbers(a, b string) bool {
	if a == b {
		return true
	}
	x, small := smallInteger(a)
	y, both := smallInteger(b)
	if small && both {
		return x == y
	}
	var p, q [40]byte
	return parseDecimal(p[:], a).compare(parseDecimal(q[:], b)) == 0
}

// fewItems is the number of items up to which the items of an array are compared in
// pairs, if they are neither arrays nor objects.
const fewItems = 16

// equalItems finds the first item of an array that equals an earlier one.
func (d *document) equalItems(array uint32) (first, second int, found bool) {
	v := &d.values[array]
	if v.count <= fewItems && v.end == array+1+v.count {
		for second := range v.count {
			for first := range second {
				if d.equal(array+1+first, d, array+1+second) {
					return int(first), int(second), true
				}
			}
		}
		return 0, 0, false
	}
	seen, key := make(map[string]int, v.count), []byte(nil)
	for i := array + 1; i < v.end; i = d.after(i) {
		key = d.appendKey(key[:0], i)
		if first, found := seen[string(key)]; found {
			return first, second, true
		}
		seen[string(key)] = second
		second++
	}
	return 0, 0, false
}

// appendKey appends a text that is the same for equal values only.
func (d *document) appendKey(b []byte, at uint32) []byte {
	v := &d.values[at]
	switch v.kind {
	case kindNumber:
		var buffer [40]byte
		return parseDecimal(buffer[:], d.raw(at)).appendKey(append(b, '#'))
	case kindString:
		return appendText(b, d.string(at))
	case kindArray:
		b = append(b, '[')
		for i := at + 1; i < v.end; i = d.after(i) {
			b = append(d.appendKey(b, i), ',')
		}
		return append(b, ']')
	case kindObject:
		names := make([]uint32, 0, v.count)
		for i := at + 1; i < v.end; i = d.after(i + 1) {
			names = append(names, i)
		}
		sort.Sort(&byName{d, names})
		b = append(b, '{')
		for _, i := range names {
			b = d.appendKey(appendText(b, d.string(i)), i+1)
		}
		return append(b, '}')
	}
	return append(b, "nft"[v.kind])
}

// byName sorts names of members in a document, given by their positions, by their texts.
type byName struct {
	doc       *document
	positions []uint32
}

func (n *byName) Len() int { return len(n.positions) }
func (n *byName) Less(i, j int) bool {
	return n.doc.string(n.positions[i]) < n.doc.string(n.positions[j])
}
func (n *byName) Swap(i, j int) { n.positions[i], n.positions[j] = n.positions[j], n.positions[i] }

// appendText appends a text with its length.
func appendText(b []byte, text string) []byte {
	b = append(strconv.AppendInt(append(b, '"'), int64(len(text)), 10), ':')
	return append(b, text...)
}
