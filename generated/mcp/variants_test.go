package mcp

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/wire"
)

// variantsIn returns the variants of the members of a struct in a revision.
func variantsIn(r wire.Revision, t reflect.Type) (list []variant) {
	for _, x := range variants {
		if t.PkgPath() == thisPath && x.typeName == t.Name() && r != (wire.Revision{}) && x.in.Has(r) {
			list = append(list, x)
		}
	}
	return list
}

// hasVariant reports whether a member of a struct has a schema of its own in a revision.
func hasVariant(r wire.Revision, t reflect.Type, member string) bool {
	return slices.ContainsFunc(variantsIn(r, t), func(x variant) bool { return x.member == member })
}

// inExtra reports whether the value of any variant with the given name is in Extra in a revision.
func inExtra(r wire.Revision, member string) bool {
	return slices.ContainsFunc(variants, func(x variant) bool { return x.extra && x.member == member && x.in.Has(r) })
}

// variant returns the variant of a member of s, or the zero variant.
func (s shape) variant(name string) variant {
	props, _ := s.raw["properties"].(map[string]any)
	raw, _ := props[name].(map[string]any)
	member, _ := s.member(name)
	for _, x := range variants {
		if x.member != name || !x.in.Has(s.file.revision) {
			continue
		}
		at, _ := s.file.rawAt(x.at).(map[string]any)
		if reflect.ValueOf(at).Pointer() == reflect.ValueOf(raw).Pointer() || member.name != "" && strings.HasSuffix(x.at, "/"+member.name) {
			return x
		}
	}
	return variant{}
}

// isChecked reports whether any variant with the given name has a schema in a revision.
func isChecked(r wire.Revision, member string) bool {
	return slices.ContainsFunc(variants, func(x variant) bool { return x.member == member && x.in.Has(r) })
}

// suited returns a copy of v with values that the revision of a schema allows for the members with
// variants. It returns v if there are none.
func suited(file *schemaFile, v wire.Value) wire.Value {
	if len(variants) == 0 {
		return v
	}
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	c := reflect.New(reflect.TypeOf(v).Elem()).Interface().(wire.Value)
	if err := json.Unmarshal(text, c); err != nil {
		panic(err)
	}
	file.suit(reflect.ValueOf(c).Elem())
	return c
}

// suit sets the members with variants in v, which must be settable.
func (f *schemaFile) suit(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			f.suit(v.Elem())
		}
	case reflect.Interface:
		if !v.IsNil() && v.Elem().Kind() == reflect.Pointer {
			f.suit(v.Elem().Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			f.suit(v.Index(i))
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			element := reflect.New(v.Type().Elem()).Elem()
			element.Set(v.MapIndex(key))
			f.suit(element)
			v.SetMapIndex(key, element)
		}
	case reflect.Struct:
		for _, x := range variantsIn(f.revision, v.Type()) {
			f.setVariant(v, x)
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				f.suit(v.Field(i))
			}
		}
	}
}

// setVariant sets a member of a struct, or the struct, to a valid document. A closed object keeps its
// declared members.
func (f *schemaFile) setVariant(v reflect.Value, x variant) {
	if x.field == "" && f.at(x.at).isClosed() {
		f.removeOthers(v, f.at(x.at))
		return
	}
	s := f.at(x.at)
	if len(s.limits) > 0 && f.keepsValid(v, x, s) {
		return
	}
	text := render(s.largest(variedDepth+2), sorted)
	if x.field == "" {
		v.SetZero()
		if err := wire.Decode(text, &wire.Frame{Revision: f.revision}, v.Addr().Interface().(wire.Value)); err != nil {
			panic(err)
		}
		return
	}
	field := v.FieldByName(x.field)
	if x.extra {
		field.SetZero()
		extra := v.FieldByName("Extra")
		if extra.IsNil() {
			extra.Set(reflect.MakeMap(extra.Type()))
		}
		extra.SetMapIndex(reflect.ValueOf(x.member), reflect.ValueOf(json.RawMessage(text)))
		return
	}
	whole := parse(must(json.Marshal(v.Addr().Interface()))).(map[string]any)
	object := whole
	if params, ok := whole["params"].(map[string]any); ok && is[wire.Params](v.Addr().Interface()) {
		object = params
	}
	object[x.member] = parse(text)
	other := reflect.New(v.Type())
	if err := json.Unmarshal(render(whole, sorted), other.Interface()); err != nil {
		panic(err)
	}
	field.Set(other.Elem().FieldByName(x.field))
}

// is reports whether a value has a type.
func is[T any](v any) bool { _, ok := v.(T); return ok }

// keepsValid reports whether a member of a struct, or the struct, fits the limits of s.
func (f *schemaFile) keepsValid(v reflect.Value, x variant, s shape) bool {
	text, err := wire.Append(nil, &wire.Frame{Revision: f.revision}, v.Addr().Interface().(wire.Value))
	if err != nil {
		return false
	}
	doc := parse(text)
	if x.field != "" {
		member, ok := doc.(map[string]any)[x.member]
		return !ok || s.isValid(member)
	}
	return s.isValid(doc)
}

func must(data []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return data
}

// removeOthers removes the members of Extra that a closed object does not have.
func (f *schemaFile) removeOthers(v reflect.Value, s shape) {
	extra := v.FieldByName("Extra")
	for _, key := range extra.MapKeys() {
		if _, declared := s.member(key.String()); !declared {
			extra.SetMapIndex(key, reflect.Value{})
		}
	}
	if extra.Len() == 0 {
		extra.SetZero()
	}
}

// TestClosedObjectsRefuseOtherMembers sets another member of each closed object in each revision.
func TestClosedObjectsRefuseOtherMembers(t *testing.T) {
	for _, file := range schemas() {
		for _, x := range variants {
			if x.field != "" || !x.in.Has(file.revision) || !file.at(x.at).isClosed() {
				continue
			}
			v := suited(file, filler{alternative: 1}.filled(goTypes().structs[x.typeName]))
			reflect.ValueOf(v).Elem().FieldByName("Extra").Set(reflect.ValueOf(map[string]json.RawMessage{"x-other": json.RawMessage("1")}))
			_, err := wire.Append(nil, &wire.Frame{Revision: file.revision}, v)
			require.ErrorContains(t, err, `revision has no member "x-other"`, x.typeName)
			require.ErrorContains(t, err, file.revision.String(), x.typeName)
		}
	}
}

// at returns the shape at a JSON pointer.
func (f *schemaFile) at(pointer string) shape { return shape{file: f}.sub(f.rawAt(pointer)) }

// rawAt returns the value at a JSON pointer.
func (f *schemaFile) rawAt(pointer string) any {
	var v any = f.root
	for i, step := range strings.Split(pointer, "/")[1:] {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		if i == 0 {
			step = f.defs
		}
		v = element(v, step)
	}
	return v
}

// element returns a member of an object or an element of an array.
func element(v any, step string) any {
	if list, ok := v.([]any); ok {
		var i int
		if err := json.Unmarshal([]byte(step), &i); err != nil {
			panic(err)
		}
		return list[i]
	}
	object := v.(map[string]any)
	if step == "anyOf" && object[step] == nil {
		step = "oneOf" // which the generator reads as an anyOf
	}
	return object[step]
}

// isStruct reports whether s is a union whose Go type is one struct.
func (s shape) isStruct() bool {
	return s.name != "" && slices.ContainsFunc(variants, func(x variant) bool {
		return x.field == "" && x.in.Has(s.file.revision) && strings.HasSuffix(x.at, "/"+s.name)
	})
}
