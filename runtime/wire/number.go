package wire

import (
	"bytes"
	"math"
	"strconv"
)

// numberForm classifies the spelling of a number.
type numberForm uint8

const (
	plainInt        numberForm = iota // only digits, perhaps after a minus sign
	inRange                           // has a fraction or an exponent, and fits in float64
	maybeOutOfRange                   // may not fit in float64
)

// scanNumber reads the number at data[i:]. It returns the offset after the number.
// If a digit is missing, ok is false and end is the offset where the digit should
// be.
func scanNumber(data []byte, i int) (end int, form numberForm, ok bool) {
	start := i
	if at(data, i) == '-' {
		i++
	}
	switch c := at(data, i); {
	case c == '0':
		i++
	case isDigit(c):
		i = digitsEnd(data, i)
	default:
		return i, form, false
	}
	if i-start > 300 {
		form = maybeOutOfRange
	}
	if c := at(data, i); c != '.' && c|0x20 != 'e' {
		return i, form, true
	}
	if at(data, i) == '.' {
		form = max(form, inRange)
		if i++; !isDigit(at(data, i)) {
			return i, form, false
		}
		i = digitsEnd(data, i)
	}
	if c := at(data, i); c == 'e' || c == 'E' {
		if i++; at(data, i) == '+' || at(data, i) == '-' {
			i++
		}
		if !isDigit(at(data, i)) {
			return i, form, false
		}
		exponent := i
		i = digitsEnd(data, i)
		if form = max(form, inRange); i-exponent > 2 || exponent-start > 200 {
			form = maybeOutOfRange
		}
	}
	return i, form, true
}

func digitsEnd(data []byte, i int) int {
	for i < len(data) && isDigit(data[i]) {
		i++
	}
	return i
}

func isDigit(c byte) bool { return c-'0' <= 9 }

// at returns data[i], or 0 if i is beyond the end.
func at(data []byte, i int) byte {
	if i < len(data) {
		return data[i]
	}
	return 0
}

// inFloat64 reports whether a number fits in float64. A number too close to zero
// is rounded to zero and fits.
func inFloat64(raw []byte) bool {
	_, err := strconv.ParseFloat(string(raw), 64)
	return err == nil
}

// parseInt returns the value of a number that is spelled as an integer. ok is
// false if the value does not fit in int64.
func parseInt(raw []byte) (v int64, ok bool) {
	digits := raw
	if raw[0] == '-' {
		digits = raw[1:]
	}
	if len(digits) > 19 { // 19 digits cannot overflow uint64
		return 0, false
	}
	var u uint64
	for _, c := range digits {
		u = u*10 + uint64(c-'0')
	}
	if raw[0] == '-' {
		return -int64(u), u <= 1<<63
	}
	return int64(u), u <= math.MaxInt64
}

// parseWhole returns the value of a number in any spelling. As in JSON Schema, 1.0
// and 1e2 are integers. whole is false for a number like 1.5. ok is false if the
// value does not fit in int64. The cost is linear in the length of raw.
func parseWhole(raw []byte) (v int64, whole, ok bool) {
	digits, shift := decimal(raw)
	switch {
	case len(digits) == 0:
		return 0, true, true
	case shift < 0:
		return 0, false, false
	case len(digits)+shift > 19:
		return 0, true, false
	}
	if raw[0] == '-' {
		digits = append([]byte{'-'}, digits...)
	}
	v, ok = parseInt(append(digits, bytes.Repeat([]byte{'0'}, shift)...))
	return v, true, ok
}

// decimal splits the absolute value of a scanned number into the digits of an
// integer, without zeros at either end, and a power of ten. The power is limited
// so that adding to it cannot overflow.
func decimal(raw []byte) (digits []byte, shift int) {
	const farExponent = math.MaxInt / 4
	if i := bytes.IndexAny(raw, "eE"); i >= 0 {
		n, err := strconv.Atoi(string(raw[i+1:]))
		if err != nil || n > farExponent || n < -farExponent {
			n = farExponent
			if raw[i+1] == '-' {
				n = -farExponent
			}
		}
		raw, shift = raw[:i], n
	}
	integer, fraction, _ := bytes.Cut(bytes.TrimPrefix(raw, []byte{'-'}), []byte{'.'})
	all := append(append([]byte{}, integer...), fraction...)
	digits = bytes.TrimRight(all, "0")
	shift += len(all) - len(digits) - len(fraction)
	return bytes.TrimLeft(digits, "0"), shift
}

// parseFloat returns the value of a scanned number that fits in float64.
func parseFloat(raw []byte, form numberForm) float64 {
	if form == plainInt && len(raw) <= 15 && string(raw) != "-0" { // exact in float64
		v, _ := parseInt(raw)
		return float64(v)
	}
	v, _ := strconv.ParseFloat(string(raw), 64)
	return v
}
