package mcp

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/mcpwright/mcp/runtime/wire"
)

// A catalog knows every struct and every union of the package.
type catalog struct {
	structs map[string]reflect.Type
	unions  map[reflect.Type][]reflect.Type // to pointer types, in order
	enums   map[string]*wire.Enum
}

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
		c.enums[e.Type()] = e
	}
	return c
})

var (
	valueType = reflect.TypeFor[wire.Value]()
	thisPath  = reflect.TypeFor[Tool]().PkgPath()
)

// add enters a type and what it is made of.
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
		own := t.PkgPath() == thisPath && !strings.HasPrefix(t.Name(), "box[")
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

// A filler sets every field of a value to something that can be said. Of the
// values that a union or an enum can have, it takes the one with number arm.
type filler struct{ arm int }

// mostArms is not less than any union has.
const mostArms = 20

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
		*x = []any{"text", true, int64(7), 0.5, []string{"a", "b"}}[f.arm%5]
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
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem())
	case reflect.Interface:
		arms := goTypes().unions[v.Type()]
		v.Set(reflect.ValueOf(f.filled(arms[f.arm%len(arms)].Elem())))
	default:
		f.fillMany(v)
	}
}

func (f filler) fillMany(v reflect.Value) {
	switch v.Kind() {
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		f.fill(v.Index(0))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
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

// text returns a value of a closed enum, or any text.
func (f filler) text(typeName string) string {
	if e := goTypes().enums[typeName]; e != nil {
		values := slices.Collect(e.All())
		return values[f.arm%len(values)].Name
	}
	return "text"
}

// extras visits every Extra in a value.
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
				visit(v.Field(i).Interface().(map[string]json.RawMessage))
			} else if v.Type().Field(i).IsExported() {
				extras(v.Field(i), visit)
			}
		}
	}
}
