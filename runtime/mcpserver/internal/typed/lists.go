package typed

import (
	"fmt"
	"reflect"

	"github.com/mcpwright/mcp/runtime/wire"
)

func (p *planner) list(t reflect.Type, s *schema) (reader, error) {
	if isBytes(t) && (s == nil || !s.only("array")) {
		return p.bytes(s), nil
	}
	settled := s
	if s != nil && !s.settles("array") {
		settled = p.leave()
	}
	least, most := bounds(nil, nil)
	var items *schema
	if s != nil {
		items = s.items
		least, most = bounds(s.minItems, s.maxItems)
	}
	elem, err := p.reader(t.Elem(), items)
	if err != nil {
		return nil, err
	}
	read := readSlice(t, elem)
	if t.Kind() == reflect.Array {
		read = readArray(t, elem)
	}
	return maybeNull(settled, func(d *wire.Decoder, v reflect.Value) {
		if n := read(d, v); d.Err() == nil && (n < least || n > most) {
			d.Fail("want %d to %d items", least, most)
		}
	}), nil
}

// readSlice reads an array, and returns its length.
func readSlice(t reflect.Type, elem reader) func(*wire.Decoder, reflect.Value) int {
	return func(d *wire.Decoder, v reflect.Value) int {
		v.Set(reflect.MakeSlice(t, 0, 0))
		wire.List(d, func(d *wire.Decoder) struct{} {
			n := v.Len()
			v.Grow(1)
			v.SetLen(n + 1)
			v.Index(n).SetZero()
			elem(d, v.Index(n))
			return struct{}{}
		})
		return v.Len()
	}
}

// readArray is readSlice for a fixed length: what is too much is an error, what
// is missing stays zero.
func readArray(t reflect.Type, elem reader) func(*wire.Decoder, reflect.Value) int {
	return func(d *wire.Decoder, v reflect.Value) int {
		n := 0
		wire.List(d, func(d *wire.Decoder) struct{} {
			if n == t.Len() {
				d.Fail("want %d items at most", n)
				return struct{}{}
			}
			elem(d, v.Index(n))
			n++
			return struct{}{}
		})
		return n
	}
}

// bytes reads a string of base64.
func (p *planner) bytes(s *schema) reader {
	if s != nil && (s.enum != nil || s.minLength != nil || s.maxLength != nil) {
		s = p.leave()
	}
	return p.scalar(s, "string", func(d *wire.Decoder, v reflect.Value) { v.SetBytes(d.Bytes()) })
}

func (p *planner) dictionary(t reflect.Type, s *schema) (reader, error) {
	if t.Key().Kind() != reflect.String || customText(t.Key()) {
		return nil, fmt.Errorf("the keys of a %s are no plain strings", t)
	}
	settled := s
	if s != nil && (!s.settles("object") || s.properties != nil || s.required != nil || s.closed) {
		settled = p.leave()
	}
	var values *schema
	if s != nil && s.properties == nil {
		values = s.additional
	}
	elem, err := p.reader(t.Elem(), values)
	if err != nil {
		return nil, err
	}
	return maybeNull(settled, func(d *wire.Decoder, v reflect.Value) {
		v.Set(reflect.MakeMap(t))
		for o := d.Object(nil); o.Next(); {
			key := reflect.ValueOf(o.Key()).Convert(t.Key())
			value := reflect.New(t.Elem()).Elem()
			elem(d, value)
			v.SetMapIndex(key, value)
		}
	}), nil
}
