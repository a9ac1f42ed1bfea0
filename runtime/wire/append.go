package wire

import (
	"encoding/base64"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
	"unsafe"
)

// AppendString appends s as a JSON string. It escapes only the characters that must
// be escaped. Each byte that is not valid UTF-8 becomes U+FFFD.
func AppendString(b []byte, s string) []byte {
	text := unsafe.Slice(unsafe.StringData(s), len(s))
	if end, high := plainEnd(text, 0); end < len(s) || high && !utf8.ValidString(s) {
		return appendEscaped(b, text)
	}
	b = growForText(b, len(s))
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// AppendBytes appends p as a base64 string with the standard alphabet and padding.
func AppendBytes(b []byte, p []byte) []byte {
	b = append(b, '"')
	b = base64.StdEncoding.AppendEncode(b, p)
	return append(b, '"')
}

// AppendBool appends true or false.
func AppendBool(b []byte, v bool) []byte { return strconv.AppendBool(b, v) }

// AppendInt appends v in decimal.
func AppendInt(b []byte, v int64) []byte { return strconv.AppendInt(b, v, 10) }

// AppendFloat appends v, which must be finite, with the fewest digits that read
// back as v.
func AppendFloat(b []byte, v float64) []byte {
	format := byte('f')
	if abs := math.Abs(v); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(b, v, format, -1, 64)
}

// CloseObject ends an object whose members were appended from start on, each
// preceded by a comma. It replaces the first comma with the opening brace.
func CloseObject(b []byte, start int) []byte {
	if start == len(b) {
		return append(b, "{}"...)
	}
	b[start] = '{'
	return append(b, '}')
}

// AppendStructs appends a list of values as an array. A nil list is an empty array.
func AppendStructs[T any, P interface {
	*T
	Value
}](b []byte, e *Encoder, list []T) []byte {
	b = append(b, '[')
	for i := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = P(&list[i]).AppendJSON(b, e)
	}
	return append(b, ']')
}

// AppendList appends a list as an array and calls elem to append each element. A
// nil list is an empty array.
func AppendList[T any](b []byte, e *Encoder, list []T, elem func([]byte, *Encoder, T) []byte) []byte {
	b = append(b, '[')
	for i, x := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = elem(b, e, x)
	}
	return append(b, ']')
}

// AppendStrings appends a list of strings as an array. A nil list is an empty
// array.
func AppendStrings(b []byte, list []string) []byte {
	b = append(b, '[')
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = AppendString(b, s)
	}
	return append(b, ']')
}

// AppendMap appends a map as an object, sorted by name, and calls elem to append
// each value. A nil map is an empty object.
func AppendMap[T any](b []byte, e *Encoder, m map[string]T, elem func([]byte, *Encoder, T) []byte) []byte {
	start, first := len(b), len(e.names)
	for name := range m {
		e.names = append(e.names, name)
	}
	slices.Sort(e.names[first:])
	for i := first; i < first+len(m); i++ { // elem may grow e.names
		name := e.names[i]
		b = append(b, ',')
		b = e.appendName(b, name)
		b = elem(b, e, m[name])
	}
	e.dropNames(first)
	return CloseObject(b, start)
}

// AppendOrderedMap appends an ordered map as an object. It calls name for the name of
// each member, and value to append its value. A nil list is an empty object.
// AppendOrderedMap fails if a name occurs twice.
func AppendOrderedMap[M any](b []byte, e *Encoder, list []M, name func(*M) string, value func([]byte, *Encoder, *M) []byte) []byte {
	start, first := len(b), len(e.names)
	for i := range list {
		e.names = append(e.names, name(&list[i]))
	}
	duplicate, found := e.duplicateName(first)
	e.dropNames(first)
	seen := false
	for i := range list {
		n := name(&list[i])
		b = append(b, ',')
		b = e.appendName(b, n)
		if found && n == duplicate {
			if seen {
				e.Fail(b, "duplicate member %q", clip(duplicate))
			}
			seen = true
		}
		b = value(b, e, &list[i])
	}
	return CloseObject(b, start)
}

// duplicateName returns a name that occurs more than once among the names from
// index first on. It sorts them.
func (e *Encoder) duplicateName(first int) (name string, found bool) {
	names := e.names[first:]
	slices.Sort(names)
	for i := 1; i < len(names); i++ {
		if names[i] == names[i-1] {
			return names[i], true
		}
	}
	return "", false
}

// appendEscaped is AppendString for a text that needs escapes or is not valid
// UTF-8.
func appendEscaped(b, text []byte) []byte {
	if len(text) >= longText {
		b = growForText(b, escapedSize(text))
	}
	b = append(b, '"')
	for len(text) > 0 {
		end, high := plainEnd(text, 0)
		if high {
			b = appendUTF8(b, text[:end])
		} else {
			b = append(b, text[:end]...)
		}
		if end == len(text) {
			break
		}
		b = appendEscape(b, text[end])
		text = text[end+1:]
	}
	return append(b, '"')
}

const (
	longText  = 4 << 10 // bytes from which the buffer is sized before a text is appended
	afterText = 512     // bytes that usually follow the text of a message
)

// growForText makes room in b for a text, if it is long, and for the end of its message. Otherwise
// the buffer would be copied again and again, and be up to twice as large as the message.
func growForText(b []byte, size int) []byte {
	if size < longText {
		return b
	}
	return slices.Grow(b, size+afterText)
}

// escapedSize returns the size of a text with escapes. It is an estimate if the text is not valid
// UTF-8.
func escapedSize(text []byte) int {
	size := len(text)
	for i := 0; ; i++ {
		if i, _ = plainEnd(text, i); i == len(text) {
			return size
		}
		switch text[i] {
		case '"', '\\', '\n', '\r', '\t':
			size++
		default:
			size += len(`\u0000`) - 1
		}
	}
}

func appendUTF8(b, text []byte) []byte {
	if utf8.Valid(text) {
		return append(b, text...)
	}
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		b = utf8.AppendRune(b, r)
		text = text[n:]
	}
	return b
}

func appendEscape(b []byte, c byte) []byte {
	const hex = "0123456789abcdef"
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\n':
		return append(b, `\n`...)
	case '\r':
		return append(b, `\r`...)
	case '\t':
		return append(b, `\t`...)
	}
	return append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}
