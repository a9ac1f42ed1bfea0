// Package ir holds the model that stands between the schemas and the Go code:
// what all revisions say, merged, with everything decided. An emitter reads it
// and infers nothing.
//
// [Build] runs the stages: lift turns each revision's schema into plain nodes,
// merge joins the nodes of all revisions into one type each, and shape decides
// names, presence, unions' discriminators and documentation. Each refuses what
// it cannot decide, and its errors name the revision, the JSON pointer and the
// rule to write.
package ir

import "math/bits"

// Package is everything that is printed.
type Package struct {
	Revisions []*Revision // oldest first
	Types     []*Type     // by name
	Methods   []*Method   // by name on the wire
	Errors    []*Error    // by code, largest first
	Forms     []Form      // every definition of every revision, by name
	// Undocumented are the names without a text, in order.
	Undocumented []Undocumented
}

// Undocumented is a name that the overlay has no text for.
type Undocumented struct {
	Key   string // as it would stand in the overlay
	Since string // the first revision that has the name
}

// Has tells whether a revision is among those compiled.
func (p *Package) Has(revision string) bool {
	for _, r := range p.Revisions {
		if r.Name == revision {
			return true
		}
	}
	return false
}

// AddedIn lists the types and methods that the revision with index i brought.
func (p *Package) AddedIn(i int) (types, methods []string) {
	for _, t := range p.Types {
		if oldest(t.In) == i {
			types = append(types, t.Name)
		}
	}
	for _, m := range p.Methods {
		if oldest(m.FromClient|m.FromServer|m.Embedded) == i {
			methods = append(methods, m.Wire)
		}
	}
	return types, methods
}

// oldest is the index of the oldest revision in a window.
func oldest(w Window) int { return bits.TrailingZeros64(uint64(w)) }

// newest is the index of the newest revision in a window with an end.
func newest(w Window) int { return bits.Len64(uint64(w)) - 1 }

// Revision is one schema.
type Revision struct {
	Name      string // "2025-06-18"
	Schema    string // its file
	SHA256    string // of that file
	Handshake bool   // sessions begin with initialize
}

// Window is a set of revisions, one bit each in the order of
// [Package.Revisions].
type Window uint64

// Has tells whether the revision with index i is in the window.
func (w Window) Has(i int) bool { return w&(1<<i) != 0 }

// Type is a named Go type.
type Type struct {
	Name       string // in Go
	At         string // the definition, or the position that an inline shape has in one
	In         Window
	Doc        string
	Deprecated string
	Area       string // the file it is printed in
	Shape      Shape
}

// Shape is what a type is: exactly one of *Struct, *Union, *Enum and *Alias.
type Shape interface{ shape() }

// Struct is an object with known members.
type Struct struct {
	Role   Role
	Method *Method  // of a request or notification
	Consts []*Const // written, never stored
	Fields []*Field // required ones first
	// Params tells in which revisions a request or notification must have
	// params at all.
	Params Window
	// Asks tells in which revisions a result of this type may turn out to ask
	// for input, and which type it is then.
	Asks   Window
	AsksAs *Type
}

// Role says what a struct is used for on the wire.
type Role int

// The roles. Only a message's own _meta takes part in the frame's.
const (
	Plain Role = iota
	Request
	Notification
	Result
	Meta
)

// Const is a member with one fixed value.
type Const struct {
	JSON, Value  string
	In, Required Window
}

// Field is a member that is stored.
type Field struct {
	Name, JSON   string
	Doc          string
	Deprecated   string
	Type         Expr
	In, Required Window
	// Always tells that the member is required wherever its owner exists: no
	// Go value of it means absent.
	Always bool
	// Pointer tells that nil is absent and the zero value present.
	Pointer bool
	// Nullable tells that nil is written as null.
	Nullable bool
	// Default is the JSON text that stands for the zero value where the
	// member must be written; "" leaves it to the type.
	Default string
	// Revision tells that the default is the frame's revision.
	Revision bool
	// Tolerant tells that a peer may leave the member out even where it is
	// required.
	Tolerant bool
	// NullAbsent tells that null is read as absent.
	NullAbsent bool
	// Lenient tells that a value of another shape is kept as an unknown
	// member instead of failing the message.
	Lenient bool
	// Role is Meta for a message's own _meta.
	Role Role
}

