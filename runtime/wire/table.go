package wire

import (
	"fmt"
	"math/bits"
	"slices"
	"sync/atomic"
)

// Member describes one member of an object type.
type Member struct {
	Name     string
	In       Window // the revisions that have the member
	Required Window // the revisions that require the member; a subset of In
}

// Members is the table of an object type's members. It must not be changed and may be shared by
// goroutines. Reading is fastest if List has the order in which encoders write the members.
// A literal must fulfil what [NewMembers] checks.
type Members struct {
	Type string // the name of the type
	List []Member

	// optional has a bit for each member that no revision requires, and for each bit without a
	// member. It is 0 until it is first needed: programs have more than a hundred tables.
	optional atomic.Uint64
}

// maxMembers is the number of members that the bitmap of an Object can hold.
const maxMembers = 64

// NewMembers returns the table of the members of typeName. It panics if
// there are more than 64 members, if a name is empty or occurs twice, or if a
// member is required in a revision that does not have it. The table uses the list, which must
// not change afterwards.
func NewMembers(typeName string, list ...Member) *Members {
	if len(list) > maxMembers {
		panic(fmt.Sprintf("wire: %s has %d members, at most %d are allowed", typeName, len(list), maxMembers))
	}
	m := &Members{Type: typeName, List: list}
	for i, x := range list {
		if x.Name == "" || m.index(x.Name, 0) != i {
			panic(fmt.Sprintf("wire: %s has an empty or duplicate member name %q", typeName, x.Name))
		}
		if x.Required&^x.In != 0 {
			panic(fmt.Sprintf("wire: %s.%s is required in a revision that does not have it", typeName, x.Name))
		}
	}
	return m
}

// missing returns the bits of members that are not in seen and that some revision requires.
func (m *Members) missing(seen uint64) uint64 {
	optional := m.optional.Load()
	if optional == 0 {
		optional = m.findOptional()
	}
	return ^(optional | seen)
}

func (m *Members) findOptional() uint64 {
	optional := ^uint64(0)
	for i, x := range m.List {
		if x.Required != 0 {
			optional &^= 1 << i
		}
	}
	m.optional.Store(optional)
	return optional
}

// Has reports whether a revision has the member.
func (m *Members) Has(name string) bool { return m.has(name, Always) }

// after returns the index of the member expected after the member at i.
func (m *Members) after(i int) int {
	if i++; i < len(m.List) {
		return i
	}
	return 0
}

// index returns the index of name, or -1. It looks at the member at from first.
func (m *Members) index(name string, from int) int {
	for i := from; i < len(m.List); i++ {
		if m.List[i].Name == name {
			return i
		}
	}
	for i := range min(from, len(m.List)) {
		if m.List[i].Name == name {
			return i
		}
	}
	return -1
}

// has reports whether name is a member in any revision of mask. A nil table has no
// members.
func (m *Members) has(name string, mask Window) bool {
	if m == nil {
		return false
	}
	i := m.index(name, 0)
	return i >= 0 && m.List[i].In&mask != 0
}

// EnumValue describes one value of an enumeration.
type EnumValue struct {
	Name string
	In   Window // the revisions that have the value
}

// Enum is the table of an enumeration of strings. It must not be changed and may be
// shared by goroutines.
type Enum struct {
	Type string // the name of the type
	List []EnumValue
}

func (m *Enum) index(name string) int {
	for i := range m.List {
		if m.List[i].Name == name {
			return i
		}
	}
	return -1
}

// find returns the table's own copy of name if a revision of mask has the value.
// Otherwise it returns an error.
func (m *Enum) find(name string, mask Window) (string, error) {
	i := m.index(name)
	switch {
	case i < 0:
		return "", fmt.Errorf("%s has no value %q", m.Type, clip(name))
	case m.List[i].In&mask == 0:
		return "", fmt.Errorf("revision has no %s %q", m.Type, name)
	}
	return m.List[i].Name, nil
}

// EnumOf returns the table of the values of typeName in a list, such as Enums of the generated package.
// It panics if there is none.
func EnumOf(list []*Enum, typeName string) *Enum {
	i := slices.IndexFunc(list, func(m *Enum) bool { return m.Type == typeName })
	if i < 0 {
		panic(fmt.Sprintf("wire: there is no enum %q", typeName))
	}
	return list[i]
}

// Constant is the table of a member that is a constant, but has other values in some revisions. The names of Values
// are JSON texts.
type Constant struct {
	Name             string // of the member
	Values           Enum
	Closed, Required Window // the revisions that forbid other strings, and that require the member
}

// value returns the value that the revisions of mask write: the first value if they have it, or their only one. It
// reports whether there is such a value. There is none if the member may be absent and may have several values.
func (c *Constant) value(mask Window) (value string, ok bool) {
	count := bits.OnesCount64(uint64(mask &^ c.Closed))
	for _, v := range c.Values.List {
		if v.In&mask == 0 {
			continue
		}
		if count++; !ok {
			value, ok = v.Name, true
		}
	}
	one := mask&(mask-1) == 0
	switch {
	case count < 2:
	case one && mask&^c.Required != 0, c.Values.List[0].In&mask == 0:
		return "", false
	}
	return value, ok
}

// index returns the index of a JSON value, or -1.
func (c *Constant) index(value []byte) int {
	return slices.IndexFunc(c.Values.List, func(v EnumValue) bool { return equalText(v.Name, value) })
}

// find returns the text of a JSON value, which the table has if a constant has the value. It fails if the revisions of mask
// do not allow the value.
func (c *Constant) find(value []byte, mask Window) (string, error) {
	i := c.index(value)
	switch {
	case i >= 0 && c.Values.List[i].In&mask != 0:
		return c.Values.List[i].Name, nil
	case mask&^c.Closed != 0 && kindOf(at(value, 0)) == '"':
		return string(value), nil
	case i >= 0:
		return "", fmt.Errorf("revision has no %s %s", c.Values.Type, c.Values.List[i].Name)
	}
	return "", fmt.Errorf("%s has no value %s", c.Values.Type, clip(string(value)))
}

// writes reports whether a revision writes a JSON value that is not set.
func (c *Constant) writes(value []byte) bool {
	i := c.index(value)
	if i < 0 {
		return false
	}
	for w := c.Values.List[i].In; w != 0; w &= w - 1 {
		if constant, ok := c.value(w & -w); ok && constant == c.Values.List[i].Name {
			return true
		}
	}
	return false
}
