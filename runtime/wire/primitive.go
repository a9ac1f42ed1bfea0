package wire

import "math"

// Primitive reads what a form can be filled in with: a string, a bool, an
// int64, in the revisions lists a []string and, where fractions are legal, a
// float64. An integer beyond 2^53 comes as a float64, the nearest one.
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

// Primitive appends a value of one of the kinds that [Decoder.Primitive]
// reads, or of another integer type.
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
	e.Fail(b, "a %T cannot be sent here; want a string, a bool, a number or a list of strings", v)
	return b
}
