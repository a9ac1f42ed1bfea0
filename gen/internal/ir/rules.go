package ir

// Rules are the choices that the schemas leave open. Each has a reason, and
// each must change something: a rule that applies nowhere is an error.
//
// A position is a definition ("Tool"), a member of one ("Tool.inputSchema"),
// or a member wherever it occurs ("*.nextCursor"). Members of an inline object
// are named by the Go name that the object is given.
type Rules struct {
	// For are the revisions the rules were written for. A set of schemas that
	// lacks one of them may leave rules unused.
	For []string

	Framing    []Framing
	Slots      []Slot
	Same       []Same
	Widen      []Widen
	Names      []Name
	Members    []MemberName
	Raw        []KeepRaw
	Ordered    []Ordering
	Types      []Builtin
	Pointers   []Pointer
	Open       []Open
	Defaults   []Default
	Tolerances []Tolerance
	Metas      []MetaRole
	Methods    []MethodFact
	Deprecated []Deprecation
	Areas      []AreaOf
	Orders     []Order
	Changes    []Change
}

// Framing leaves a definition out: the runtime writes it by hand.
type Framing struct{ Definition, Why string }

// Slot tells what a union of messages means: who sends them, and how.
type Slot struct {
	Definition string
	Direction  Direction
	Why        string
}

// Direction is what a slot says of the messages in it.
type Direction int

// The directions.
const (
	ClientRequests Direction = iota
	ServerRequests
	EmbeddedRequests
	ClientNotifications
	ServerNotifications
	Results
)

// Same tells that an older definition lives on under a newer name.
type Same struct{ Old, New, Why string }

// Widen tells that a definition's shape was on the wire, under another name,
// before the definition came.
type Widen struct{ Definition, In, Like, Why string }

// Name gives a Go name to a definition or an inline shape.
type Name struct{ At, Go, Why string }

// MemberName gives a Go name to a member, or the end of one to an enum's value
// ("LoggingLevel=debug"), where its own is none or another's.
type MemberName struct{ At, Go, Why string }

// KeepRaw keeps a member's JSON as it is. Zero is what is written for a value that
// is not set but required.
type KeepRaw struct{ At, Zero, Why string }

// Ordering keeps the order of a map's members, each of the Go type Name.
type Ordering struct{ At, Name, Why string }

// Builtin gives a definition a type of the runtime.
type Builtin struct {
	At   string
	Kind Kind
	Why  string
}

// Pointer makes an optional member a pointer: its zero value is not its absence.
type Pointer struct{ At, Why string }

// Open names the known values of an enum that the schema leaves open.
type Open struct {
	At     string
	Name   string // of the enum type
	Values []string
	Why    string
}

// Default is what a member's zero value stands for where it must be written.
// Revision makes it the revision being spoken.
type Default struct {
	At       string
	JSON     string
	Revision bool
	Why      string
}

// Tolerance accepts from a peer what the schema refuses.
type Tolerance struct {
	At   string
	Kind ToleranceKind
	Why  string
}

// ToleranceKind says what is accepted.
type ToleranceKind int

// The tolerances.
const (
	MayBeMissing  ToleranceKind = iota // a required member may be absent
	NullIsAbsent                       // null means absent
	AnyShape                           // a value of another shape is an unknown member
	AlsoFractions                      // numbers where the schema says integers
)

// MetaRole pins the type of _meta by what its owner is.
type MetaRole struct {
	Suffix string // of the owner's definition
	Type   string // the definition
	Role   Role
	Why    string
}

// MethodFact holds the facts about a method that the schema does not.
type MethodFact struct {
	Method string
	Facts
	Why string
}

// Deprecation marks a type, member or method as deprecated.
type Deprecation struct {
	At    string // "method x/y" for a method
	Since string
	Use   string // what to use instead, as a sentence
	Why   string
}

// AreaOf puts a type in a file.
type AreaOf struct{ At, Area, Why string }

// Change allows the newest revision to change a Go declaration: a type, a
// "Type.member" or a "method x/y". Programs that use it have to follow.
type Change struct{ At, Why string }

// Order gives an enum's values in an order that means something.
type Order struct {
	At     string
	Values []string
	Why    string
}
