package wire

import (
	"bytes"
	"fmt"
	"strconv"
)

// RequestID identifies a request. It is a string or an integer and is preserved
// exactly: 1 and "1" are different ids, and integers keep all digits. RequestIDs
// are comparable and can be map keys. The zero RequestID means that there is no
// id.
type RequestID struct{ v scalar }

// ProgressToken connects progress notifications with a request. It has the same
// values as [RequestID]. The zero ProgressToken means that there is no token.
type ProgressToken struct{ v scalar }

// IntID returns the id n.
func IntID(n int64) RequestID { return RequestID{intScalar(n)} }

// StringID returns the id s. The id is a string even if s contains only digits.
func StringID(s string) RequestID { return RequestID{textScalar(s)} }

// ParseID reads an id from JSON. The id must be a string or an integer of at most
// 128 bytes, without a fraction or an exponent. White space around it is allowed.
func ParseID(data []byte) (RequestID, error) {
	d := newDecoder(data, nil)
	id := d.ID()
	if err := d.finish(); err != nil {
		return RequestID{}, err
	}
	return id, nil
}

// IsZero reports whether id is the zero RequestID.
func (id RequestID) IsZero() bool { return id.v == scalar{} }

// Int64 returns the id and true if the id is an integer that fits in int64. -0 is
// not such an integer, because converting it back would return 0.
func (id RequestID) Int64() (int64, bool) { return id.v.asInt() }

// Text returns the id and true if the id is a string.
func (id RequestID) Text() (string, bool) { return id.v.asText() }

// String returns the id for use in logs: an integer as it is, a string in quotes,
// or "none" for the zero RequestID.
func (id RequestID) String() string { return id.v.String() }

// AppendTo appends the id as JSON, or null for the zero RequestID.
func (id RequestID) AppendTo(b []byte) []byte { return id.v.append(b) }

// MarshalJSON returns the id as JSON, or null for the zero RequestID.
func (id RequestID) MarshalJSON() ([]byte, error) { return id.v.append(nil), nil }

// UnmarshalJSON reads the output of MarshalJSON.
func (id *RequestID) UnmarshalJSON(data []byte) error { return id.v.unmarshal(data) }

// Token returns the progress token with the same value.
func (id RequestID) Token() ProgressToken { return ProgressToken(id) }

// IntToken returns the token n.
func IntToken(n int64) ProgressToken { return ProgressToken{intScalar(n)} }

// StringToken returns the token s. The token is a string even if s contains only
// digits.
func StringToken(s string) ProgressToken { return ProgressToken{textScalar(s)} }

// IsZero reports whether t is the zero ProgressToken.
func (t ProgressToken) IsZero() bool { return t.v == scalar{} }

// Int64 returns the token and true if the token is an integer that fits in int64.
// -0 is not such an integer.
func (t ProgressToken) Int64() (int64, bool) { return t.v.asInt() }

// Text returns the token and true if the token is a string.
func (t ProgressToken) Text() (string, bool) { return t.v.asText() }

// String returns the token for use in logs: an integer as it is, a string in
// quotes, or "none" for the zero ProgressToken.
func (t ProgressToken) String() string { return t.v.String() }

// AppendTo appends the token as JSON, or null for the zero ProgressToken.
func (t ProgressToken) AppendTo(b []byte) []byte { return t.v.append(b) }

// MarshalJSON returns the token as JSON, or null for the zero ProgressToken.
func (t ProgressToken) MarshalJSON() ([]byte, error) { return t.v.append(nil), nil }

// UnmarshalJSON reads the output of MarshalJSON.
func (t *ProgressToken) UnmarshalJSON(data []byte) error { return t.v.unmarshal(data) }

// ID returns the request id with the same value.
func (t ProgressToken) ID() RequestID { return RequestID(t) }

// ID reads a request id.
func (d *Decoder) ID() RequestID { return RequestID{d.scalar()} }

// Token reads a progress token.
func (d *Decoder) Token() ProgressToken { return ProgressToken{d.scalar()} }

// scalar is a string or an integer. Equal values are equal structs. It is small
// because every message has two of them: for an integer that fits in int64, n is
// its value and text is smallIntText. Otherwise n is a tag that determines how to read
// text.
type scalar struct {
	text string
	n    int64
}

// The values of scalar.n if text is set, and the value of scalar.text if n is set.
const (
	longIntTag int64 = iota + 1 // text is an integer beyond int64, or -0
	textTag                     // text is a string

	smallIntText = "\xffint" // not valid UTF-8, so it differs from all strings and digits
)

func intScalar(n int64) scalar { return scalar{smallIntText, n} }

func textScalar(s string) scalar {
	if s == smallIntText {
		s += s // also not valid UTF-8, but not mistaken for an integer
	}
	return scalar{s, textTag}
}

func (v scalar) isInt() bool { return v.text == smallIntText }

func (v scalar) asInt() (int64, bool) {
	if !v.isInt() {
		return 0, false
	}
	return v.n, true
}

func (v scalar) asText() (string, bool) {
	if v.isInt() || v.n != textTag {
		return "", false
	}
	return v.text, true
}

func (v scalar) append(b []byte) []byte {
	switch {
	case v.isInt():
		return AppendInt(b, v.n)
	case v.n == longIntTag:
		return append(b, v.text...)
	case v.n == textTag:
		return AppendString(b, v.text)
	}
	return append(b, "null"...)
}

func (v scalar) String() string {
	switch {
	case v.isInt():
		return strconv.FormatInt(v.n, 10)
	case v.n == longIntTag:
		return v.text
	case v.n == textTag:
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

// maxID limits the length in bytes of the JSON text of an id or token.
const maxID = 128

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
	d.failKind("a string or an integer")
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

// integer reads an integer that is short enough for an id, of any magnitude.
func (d *Decoder) integer() scalar {
	raw, form := d.number()
	if form == plainInt && raw != nil {
		if n, ok := parseInt(raw); ok && string(raw) != "-0" {
			return intScalar(n)
		}
	}
	return d.longInteger(raw, form)
}

// longInteger is integer for a number that does not fit in int64 or is invalid.
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
	return scalar{string(raw), longIntTag}
}