// Expr is the type of a member or element.
type Expr interface{ expr() }

// The kinds of expressions.
type (
	// Scalar is a plain value.
	Scalar struct {
		Kind      Kind
		Min, Max  *float64
		Bounds    Window // the revisions in which Min and Max hold; 0 is all
		Fractions bool   // of a Primitive: numbers need not be integers
		Lists     Window // of a Primitive: the revisions that have lists of strings
		Objects   Window // of a Raw: the revisions in which it must be an object
	}
	// Named is another type.
	Named struct{ Type *Type }
	// List is a JSON array. Max, where not zero, bounds it in the revisions
	// MaxIn.
	List struct {
		Elem  Expr
		Max   int
		MaxIn Window
	}
	// Map is a JSON object whose members are all alike.
	Map struct{ Elem Expr }
	// Ordered is a Map whose order users see. Name is the Go name of one of
	// its members.
	Ordered struct {
		Elem Expr
		Name string
	}
	// OneOrMany is one value or, in the revisions Many, an array of them.
	OneOrMany struct {
		Elem Expr
		Many Window
	}
)

// Kind is the kind of a scalar.
type Kind int

// The kinds of scalars.
const (
	String Kind = iota
	Bool
	Int
	Float
	Bytes     // base64 in a string
	Raw       // any JSON, kept as it is
	RawObject // any JSON object, kept as it is
	ID
	Token
	Object    // any JSON object, as a map of raw values
	Primitive // string, boolean, number or list of strings
)

// Union is a value of one of several types.
type Union struct {
	Members []*Member // in the order of the newest revision that has them
	// Key is the member whose value tells them apart, "" where only the
	// members that are present do.
	Key string
	// Tests are tried in order to find the member.
	Tests []Test
}

// Member is one type of a union.
type Member struct {
	Type *Type
	In   Window
}

// Test finds a member of a union: the value of the union's key is one of
// Values (no values: the key is absent), and Path, where there is one, leads
// to a member.
type Test struct {
	Member *Member
	Values []string
	Path   []string
}

// Enum is a string with known values.
type Enum struct {
	Values []*Value
	Open   bool // other values are legal
}

// Value is a value of an enum.
type Value struct {
	Name, JSON, Doc string
	In              Window
}

// Alias is another name for an expression.
type Alias struct{ Of Expr }

func (*Struct) shape() {}
func (*Union) shape()  {}
func (*Enum) shape()   {}
func (*Alias) shape()  {}

func (Scalar) expr()    {}
func (Named) expr()     {}
func (List) expr()      {}
func (Map) expr()       {}
func (Ordered) expr()   {}
func (OneOrMany) expr() {}

// Method is a request or notification.
type Method struct {
	Wire         string // "tools/call"
	Name         string // "CallTool"
	Doc          string
	Deprecated   string
	Area         string
	Notification bool
	Type         *Type // the request or notification
	Result       *Type // nil for a notification
	FromClient   Window
	FromServer   Window
	Embedded     Window // inside a result that asks for input
	MultiRound   Window
	Cacheable    Window
	Pages        *Field // the result's list, where the method is paged
	Facts        Facts
}

// Bare tells that the method's params hold nothing but _meta.
func (m *Method) Bare() bool {
	s := m.Type.Shape.(*Struct)
	for _, f := range s.Fields {
		if f.Role != Meta {
			return false
		}
	}
	return true
}

// Facts are what only the specification's prose says about a method.
type Facts struct {
	Capability   string // the receiver's (for a notification the sender's) capability it needs
	NameMember   string // the params member that the Mcp-Name header repeats
	FilterMember string // the member of a subscription filter that asks for it
	Standalone   bool   // never sent on a request's channel
	Helper       string // the name of its session helper, where not derived
}

// Error is an error code of the protocol.
type Error struct {
	Name string
	Code int
	Doc  string
	In   Window
	Data *Type // nil where the schema leaves it open
}

// Form says how a definition appears in Go.
type Form struct {
	Definition string
	Type       *Type  // nil where it has none
	Params     bool   // the definition is the params of the message type
	Error      *Error // the definition is an error response
	Why        string // why there is no Go form
	In         Window
}
