package wire

import (
	"encoding/json"
	"fmt"
	"math"
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
// Each iteration must read exactly one value.
type Object struct {
	// Name is the name of the current member. It is "" if the table does not
	// have the member in the decoder's revision; see [Object.Key].
	Name string

	d     *Decoder // nil if there are no more members
	level int      // index in Decoder.levels
}

// level is the state of an object that is being read. It is in the decoder, not in
// Object, because a loop copies its variable in each iteration and many Objects
// are loop variables.
type level struct {
	table   *Members
	seen    uint64  // a bit per member of the table
	next    int     // index of the member expected next
	names   nameSet // members that the table does not have; unset before the first of them
	start   int     // offset of the object in the document
	started bool    // a member was read

	// otherRevision is the name of the current member if the table has it only
	// in other revisions. It is meaningless if the member has a Name.
	otherRevision string
}

// Object begins to read an object with the members of table. If table is nil,
// every name is unknown.
func (d *Decoder) Object(table *Members) Object {
	if d.first() != '{' {
		d.failKind("an object")
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
	l := &d.levels[n] // still has the state of an earlier object
	l.table, l.seen, l.next, l.names.object = table, 0, 0, 0
	l.start, l.started = start, false
	return Object{d: d, level: n}
}

// Next goes to the next member and reports whether there is one. It fails if a
// name occurs twice or, at the end of the object, if a required member is missing.
func (o *Object) Next() bool {
	d := o.d
	if d == nil {
		return false
	}
	if d.first() == '}' {
		return o.end()
	}
	l := &d.levels[o.level]
	if l.table != nil && len(l.table.List) > 0 {
		if o.Name = d.expected(l); o.Name != "" {
			return true
		}
	}
	return o.nextSlow(l)
}

// Key returns the name of the current member, even if the table does not have it.
// It must be called before the value is read. It returns "" after the last member.
func (o *Object) Key() string {
	if o.d == nil {
		return ""
	}
	return o.key()
}

// Extra reads the value of the current member and stores it in m under the
// member's name. If m is nil, Extra creates it. Extra returns the map.
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

// False notes that the value of the current member is an explicit false. If the frame
// asks for that, it stores the value in m under the member's name. If m is nil, False
// creates it. False returns the map.
func (o *Object) False(m map[string]json.RawMessage) map[string]json.RawMessage {
	if o.d == nil || o.d.err != nil || !o.d.keepFalse {
		return m
	}
	if m == nil {
		m = make(map[string]json.RawMessage)
	}
	m[o.key()] = json.RawMessage("false")
	return m
}

// IsFalse reports whether extra members contain an explicit false under a name.
func IsFalse(extra map[string]json.RawMessage, name string) bool {
	return len(extra) > 0 && string(extra[name]) == "false"
}

// Zero notes that the value of the current member is an explicit zero value, such as 0 or "": it stores
// its JSON in m under the member's name. If m is nil, Zero creates it. Zero returns the map.
func (o *Object) Zero(m map[string]json.RawMessage, text string) map[string]json.RawMessage {
	if o.d == nil || o.d.err != nil {
		return m
	}
	if m == nil {
		m = make(map[string]json.RawMessage)
	}
	m[o.key()] = json.RawMessage(text)
	return m
}

// IsZeroIn reports whether extra members contain the JSON of an explicit zero value under a name.
func IsZeroIn(extra map[string]json.RawMessage, name, text string) bool {
	return len(extra) > 0 && string(extra[name]) == text
}

// Integer checks, in the revisions of w, that the value of the current member is an
// integer that fits int64. It does not read the value. If float64 cannot represent the
// integer, Integer stores its digits in m under the member's name. If m is nil, Integer
// creates it. Integer returns the map.
func (o *Object) Integer(m map[string]json.RawMessage, w Window) map[string]json.RawMessage {
	d := o.d
	if d == nil || d.err != nil || !d.Needs(w) {
		return m
	}
	if c := d.first(); c != '-' && !isDigit(c) {
		d.failKind("an integer")
		return m
	}
	start := d.pos
	raw, _ := d.number()
	if raw == nil {
		return m
	}
	v, whole, ok := parseWhole(raw)
	switch {
	case !whole || !ok:
		d.intSlow(raw, math.MinInt64, math.MaxInt64) // fails
		return m
	case float64(v) < 1<<63 && int64(float64(v)) == v:
		delete(m, o.Name)
	default:
		if m == nil {
			m = make(map[string]json.RawMessage)
		}
		m[o.Name] = AppendInt(nil, v)
	}
	d.pos = start
	return m
}

// key is Key for an Object that has a current member.
func (o *Object) key() string {
	switch {
	case o.Name != "" || o.d.err != nil:
		return o.Name
	case o.d.levels[o.level].otherRevision != "":
		return o.d.levels[o.level].otherRevision
	}
	return o.d.interned.intern(o.d.lastName())
}

// expected steps to the value of the member expected next, if that member follows
// without white space. Nearly all encoders write objects like that. It returns the
// name of the member, or "" for anything else.
func (d *Decoder) expected(l *level) string {
	m, bit := &l.table.List[l.next], uint64(1)<<l.next
	if l.seen&bit != 0 || m.In&d.mask == 0 {
		return ""
	}
	from := d.pos
	if l.started {
		from++ // after the comma
	}
	end := from + len(m.Name) + len(`"":`)
	if end >= len(d.data) || l.started && d.data[d.pos] != ',' ||
		d.data[from] != '"' || d.data[end-2] != '"' || d.data[end-1] != ':' || d.data[end] <= ' ' || string(d.data[from+1:end-2]) != m.Name {
		return ""
	}
	d.pos = end
	l.started, l.seen, l.next = true, l.seen|bit, l.table.after(l.next)
	return m.Name
}

// nextSlow is Next for any member in any spelling.
func (o *Object) nextSlow(l *level) bool {
	d := o.d
	if d.err != nil {
		return false
	}
	c := d.next()
	switch {
	case c == '}':
		return o.end()
	case l.started && c != ',':
		d.failUnexpected()
		return false
	case l.started:
		d.pos++
		c = d.next()
	}
	l.started = true
	if c != '"' {
		d.failUnexpected()
		return false
	}
	o.Name = d.memberName(l)
	if d.next() != ':' {
		d.failUnexpected()
		return false
	}
	d.pos++
	d.next()
	return true
}

// memberName reads the name under the cursor. It returns the table's copy of the
// name, or "" if the table does not have the name in the revision.
func (d *Decoder) memberName(l *level) string {
	if i := d.findPlain(l); i >= 0 {
		return d.markSeen(l, i)
	}
	raw, size := d.quoted()
	if raw == nil {
		return ""
	}
	if i := l.lookup(raw, size); i >= 0 {
		return d.markSeen(l, i)
	}
	l.otherRevision = ""
	if l.names.object == 0 {
		l.names = d.openNames()
	}
	d.addName(&l.names, raw, size)
	return ""
}

// maxTried limits the members of a table that findPlain compares. A comparison is
// cheap: most names differ in the byte where the member's name would end.
const maxTried = 8

// findPlain steps over the name under the cursor if it has no escapes and is among
// the next maxTried members of the table. It returns the index of the member, or
// -1.
func (d *Decoder) findPlain(l *level) int {
	if l.table == nil {
		return -1
	}
	list, i, from := l.table.List, l.next, d.pos+1
	for range min(len(list), maxTried) {
		name := list[i].Name
		if end := from + len(name); end < len(d.data) && d.data[end] == '"' && string(d.data[from:end]) == name {
			d.pos = end + 1
			return i
		}
		i = l.table.after(i)
	}
	return -1
}

// markSeen records that member i of the table was read. It fails if the member
// occurs twice. It returns the member's name, or "" if the revision does not have
// the member.
func (d *Decoder) markSeen(l *level, i int) string {
	m := &l.table.List[i]
	bit := uint64(1) << i
	if l.seen&bit != 0 {
		d.failDuplicate(m.Name)
		return ""
	}
	l.seen |= bit
	l.next = l.table.after(i)
	if m.In&d.mask == 0 {
		l.otherRevision = m.Name
		return ""
	}
	return m.Name
}

// lookup returns the index of a name in the table, or -1.
func (l *level) lookup(raw []byte, size int) int {
	if l.table == nil {
		return -1
	}
	if size == len(raw) {
		return l.table.index(alias(raw), l.next)
	}
	return l.table.index(unescaped(raw, size), l.next)
}

// end leaves the object and fails if a required member is missing.
func (o *Object) end() bool {
	d, l := o.d, &o.d.levels[o.level]
	o.d, o.Name = nil, ""
	if l.names.object != 0 {
		d.closeNames(&l.names)
	}
	d.leave()
	if l.table != nil {
		if unseen := l.table.missing(l.seen); unseen != 0 {
			d.checkRequired(l, unseen)
		}
	}
	d.levels = d.levels[:o.level]
	return false
}

// checkRequired fails if the revision requires any of the given members.
func (d *Decoder) checkRequired(l *level, unseen uint64) {
	for rest := unseen; rest != 0; rest &= rest - 1 {
		if d.Needs(l.table.List[bits.TrailingZeros64(rest)].Required) {
			d.failMissing(l, unseen)
			return
		}
	}
}

// failMissing fails with the names of the given members that the revision
// requires.
func (d *Decoder) failMissing(l *level, unseen uint64) {
	var missing []string
	for ; unseen != 0; unseen &= unseen - 1 {
		m := &l.table.List[bits.TrailingZeros64(unseen)]
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

// nameSet finds duplicates among the member names of one object. The names are on
// a stack in the decoder, above the names of the enclosing objects.
type nameSet struct {
	object  int    // number that no other object of the decoder has
	keys    int    // index of the first name in Decoder.keys
	keyText int    // index of the first unescaped name in Decoder.keyText
	bloom   uint64 // a bit for each name; a name whose bit is unset is new
}

// nameSpan is the position of a name in the document. If the name had escapes, it
// is the position in Decoder.keyText, and both offsets are complemented.
type nameSpan struct{ start, end int }

// largeSetKey identifies a name of an object that has many names.
type largeSetKey struct {
	object int
	name   string
}

// maxLinearNames is the number of names of an object that are compared one by one.
// An object with more names uses a map.
const maxLinearNames = 32

func (d *Decoder) openNames() nameSet {
	d.objectCount++
	return nameSet{object: d.objectCount, keys: len(d.keys), keyText: len(d.keyText)}
}

func (d *Decoder) closeNames(n *nameSet) {
	d.keys, d.keyText = d.keys[:n.keys], d.keyText[:n.keyText]
}

// addName adds the name that d has just read. raw is the name between its quotes,
// and size is its length after unescaping. addName fails if the object already has
// the name.
func (d *Decoder) addName(n *nameSet, raw []byte, size int) {
	end := d.pos - 1
	span, name := nameSpan{end - len(raw), end}, raw
	if size != len(raw) {
		start := len(d.keyText)
		d.keyText = appendUnescaped(d.keyText, raw)
		span, name = nameSpan{^start, ^len(d.keyText)}, d.keyText[start:]
	}
	bit := uint64(1) << (quickHash(name) >> 26)
	if n.bloom&bit != 0 && d.hasName(n, name) {
		d.failDuplicate(string(name))
		return
	}
	n.bloom |= bit
	if len(d.keys)-n.keys < maxLinearNames {
		d.keys = append(d.keys, span)
		return
	}
	d.addToLargeSet(n, span, name)
}

// addToLargeSet adds a name to an object that has at least maxLinearNames names.
// All its names are in the map then. The stack has the first maxLinearNames names
// and above them the last one.
func (d *Decoder) addToLargeSet(n *nameSet, span nameSpan, name []byte) {
	own := d.keys[n.keys:]
	if d.largeSets == nil {
		d.largeSets = make(map[largeSetKey]struct{})
	}
	if len(own) == maxLinearNames {
		for _, s := range own {
			d.largeSets[largeSetKey{n.object, string(d.nameAt(s))}] = struct{}{}
		}
		d.keys = append(d.keys, span)
	}
	d.largeSets[largeSetKey{n.object, string(name)}] = struct{}{}
	d.keys[len(d.keys)-1] = span
}

func (d *Decoder) hasName(n *nameSet, name []byte) bool {
	own := d.keys[n.keys:]
	if len(own) > maxLinearNames {
		_, ok := d.largeSets[largeSetKey{n.object, string(name)}]
		return ok
	}
	for _, s := range own {
		if string(d.nameAt(s)) == string(name) {
			return true
		}
	}
	return false
}

func (d *Decoder) nameAt(s nameSpan) []byte {
	if s.start < 0 {
		return d.keyText[^s.start:^s.end]
	}
	return d.data[s.start:s.end]
}

// lastName returns the name that addName added last. It must be called before the
// member's value is read.
func (d *Decoder) lastName() []byte { return d.nameAt(d.keys[len(d.keys)-1]) }
