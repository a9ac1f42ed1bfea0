package validate

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"unicode/utf8"
)

// validation compares a document with a schema. It is reused for other documents.
type validation struct {
	budget
	doc       document
	constants *document
	number    number
	causes    []cause
	limit     int      // of causes
	quiet     bool     // causes are not needed
	path      []step   // to the current value, unless quiet
	bits      []uint64 // of all sets of evaluated values
	dynamic   bool     // resources is needed
	resources []int32  // that contain the schemas being compared, from the outermost
	recursive *node    // the outermost schema with a $recursiveAnchor, or nil
}

// step is one step from a value to a value in it: a name at a position or an index.
type step struct {
	name  uint32
	index int // or -1 for a name
}

// maxCauses limits the causes that are found for a document, or for one
// alternative of anyOf or oneOf.
const maxCauses = 1000

var validations = sync.Pool{New: func() any { return new(validation) }}

// newValidation returns a validation from the pool.
func newValidation() *validation { return validations.Get().(*validation) }

// release returns the validation to the pool.
func (v *validation) release() {
	if cap(v.doc.values) > mostPlaces {
		return
	}
	clear(v.causes)
	*v = validation{
		doc:       document{values: v.doc.values[:0]},
		causes:    v.causes[:0],
		path:      v.path[:0],
		bits:      v.bits[:0],
		resources: v.resources[:0],
	}
	validations.Put(v)
}

// validate compares the document, which has size bytes, with a schema.
func (v *validation) validate(s *Schema, size int) (err error) {
	v.budget = newBudget(size)
	if s.trusted {
		v.left = unlimited
	}
	v.constants, v.dynamic, v.limit = &s.constants, s.dynamic, maxCauses
	defer recoverError(&err)
	if v.compare(s.root, 0, nil) {
		return nil
	}
	return errorOf(v.causes)
}

// recoverError recovers from a panic and stores it as an error.
func recoverError(err *error) {
	switch p := recover(); p {
	case nil:
	case errOverBudget:
		*err = newError("", errOverBudget.Error())
	default:
		*err = newError("", fmt.Sprintf("the validator panicked: %v", p))
	}
}

// fail adds a cause for the current value. It reports whether further causes are
// not needed.
func (v *validation) fail(message string) bool {
	if v.stop() {
		return true
	}
	v.add(message, false)
	return v.stop()
}

// stop reports whether further causes are not needed.
func (v *validation) stop() bool { return v.quiet || len(v.causes) >= v.limit }

func (v *validation) add(message string, constant bool) {
	v.spend(perProblem + perByte*len(message))
	v.causes = append(v.causes, cause{Problem{truncate(v.pointer()), truncate(message)}, constant})
}

// pointer returns the pointer of the current value.
func (v *validation) pointer() string {
	v.spend(perStep * len(v.path))
	var b []byte
	for _, s := range v.path {
		b = append(b, '/')
		if s.index >= 0 {
			b = strconv.AppendInt(b, int64(s.index), 10)
		} else {
			name := v.doc.string(s.name)
			v.spend(perByte * len(name))
			b = appendEscaped(b, name)
		}
	}
	return string(b)
}

// compareMember compares a value whose name is at a position with a schema.
func (v *validation) compareMember(n *node, name, at uint32) bool {
	if v.quiet {
		return v.compare(n, at, nil)
	}
	v.path = append(v.path, step{name, -1})
	ok := v.compare(n, at, nil)
	v.path = v.path[:len(v.path)-1]
	return ok
}

// compareItem compares an item of an array with a schema.
func (v *validation) compareItem(n *node, index int, at uint32) bool {
	if v.quiet {
		return v.compare(n, at, nil)
	}
	v.path = append(v.path, step{0, index})
	ok := v.compare(n, at, nil)
	v.path = v.path[:len(v.path)-1]
	return ok
}

// matches reports whether a value is valid, without adding causes.
func (v *validation) matches(n *node, at uint32, e *evaluated) bool {
	quiet := v.quiet
	v.quiet = true
	ok := v.compare(n, at, e)
	v.quiet = quiet
	return ok
}

// compare compares the value at a position with a schema. It adds the evaluated
// members or items to e, if e is not nil. It adds causes if the value is invalid.
func (v *validation) compare(n *node, at uint32, e *evaluated) bool {
	if n.forward != nil {
		n = n.forward
	}
	v.enter()
	ok := false
	switch value := &v.doc.values[at]; {
	case n.never:
		v.fail("not allowed")
	case n.meta != noDialect:
		ok = v.compareMeta(n.meta, at, e)
	case n.types != 0 && !v.hasType(n.types, at):
		if !v.stop() {
			v.fail("expected " + n.typeNames + ", but got " + kindNames[value.kind])
		}
	case v.dynamic && !v.inside(n.resource):
		v.resources = append(v.resources, n.resource)
		ok = v.compareScoped(n, at, e)
		v.resources = v.resources[:len(v.resources)-1]
	default:
		ok = v.compareScoped(n, at, e)
	}
	v.depth--
	return ok
}

// inside reports whether the innermost schema is in a resource.
func (v *validation) inside(resource int32) bool {
	return len(v.resources) > 0 && v.resources[len(v.resources)-1] == resource
}

// compareScoped compares a value with a schema after its dynamic scope was entered.
func (v *validation) compareScoped(n *node, at uint32, e *evaluated) bool {
	if !n.recursiveAnchor || v.recursive != nil {
		return v.compareRules(n, at, e)
	}
	v.recursive = n
	ok := v.compareRules(n, at, e)
	v.recursive = nil
	return ok
}

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

// compareRules compares a value with all rules of a schema but its types.
func (v *validation) compareRules(n *node, at uint32, e *evaluated) bool {
	ok := n.values == nil || v.compareConstants(n.values, at)
	if !ok && v.stop() {
		return false
	}
	value := &v.doc.values[at]
	switch value.kind {
	case kindNumber:
		if n.number != nil && !v.compareNumber(n.number, at) {
			ok = false
		}
	case kindString:
		if n.text != nil && !v.compareText(n.text, at) {
			ok = false
		}
	case kindArray:
		if n.array != nil || e != nil {
			return v.compareNested(n, at, e, n.array != nil && n.array.unevaluated != nil) && ok
		}
	case kindObject:
		if n.object != nil || e != nil {
			return v.compareNested(n, at, e, n.object != nil && n.object.unevaluated != nil) && ok
		}
	}
	if !ok && v.stop() {
		return false
	}
	return (n.logic == nil || v.compareLogic(n.logic, at, nil)) && ok
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
	text, mark := v.doc.string(at), len(v.causes)
	v.spend(perByte * len(text))
	if r.minLength > 0 || r.maxLength >= 0 {
		length := utf8.RuneCountInString(text)
		if length < r.minLength && v.fail(fmt.Sprintf("length must be >= %d, but got %d", r.minLength, length)) {
			return false
		}
		if r.maxLength >= 0 && length > r.maxLength && v.fail(fmt.Sprintf("length must be <= %d, but got %d", r.maxLength, length)) {
			return false
		}
	}
	if r.pattern != nil && !v.match(r.pattern, text) && v.fail("does not match pattern "+quote(r.pattern.String())) {
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
	return p.MatchString(text)
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
		_, ok := r.texts[v.doc.string(at)]
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
	case kindNumber, kindString:
		v.spend(perByte * int(min(x.end-x.start, c.end-c.start)))
	case kindArray, kindObject:
		if x.count != c.count {
			return false
		}
		size := int(min(x.end-at, c.end-constant))
		v.spend(fewMembers * perValue * size)
	}
	return v.doc.equal(at, v.constants, constant)
}
