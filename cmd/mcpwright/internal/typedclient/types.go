package typedclient

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/atombender/go-jsonschema/pkg/schemas"
	"github.com/dave/jennifer/jen"
)

// maxDepth limits the nesting of a schema.
const maxDepth = 30

// toolSchema is the schema of the arguments or of the result of a tool.
type toolSchema struct {
	w          *writer
	tool, part string
	schema     *schemas.Type
	defs       map[*schemas.Type]*definition
	flattened  map[*schemas.Type]*schemas.Type
	merges     int
}

// definition is the Go type of a part of a schema.
type definition struct {
	name string // of the type, or "" while there is none
	made *goType
}

// goType is the Go type of a schema.
type goType struct {
	code     *jen.Statement
	nilable  bool // nil can stand for an absent value
	listlike bool // a slice or map, whose nil is encoded as null
	nullable bool // null is valid
}

func (s *toolSchema) notice(pointer, text string) {
	s.w.notices = append(s.w.notices, fmt.Sprintf("tool %q, %s schema%s: %s", s.tool, s.part, pointer, text))
}

// raw returns the type of values that have no other Go type.
func (s *toolSchema) raw(pointer, reason string) *goType {
	if reason != "" {
		s.notice(pointer, reason+"; it becomes json.RawMessage")
	}
	return &goType{code: jen.Qual("encoding/json", "RawMessage"), nilable: true, nullable: true}
}

// isEmptyObject reports whether the schema allows no members that a caller could set.
func (s *toolSchema) isEmptyObject() bool {
	t := s.schema
	return slices.Equal(t.Type, schemas.TypeList{"object"}) && len(t.Properties) == 0 && (t.AdditionalProperties == nil || isFalse(t.AdditionalProperties)) &&
		t.Ref == "" && t.AllOf == nil && t.AnyOf == nil && t.OneOf == nil && t.PatternProperties == nil
}

// root returns the type of the whole schema.
func (s *toolSchema) root(name string) *jen.Statement { return s.typeOf(s.schema, name, "", 0).code }

// typeOf returns the type of a schema. A struct or an enumeration gets the name, unless a part that
// was seen before has the same schema. A type that contains itself does so by a pointer.
func (s *toolSchema) typeOf(t *schemas.Type, name, pointer string, depth int) *goType {
	if t == nil {
		return s.raw(pointer, "")
	}
	d := s.defs[t]
	switch {
	case d == nil:
		d = new(definition)
		s.defs[t] = d
		flat := s.flat(t)
		s.defs[flat] = d
		if isStruct(flat) {
			d.name = s.w.names.add(name)
		}
		d.made = s.build(flat, name, pointer, depth)
	case d.made == nil && d.name == "":
		return s.raw(pointer, "the schema contains itself")
	case d.made == nil:
		return &goType{code: jen.Op("*").Id(d.name), nilable: true}
	}
	made := *d.made
	return &made
}

// build returns the type of a schema that was not seen before.
func (s *toolSchema) build(t *schemas.Type, name, pointer string, depth int) *goType {
	switch {
	case isAny(t):
		return s.raw(pointer, "")
	case depth > maxDepth:
		return s.raw(pointer, "the schema is nested too deeply")
	case t.Ref != "":
		return s.reference(t.Ref, pointer, depth)
	case len(t.AllOf) > 0:
		return s.raw(pointer, "the parts of allOf have no common Go type")
	case hasUnion(t) && !isStruct(t):
		return s.choice(t, name, pointer, depth)
	}
	types := withoutNull(t.Type)
	made := s.ofType(t, types, name, pointer, depth)
	if len(types) < len(t.Type) {
		made = nullable(made)
	}
	return made
}

// nullable returns a type that also has null, as nil.
func nullable(t *goType) *goType {
	if t.nilable {
		t.nullable = true
		return t
	}
	return &goType{code: jen.Op("*").Add(t.code), nilable: true, nullable: true}
}

// reference returns the type of a part of the schema.
func (s *toolSchema) reference(ref, pointer string, depth int) *goType {
	t, name := s.resolve(ref)
	if t == nil {
		return s.raw(pointer, fmt.Sprintf("the reference %q is not to a part of the schema", ref))
	}
	return s.typeOf(t, exported(s.tool+" "+name, "Tool"), strings.TrimPrefix(ref, "#"), depth+1)
}

// resolve returns the part that a reference points to, and its name.
func (s *toolSchema) resolve(ref string) (t *schemas.Type, name string) {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok || pointer != "" && pointer[0] != '/' {
		return nil, ""
	}
	if text, err := url.PathUnescape(pointer); err == nil {
		pointer = text
	}
	t = s.schema
	steps := strings.Split(pointer, "/")[1:]
	for i := 0; i < len(steps) && t != nil; i++ {
		keyword := steps[i]
		switch keyword {
		case "items":
			t, name = t.Items, name+" item"
			continue
		case "additionalProperties":
			t, name = t.AdditionalProperties, name+" value"
			continue
		}
		if i++; i == len(steps) {
			return nil, ""
		}
		step := strings.NewReplacer("~1", "/", "~0", "~").Replace(steps[i])
		switch keyword {
		case "$defs", "definitions":
			t, name = t.Definitions[step], step
		case "properties":
			t, name = t.Properties[step], name+" "+step
		case "allOf":
			t = element(t.AllOf, step)
		case "anyOf":
			t = element(t.AnyOf, step)
		case "oneOf":
			t = element(t.OneOf, step)
		default:
			return nil, ""
		}
	}
	return t, name
}

