package wire

import (
	"encoding/base64"
	"math"
	"strconv"
	"unicode/utf8"
	"unsafe"
)

// AppendString appends s as a JSON string. Bytes that are not UTF-8 become
// U+FFFD, one each. Nothing is escaped but what must be.
func AppendString(b []byte, s string) []byte {
	text := unsafe.Slice(unsafe.StringData(s), len(s))
	if end, high := plainEnd(text, 0); end < len(s) || high && !utf8.ValidString(s) {
		return appendEscaped(b, text)
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// appendEscaped is AppendString for a text that does not stand for itself.
func appendEscaped(b, text []byte) []byte {
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

// AppendBytes appends p as a string of base64: standard alphabet, padded.
func AppendBytes(b []byte, p []byte) []byte {
	b = append(b, '"')
	b = base64.StdEncoding.AppendEncode(b, p)
	return append(b, '"')
}

// AppendBool appends true or false.
func AppendBool(b []byte, v bool) []byte { return strconv.AppendBool(b, v) }

// AppendInt appends v in decimal.
func AppendInt(b []byte, v int64) []byte { return strconv.AppendInt(b, v, 10) }

// AppendFloat appends v, which must be finite, in the fewest digits that read
// back as v.
func AppendFloat(b []byte, v float64) []byte {
	format := byte('f')
	if abs := math.Abs(v); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(b, v, format, -1, 64)
}

// CloseObject ends the object whose members were appended from start on, each
// with a comma in front. The first comma becomes the opening brace.
func CloseObject(b []byte, start int) []byte {
	if start == len(b) {
		return append(b, "{}"...)
	}
	b[start] = '{'
	return append(b, '}')
}
