package wire

// Discriminator returns the text of the member key of the next value, which
// tells which type of the named union the value is. Nothing is read. It fails
// where the value is no object or the member no string; if the member is
// optional its absence is "".
func (d *Decoder) Discriminator(union, key string, optional bool) string {
	if d.Kind() != '{' {
		d.Fail("%s: want an object", union)
		return ""
	}
	text, kind := d.Peek(key)
	if kind == 0 && !optional {
		d.Fail("%s: the member %q is missing", union, key)
	} else if kind != 0 && kind != '"' {
		d.Fail("%s: the member %q is no string", union, key)
	}
	return text
}

// UnmarshalUnion reads a value of a union in the all-revisions form.
func UnmarshalUnion[T any](data []byte, decode func(*Decoder) T) (T, error) {
	u := &unionValue[T]{decode: decode}
	err := Unmarshal(data, u)
	return u.v, err
}

// unionValue makes a Value of a union, for reading.
type unionValue[T any] struct {
	ReadOnly
	v      T
	decode func(*Decoder) T
}

// DecodeJSON implements [Value].
func (u *unionValue[T]) DecodeJSON(d *Decoder) { u.v = u.decode(d) }

// OneOrMany reads one value or, in the revisions many, an array of them.
func OneOrMany[T any](d *Decoder, many Window, elem func(*Decoder) T) []T {
	if d.Kind() == '[' && d.Has(many) {
		return List(d, elem)
	}
	return []T{elem(d)}
}

// AppendOneOrMany appends one value as itself and any other number as an
// array, which only the revisions many have.
func AppendOneOrMany[T any](b []byte, e *Encoder, list []T, many Window, elem func([]byte, *Encoder, T) []byte) []byte {
	if len(list) == 1 {
		return elem(b, e, list[0])
	}
	if !e.Has(many) {
		e.Fail(b, "revision has one value here, not %d", len(list))
		return b
	}
	return AppendList(b, e, list, elem)
}
