package wire

import (
	"bytes"
	"math"
	"strconv"
)

// numberForm is how a number is spelled.
type numberForm uint8

const (
	plainInt   numberForm = iota // digits only
	moderate                     // surely within float64
	farFetched                   // perhaps beyond
)

// scanNumber reads the number at data[i:]. It returns the offset after it; ok
// is false where a digit is missing, at end.
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
		form = farFetched
	}
	if c := at(data, i); c != '.' && c|0x20 != 'e' {
		return i, form, true
	}
	if at(data, i) == '.' {
		form = max(form, moderate)
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
		if form = max(form, moderate); i-exponent > 2 || exponent-start > 200 {
			form = farFetched
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

// at is data[i], and 0 beyond the end.
func at(data []byte, i int) byte {
	if i < len(data) {
		return data[i]
	}
	return 0
}

// inFloat64 reports whether the value of a far-fetched number is within
// float64. What is too close to zero rounds to it, and is within.
func inFloat64(raw []byte) bool {
	_, err := strconv.ParseFloat(string(raw), 64)
	return err == nil
}

// parseInt returns the value of a number spelled as an integer, if int64 holds it.
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

// parseWhole returns the value of any number: 1.0 and 1e2 are integers too, as
// in JSON Schema. whole is false for 1.5, and ok is false where int64 does not
// hold the value. The cost is linear in the length of raw.
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

// decimal splits the absolute value of a scanned number into an integer
// without zeros at either end and a power of ten. The exponent stays small
// enough to be added to.
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

// parseFloat returns the value of a scanned number that is within float64.
func parseFloat(raw []byte, form numberForm) float64 {
	if form == plainInt && len(raw) <= 15 && string(raw) != "-0" { // exact in float64
		v, _ := parseInt(raw)
		return float64(v)
	}
	v, _ := strconv.ParseFloat(string(raw), 64)
	return v
}
