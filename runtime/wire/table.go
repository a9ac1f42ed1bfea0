package wire

import (
	"fmt"
	"iter"
	"slices"
)

// maxMembers is how many members the bitmap of an Object can hold.
const maxMembers = 64

// Member is one member of an object type.
type Member struct {
	Name     string
	In       Window // revisions that have the member
	Required Window // revisions that require it; a part of In

	token string // `,"name":`, as most documents spell it
}

// Members is the table of an object type's members. It is immutable.
type Members struct {
	typeName string
	list     []Member
	required uint64 // members that some revision requires
}

// NewMembers makes the table of typeName. The cheapest order is the one in
// which encoders write the members. It panics on more than 64 members, on a
// name given twice, and on a member required where it does not exist.
func NewMembers(typeName string, list ...Member) *Members {
	if len(list) > maxMembers {
		panic(fmt.Sprintf("wire: %s has %d members, at most %d are possible", typeName, len(list), maxMembers))
	}
	m := &Members{typeName: typeName, list: slices.Clone(list)}
	for i, x := range list {
		if x.Name == "" || m.index(x.Name, 0) != i {
			panic(fmt.Sprintf("wire: %s has a member %q twice or without a name", typeName, x.Name))
		}
		if x.Required&^x.In != 0 {
			panic(fmt.Sprintf("wire: %s.%s is required where it does not exist", typeName, x.Name))
		}
		if x.Required != 0 {
			m.required |= 1 << i
		}
		m.list[i].token = `,"` + x.Name + `":`
	}
	return m
}

// Type returns the name of the type.
func (m *Members) Type() string { return m.typeName }

// All yields the members in the order of the table.
func (m *Members) All() iter.Seq[Member] { return slices.Values(m.list) }

// after is the member that is expected after the one at i.
func (m *Members) after(i int) int {
	if i++; i < len(m.list) {
		return i
	}
	return 0
}

// index finds name, looking at the member at from first; -1 when it is unknown.
func (m *Members) index(name string, from int) int {
	for i := from; i < len(m.list); i++ {
		if m.list[i].Name == name {
			return i
		}
	}
	for i := range min(from, len(m.list)) {
		if m.list[i].Name == name {
			return i
		}
	}
	return -1
}

// has reports whether name is a member in one of the revisions of mask. A nil
// table has none.
func (m *Members) has(name string, mask Window) bool {
	if m == nil {
		return false
	}
	i := m.index(name, 0)
	return i >= 0 && m.list[i].In&mask != 0
}

// EnumValue is one value of an enumeration.
type EnumValue struct {
	Name string
	In   Window // revisions that have the value
}

// Enum is the table of an enumeration of strings. It is immutable.
type Enum struct {
	typeName string
	list     []EnumValue
}

// NewEnum makes the table of typeName. It panics on a value given twice.
func NewEnum(typeName string, values ...EnumValue) *Enum {
	m := &Enum{typeName: typeName, list: slices.Clone(values)}
	for i, x := range values {
		if m.index(x.Name) != i {
			panic(fmt.Sprintf("wire: %s has the value %q twice", typeName, x.Name))
		}
	}
	return m
}

// Type returns the name of the type.
func (m *Enum) Type() string { return m.typeName }

// All yields the values in the order of the table.
func (m *Enum) All() iter.Seq[EnumValue] { return slices.Values(m.list) }

func (m *Enum) index(name string) int {
	for i := range m.list {
		if m.list[i].Name == name {
			return i
		}
	}
	return -1
}

// find returns the table's own spelling of name where mask has it, and what is
// wrong where it has not.
func (m *Enum) find(name string, mask Window) (string, error) {
	i := m.index(name)
	switch {
	case i < 0:
		return "", fmt.Errorf("%s has no value %q", m.typeName, clip(name))
	case m.list[i].In&mask == 0:
		return "", fmt.Errorf("revision has no %s %q", m.typeName, name)
	}
	return m.list[i].Name, nil
}
