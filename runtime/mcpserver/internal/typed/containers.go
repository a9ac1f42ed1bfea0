package typed

import (
	"encoding/json"
	"fmt"
	"math/bits"
	"reflect"
	"slices"

	"github.com/mcpwright/mcp/runtime/wire"
)

func (p *planner) list(t reflect.Type, s *schema) (reader, error) {
	if isBytes(t) && (s == nil || !s.only("array")) {
		return p.bytes(s), nil
	}
	validatable := s
	if s != nil && !s.canValidate("array") {
		validatable = p.delegate()
	}
	least, most := bounds(nil, nil)
	var items *schema
	if s != nil {
		items = s.items
		least, most = bounds(s.minItems, s.maxItems)
	}
	elem, err := p.reader(t.Elem(), items)
	if err != nil {
		return nil, err
	}
	read := readSlice(t, elem)
	if t.Kind() == reflect.Array {
		read = readArray(t, elem)
	}
	return maybeNull(validatable, func(d *wire.Decoder, v reflect.Value) {
		if n := read(d, v); d.Err() == nil && (n < least || n > most) {
			d.Fail("want %d to %d items", least, most)
		}
	}), nil
}

// readSlice decodes an array and returns its length.
func readSlice(t reflect.Type, elem reader) func(*wire.Decoder, reflect.Value) int {
	return func(d *wire.Decoder, v reflect.Value) int {
		v.Set(reflect.MakeSlice(t, 0, 0))
		wire.List(d, func(d *wire.Decoder) struct{} {
			n := v.Len()
			v.Grow(1)
			v.SetLen(n + 1)
			v.Index(n).SetZero()
			elem(d, v.Index(n))
			return struct{}{}
		})
		return v.Len()
	}
}

// readArray is like readSlice for a Go array. Additional elements are an error; missing ones
// remain zero.
func readArray(t reflect.Type, elem reader) func(*wire.Decoder, reflect.Value) int {
	return func(d *wire.Decoder, v reflect.Value) int {
		n := 0
		wire.List(d, func(d *wire.Decoder) struct{} {
			if n == t.Len() {
				d.Fail("want %d items at most", n)
				return struct{}{}
			}
			elem(d, v.Index(n))
			n++
			return struct{}{}
		})
		return n
	}
}

// bytes decodes a base64 string.
func (p *planner) bytes(s *schema) reader {
	if s != nil && (s.enum != nil || s.minLength != nil || s.maxLength != nil) {
		s = p.delegate()
	}
	return p.scalar(s, "string", func(d *wire.Decoder, v reflect.Value) { v.SetBytes(d.Bytes()) })
}

func (p *planner) dictionary(t reflect.Type, s *schema) (reader, error) {
	if t.Key().Kind() != reflect.String || customText(t.Key()) {
		return nil, fmt.Errorf("keys of %s are not plain strings", t)
	}
	validatable := s
	if s != nil && (!s.canValidate("object") || s.properties != nil || s.required != nil || s.closed) {
		validatable = p.delegate()
	}
	var values *schema
	if s != nil && s.properties == nil {
		values = s.additional
	}
	elem, err := p.reader(t.Elem(), values)
	if err != nil {
		return nil, err
	}
	return maybeNull(validatable, func(d *wire.Decoder, v reflect.Value) {
		v.Set(reflect.MakeMap(t))
		for o := d.Object(nil); o.Next(); {
			key := reflect.ValueOf(o.Key()).Convert(t.Key())
			value := reflect.New(t.Elem()).Elem()
			elem(d, value)
			v.SetMapIndex(key, value)
		}
	}), nil
}

// object maps the members of a JSON object to the fields of a struct.
type object struct {
	table   *wire.Members
	members []member // in the order of the table
	closed  bool

	defaults uint64 // bit set of the members with a default
}

type member struct {
	name         string
	index        []int
	read         reader
	defaultValue json.RawMessage // or nil
}

// maxMembers is the maximum number of members of a [wire.Members].
const maxMembers = 64

