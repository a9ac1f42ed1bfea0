package wire

import (
	"fmt"
	"iter"
	"slices"
	"strings"
)

// Member describes one member of an object type.
type Member struct {
	Name     string
	In       Window // the revisions that have the member
	Required Window // the revisions that require the member; a subset of In

	token string // `,"name":`, the usual spelling
}

// Members is the table of an object type's members. It is immutable and may be
// shared by goroutines.
type Members struct {
	typeName string
	list     []Member
	required uint64 // a bit for each member that some revision requires
}

// maxMembers is the number of members that the bitmap of an Object can hold.
const maxMembers = 64

// NewMembers returns the table of the members of typeName. Reading is fastest if
// the list has the order in which encoders write the members. NewMembers panics if
// there are more than 64 members, if a name is empty or occurs twice, or if a
// member is required in a revision that does not have it. The table uses the list, which must
// not change afterwards.
func NewMembers(typeName string, list ...Member) *Members {
	if len(list) > maxMembers {
		panic(fmt.Sprintf("wire: %s has %d members, at most %d are allowed", typeName, len(list), maxMembers))
	}
	m := &Members{typeName: typeName, list: list}
	tokens := tokensOf(list)
	for i, x := range list {
		if x.Name == "" || m.index(x.Name, 0) != i {
			panic(fmt.Sprintf("wire: %s has an empty or duplicate member name %q", typeName, x.Name))
		}
		if x.Required&^x.In != 0 {
			panic(fmt.Sprintf("wire: %s.%s is required in a revision that does not have it", typeName, x.Name))
		}
		if x.Required != 0 {
			m.required |= 1 << i
		}
		n := len(x.Name) + len(`,"":`)
		m.list[i].token, tokens = tokens[:n], tokens[n:]
	}
	return m
}

// tokensOf returns the tokens of all members as one string. Programs make more than a hundred
// tables when they start.
func tokensOf(list []Member) string {
	n := 0
	for _, x := range list {
		n += len(x.Name) + len(`,"":`)
	}
	var b strings.Builder
	b.Grow(n)
	for _, x := range list {
		b.WriteString(`,"`)
		b.WriteString(x.Name)
		b.WriteString(`":`)
	}
	return b.String()
}

// Type returns the name of the type.
func (m *Members) Type() string { return m.typeName }

// All returns the members in the order of the table.
func (m *Members) All() iter.Seq[Member] { return slices.Values(m.list) }

// after returns the index of the member expected after the member at i.
func (m *Members) after(i int) int {
	if i++; i < len(m.list) {
		return i
	}
	return 0
}

// index returns the index of name, or -1. It looks at the member at from first.
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

// has reports whether name is a member in any revision of mask. A nil table has no
// members.
func (m *Members) has(name string, mask Window) bool {
	if m == nil {
		return false
	}
	i := m.index(name, 0)
	return i >= 0 && m.list[i].In&mask != 0
}

// EnumValue describes one value of an enumeration.
type EnumValue struct {
	Name string
	In   Window // the revisions that have the value
}

// Enum is the table of an enumeration of strings. It is immutable and may be
// shared by goroutines.
type Enum struct {
	typeName string
	list     []EnumValue
}

// NewEnum returns the table of the values of typeName. It panics if a value occurs
// twice.
func NewEnum(typeName string, values ...EnumValue) *Enum {
	m := &Enum{typeName: typeName, list: slices.Clone(values)}
	for i, x := range values {
		if m.index(x.Name) != i {
			panic(fmt.Sprintf("wire: %s has a duplicate value %q", typeName, x.Name))
		}
	}
	return m
}

// Type returns the name of the type.
func (m *Enum) Type() string { return m.typeName }

// All returns the values in the order of the table.
func (m *Enum) All() iter.Seq[EnumValue] { return slices.Values(m.list) }

func (m *Enum) index(name string) int {
	for i := range m.list {
		if m.list[i].Name == name {
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
		return "", fmt.Errorf("%s has no value %q", m.typeName, clip(name))
	case m.list[i].In&mask == 0:
		return "", fmt.Errorf("revision has no %s %q", m.typeName, name)
	}
	return m.list[i].Name, nil
}

// EnumOf returns the table of the values of typeName in a list, such as Enums of the generated package.
// It panics if there is none.
func EnumOf(list []*Enum, typeName string) *Enum {
	i := slices.IndexFunc(list, func(m *Enum) bool { return m.typeName == typeName })
	if i < 0 {
		panic(fmt.Sprintf("wire: there is no enum %q", typeName))
	}
	return list[i]
}
