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
	errOpenString = errors.New("string without its closing quote")
	errControl    = errors.New("control character in a string")
	errEscape     = errors.New("unknown escape in a string")
	errSurrogate  = errors.New("surrogate without its partner")
	errUTF8       = errors.New("invalid UTF-8")
)

const (
	each = 0x0101010101010101 // one in every byte
	tops = 0x8080808080808080 // the high bit of every byte
)

// special marks the high bit of each byte of w that a JSON string cannot hold
// as it is: the quote, the backslash and the control characters. Only the
// lowest mark is exact, since a match may borrow from the bytes above it.
func special(w uint64) uint64 {
	quote, slash := w^('"'*each), w^('\\'*each) // zero where they match
	return ((quote - each) | (slash - each) | (w - ' '*each)) &^ w & tops
}

// plainEnd returns the offset of the first special byte of data at or after i,
// len(data) if there is none, and whether a byte before it is not ASCII.
func plainEnd(data []byte, i int) (end int, high bool) {
	var seen uint64
	for ; ; i += 8 {
		var w uint64
		if len(data)-i >= 8 {
			w = binary.LittleEndian.Uint64(data[i:])
		} else {
			w = lastWord(data, i) // the zeros above are special
		}
		if m := special(w); m != 0 {
			n := bits.TrailingZeros64(m) &^ 7
			seen |= w & (1<<n - 1)
			return min(i+n/8, len(data)), seen&tops != 0
		}
		seen |= w
	}
}

// lastWord is the last bytes of data, from i on, fewer than 8, with zeros above.
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

// scanText reads the string whose inside begins at start, from i on: what comes
// before stands for itself, and is not all ASCII where high is true. It returns the
// offset of the closing quote, the length of the text once unescaped, and
// whether it holds bytes that are not ASCII, which are not checked here. On an
// error, end is the offset of what is wrong.
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
			if simple[at(data, i+1)] != 0 {
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

// simple maps the letter of a two-byte escape to what it stands for, other
// bytes to 0.
var simple = [256]byte{
	'"': '"', '\\': '\\', '/': '/',
	'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

// escape reads the escape sequence that data begins with: the character it
// stands for and its length.
func escape(data []byte) (r rune, n int, err error) {
	switch c := at(data, 1); {
	case len(data) < 2:
		return 0, 0, errOpenString
	case simple[c] != 0:
		return rune(simple[c]), 2, nil
	case c == 'u':
		return escapeU(data)
	}
	return 0, 0, errEscape
}

// escapeU reads \uXXXX, or two of them that make a surrogate pair.
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

// hex4 reads \uXXXX; -1 if data does not begin with that.
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

// appendUnescaped appends the text that raw, the inside of a scanned string,
// stands for. It stops at an escape that is none.
func appendUnescaped(b, raw []byte) []byte {
	for {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 {
			return append(b, raw...)
		}
		b = append(b, raw[:i]...)
		raw = raw[i:]
		if c := simple[at(raw, 1)]; c != 0 {
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

// unescaped returns the text that raw stands for, in one allocation of size bytes.
func unescaped(raw []byte, size int) string {
	return alias(appendUnescaped(make([]byte, 0, size), raw))
}

// invalidAt returns the offset of the first byte of p that is not UTF-8.
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

// alias is the bytes of p as a string, for as long as p does not change.
func alias(p []byte) string { return unsafe.String(unsafe.SliceData(p), len(p)) }
