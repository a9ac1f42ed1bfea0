package wire

import (
	"encoding/json"
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

// Object reads the members of one object, in a loop:
//
//	o := d.Object(table)
//	for o.Next() {
//		switch o.Name {
//		case "name":
//			x.Name = d.String()
//		default:
//			x.Extra = o.Extra(x.Extra)
//		}
//	}
//
// Each turn must read exactly one value.
type Object struct {
	// Name is the name of the member to read. It is "" for one that the table
	// does not have in the decoder's revision.
	Name string

	d     *Decoder // nil when there is nothing (more) to read
	level int      // in Decoder.levels
}

// level is what is known of an object that is being read. It is kept in the
// decoder because the variable of a loop, as many an Object is one, is copied each turn.
type level struct {
	table *Members
	seen  uint64 // a bit per member of the table
	next  int    // the member of the table expected next
	names names  // the members that the table does not have; nothing before there is one
	start int
	begun bool

	// outside is the name of the current member if the table has it in other
	// revisions only. It says nothing of a member that has a Name.
	outside string
}

// Object begins to read an object whose members table lists. With a nil table
// every name is unknown.
func (d *Decoder) Object(table *Members) Object {
	if d.first() != '{' {
		d.want("an object")
		return Object{}
	}
	start, n := d.pos, len(d.levels)
	if !d.enter() {
		return Object{}
	}
	if n == cap(d.levels) {
		d.levels = slices.Grow(d.levels, 1)
	}
	d.levels = d.levels[:n+1]
	l := &d.levels[n] // as an object before has left it
	l.table, l.seen, l.next, l.names.object = table, 0, 0, 0
	l.start, l.begun = start, false
	return Object{d: d, level: n}
}

// Next goes to the next member. It fails on a name that occurs twice and, at
// the end, on members that are required but absent.
func (o *Object) Next() bool {
	d := o.d
	if d == nil {
		return false
	}
	if d.first() == '}' {
		return o.end()
	}
	l := &d.levels[o.level]
	if l.table != nil && len(l.table.list) > 0 {
		if o.Name = d.expected(l); o.Name != "" {
			return true
		}
	}
	return o.search(l)
}

// expected steps to the value of the member that is expected next, if it comes next,
// as nearly all encoders write it: without white space. It returns its name, "" for
// anything else.
func (d *Decoder) expected(l *level) string {
	m, bit := &l.table.list[l.next], uint64(1)<<l.next
	if l.seen&bit != 0 || m.In&d.mask == 0 {
		return ""
	}
	token := m.token
	if !l.begun {
		token = token[1:] // no comma
	}
	end := d.pos + len(token)
	if end >= len(d.data) || string(d.data[d.pos:end]) != token || d.data[end] <= ' ' {
		return ""
	}
	d.pos = end
	l.begun, l.seen, l.next = true, l.seen|bit, l.table.after(l.next)
	return m.Name
}

// search is Next for a member that may be any, however it is written.
func (o *Object) search(l *level) bool {
	d := o.d
	if d.err != nil {
		return false
	}
	c := d.next()
	switch {
	case c == '}':
		return o.end()
	case l.begun && c != ',':
		d.unexpected()
		return false
	case l.begun:
		d.pos++
		c = d.next()
	}
	l.begun = true
	if c != '"' {
		d.unexpected()
		return false
	}
	o.Name = d.memberName(l)
	if d.next() != ':' {
		d.unexpected()
		return false
	}
	d.pos++
	d.next()
	return true
}

// memberName reads the name under the cursor. It returns the table's spelling,
// "" for what the table does not have in the revision.
func (d *Decoder) memberName(l *level) string {
	if i := d.plainMember(l); i >= 0 {
		return d.member(l, i)
	}
	raw, size := d.quoted()
	if raw == nil {
		return ""
	}
	if i := l.lookup(raw, size); i >= 0 {
		return d.member(l, i)
	}
	l.outside = ""
	if l.names.object == 0 {
		l.names = d.openNames()
	}
	d.addName(&l.names, raw, size)
	return ""
}

// nearby is how many members of a table are tried before a name is read. To see
// that a name is not the one takes a look at where it would end.
const nearby = 8

// plainMember steps over the name under the cursor if it is one of the table's
// that come next, plainly spelled. It returns its index, -1 for none.
func (d *Decoder) plainMember(l *level) int {
	if l.table == nil {
		return -1
	}
	list, i, from := l.table.list, l.next, d.pos+1
	for range min(len(list), nearby) {
		name := list[i].Name
		if end := from + len(name); end < len(d.data) && d.data[end] == '"' && string(d.data[from:end]) == name {
			d.pos = end + 1
			return i
		}
		i = l.table.after(i)
	}
	return -1
}

// member notes that the member i of the table was met.
func (d *Decoder) member(l *level, i int) string {
	m := &l.table.list[i]
	bit := uint64(1) << i
	if l.seen&bit != 0 {
		d.duplicate(m.Name)
		return ""
	}
	l.seen |= bit
	l.next = l.table.after(i)
	if m.In&d.mask == 0 {
		l.outside = m.Name
		return ""
	}
	return m.Name
}

// lookup finds a name in the table; -1 when it is not there.
func (l *level) lookup(raw []byte, size int) int {
	if l.table == nil {
		return -1
	}
	if size == len(raw) {
		return l.table.index(alias(raw), l.next)
	}
	return l.table.index(unescaped(raw, size), l.next)
}

// end leaves the object.
func (o *Object) end() bool {
	d, l := o.d, &o.d.levels[o.level]
	o.d, o.Name = nil, ""
	if l.names.object != 0 {
		d.closeNames(&l.names)
	}
	d.leave()
	if l.table != nil {
		if unseen := l.table.required &^ l.seen; unseen != 0 {
			d.absent(l, unseen)
		}
	}
	d.levels = d.levels[:o.level]
	return false
}

// absent fails if the revision requires any of the given members.
func (d *Decoder) absent(l *level, unseen uint64) {
	for rest := unseen; rest != 0; rest &= rest - 1 {
		if d.Needs(l.table.list[bits.TrailingZeros64(rest)].Required) {
			d.missing(l, unseen)
			return
		}
	}
}

// missing fails for those of the given members that the revision requires.
func (d *Decoder) missing(l *level, unseen uint64) {
	var missing []string
	for ; unseen != 0; unseen &= unseen - 1 {
		m := &l.table.list[bits.TrailingZeros64(unseen)]
		if d.Needs(m.Required) {
			missing = append(missing, fmt.Sprintf("%q", m.Name))
		}
	}
	if len(missing) == 1 {
		d.fail(l.start, false, fmt.Errorf("missing member %s", missing[0]))
		return
	}
	d.fail(l.start, false, fmt.Errorf("missing members %s", strings.Join(missing, ", ")))
}

// Extra reads the value of the current member, whatever it is, and keeps it in
// m under the member's name. A nil m is made.
func (o *Object) Extra(m map[string]json.RawMessage) map[string]json.RawMessage {
	if o.d == nil || o.d.err != nil {
		return m
	}
	name := o.key()
	raw := o.d.Raw()
	if raw == nil {
		return m
	}
	if m == nil {
		m = make(map[string]json.RawMessage)
	}
	m[name] = raw
	return m
}

// Key returns the name of the current member, whether the table has it or not.
// It is to be called before the value is read.
func (o *Object) Key() string {
	if o.d == nil {
		return ""
	}
	return o.key()
}

// key is the name of the current member, known or not, before its value is read.
func (o *Object) key() string {
	switch {
	case o.Name != "" || o.d.err != nil:
		return o.Name
	case o.d.levels[o.level].outside != "":
		return o.d.levels[o.level].outside
	}
	return o.d.familiar.text(o.d.lastName())
}