// element returns an element of a list, or nil.
func element(list []*schemas.Type, index string) *schemas.Type {
	if i, err := strconv.Atoi(index); err == nil && i >= 0 && i < len(list) {
		return list[i]
	}
	return nil
}

func isFalse(t *schemas.Type) bool { return t != nil && t.Not != nil && isAny(t.Not) }

// isAny reports whether a schema accepts any value.
func isAny(t *schemas.Type) bool {
	return t.Ref == "" && len(t.Type) == 0 && t.Enum == nil && t.Const == nil && t.AllOf == nil && !hasUnion(t) && t.Not == nil
}

func hasUnion(t *schemas.Type) bool { return len(t.AnyOf) > 0 || len(t.OneOf) > 0 }

// isStruct reports whether a schema has a struct of its own.
func isStruct(t *schemas.Type) bool {
	return t.Ref == "" && len(t.Properties) > 0 && slices.Equal(withoutNull(t.Type), []string{"object"}) && len(t.PatternProperties) == 0 &&
		t.AllOf == nil && t.Enum == nil && t.Const == nil
}

func withoutNull(types []string) []string {
	return slices.DeleteFunc(slices.Clone(types), func(t string) bool { return t == "null" })
}

// ofType returns the type of a schema without references and unions.
func (s *toolSchema) ofType(t *schemas.Type, types []string, name, pointer string, depth int) *goType {
	if values := valuesOf(t); values != nil {
		return s.enumeration(t, values, name, pointer)
	}
	if len(types) != 1 {
		return s.raw(pointer, fmt.Sprintf("several types %v have no Go type", []string(t.Type)))
	}
	switch types[0] {
	case "string":
		return &goType{code: jen.String()}
	case "boolean":
		return &goType{code: jen.Bool()}
	case "integer":
		return &goType{code: jen.Int64()}
	case "number":
		return &goType{code: jen.Float64()}
	case "array":
		items := s.typeOf(t.Items, name+"Item", pointer+"/items", depth+1)
		return &goType{code: jen.Index().Add(items.code), nilable: true, listlike: true}
	case "object":
		return s.object(t, name, pointer, depth)
	}
	return s.raw(pointer, fmt.Sprintf("%q is not a type", types[0]))
}

// enumeration writes a type with its values as constants. Only strings have one.
func (s *toolSchema) enumeration(t *schemas.Type, of []any, name, pointer string) *goType {
	values := make([]string, 0, len(of))
	withNull := false
	for _, v := range of {
		text, ok := v.(string)
		if v == nil {
			withNull = true
			continue
		}
		if !ok {
			return s.raw(pointer, "an enumeration of other values than strings has no Go type")
		}
		if !slices.Contains(values, text) {
			values = append(values, text)
		}
	}
	if len(values) == 0 {
		return s.raw(pointer, "an enumeration without strings has no Go type")
	}
	name = s.nameOf(t, name)
	s.w.comment(s.w.file.Comment, name+" is one of several values.", t.Description)
	s.w.file.Type().Id(name).String()
	s.w.file.Const().DefsFunc(func(g *jen.Group) {
		for _, v := range values {
			g.Id(s.w.names.add(name + exported(v, "Value"))).Id(name).Op("=").Lit(v)
		}
	})
	made := &goType{code: jen.Id(name)}
	if withNull {
		return nullable(made)
	}
	return made
}

// nameOf returns the name of a type: the one that references use, or a new one.
func (s *toolSchema) nameOf(t *schemas.Type, name string) string {
	if d := s.defs[t]; d != nil && d.name != "" {
		return d.name
	}
	unique := s.w.names.add(name)
	if d := s.defs[t]; d != nil {
		d.name = unique
	}
	return unique
}

// object returns the type of objects: a struct, or a map if there are no properties.
func (s *toolSchema) object(t *schemas.Type, name, pointer string, depth int) *goType {
	if len(t.PatternProperties) > 0 {
		return s.raw(pointer, "patternProperties have no Go type")
	}
	if len(t.Properties) == 0 && !isFalse(t.AdditionalProperties) {
		values := s.typeOf(t.AdditionalProperties, name+"Value", pointer+"/additionalProperties", depth+1)
		return &goType{code: jen.Map(jen.String()).Add(values.code), nilable: true, listlike: true}
	}
	name = s.nameOf(t, name)
	b := structBuilder{s: s, t: t, name: name, used: names{"MarshalJSON": true, "UnmarshalJSON": true}}
	if lacksFields(t) {
		s.notice(pointer, "the members of the alternatives have no fields; use Extra")
		b.extra = true
	}
	b.extra = b.extra || s.part == "output" || t.AdditionalProperties != nil && !isFalse(t.AdditionalProperties)
	if b.extra {
		b.used["Extra"] = true
	}
	for _, property := range propertiesOf(t) {
		b.field(property, pointer, depth)
	}
	b.write()
	return &goType{code: jen.Id(name)}
}

