package wire

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"math/bits"
	"slices"
	"sort"
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

// EndObject appends extra members, as [Encoder.Extra] does, and ends the object, as
// [CloseObject] does.
func (e *Encoder) EndObject(b []byte, start int, extra map[string]json.RawMessage, m *Members) []byte {
	if len(extra) > 0 {
		b = e.extra(b, extra, m)
	}
	return CloseObject(b, start)
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
	sort.Strings(e.names[first:])
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
	sort.Strings(names)
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
	start := len(b)
	if len(text) >= longText {
		b = growForText(b, escapedSize(text))
	}
	b = append(b, '"')
	var seen uint64
	for rest := text; len(rest) > 0; {
		block := rest[:min(len(rest), escapeBlock)]
		rest = rest[len(block):]
		b = slices.Grow(b, len(block)*maxEscape+8)
		n, high := putEscaped(b[len(b):cap(b)], block)
		b = b[:len(b)+n]
		seen |= high
	}
	if seen&highBits != 0 && !utf8.Valid(text) {
		return appendEscaped(b[:start], appendUTF8(nil, text))
	}
	return append(b, '"')
}

const (
	longText    = 4 << 10                     // bytes from which the buffer is sized before a text is appended
	escapeBlock = 128                         // bytes that are escaped without another look at the buffer
	maxEscape   = len(`\u0000`)               // bytes of the longest escape
	afterText   = escapeBlock*maxEscape + 256 // bytes that are left after a text, for the last block and the end of the message
)

// putEscaped writes a block with escapes to dst, which has room for maxEscape bytes for each byte, and for
// 8 more. It returns the number of bytes, and a word in which the
// high bits are set of bytes that are not ASCII.
func putEscaped(dst, block []byte) (n int, seen uint64) {
	for i := 0; i < len(block); {
		var w uint64
		if len(block)-i >= 8 {
			w = binary.LittleEndian.Uint64(block[i:])
		} else {
			w = lastWord(block, i) // the zeros after the end count as special
		}
		binary.LittleEndian.PutUint64(dst[n:], w)
		m := special(w)
		if m == 0 {
			seen |= w
			i, n = i+8, n+8
			continue
		}
		plain := bits.TrailingZeros64(m) / 8
		seen |= w & (1<<(8*plain) - 1)
		i, n = i+plain, n+plain
		if i < len(block) {
			escape, size := escapeOf(block[i])
			binary.LittleEndian.PutUint64(dst[n:], escape)
			i, n = i+1, n+size
		}
	}
	return n, seen
}

// escapeOf returns the bytes of an escape as a word, and their number.
func escapeOf(c byte) (word uint64, size int) {
	const hex = "0123456789abcdef"
	switch c {
	case '\n':
		c = 'n'
	case '\r':
		c = 'r'
	case '\t':
		c = 't'
	case '"', '\\':
	default:
		return '\\' | 'u'<<8 | '0'<<16 | '0'<<24 | uint64(hex[c>>4])<<32 | uint64(hex[c&15])<<40, maxEscape
	}
	return '\\' | uint64(c)<<8, 2
}

// growForText makes room in b for a text, if it is long, and for the end of its message. Otherwise
// the buffer would be copied again and again, and be up to twice as large as the message.
func growForText(b []byte, size int) []byte {
	if size < longText {
		return b
	}
	return slices.Grow(b, size+afterText)
}

// escapedSize estimates the size of a long text with escapes from samples. The estimate is more often
// too large than too small.
func escapedSize(text []byte) int {
	const samples, length = 32, longText / 32
	escapes := 0
	for k := range samples {
		from := k * (len(text) - length) / (samples - 1)
		for i := range length {
			if c := text[from+i]; c < ' ' || c == '"' || c == '\\' {
				_, size := escapeOf(c)
				escapes += size - 1
			}
		}
	}
	more := escapes * (len(text) / (samples * length))
	return len(text) + more + more/8 + len(text)/64
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
