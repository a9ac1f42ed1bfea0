package mcp

import (
	"maps"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/wire"
)

// A spoiler sets a field to something that may be beyond what can be said.
type spoiler func(reflect.Value)

// spoilers lists what to try for a kind of field.
func spoilers(v reflect.Value) (list []spoiler) {
	switch v.Kind() {
	case reflect.Float64:
		for _, x := range []float64{-1e300, -1, 2, 1e300, math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1)} {
			list = append(list, func(v reflect.Value) { v.SetFloat(x) })
		}
	case reflect.Int64:
		for _, x := range []int64{math.MinInt64, -1, math.MaxInt64} {
			list = append(list, func(v reflect.Value) { v.SetInt(x) })
		}
	case reflect.String:
		for _, x := range []string{"", "nonsense", "\xff", "\x00\n\u2028"} {
			list = append(list, func(v reflect.Value) { v.SetString(x) })
		}
	case reflect.Slice:
		list = append(list, func(v reflect.Value) { v.SetZero() }, func(v reflect.Value) {
			many := reflect.MakeSlice(v.Type(), 101, 101)
			for i := range many.Len() {
				many.Index(i).Set(v.Index(0))
			}
			v.Set(many)
		})
	case reflect.Map, reflect.Pointer:
		list = append(list, func(v reflect.Value) { v.SetZero() })
	}
	return list
}

// fieldsOf lists the settable values in a struct, behind pointers too.
func fieldsOf(v reflect.Value) (list []reflect.Value) {
	for i := range v.NumField() {
		f := v.Field(i)
		if !f.CanSet() {
			continue
		}
		list = append(list, f)
		switch {
		case f.Kind() == reflect.Pointer && f.Elem().Kind() != reflect.Struct:
			list = append(list, f.Elem())
		case f.Kind() == reflect.Slice && f.Index(0).Kind() == reflect.String:
			list = append(list, f.Index(0))
		}
	}
	return list
}

// TestNothingInvalidIsWritten sets every field to every odd value: either that
// is valid in the revision, or it is refused.
func TestNothingInvalidIsWritten(t *testing.T) {
	written, refused := 0, 0
	for _, name := range slices.Sorted(maps.Keys(goTypes().structs)) {
		typ := goTypes().structs[name]
		r := newestWith(typ)
		for i, field := range fieldsOf(reflect.ValueOf(filler{}.filled(typ)).Elem()) {
			for _, spoil := range spoilers(field) {
				v := filler{}.filled(typ)
				spoil(fieldsOf(reflect.ValueOf(v).Elem())[i])
				out, err := wire.Append(nil, &wire.Frame{Revision: r}, v)
				if err != nil {
					refused++
					continue
				}
				written++
				requireValid(t, schemas()[r.Index()], v, out)
				requireSame(t, r, v, out)
			}
		}
	}
	t.Logf("%d values written, %d refused", written, refused)
	require.Greater(t, written, 1000)
	require.Greater(t, refused, 100)
}

// requireSame reads what was written, and writes it again.
func requireSame(t *testing.T, r wire.Revision, v wire.Value, out []byte) {
	t.Helper()
	back := reflect.New(reflect.TypeOf(v).Elem()).Interface().(wire.Value)
	require.NoError(t, wire.Decode(out, &wire.Frame{Revision: r}, back), "%T: %s", v, out)
	again, err := wire.Append(nil, &wire.Frame{Revision: r}, back)
	require.NoError(t, err, "%T: %s", v, out)
	require.Equal(t, string(out), string(again), "%T", v)
}
