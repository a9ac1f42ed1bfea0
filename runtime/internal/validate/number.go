package validate

import (
	"bytes"
	"cmp"
	"math/big"
	"strconv"
	"strings"
)

// Limits of numbers. The validator computes with exact numbers, which takes
// longer for longer numbers. The limits exceed the precision of float64.
const (
	maxDigits   = 1024
	maxExponent = 400
)

// NumberWithinLimits reports whether a JSON number is short enough to compute with
// it exactly.
func NumberWithinLimits(number string) bool {
	if len(number) > maxDigits {
		return false
	}
	e := strings.IndexAny(number, "eE")
	if e < 0 {
		return true
	}
	n, err := strconv.Atoi(number[e+1:])
	return err == nil && -maxExponent <= n && n <= maxExponent
}

// smallDigits is the number of digits that always fit in an int64.
const smallDigits = 18

// smallInteger parses a JSON number that is written as a short integer.
func smallInteger(text string) (n int64, ok bool) {
	digits := text
	if text[0] == '-' {
		digits = text[1:]
	}
	if len(digits) > smallDigits {
		return 0, false
	}
	for i := range len(digits) {
		c := digits[i] - '0'
		if c > 9 {
			return 0, false
		}
		n = n*10 + int64(c)
	}
	if len(digits) < len(text) {
		n = -n
	}
	return n, true
}

// decimal is the exact number 0.DIGITS * 10^exponent. The digits neither begin nor
// end with a zero. The number zero has no digits, no sign and no exponent.
type decimal struct {
	negative bool
	digits   []byte
	exponent int
}

// parseDecimal parses a JSON number. It appends the digits to buffer.
func parseDecimal(buffer []byte, text string) decimal {
	d := decimal{digits: buffer[:0]}
	point := false
scan:
	for i := range len(text) {
		switch c := text[i]; {
		case c == '-':
			d.negative = true
		case c == '.':
			point = true
		case c == 'e' || c == 'E':
			n, _ := strconv.Atoi(text[i+1:]) // cannot fail within the limits of numbers
			d.exponent += n
			break scan
		case c == '0' && len(d.digits) == 0:
			if point {
				d.exponent--
			}
		default:
			d.digits = append(d.digits, c)
			if !point {
				d.exponent++
			}
		}
	}
	d.digits = bytes.TrimRight(d.digits, "0")
	if len(d.digits) == 0 {
		d.negative, d.exponent = false, 0
	}
	return d
}

// isInteger reports whether the number has no fraction.
func (d decimal) isInteger() bool { return d.exponent >= len(d.digits) }

// compare returns -1, 0 or 1 if d is less than, equal to or greater than e.
func (d decimal) compare(e decimal) int {
	switch {
	case d.negative != e.negative:
		if d.negative {
			return -1
		}
		return 1
	case d.negative:
		return -d.compareSize(e)
	}
	return d.compareSize(e)
}

// compareSize compares the numbers without their signs.
func (d decimal) compareSize(e decimal) int {
	switch {
	case len(d.digits) == 0 || len(e.digits) == 0:
		return min(len(d.digits), 1) - min(len(e.digits), 1)
	case d.exponent < e.exponent:
		return -1
	case d.exponent > e.exponent:
		return 1
	}
	return bytes.Compare(d.digits, e.digits)
}

// isMultipleOf reports whether d is an integer times e, which must not be zero.
func (d decimal) isMultipleOf(e decimal) bool {
	if len(d.digits) == 0 {
		return true
	}
	scaleD, scaleE := d.exponent-len(d.digits), e.exponent-len(e.digits)
	least := min(scaleD, scaleE)
	zerosD, zerosE := scaleD-least, scaleE-least
	if len(d.digits)+zerosD <= smallDigits && len(e.digits)+zerosE <= smallDigits {
		return d.smallScaled(zerosD)%e.smallScaled(zerosE) == 0
	}
	return new(big.Int).Rem(d.bigScaled(zerosD), e.bigScaled(zerosE)).Sign() == 0
}

// smallScaled returns the digits followed by zeros as an integer.
func (d decimal) smallScaled(zeros int) (n int64) {
	for _, c := range d.digits {
		n = n*10 + int64(c-'0')
	}
	for range zeros {
		n *= 10
	}
	return n
}

// bigScaled returns the digits followed by zeros as an integer.
func (d decimal) bigScaled(zeros int) *big.Int {
	n, _ := new(big.Int).SetString(string(d.digits)+strings.Repeat("0", zeros), 10)
	return n
}

// appendKey appends a text that is the same for equal numbers only.
func (d decimal) appendKey(b []byte) []byte {
	if d.negative {
		b = append(b, '-')
	}
	return strconv.AppendInt(append(append(b, d.digits...), 'e'), int64(d.exponent), 10)
}

// bound is a number of a schema that values are compared with.
type bound struct {
	text    string
	small   int64
	isSmall bool
	decimal decimal // if the number is not small
}

func newBound(text string) *bound {
	b := &bound{text: text}
	if b.small, b.isSmall = smallInteger(text); !b.isSmall {
		b.decimal = parseDecimal(nil, text)
	}
	return b
}

// exact returns the exact number. It may use buffer.
func (b *bound) exact(buffer []byte) decimal {
	if b.isSmall {
		return parseDecimal(buffer, b.text)
	}
	return b.decimal
}

// number is a number of a document.
type number struct {
	text    string
	small   int64
	isSmall bool
	parsed  bool // decimal is set
	decimal decimal
	buffer  [40]byte
}

func (n *number) set(text string) {
	n.text, n.parsed = text, false
	n.small, n.isSmall = smallInteger(text)
}

// exact returns the exact number. It is valid until the next call of set.
func (n *number) exact() decimal {
	if !n.parsed {
		n.decimal, n.parsed = parseDecimal(n.buffer[:], n.text), true
	}
	return n.decimal
}

func (n *number) compare(b *bound) int {
	if n.isSmall && b.isSmall {
		return cmp.Compare(n.small, b.small)
	}
	var buffer [smallDigits]byte
	return n.exact().compare(b.exact(buffer[:]))
}

func (n *number) isMultipleOf(b *bound) bool {
	if n.isSmall && b.isSmall {
		return n.small%b.small == 0
	}
	var buffer [smallDigits]byte
	return n.exact().isMultipleOf(b.exact(buffer[:]))
}

func (n *number) isInteger() bool { return n.isSmall || n.exact().isInteger() }