// object decodes a JSON object into a struct.
func (p *planner) object(t reflect.Type, s *schema) (reader, error) {
	fields, err := fieldsOf(t)
	if err != nil {
		return nil, err
	}
	if len(fields) > maxMembers {
		return nil, fmt.Errorf("%s has %d fields, the limit is %d", t, len(fields), maxMembers)
	}
	o, validatable := &object{}, p.validatable(fields, s)
	var list []wire.Member
	for _, f := range fields {
		m, err := p.member(t, f, s)
		if err != nil {
			return nil, err
		}
		if m.defaultValue != nil {
			o.defaults |= 1 << len(o.members)
		}
		o.members = append(o.members, m)
		list = append(list, m.inTable(validatable))
	}
	o.table = wire.NewMembers(t.String(), list...)
	o.closed = validatable != nil && validatable.closed
	return maybeNull(validatable, o.read), nil
}

// validatable returns the schema if a plan can validate objects against it. Otherwise it
// delegates: if the schema restricts members that are not fields, or rejects some that are.
func (p *planner) validatable(fields []field, s *schema) *schema {
	if s == nil {
		return nil
	}
	unknown := func(name string) bool {
		return !slices.ContainsFunc(fields, func(f field) bool { return f.name == name })
	}
	for name, own := range s.properties {
		if unknown(name) && (s.closed || !own.acceptsAny()) {
			return p.delegate()
		}
	}
	unnamed := func(f field) bool { return s.properties[f.name] == nil }
	if s.closed && slices.ContainsFunc(fields, unnamed) {
		return p.delegate()
	}
	if !s.canValidate("object") || slices.ContainsFunc(s.required, unknown) || !s.additional.acceptsAny() {
		return p.delegate()
	}
	return s
}

// member returns the reader of a field.
func (p *planner) member(t reflect.Type, f field, s *schema) (member, error) {
	m := member{name: f.name, index: f.Index}
	var own *schema
	if s != nil {
		own = s.properties[f.name]
	}
	var err error
	if m.read, err = p.reader(f.Type, own); err != nil {
		return m, fmt.Errorf("%s.%s: %w", t, f.Name, err)
	}
	if err = checkReachable(t, f); err != nil {
		return m, err
	}
	if own == nil || own.defaultValue == nil {
		return m, nil
	}
	m.defaultValue = own.defaultValue
	if err := (&Plan{read: m.read}).Read(m.defaultValue, reflect.New(f.Type).Interface()); err != nil {
		return m, fmt.Errorf("%s.%s: invalid default %s: %w", t, f.Name, m.defaultValue, err)
	}
	return m, nil
}

func (m *member) inTable(s *schema) wire.Member {
	x := wire.Member{Name: m.name, In: wire.Always}
	if s != nil && slices.Contains(s.required, m.name) {
		x.Required = wire.Always
	}
	return x
}

func (o *object) read(d *wire.Decoder, v reflect.Value) {
	var seen uint64
	next := 0
	for x := d.Object(o.table); x.Next(); {
		i := o.find(x.Name, next)
		switch {
		case i >= 0:
			seen |= 1 << i
			next = i + 1
			o.members[i].read(d, place(v, o.members[i].index))
		case o.closed:
			d.Fail("unknown member %q", x.Key())
		default:
			d.Skip()
		}
	}
	if absent := o.defaults &^ seen; absent != 0 && d.Err() == nil {
		o.fill(d, v, absent)
	}
}

// find returns the index of a member, searching from an index first. It returns -1 for the
// empty name, which stands for unknown members.
func (o *object) find(name string, from int) int {
	if name == "" {
		return -1
	}
	for i := from; i < len(o.members); i++ {
		if o.members[i].name == name {
			return i
		}
	}
	for i := range min(from, len(o.members)) {
		if o.members[i].name == name {
			return i
		}
	}
	return -1
}

// fill sets the absent members to their defaults.
func (o *object) fill(d *wire.Decoder, v reflect.Value, absent uint64) {
	for ; absent != 0; absent &= absent - 1 {
		m := &o.members[bits.TrailingZeros64(absent)]
		if err := wire.DecodeWith(m.defaultValue, nil, place(v, m.index), m.read); err != nil {
			d.FailWith(err)
		}
	}
}
