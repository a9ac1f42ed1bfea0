// Package ir is the intermediate representation between the schemas and the Go code.
// It merges the schemas of all revisions into one model in which every decision is
// made, so that an emitter only prints.
//
// [Build] runs three stages. The first parses the schema of each revision into nodes.
// The second merges the nodes of all revisions into one type per definition. The third
// adds names, presence, the discriminators of unions, and documentation. Each stage
// returns an error if it cannot make a decision. The error contains the revision, the
// JSON pointer and the rule to write.
package ir

import (
	"math/bits"
	"slices"
	"strings"
)

// Package is the merged model of all revisions.
type Package struct {
	Revisions []*Revision // oldest first
	Types     []*Type     // by name
	Methods   []*Method   // by name on the wire
	Errors    []*Error    // by code, largest first
	Forms     []Form      // all definitions of all revisions, by name
	Joins     []Join      // changes that the declarations represent, by place
	// Notices are about constraints in extensions that the codec does not check.
	Notices []string
	// Undocumented lists the names without a documentation text, in order.
	Undocumented []Undocumented
}

// Undocumented is a name without a text in docs.txt.
type Undocumented struct {
	Key   string // the key that its text would have in docs.txt
	Since string // the first revision that has the name
}

// Has reports whether a revision is in the package.
func (p *Package) Has(revision string) bool {
	for _, r := range p.Revisions {
		if r.Name == revision {
			return true
		}
	}
	return false
}

// AddedIn returns the types and methods that are new in the revision with index i.
func (p *Package) AddedIn(i int) (types, methods []string) {
	for _, t := range p.Types {
		if oldest(t.In) == i {
			types = append(types, t.Name)
		}
	}
	for _, m := range p.Methods {
		if oldest(m.in()) == i {
			methods = append(methods, m.Wire)
		}
	}
	return types, methods
}

// oldest returns the index of the oldest revision in w.
func oldest(w Window) int { return bits.TrailingZeros64(uint64(w)) }

// newest returns the index of the newest revision in w, which must be bounded.
func newest(w Window) int { return bits.Len64(uint64(w)) - 1 }

// Revision is one revision of the protocol and its schema.
type Revision struct {
	Name      string // "2025-06-18"
	Schema    string // file name
	SHA256    string // of the file
	Handshake bool   // sessions begin with an initialize request
}

// Window is a set of revisions: bit i is the revision with index i in
// [Package.Revisions].
type Window uint64

// Has reports whether w contains the revision with index i.
func (w Window) Has(i int) bool { return w&(1<<i) != 0 }

// Type is a named Go type.
type Type struct {
	Name       string // Go name
	Package    string // import path of the package that declares it; "" for this package
	At         string // JSON pointer of the definition, or of the inline schema
	In         Window
	Doc        string
	Deprecated string
	Area       string // base name of the file that declares it
	Shape      Shape

	def    string // name of the merged type
	fix    fix    // for a change of the newest revision
	newest string // place in the newest revision that has it
}

// Definition returns the name of the definition of t, or the Go name of an inline type.
func (t *Type) Definition() string { return t.def }

// Since returns the index of the oldest revision that has t.
func (t *Type) Since() int { return oldest(t.In) }

// Shape is the kind of a type: *Struct, *Union, *Enum or *Alias.
type Shape interface{ shape() }

// Struct is an object with known members.
type Struct struct {
	Role   Role
	Method *Method  // set for a request or notification
	Consts []*Const // members with a fixed value, which have no Go field
	Fields []*Field // required ones first
	// ParamsRequired has the revisions in which a request or notification must have
	// params even if they are empty.
	ParamsRequired Window
	// InputRequired has the revisions in which the response to the request may be an
	// InputRequiredType in place of this result.
	InputRequired     Window
	InputRequiredType *Type
	// Cases has the members that depend on the value of the member Case, in an extension.
	Case  *Field
	Cases []Case
	// Checks has the schemas of revisions that do not allow all values of the struct.
	Checks []Variant
}

// Case has the members that are required if the member that a struct's Case names has a
// value. If the struct has no Case, an object has the members of at least one of the Cases.
type Case struct {
	Value    string
	Required []*Field
}

// Role is the use of a struct in messages.
type Role int

