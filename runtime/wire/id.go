package wire

import (
	"bytes"
	"fmt"
	"strconv"
)

// maxID is how long the JSON text of an id or token may be.
const maxID = 128

// RequestID identifies a request: a string or an integer, kept exactly. 1 and
// "1" are different ids, and integers keep every digit. RequestIDs are
// comparable and fit as map keys. The zero RequestID is no id.
type RequestID struct{ v scalar }

// ProgressToken connects progress notifications with a request. It has the
// same values as RequestID; the zero ProgressToken is no token.
type ProgressToken struct{ v scalar }

// IntID returns the id n.
func IntID(n int64) RequestID { return RequestID{intScalar(n)} }

// StringID returns the id s, a string even if s spells a number.
func StringID(s string) RequestID { return RequestID{textScalar(s)} }

// ParseID reads an id from JSON: a string or an integer of at most 128 bytes,
// without fraction and exponent, and nothing around it but white space.
func ParseID(data []byte) (RequestID, error) {
	d := newDecoder(data, nil)
	id := d.ID()
	if err := d.finish(); err != nil {
		return RequestID{}, err
	}
	return id, nil
}

// IsZero reports whether id is no id.
func (id RequestID) IsZero() bool { return id.v == scalar{} }

// Int64 returns the id if it is an integer that int64 holds. -0 is not one: it
// would not come back as it was.
func (id RequestID) Int64() (int64, bool) { return id.v.asInt() }

// Text returns the id if it is a string.
func (id RequestID) Text() (string, bool) { return id.v.asText() }

// String returns the id for a log: 7, "7" in quotes, or "none".
func (id RequestID) String() string { return id.v.String() }

// AppendTo appends the id as JSON; null if it is no id.
func (id RequestID) AppendTo(b []byte) []byte { return id.v.append(b) }

// MarshalJSON returns the id as JSON; null if it is no id.
func (id RequestID) MarshalJSON() ([]byte, error) { return id.v.append(nil), nil }

// UnmarshalJSON reads what MarshalJSON writes.
func (id *RequestID) UnmarshalJSON(data []byte) error { return id.v.unmarshal(data) }

// Token returns the progress token with the same value.
func (id RequestID) Token() ProgressToken { return ProgressToken(id) }

// IntToken returns the token n.
func IntToken(n int64) ProgressToken { return ProgressToken{intScalar(n)} }

// StringToken returns the token s, a string even if s spells a number.
func StringToken(s string) ProgressToken { return ProgressToken{textScalar(s)} }

// IsZero reports whether t is no token.
func (t ProgressToken) IsZero() bool { return t.v == scalar{} }

// Int64 returns the token if it is an integer that int64 holds.
func (t ProgressToken) Int64() (int64, bool) { return t.v.asInt() }

// Text returns the token if it is a string.
func (t ProgressToken) Text() (string, bool) { return t.v.asText() }

// String returns the token for a log: 7, "7" in quotes, or "none".
func (t ProgressToken) String() string { return t.v.String() }

// AppendTo appends the token as JSON; null if it is no token.
func (t ProgressToken) AppendTo(b []byte) []byte { return t.v.append(b) }

// MarshalJSON returns the token as JSON; null if it is no token.
func (t ProgressToken) MarshalJSON() ([]byte, error) { return t.v.append(nil), nil }

// UnmarshalJSON reads what MarshalJSON writes.
func (t *ProgressToken) UnmarshalJSON(data []byte) error { return t.v.unmarshal(data) }

// ID returns the request id with the same value.
func (t ProgressToken) ID() RequestID { return RequestID(t) }

// ID reads a request id.
func (d *Decoder) ID() RequestID { return RequestID{d.scalar()} }

// Token reads a progress token.
func (d *Decoder) Token() ProgressToken { return ProgressToken{d.scalar()} }

// scalar is a string or an integer. Equal values are equal structs. Of text and n
// only one says something at a time, and n then tells the kinds of text apart: there
// are two of these in every message.
type scalar struct {
	text string
	n    int64
}

// What n says beside a text, and the text that n itself has: one that is no UTF-8,
// so that no string and no digits are the same.
const (
	longInt int64 = iota + 1 // the text is digits beyond int64, or -0
	aText                    // the text is a string

	smallInt = "\xffint"
)

func intScalar(n int64) scalar { return scalar{smallInt, n} }

func textScalar(s string) scalar {
	if s == smallInt {
		s += s // that cannot be written either, and is no integer
	}
	return scalar{s, aText}
}

func (v scalar) isInt() bool { return v.text == smallInt }

func (v scalar) asInt() (int64, bool) {
	if !v.isInt() {
		return 0, false
	}
	return v.n, true
}

func (v scalar) asText() (string, bool) {
	if v.isInt() || v.n != aText {
		return "", false
	}
	return v.text, true
}

func (v scalar) append(b []byte) []byte {
	switch {
	case v.isInt():
		return AppendInt(b, v.n)
	case v.n == longInt:
		return append(b, v.text...)
	case v.n == aText:
		return AppendString(b, v.text)
	}
	return append(b, "null"...)
}

func (v scalar) String() string {
	switch {
	case v.isInt():
		return strconv.FormatInt(v.n, 10)
	case v.n == longInt:
		return v.text
	case v.n == aText:
		return strconv.Quote(v.text)
	}
	return "none"
}

func (v *scalar) unmarshal(data []byte) error {
	d := newDecoder(data, nil)
	var read scalar
	if !d.Null() {
		read = d.scalar()
	}
	if err := d.finish(); err != nil {
		return err
	}
	*v = read
	return nil
}

// scalar reads a string or an integer.
func (d *Decoder) scalar() scalar {
	switch c := d.first(); {
	case c == '-' || isDigit(c):
		return d.integer()
	case c == '"':
		text := d.shortString()
		if d.err != nil {
			return scalar{}
		}
		return textScalar(text)
	}
	d.want("a string or an integer")
	return scalar{}
}

// shortString reads a string that is short enough for an id.
func (d *Decoder) shortString() string {
	start := d.pos
	raw, size := d.quoted()
	switch {
	case len(raw)+2 > maxID:
		d.fail(start, false, fmt.Errorf("id or token is longer than %d bytes", maxID))
		return ""
	case size == len(raw):
		return string(raw)
	}
	return unescaped(raw, size)
}

// integer reads an integer of any length that is short enough for an id.
func (d *Decoder) integer() scalar {
	raw, form := d.number()
	if form == plainInt && raw != nil {
		if n, ok := parseInt(raw); ok && string(raw) != "-0" {
			return intScalar(n)
		}
	}
	return d.longInteger(raw, form)
}

// longInteger is what integer returns for a number that int64 does not hold as it is.
func (d *Decoder) longInteger(raw []byte, form numberForm) scalar {
	if raw == nil {
		return scalar{}
	}
	start := d.pos - len(raw)
	switch {
	case form != plainInt && bytes.ContainsAny(raw, ".eE"):
		d.fail(start, false, fmt.Errorf("want a string or an integer, have %s", clip(string(raw))))
		return scalar{}
	case len(raw) > maxID:
		d.fail(start, false, fmt.Errorf("id or token is longer than %d bytes", maxID))
		return scalar{}
	}
	return scalar{string(raw), longInt}
}
