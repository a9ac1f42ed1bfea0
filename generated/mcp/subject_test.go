package mcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcpwright/mcp/runtime/wire"
)

// A subject is a definition of a revision that has a Go type.
type subject struct {
	definition string
	file       *schemaFile
	shape      shape
	pointer    string // to the shape in the schema
	fresh      func() wire.Value
	documents  func() []any // valid documents, which must not be changed
}

func (s *subject) String() string { return fmt.Sprintf("%v %s", s.file.revision, s.definition) }

// goType returns the Go type of the values, or of the message with the params.
func (s *subject) goType() reflect.Type {
	if p, ok := s.fresh().(asParams); ok {
		return reflect.TypeOf(p.Params)
	}
	return reflect.TypeOf(s.fresh())
}

func (s *subject) frame() *wire.Frame { return &wire.Frame{Revision: s.file.revision} }

func (s *subject) decode(data []byte) (wire.Value, error) {
	v := s.fresh()
	return v, wire.Decode(data, s.frame(), v)
}

func (s *subject) encode(v wire.Value) ([]byte, error) { return wire.Append(nil, s.frame(), v) }

// asParams is the params of a message as a value.
type asParams struct{ wire.Params }

func (p asParams) AppendJSON(b []byte, e *wire.Encoder) []byte { return p.AppendParams(b, e) }
func (p asParams) DecodeJSON(d *wire.Decoder)                  { p.DecodeParams(d) }

// errorData creates the data of each typed error.
var errorData = map[int64]func() wire.Value{
	CodeMissingRequiredClientCapability: func() wire.Value { return new(MissingRequiredClientCapabilityError) },
	CodeUnsupportedProtocolVersion:      func() wire.Value { return new(UnsupportedProtocolVersionError) },
	CodeURLElicitationRequired:          func() wire.Value { return new(URLElicitationRequiredError) },
}

// subjects returns every definition of every revision that has a Go type. The subject of
// an error is its data.
var subjects = sync.OnceValue(func() []*subject {
	var list []*subject
	for _, file := range schemas() {
		for _, f := range forms {
			if !f.in.Has(file.revision) || f.why != "" {
				continue
			}
			if s := newSubject(file, f); s != nil {
				list = append(list, s)
			}
		}
	}
	return list
})

// newSubject returns the subject of a form, or nil for an error without typed data.
func newSubject(file *schemaFile, f form) *subject {
	s := &subject{definition: f.definition, file: file, fresh: f.value}
	path := ""
	switch {
	case f.params != nil:
		s.fresh = func() wire.Value { return asParams{f.params()} }
	case f.code != 0 && errorData[f.code] == nil:
		return nil
	case f.code != 0:
		s.fresh, path = errorData[f.code], "/properties/error/allOf/1/properties/data"
	}
	s.pointer = "/" + file.defs + "/" + f.definition + path
	s.shape = file.shape(f.definition)
	if len(s.shape.members()) == 0 && !s.shape.isStruct() && s.shape.hasLimits() {
		return nil // the members that refer to the definition check its limits
	}
	if path != "" {
		allOf := field(file.definition(f.definition), "properties", "error", "allOf").([]any)
		s.shape = s.shape.sub(field(allOf[1], "properties", "data"))
	}
	s.documents = sync.OnceValue(func() []any {
		return slices.DeleteFunc(s.shape.documents(variedDepth), s.shape.requiresInput)
	})
	return s
}

// hasLimits reports whether s has limits, or the schema of an alternative or of an element. The definitions in within
// contain s.
func (s shape) hasLimits(within ...string) bool {
	if s.name != "" && slices.Contains(within, s.name) || len(s.members()) > 0 {
		return false
	}
	within = append(slices.Clip(within), s.name)
	parts := append(slices.Clip(s.alternatives()), s.items(), s.other())
	return len(s.limits) > 0 || slices.ContainsFunc(parts, func(part shape) bool { return part.raw != nil && part.hasLimits(within...) })
}

// requiresInput reports whether a document of a result is decoded as an
// [InputRequiredResult] instead.
func (s shape) requiresInput(doc any) bool {
	object, _ := doc.(map[string]any)
	return s.mayRequireInput() && object["resultType"] == string(ResultTypeInputRequired)
}

// subjectFor returns the subject of a definition, or nil.
func subjectFor(r wire.Revision, definition string) *subject {
	for _, s := range subjects() {
		if s.file.revision == r && s.definition == definition {
			return s
		}
	}
	return nil
}

// testedSubjects returns the subjects for the tests with the most documents: all subjects,
// or with -short only the newest of each definition.
func testedSubjects() []*subject {
	if testing.Short() {
		return newestSubjects()
	}
	return subjects()
}