// The roles. Meta is the role of message metadata, which the runtime extends.
const (
	Plain Role = iota
	Request
	Notification
	Result
	Meta
)

// Const is a member with one fixed value.
type Const struct {
	Name, JSON, Value string // Name is the Go name
	In, Required      Window
	// Values has the JSON texts of the values of all revisions if some have other values than Value; Value is the first.
	Values []*Value
	// Open has the revisions in which it may be any string.
	Open Window
	// Unset has the schemas of the revisions in which it is absent unless its value is in Extra.
	Unset []Variant
}

// Field is a member with a Go field.
type Field struct {
	Name, JSON   string
	Doc          string
	Deprecated   string
	Type         Expr
	In, Required Window
	// Always reports whether the member is required in every revision that has its
	// struct, so that its Go type needs no value for absent.
	Always bool
	// Kept reports whether the member is Always in the revisions that have it, and absent in
	// others.
	Kept bool
	// Pointer reports whether the Go type is a pointer: nil is absent, and the zero
	// value is present.
	Pointer bool
	// Nullable reports whether nil is written as null.
	Nullable bool
	// Nulls has the revisions that allow null, if some do not; 0 means all, or none if null is absent.
	Nulls Window
	// Integers has the revisions in which a number must be an integer; 0 means none.
	// Integers that float64 cannot represent are also in Extra.
	Integers Window
	// Zeros has the revisions in which an absent member differs from its zero value, which the field does
	// not show; 0 means none. An explicit zero value is also in Extra. This is a number with a default
	// that may be absent, or a member that only one alternative of an object requires.
	Zeros Window
	// Default is the JSON text that is written for the zero value if the member is
	// required, or "" to use the zero value of the type.
	Default string
	// Revision reports whether the default is the name of the current revision.
	Revision bool
	// Tolerant reports whether decoding accepts a message without the member even in
	// revisions that require it.
	Tolerant bool
	// Strict has the revisions in which decoding requires a valid value although the field is tolerant or
	// lenient: their schemas may not allow the default.
	Strict Window
	// NullAbsent reports whether null is decoded as absent.
	NullAbsent bool
	// Lenient reports whether a value of the wrong type is stored as an unknown member,
	// and is not an error.
	Lenient bool
	// Extra has the schemas of the revisions in which the value is raw JSON in Extra, because
	// the Go type cannot represent it.
	Extra []Variant
	// Checks has the schemas of revisions that do not allow all values of the Go type.
	Checks []Variant
	// Role is Meta if the field is the metadata of a message.
	Role Role

	nulls  Window // the revisions that allow null
	newest string // place in the newest revision that has it
}

// Expr is the type of a member or an element.
type Expr interface{ expr() }

// The expressions.
type (
	// Scalar is a value without a declared type.
	Scalar struct {
		Kind      Kind
		Min, Max  *float64
		Bounds    Window // the revisions that have Min and Max; 0 means all
		Fractions bool   // Primitive only: numbers may be fractions
		Lists     Window // Primitive only: the revisions that allow lists of strings
		Any       Window // Primitive only: the revisions that allow any JSON
		Objects   Window // Raw only: the revisions that require an object
	}
	// Named is a declared type.
	Named struct{ Type *Type }
	// List is a JSON array. If Max is not zero, it limits the number of elements in
	// the revisions MaxIn.
	List struct {
		Elem  Expr
		Max   int
		MaxIn Window
	}
	// Map is a JSON object whose members all have one type.
	Map struct{ Elem Expr }
	// Ordered is a Map whose members have an order. Name is the Go name of the
	// type of a member.
	Ordered struct {
		Elem Expr
		Name string
	}
	// OneOrMany is one value or, in the revisions Many, an array of values.
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
	Bytes     // string with base64
	Raw       // any JSON value, not decoded
	RawObject // any JSON object, not decoded
	ID
	Token
	Object    // any JSON object, decoded to a map of raw values
	Primitive // string, boolean, number or list of strings
)

// String returns the name of the constant.
func (k Kind) String() string {
	return [...]string{"String", "Bool", "Int", "Float", "Bytes", "Raw", "RawObject", "ID", "Token", "Object", "Primitive"}[k]
}

// Union is a value of one of several types.
type Union struct {
	Members  []*Member // in the order of the newest revision that has them
	Selector           // of the oldest revisions
	// Newer has the selectors of newer revisions in which the types have other properties, oldest first.
	Newer []Selector
	// Objects has the revisions in which the definition is one object, so that no unknown type is valid.
	Objects Window
}

