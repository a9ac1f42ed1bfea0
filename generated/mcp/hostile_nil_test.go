package mcp

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/wire"
)

// A unionValue is a place in a struct that holds a value of a union.
type unionValue struct {
	union reflect.Type
	set   func(reflect.Value)
}

// unionValues lists those places at any depth, but not behind a map's values.
func unionValues(v reflect.Value) (list []unionValue) {
	switch v.Kind() {
	case reflect.Pointer:
		return unionValues(v.Elem())
	case reflect.Interface:
		if v.Type().Implements(valueType) {
			list = append(list, unionValue{v.Type(), v.Set})
		}
		return append(list, unionValues(v.Elem())...)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				list = append(list, unionValues(v.Field(i))...)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			list = append(list, unionValues(v.Index(i))...)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			if v.Type().Elem().Implements(valueType) {
				list = append(list, unionValue{v.Type().Elem(), func(x reflect.Value) { v.SetMapIndex(key, x) }})
			}
		}
	}
	return list
}

func TestNilUnionsAreRefused(t *testing.T) {
	count := 0
	for _, name := range slices.Sorted(maps.Keys(goTypes().structs)) {
		typ := goTypes().structs[name]
		f := &wire.Frame{Revision: newestWith(typ)}
		for i := range unionValues(reflect.ValueOf(filler{}.filled(typ))) {
			v := filler{}.filled(typ)
			place := unionValues(reflect.ValueOf(v))[i]
			for _, nothing := range []reflect.Type{place.union, goTypes().unions[place.union][0]} {
				place.set(reflect.Zero(nothing))
				requireNotSet(t, f, v)
				count++
			}
		}
	}
	t.Logf("%d nil unions", count)
	require.Greater(t, count, 30)
}

func requireNotSet(t *testing.T, f *wire.Frame, v wire.Value) {
	t.Helper()
	_, err := wire.Append(nil, f, v)
	var failure *wire.EncodeError
	require.True(t, errors.As(err, &failure), "%T: %v", v, err)
	require.ErrorContains(t, err, "is required and not set", "%T", v)
	require.NotEmpty(t, failure.Pointer, "%T: %v", v, err)
}

func TestNilPointersAreRefused(t *testing.T) {
	for name, typ := range goTypes().structs {
		v := reflect.Zero(reflect.PointerTo(typ)).Interface().(wire.Value)
		_, err := wire.Marshal(v)
		require.ErrorContains(t, err, "required and not set", name)
	}
	for _, union := range forms {
		if union.value == nil {
			continue
		}
		v := union.value()
		if field := reflect.ValueOf(v).Elem().FieldByName("v"); field.IsValid() && field.Kind() == reflect.Interface {
			_, err := wire.Marshal(v)
			require.ErrorContains(t, err, "required and not set", union.definition)
		}
	}
}
