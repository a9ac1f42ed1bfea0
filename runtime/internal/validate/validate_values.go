package validate

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// hasType reports whether a value has one of some types.
func (v *validation) hasType(set typeSet, at uint32) bool {
	value := &v.doc.values[at]
	if value.kind != kindNumber {
		return set&types[value.kind] != 0
	}
	if set&(typeNumber|typeInteger) != typeInteger {
		return set&typeNumber != 0
	}
	v.number.set(v.doc.raw(at))
	v.spendNumber()
	return v.number.isInteger()
}

// spendNumber subtracts the time to compute with the current number.
func (v *validation) spendNumber() {
	if !v.number.isSmall {
		v.spend(perDigit * len(v.number.text))
	}
}

// compareNumber compares a number with its rules.
func (v *validation) compareNumber(r *numberRules, at uint32) bool {
	x, mark := &v.number, len(v.causes)
	x.set(v.doc.raw(at))
	v.spendNumber()
	for _, rule := range [...]struct {
		bound *bound
		sign  int // of the comparison of x with the bound that is not allowed
		equal bool
		text  string
	}{
		{r.minimum, -1, true, ">="},
		{r.maximum, 1, true, "<="},
		{r.above, -1, false, ">"},
		{r.below, 1, false, "<"},
	} {
		if rule.bound == nil {
			continue
		}
		if c := x.compare(rule.bound); c == rule.sign || c == 0 && !rule.equal {
			if v.fail("must be " + rule.text + " " + rule.bound.text + " but found " + x.text) {
				return false
			}
		}
	}
	if r.multipleOf != nil && !x.isMultipleOf(r.multipleOf) && v.fail("must be a multiple of "+r.multipleOf.text+" but found "+x.text) {
		return false
	}
	return len(v.causes) == mark
}

// compareText compares a string with its rules.
func (v *validation) compareText(r *textRules, at uint32) bool {
	text, mark := v.text(at), len(v.causes)
	if r.minLength > 0 || r.maxLength >= 0 {
		length := utf8.RuneCountInString(text)
		if length < r.minLength && v.fail(fmt.Sprintf("length must be >= %d, but got %d", r.minLength, length)) {
			return false
		}
		if r.maxLength >= 0 && length > r.maxLength && v.fail(fmt.Sprintf("length must be <= %d, but got %d", r.maxLength, length)) {
			return false
		}
	}
	if r.pattern != nil && !v.match(r.pattern, text) && v.fail("does not match pattern "+quote(r.pattern.re.String())) {
		return false
	}
	if message := r.content(text); message != "" && v.fail(message) {
		return false
	}
	return len(v.causes) == mark
}

// match reports whether a text matches a pattern.
func (v *validation) match(p *pattern, text string) bool {
	v.spend((len(text) + matchOverhead) * p.instructions * perInstruction)
	return p.re.MatchString(text)
}

// content returns what is wrong with the encoding or the media type of a text, or "".
func (r *textRules) content(text string) string {
	content := []byte(nil)
	if r.base64 {
		var err error
		if content, err = base64.StdEncoding.DecodeString(text); err != nil {
			return "value is not base64 encoded"
		}
	}
	if !r.json {
		return ""
	}
	if !r.base64 {
		content = []byte(text)
	}
	if !json.Valid(content) {
		return "value is not of mediatype 'application/json'"
	}
	return ""
}

// compareConstants compares a value with const and enum.
func (v *validation) compareConstants(r *valueRules, at uint32) bool {
	mark := len(v.causes)
	if r.hasConst && !v.equals(at, r.constant) {
		if v.stop() {
			return false
		}
		v.add("value must be "+string(v.constants.appendJSON(nil, r.constant)), true)
	}
	if r.hasEnum && !v.isOneOf(r, at) {
		if v.stop() {
			return false
		}
		v.add(v.enumMessage(r), false)
	}
	return len(v.causes) == mark
}

func (v *validation) isOneOf(r *valueRules, at uint32) bool {
	if r.texts != nil {
		if v.doc.values[at].kind != kindString {
			return false
		}
		_, ok := r.texts[v.text(at)]
		return ok
	}
	for c := r.enum + 1; c < v.constants.values[r.enum].end; c = v.constants.after(c) {
		if v.equals(at, c) {
			return true
		}
	}
	return false
}

// enumMessage returns the message for a value that is not in an enum.
func (v *validation) enumMessage(r *valueRules) string {
	enum := &v.constants.values[r.enum]
	b := []byte("value must be ")
	if enum.count > 1 {
		b = append(b, "one of "...)
	}
	for c := r.enum + 1; c < enum.end; c = v.constants.after(c) {
		v.spend(perValue)
		if c > r.enum+1 {
			b = append(b, ", "...)
		}
		b = v.constants.appendJSON(b, c)
	}
	return string(b)
}

// equals reports whether a value is equal to a constant of the schema.
func (v *validation) equals(at, constant uint32) bool {
	x, c := &v.doc.values[at], &v.constants.values[constant]
	v.spend(perValue)
	if x.kind != c.kind {
		return false
	}
	switch x.kind {
	case kindString:
		if x.escaped {
			v.spend(perEscapedByte * int(x.end-x.start))
		}
		if c.escaped {
			v.spend(perEscapedByte * int(c.end-c.start))
		}
		v.spend(perByte * int(min(x.end-x.start, c.end-c.start)))
	case kindNumber:
		v.spend(perDigit / 5 * int(x.end-x.start+c.end-c.start))
	case kindArray, kindObject:
		if x.count != c.count {
			return false
		}
		size := int(min(x.end-at, c.end-constant))
		v.spend(fewMembers * perValue * size)
	}
	return v.doc.equal(at, v.constants, constant)
}