// propertiesOf returns the names of the properties: first those that are required, in the order
// of the schema, and then the others.
func propertiesOf(t *schemas.Type) []string {
	var list []string
	for _, name := range t.Required {
		if t.Properties[name] != nil && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.Properties)) {
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

// structBuilder writes a struct.
type structBuilder struct {
	s          *toolSchema
	t          *schemas.Type
	name       string
	used       names
	extra      bool // the struct keeps members without a field
	fields     []jen.Code
	properties []string
	lists      []*jen.Statement // statements that replace nil in required lists
}

// field adds the field of a property.
func (b *structBuilder) field(property, pointer string, depth int) {
	at := pointer + "/properties/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(property)
	if !taggable(property) {
		b.s.notice(at, "the name cannot be that of a Go field; use Extra")
		b.extra = true
		return
	}
	schema := b.t.Properties[property]
	field := b.used.add(exported(property, "Field"))
	made := b.s.typeOf(schema, b.name+field, at, depth+1)
	code, tag := made.code, property
	switch {
	case slices.Contains(b.t.Required, property):
		if made.listlike && !made.nullable {
			b.lists = append(b.lists, jen.If(jen.Id("x").Dot(field).Op("==").Nil()).Block(jen.Id("x").Dot(field).Op("=").Add(made.code).Values()))
		}
	case made.nilable:
		tag += ",omitzero"
	default:
		code, tag = jen.Op("*").Add(code), tag+",omitempty"
	}
	if schema != nil && oneLine(schema.Description) != "" {
		b.s.w.comment(func(line string) *jen.Statement {
			b.fields = append(b.fields, jen.Comment(line))
			return nil
		}, "", schema.Description)
	}
	b.fields = append(b.fields, jen.Id(field).Add(code).Tag(map[string]string{"json": tag}))
	b.properties = append(b.properties, property)
}

// taggable reports whether a name can be in the tag of a field, for encoding/json.
func taggable(name string) bool {
	return name != "" && name != "-" && !strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", r)
	})
}

// purpose describes a part of the schema.
func (s *toolSchema) purpose(t *schemas.Type) string {
	switch {
	case t != s.schema && s.part == "input":
		return "is a part of the arguments"
	case t != s.schema:
		return "is a part of the result"
	case s.part == "input":
		return "has the arguments"
	}
	return "is the result"
}

// write writes the struct and its methods.
func (b *structBuilder) write() {
	w := b.s.w
	if b.extra {
		b.fields = append(b.fields, jen.Comment("// Extra contains the members that have no field."),
			jen.Id("Extra").Map(jen.String()).Qual("encoding/json", "RawMessage").Tag(map[string]string{"json": "-"}))
	}
	w.comment(w.file.Comment, b.name+" "+b.s.purpose(b.t)+" of the tool "+quoted(b.s.tool)+".", b.t.Description)
	w.file.Type().Id(b.name).Struct(b.fields...)
	plain := jen.Type().Id("plain").Id(b.name)
	if b.extra || len(b.lists) > 0 {
		body := []jen.Code{plain.Clone()}
		for _, l := range b.lists {
			body = append(body, l)
		}
		value := jen.Id("plain").Call(jen.Id("x"))
		if b.extra {
			w.encodes = true
			body = append(body, jen.Return(jen.Id("marshalWithExtra").Call(value, jen.Id("x").Dot("Extra"))))
		} else {
			body = append(body, jen.Return(jen.Qual("encoding/json", "Marshal").Call(value)))
		}
		w.file.Comment("// MarshalJSON implements [json.Marshaler].")
		w.file.Func().Params(jen.Id("x").Id(b.name)).Id("MarshalJSON").Params().Params(jen.Index().Byte(), jen.Error()).Block(body...)
	}
	if b.extra && b.s.part == "output" {
		w.decodes = true
		args := []jen.Code{jen.Id("data"), jen.Parens(jen.Op("*").Id("plain")).Call(jen.Id("x"))}
		for _, p := range b.properties {
			args = append(args, jen.Lit(p))
		}
		w.file.Comment("// UnmarshalJSON implements [json.Unmarshaler].")
		w.file.Func().Params(jen.Id("x").Op("*").Id(b.name)).Id("UnmarshalJSON").Params(jen.Id("data").Index().Byte()).Params(jen.Err().Error()).
			Block(plain, jen.List(jen.Id("x").Dot("Extra"), jen.Err()).Op("=").Id("unmarshalWithExtra").Call(args...), jen.Return(jen.Err()))
	}
}
