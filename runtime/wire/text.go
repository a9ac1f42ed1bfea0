package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
)

var (
	errOpenString = errors.New("unterminated string")
	errControl    = errors.New("control character in a string")
	errEscape     = errors.New("invalid escape in a string")
	errSurrogate  = errors.New("unpaired surrogate in a string")
	errUTF8       = errors.New("invalid UTF-8")
)

const (
	lowBits  = 0x0101010101010101 // the lowest bit of every byte
	highBits = 0x8080808080808080 // the high bit of every byte
)

// special sets the high bit of each byte of w that must be escaped in a JSON
// string: the quote, the backslash and the control characters. Only the lowest of
// these bits is exact, because a match can borrow from the bytes above it.
func special(w uint64) uint64 {
	quote, slash := w^('"'*lowBits), w^('\\'*lowBits) // a byte is zero if it matches
	return ((quote - lowBits) | (slash - lowBits) | (w - ' '*lowBits)) &^ w & highBits
}

// plainEnd returns the offset of the first special byte of data at or after i, or
// len(data) if there is none. high reports whether a byte before it is not ASCII.
func plainEnd(data []byte, i int) (end int, high bool) {
	var seen uint64
	for ; ; i += 8 {
		var w uint64
		if len(data)-i >= 8 {
			w = binary.LittleEndian.Uint64(data[i:])
		} else {
			w = lastWord(data, i) // the zeros after the end count as special
		}
		if m := special(w); m != 0 {
			n := bits.TrailingZeros64(m) &^ 7
			seen |= w & (1<<n - 1)
			return min(i+n/8, len(data)), seen&highBits != 0
		}
		seen |= w
	}
}

// lastWord returns the bytes of data from i on, which are fewer than 8, with zeros
// in the upper bytes.
func lastWord(data []byte, i int) uint64 {
	if len(data) >= 8 {
		return binary.LittleEndian.Uint64(data[len(data)-8:]) >> (8 * (8 - (len(data) - i)))
	}
	var w uint64
	for j := len(data) - 1; j >= i; j-- {
		w = w<<8 | uint64(data[j])
	}
	return w
}

// scanText reads the string whose first byte after the quote is at start. The
// bytes before i need no scan: they contain no special byte, and high reports
// whether one of them is not ASCII.
//
// scanText returns the offset of the closing quote, the length of the text after
// unescaping, and whether the string contains bytes that are not ASCII. It does
// not check that they are valid UTF-8. On an error, end is the offset of the error.
func scanText(data []byte, start, i int, high bool) (end, size int, _ bool, err error) {
	for saved := 0; ; {
		stop, h := plainEnd(data, i)
		i, high = stop, high || h
		if i == len(data) {
			return i, 0, high, errOpenString
		}
		switch data[i] {
		case '"':
			return i, i - start - saved, high, nil
		case '\\':
			if shortEscapes[at(data, i+1)] != 0 {
				i += 2
				saved++
				continue
			}
			r, n, err := escape(data[i:])
			if err != nil {
				return i, 0, high, err
			}
			i += n
			saved += n - utf8.RuneLen(r)
		default:
			return i, 0, high, errControl
		}
	}
}

// shortEscapes maps the letter of a two-byte escape to the character that the
// escape means. It maps other bytes to 0.
var shortEscapes = [256]byte{
	'"': '"', '\\': '\\', '/': '/',
	'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

// escape decodes the escape sequence at the start of data. It returns the
// character and the length of the sequence.
func escape(data []byte) (r rune, n int, err error) {
	switch c := at(data, 1); {
	case len(data) < 2:
		return 0, 0, errOpenString
	case shortEscapes[c] != 0:
		return rune(shortEscapes[c]), 2, nil
	case c == 'u':
		return escapeU(data)
	}
	return 0, 0, errEscape
}

// escapeU decodes \uXXXX, or two such sequences if they are a surrogate pair.
func escapeU(data []byte) (r rune, n int, err error) {
	r = hex4(data)
	if r < 0 {
		return 0, 0, errEscape
	}
	if !utf16.IsSurrogate(r) {
		return r, 6, nil
	}
	r = utf16.DecodeRune(r, hex4(data[6:]))
	if r == utf8.RuneError {
		return 0, 0, errSurrogate
	}
	return r, 12, nil
}

// hex4 decodes \uXXXX at the start of data. It returns -1 if data does not begin
// with such a sequence.
func hex4(data []byte) rune {
	if len(data) < 6 || data[0] != '\\' || data[1] != 'u' {
		return -1
	}
	var r rune
	for _, c := range data[2:6] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}

// appendUnescaped unescapes raw, the bytes of a scanned string between its quotes,
// and appends the result. It stops at an invalid escape.
func appendUnescaped(b, raw []byte) []byte {
	for {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 {
			return append(b, raw...)
		}
		b = append(b, raw[:i]...)
		raw = raw[i:]
		if c := shortEscapes[at(raw, 1)]; c != 0 {
			b = append(b, c)
			raw = raw[2:]
			continue
		}
		r, n, err := escape(raw)
		if err != nil {
			return b
		}
		b = utf8.AppendRune(b, r)
		raw = raw[n:]
	}
}

// unescaped returns raw after unescaping, in one allocation of size bytes.
func unescaped(raw []byte, size int) string {
	return alias(appendUnescaped(make([]byte, 0, size), raw))
}

// invalidAt returns the offset of the first byte of p that is not valid UTF-8.
func invalidAt(p []byte) int {
	for i := 0; i < len(p); {
		r, n := utf8.DecodeRune(p[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(p)
}

// alias returns p as a string without a copy. The string is valid until p changes.
func alias(p []byte) string { return unsafe.String(unsafe.SliceData(p), len(p)) }

// internTable stores short strings that a decoder has read. Most messages repeat
// the same methods, names and versions, so reusing a string is cheaper than
// allocating it again.
type internTable [1 << internBits]string

const (
	internBits  = 7
	maxInterned = 32 // the longest string that is interned
)

// intern returns text as a string, without an allocation if the table has it.
func (f *internTable) intern(text []byte) string {
	if len(text) > maxInterned {
		return string(text)
	}
	s := &f[quickHash(text)>>(32-internBits)]
	if *s != string(text) {
		*s = string(text)
	}
	return *s
}

// quickHash returns a hash of the length and of three bytes of name. The upper
// bits are the best ones.
func quickHash(name []byte) uint32 {
	n := len(name)
	if n == 0 {
		return 0
	}
	mix := uint32(n) ^ uint32(name[0])<<6 ^ uint32(name[n/2])<<13 ^ uint32(name[n-1])<<24
	return mix * 0x9e3779b1
}
