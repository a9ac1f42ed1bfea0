package wire

import (
	"encoding/json"
	"math"
	"strconv"
)

// Discriminator returns the text of the member key of the next value, without
// reading the value. The text determines the type of the value in the named union.
// Discriminator fails if the value is not an object or the member is not a string.
// If the member is absent, it returns "" if optional is set and fails otherwise.
func (d *Decoder) Discriminator(union, key string, optional bool) string {
	if d.Kind() != '{' {
		d.Fail("%s: want an object", union)
		return ""
	}
	text, kind := d.Peek(key)
	if kind == 0 && !optional {
		d.Fail("%s: missing member %q", union, key)
	} else if kind != 0 && kind != '"' {
		d.Fail("%s: member %q is not a string", union, key)
	}
	return text
}

// DiscriminatorOf is like [Decoder.Discriminator] for a key that is no string in some types. It returns the
// JSON text of values to which the member is equal. If there is none, the member must be a string. DiscriminatorOf
// returns the JSON text of another string, or "" if the string is empty.
func (d *Decoder) DiscriminatorOf(union, key string, optional bool, values ...string) string {
	start := d.find(skipSpaces(d.data, d.pos), key)
	if start < 0 {
		return d.Discriminator(union, key, optional)
	}
	end := d.extents.skip(d.data, start)
	if end <= start {
		return "" // reading the value fails
	}
	raw := d.data[start:end]
	for _, v := range values {
		if equalText(v, raw) {
			return v
		}
	}
	switch {
	case string(raw) == `""`:
		return "" // as Discriminator
	case raw[0] != '"':
		d.Fail("%s: member %q is not a string or a constant of the revision", union, key)
	}
	return string(raw)
}

// InRevisions reads a value of a type whose discriminator changed: with newer in the revisions of w, and with older in
// others. In the all-revisions form, it reads with newer if older fails.
func InRevisions[T any](d *Decoder, w Window, older, newer func(*Decoder) T) (v T) {
	if d.Needs(w) || d.Has(w) && !d.Try(func(d *Decoder) { v = older(d) }) {
		return newer(d)
	}
	if !d.Has(w) {
		v = older(d)
	}
	return v
}

// UnmarshalUnion calls decode to read a value of a union from data, in the all-revisions form.
func UnmarshalUnion(data []byte, decode func(*Decoder)) error {
	return Decode(data, nil, &unionValue{decode: decode})
}

// unionValue adapts a union to [Value], for reading.
type unionValue struct {
	ReadOnly
	decode func(*Decoder)
}

// DecodeJSON implements [Value].
func (u *unionValue) DecodeJSON(d *Decoder) { u.decode(d) }

// OneOrMany reads one value or, in the revisions of many, an array of values. It
// calls elem to read each value.
func OneOrMany[T any](d *Decoder, many Window, elem func(*Decoder) T) []T {
	if d.Kind() == '[' && d.Has(many) {
		return List(d, elem)
	}
	return []T{elem(d)}
}

// AppendOneOrMany appends a list. A list of one value is written as that value. Any
// other list is written as an array, which is allowed only in the revisions of
// many.
func AppendOneOrMany[T any](b []byte, e *Encoder, list []T, many Window, elem func([]byte, *Encoder, T) []byte) []byte {
	if len(list) == 1 {
		return elem(b, e, list[0])
	}
	if !e.Has(many) {
		e.Fail(b, "revision allows one value here, not %d", len(list))
		return b
	}
	return AppendList(b, e, list, elem)
}

// Primitive reads a value of a form field: a string, a bool, an int64, a []string
// in the revisions of lists, or a float64 if fractions is set. An integer beyond
// 2^53 is returned as the nearest float64.
func (d *Decoder) Primitive(lists Window, fractions bool) any {
	switch kind := d.Kind(); {
	case kind == '"':
		return d.String()
	case kind == 't' || kind == 'f':
		return d.Bool()
	case kind == '[' && d.Has(lists):
		return d.Strings()
	case kind == '0':
		return d.primitiveNumber(fractions)
	}
	d.Fail("want a string, a boolean, a number or a list of strings")
	return nil
}

func (d *Decoder) primitiveNumber(fractions bool) any {
	v := d.Number(math.Inf(-1), math.Inf(1))
	switch {
	case v == math.Trunc(v) && math.Abs(v) <= 1<<53:
		return int64(v)
	case v != math.Trunc(v) && !fractions:
		d.Fail("want an integer, have %v", v)
	}
	return v
}