// Selectors returns all selectors of u, oldest first.
func (u *Union) Selectors() []Selector { return append([]Selector{u.Selector}, u.Newer...) }

// A Selector selects the member of a union in some revisions.
type Selector struct {
	In Window
	// Key is the member whose value selects the type. It is "" if the type depends
	// only on which members are present.
	Key string
	// Optional has the revisions in which a member of the union may be without Key.
	Optional Window
	// Tests select the member. The first test that matches applies.
	Tests []Test
}

// Only returns the member that all values have, or nil.
func (s *Selector) Only() *Member {
	if s.Key == "" && len(s.Tests) == 1 && len(s.Tests[0].Path) == 0 {
		return s.Tests[0].Member
	}
	return nil
}

// Texts reports whether all values of the key are strings.
func (s *Selector) Texts() bool {
	return !slices.ContainsFunc(s.Tests, func(t Test) bool {
		return slices.ContainsFunc(t.Values, func(v string) bool { return !strings.HasPrefix(v, `"`) })
	})
}

// Member is one type of a union.
type Member struct {
	Type *Type
	In   Window
}

// Test matches a member of a union in the revisions In. It matches if the value of the union's key is one
// of Values, which are JSON texts (or the key is absent and Values is empty), and if there is a member at
// Path, unless Path is empty.
type Test struct {
	Member *Member
	In     Window
	Values []string
	Path   []string
}

// Enum is a string with known values.
type Enum struct {
	Values []*Value
	Open   bool // other values are valid too
	// Closed has the revisions in which an open enum has no other values.
	Closed Window
}

// Value is a value of an enum, or of a constant.
type Value struct {
	Name, JSON, Doc string
	In              Window
}

// Alias is another name for an expression.
type Alias struct{ Of Expr }

// Innermost returns the type of the elements of lists and maps, or the type itself.
func Innermost(e Expr) Expr {
	switch x := e.(type) {
	case List:
		return Innermost(x.Elem)
	case Map:
		return Innermost(x.Elem)
	case Ordered:
		return Innermost(x.Elem)
	case OneOrMany:
		return Innermost(x.Elem)
	}
	return e
}

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
	Type         *Type // type of the request or notification
	Result       *Type // nil for a notification
	FromClient   Window
	FromServer   Window
	Embedded     Window // inside an InputRequiredResult
	Unsent       Window // neither side can send it, because it is in no union of messages
	MultiRound   Window
	Cacheable    Window
	Pages        *Field // the list in the result; nil if the method is not paged
	Facts        Facts
}

// in returns the revisions that define m.
func (m *Method) in() Window { return m.FromClient | m.FromServer | m.Embedded | m.Unsent }

// HasOnlyMeta reports whether the params of m have no member other than _meta in the
// first revision that has m. A member that a later revision adds does not change the
// signatures of functions.
func (m *Method) HasOnlyMeta() bool {
	s, first := m.Type.Shape.(*Struct), oldest(m.in())
	for _, f := range s.Fields {
		if f.Role != Meta && f.In.Has(first) {
			return false
		}
	}
	return true
}

// Facts are properties of a method that only the text of the specification contains.
type Facts struct {
	Capability   string // required capability: the receiver's for a request, the sender's for a notification
	NameMember   string // member of params whose value is also in the Mcp-Name header
	FilterMember string // member of a subscription filter that selects the notification
	Standalone   bool   // always sent on the connection's channel, not on a request's
	Helper       string // name of the session method that sends it; "" for the default
}

// Error is an error code of the protocol.
type Error struct {
	Name   string
	Code   int
	Others []OtherCode // in revisions with another code
	Doc    string
	In     Window
	Data   *Type // nil if the schema does not define it

	at  string // where the oldest revision defines it
	def string
}

// OtherCode is the code of an error in some revisions.
type OtherCode struct {
	Code int
	In   Window
}

// Form describes how a definition is represented in Go.
type Form struct {
	Definition string
	Type       *Type  // nil if it has none
	Params     bool   // the definition is the params of the message Type
	Error      *Error // the definition is an error response
	Why        string // reason if the definition is not represented in Go
	In         Window
}
