package mcpclient

import (
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/mcpwright/mcp/runtime/internal/jsontag"
	"github.com/mcpwright/mcp/runtime/wire"
)

// unmarshal reads JSON into what out points to. Package json takes a name for that
// of a field if it differs in case only, which whoever judged the JSON does not:
// that is an error where the field has its name from a tag, or is there by its own
// name as well.
func unmarshal(doc json.RawMessage, out any) error {
	if err := json.Unmarshal(doc, out); err != nil {
		return err
	}
	return wire.Decode(doc, nil, &exact{of: reflect.TypeOf(out)})
}

// exact looks at the names in the JSON of a type, and keeps nothing.
type exact struct {
	wire.ReadOnly
	of reflect.Type
}

// DecodeJSON implements [wire.Value].
func (x *exact) DecodeJSON(d *wire.Decoder) { look(d, x.of) }

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

func look(d *wire.Decoder, t reflect.Type) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	kind := d.Kind()
	switch {
	case reflect.PointerTo(t).Implements(unmarshaler):
		d.Skip()
	case kind == '{' && t.Kind() == reflect.Struct:
		lookAtMembers(d, fieldsOf(t, nil))
	case kind == '{' && t.Kind() == reflect.Map:
		for o := d.Object(nil); o.Next(); {
			look(d, t.Elem())
		}
	case kind == '[' && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array):
		wire.List(d, func(d *wire.Decoder) (none struct{}) {
			look(d, t.Elem())
			return none
		})
	default:
		d.Skip()
	}
}

func lookAtMembers(d *wire.Decoder, fields []field) {
	for o := d.Object(nil); o.Next(); {
		name := o.Key()
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
		if i < 0 {
			i = slices.IndexFunc(fields, func(f field) bool { return strings.EqualFold(f.name, name) })
		}
		if i < 0 {
			d.Skip()
			continue
		}
		f := &fields[i]
		if f.seen || f.tagged && f.name != name {
			d.Fail("the name %q would be taken for %q", name, f.name)
			return
		}
		f.seen = true
		look(d, f.of)
	}
}

// field is what package json reads one member into.
type field struct {
	name   string
	tagged bool
	of     reflect.Type
	seen   bool
}

// fieldsOf lists the fields of a struct, those of the structs that it embeds
// last.
func fieldsOf(t reflect.Type, within []reflect.Type) (list []field) {
	var inner []field
	for f := range t.Fields() {
		tag, _ := jsontag.Of(f)
		of := f.Type
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		switch {
		case tag.Skipped:
		case f.Anonymous && tag.Name == "" && of.Kind() == reflect.Struct:
			if !slices.Contains(within, of) {
				inner = append(inner, fieldsOf(of, append(within, t))...)
			}
		case f.IsExported():
			list = append(list, field{name: cmp.Or(tag.Name, f.Name), tagged: tag.Name != "", of: f.Type})
		}
	}
	return append(list, inner...)
}