// Primitive appends a value of a type that [Decoder.Primitive] returns, or of type
// int or int32.
func (e *Encoder) Primitive(b []byte, v any, lists Window) []byte {
	switch v := v.(type) {
	case string:
		return AppendString(b, v)
	case bool:
		return AppendBool(b, v)
	case int:
		return AppendInt(b, int64(v))
	case int32:
		return AppendInt(b, int64(v))
	case int64:
		return AppendInt(b, v)
	case float64:
		return e.Number(b, v, math.Inf(-1), math.Inf(1))
	case []string:
		if !e.Has(lists) {
			return e.Lacks(b, "list of strings here")
		}
		return AppendStrings(b, v)
	}
	e.Fail(b, "unsupported type %T: want a string, a bool, a number or a list of strings", v)
	return b
}

// PrimitiveOrAny is like [Decoder.Primitive], but in the revisions of anything it reads
// any value. There, a value that [Decoder.Primitive] never returns, and a number that
// [Encoder.Primitive] would write in another way, are a json.RawMessage.
func (d *Decoder) PrimitiveOrAny(lists Window, fractions bool, anything Window) any {
	if !d.Has(anything) {
		return d.Primitive(lists, fractions)
	}
	switch kind := d.Kind(); kind {
	case '"':
		return d.String()
	case 't', 'f':
		return d.Bool()
	case '0':
		raw := d.Raw()
		if raw == nil {
			return nil
		}
		if v, ok := parseInt(raw); ok && string(AppendInt(nil, v)) == string(raw) {
			return v
		}
		if v, err := strconv.ParseFloat(string(raw), 64); err == nil && string(AppendFloat(nil, v)) == string(raw) {
			return v
		}
		return raw
	case '[':
		var list []string
		if d.Try(func(d *Decoder) { list = d.Strings() }) {
			return list
		}
	}
	return d.Raw()
}

// PrimitiveOrAny is like [Encoder.Primitive], but in the revisions of anything it also
// appends a json.RawMessage.
func (e *Encoder) PrimitiveOrAny(b []byte, v any, lists, anything Window) []byte {
	raw, ok := v.(json.RawMessage)
	switch {
	case !ok && e.Has(anything):
		return e.Primitive(b, v, Always)
	case !ok:
		return e.Primitive(b, v, lists)
	case !e.Has(anything):
		return e.Lacks(b, "value of any kind here")
	}
	return e.Raw(b, raw, "")
}

// Constant reads the value of the current member, which is in the table c. If a revision does not write the value
// by itself, Constant stores it in extra. If extra is nil, Constant creates it. Constant returns the map.
func (o *Object) Constant(extra map[string]json.RawMessage, c *Constant) map[string]json.RawMessage {
	if o.d == nil {
		return extra
	}
	o.d.first()
	at := o.d.pos
	raw := o.d.span()
	if raw == nil {
		return extra
	}
	text, err := c.find(raw, o.d.mask)
	if err != nil {
		o.d.fail(at, false, err)
		return extra
	}
	if constant, ok := c.value(o.d.mask); ok && text == constant {
		return extra
	}
	if extra == nil {
		extra = make(map[string]json.RawMessage)
	}
	extra[c.Name] = json.RawMessage(text)
	return extra
}

// Constant appends the member of the table c: the value in extra, or the constant of the revision. If extra has the
// constant of another revision, Constant appends the constant of the revision, too. It fails if the revision
// requires the member and there is no value.
func (e *Encoder) Constant(b []byte, extra map[string]json.RawMessage, c *Constant) []byte {
	value, ok := c.value(e.mask)
	raw, set := extra[c.Name]
	if set {
		text, err := c.find(raw, e.mask)
		switch {
		case err == nil:
			value, ok = text, true
		case !ok || !c.writes(raw):
			e.FailWith(b, err)
			return b
		}
	}
	switch {
	case ok:
		b = append(AppendString(append(b, ','), c.Name), ':')
		if set && value == string(raw) {
			return e.Raw(b, raw, "") // it may be any string
		}
		return append(b, value...)
	case e.Needs(c.Required):
		return e.Missing(b, c.Name)
	}
	return b
}
