package typed

import (
	"encoding/json"
	"fmt"
	"math/bits"
	"reflect"
	"slices"

	"github.com/mcpwright/mcp/runtime/wire"
)

// object is how the members of an object go into the fields of a struct.
type object struct {
	table   *wire.Members
	members []member // in the order of the table
	closed  bool

	defaults uint64 // which members have one
}

type member struct {
	name      string
	index     []int
	read      reader
	byDefault json.RawMessage // nil for none
}

// maxMembers is how many a [wire.Members] takes.
const maxMembers = 64

// object reads an object into a struct.
func (p *planner) object(t reflect.Type, s *schema) (reader, error) {
	fields, err := fieldsOf(t)
	if err != nil {
		return nil, err
	}
	if len(fields) > maxMembers {
		return nil, fmt.Errorf("%s has %d fields: %d are possible", t, len(fields), maxMembers)
	}
	o, settled := &object{}, p.settled(fields, s)
	var list []wire.Member
	for _, f := range fields {
		m, err := p.member(t, f, s)
		if err != nil {
			return nil, err
		}
		if m.byDefault != nil {
			o.defaults |= 1 << len(o.members)
		}
		o.members = append(o.members, m)
		list = append(list, m.inTable(settled))
	}
	o.table = wire.NewMembers(t.String(), list...)
	o.closed = settled != nil && settled.closed
	return maybeNull(settled, o.read), nil
}

// settled returns the schema if a plan can judge by it, which it cannot where it
// says something about members that are no fields, or refuses some that are.
func (p *planner) settled(fields []field, s *schema) *schema {
	if s == nil {
		return nil
	}
	strange := func(name string) bool {
		return !slices.ContainsFunc(fields, func(f field) bool { return f.name == name })
	}
	for name, own := range s.properties {
		if strange(name) && (s.closed || !own.free()) {
			return p.leave()
		}
	}
	unnamed := func(f field) bool { return s.properties[f.name] == nil }
	if s.closed && slices.ContainsFunc(fields, unnamed) {
		return p.leave()
	}
	if !s.settles("object") || slices.ContainsFunc(s.required, strange) || !s.additional.free() {
		return p.leave()
	}
	return s
}

// member is how a field is read.
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
	if err = reachable(t, f); err != nil {
		return m, err
	}
	if own == nil || own.byDefault == nil {
		return m, nil
	}
	m.byDefault = own.byDefault
	if err := (&Plan{read: m.read}).Read(m.byDefault, reflect.New(f.Type).Interface()); err != nil {
		return m, fmt.Errorf("%s.%s: the default %s: %w", t, f.Name, m.byDefault, err)
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
			d.Fail("there is no %q", x.Key())
		default:
			d.Skip()
		}
	}
	if absent := o.defaults &^ seen; absent != 0 && d.Err() == nil {
		o.fill(d, v, absent)
	}
}

// find finds a member of the table, looking at the one at from first; -1 for
// the empty name, which stands for all others.
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

// fill gives the absent members their defaults.
func (o *object) fill(d *wire.Decoder, v reflect.Value, absent uint64) {
	for ; absent != 0; absent &= absent - 1 {
		m := &o.members[bits.TrailingZeros64(absent)]
		if err := wire.DecodeWith(m.byDefault, nil, place(v, m.index), m.read); err != nil {
			d.FailWith(err)
		}
	}
}

// reachable returns an error if [place] cannot make what lies on the way to a
// field.
func reachable(t reflect.Type, f field) error {
	for i := 1; i < len(f.Index); i++ {
		if on := t.FieldByIndex(f.Index[:i]); !on.IsExported() && on.Type.Kind() == reflect.Pointer {
			return fmt.Errorf("%s.%s: the embedded pointer to %s: want an exported type", t, f.Name, on.Name)
		}
	}
	return nil
}

// place finds a field, and makes the embedded structs on the way to it.
func place(v reflect.Value, index []int) reflect.Value {
	for _, i := range index {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.Field(i)
	}
	return v
}