// newestSubjects returns every definition in the last revision that has it.
func newestSubjects() []*subject {
	var list []*subject
	seen := map[string]bool{}
	for _, s := range slices.Backward(subjects()) {
		if !seen[s.definition] {
			seen[s.definition] = true
			list = append(list, s)
		}
	}
	return list
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// pointer appends a step to a JSON pointer.
func pointer(base, step string) string {
	return base + "/" + pointerEscapes.Replace(step)
}

// A catalog contains the structs, unions and enums of the package.
type catalog struct {
	structs map[string]reflect.Type
	unions  map[reflect.Type][]reflect.Type // the pointer types of each union, by name
	enums   map[string]*wire.Enum
}

// goTypes returns the catalog of the package.
var goTypes = sync.OnceValue(func() *catalog {
	c := &catalog{structs: map[string]reflect.Type{}, unions: map[reflect.Type][]reflect.Type{}, enums: map[string]*wire.Enum{}}
	for _, f := range forms {
		if f.value != nil {
			c.add(reflect.TypeOf(f.value()).Elem())
		}
	}
	for _, data := range errorData {
		c.add(reflect.TypeOf(data()).Elem())
	}
	for union := range c.unions {
		for _, name := range slices.Sorted(maps.Keys(c.structs)) {
			if p := reflect.PointerTo(c.structs[name]); p.Implements(union) {
				c.unions[union] = append(c.unions[union], p)
			}
		}
	}
	for _, e := range Enums {
		c.enums[e.Type] = e
	}
	return c
})

var (
	valueType = reflect.TypeFor[wire.Value]()
	thisPath  = reflect.TypeFor[Tool]().PkgPath()
)

// add adds a type and the types of its fields and elements.
func (c *catalog) add(t reflect.Type) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		c.add(t.Elem())
	case reflect.Map:
		c.add(t.Elem())
	case reflect.Interface:
		if _, known := c.unions[t]; !known && t.Implements(valueType) {
			c.unions[t] = nil
		}
	case reflect.Struct:
		own := t.PkgPath() == thisPath && !strings.HasPrefix(t.Name(), "box[") && t != reflect.TypeFor[FormField]() // which its form encodes
		if _, known := c.structs[t.Name()]; known {
			return
		}
		if own {
			c.structs[t.Name()] = t
		}
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() || !own {
				c.add(f.Type)
			}
		}
	}
}

// A filler sets every field of a value. The number selects an alternative of unions and a
// value of enums. A value of a type that contains itself contains one other value of the type.
type filler struct {
	alternative int
	within      []reflect.Type // the named types around the value
}

// maxAlternatives is at least the number of alternatives of every union.
const maxAlternatives = 20

// ends reports whether a value of a type can be filled without a type twice around itself.
func (f filler) ends(t reflect.Type) bool {
	f, ok := f.enter(t)
	if !ok {
		return false
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return f.ends(t.Elem())
	case reflect.Interface:
		return t == reflect.TypeFor[any]() || f.choose(t) != nil
	}
	return true
}

// enter returns a filler for the parts of a value of a type. It returns false if the type is already
// twice around the value.
func (f filler) enter(t reflect.Type) (filler, bool) {
	if t.Name() == "" {
		return f, true
	}
	around := 0
	for _, x := range f.within {
		if x == t {
			around++
		}
	}
	f.within = append(slices.Clip(f.within), t)
	return f, around < 2
}

// choose returns an alternative of a union, or nil if none can be filled.
func (f filler) choose(union reflect.Type) reflect.Type {
	alternatives := goTypes().unions[union]
	for i := range alternatives {
		if t := alternatives[(f.alternative+i)%len(alternatives)].Elem(); f.ends(t) {
			return t
		}
	}
	return nil
}

// filled returns a pointer to a filled struct.
func (f filler) filled(t reflect.Type) wire.Value {
	p := reflect.New(t)
	f.fill(p.Elem())
	return p.Interface().(wire.Value)
}

func (f filler) fill(v reflect.Value) {
	switch x := v.Addr().Interface().(type) {
	case *RequestID:
		*x = wire.IntID(7)
		return
	case *ProgressToken:
		*x = wire.StringToken("7")
		return
	case *json.RawMessage:
		*x = json.RawMessage(`{"type":"object"}`)
		return
	case *any:
		*x = []any{"text", true, int64(7), 0.5, []string{"a", "b"}}[f.alternative%5]
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(f.text(v.Type().Name()))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int64:
		v.SetInt(7)
	case reflect.Float64:
		v.SetFloat(0.5)
	case reflect.Uint8:
		v.SetUint(7)
	case reflect.Pointer:
		if !f.ends(v.Type()) {
			return
		}
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem())
	case reflect.Interface:
		if t := f.choose(v.Type()); t != nil {
			v.Set(reflect.ValueOf(f.filled(t)))
		}
	default:
		f, _ = f.enter(v.Type())
		f.fillMany(v)
	}
}

func (f filler) fillMany(v reflect.Value) {
	ends := v.Kind() == reflect.Struct || f.ends(v.Type().Elem())
	switch v.Kind() {
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 0, 1))
		if ends {
			v.SetLen(1)
			f.fill(v.Index(0))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		if !ends {
			return
		}
		element := reflect.New(v.Type().Elem()).Elem()
		f.fill(element)
		v.SetMapIndex(reflect.ValueOf("x-key"), element)
	case reflect.Struct:
		for i := range v.NumField() {
			f.fill(v.Field(i))
		}
	default:
		panic("cannot fill a " + v.Type().String())
	}
}

// text returns a value of a closed enum, or a text. ResultType may be closed in some
// revisions.
func (f filler) text(typeName string) string {
	if typeName == "ResultType" {
		return string(ResultTypeComplete)
	}
	if e := goTypes().enums[typeName]; e != nil {
		return e.List[f.alternative%len(e.List)].Name
	}
	return "text"
}

// extras calls visit with every Extra in a value.
func extras(v reflect.Value, visit func(map[string]json.RawMessage)) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			extras(v.Elem(), visit)
		}
	case reflect.Slice:
		for i := range v.Len() {
			extras(v.Index(i), visit)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			extras(v.MapIndex(key), visit)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Name == "Extra" {
				visit(v.Field(i).Convert(reflect.TypeFor[map[string]json.RawMessage]()).Interface().(map[string]json.RawMessage))
			} else if v.Type().Field(i).IsExported() {
				extras(v.Field(i), visit)
			}
		}
	}
}
