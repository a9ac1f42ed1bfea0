package validate

import (
	"fmt"
	"strconv"
	"sync"
)

// validation compares a document with a schema. It is reused for other documents.
type validation struct {
	budget
	doc       document
	constants *document
	number    number
	causes    []cause
	limit     int                // of causes
	quiet     bool               // causes are not needed
	path      []step             // to the current value, unless quiet
	bits      []uint64           // of all sets of evaluated values
	dynamic   bool               // resources is needed
	resources []int32            // that contain the schemas being compared, from the outermost
	wanted    map[uint32]typeSet // of values that can be coerced, or nil
	recursive *node              // the outermost schema with a $recursiveAnchor, or nil
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
	if cap(v.doc.values) > mostPlaces || cap(v.causes) > mostPlaces || cap(v.bits) > mostPlaces {
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

// text returns the string at a position.
func (v *validation) text(at uint32) string {
	x := &v.doc.values[at]
	if length := int(x.end - x.start); x.escaped {
		v.spend(perEscapedByte * length)
	} else {
		v.spend(perByte * length)
	}
	return v.doc.string(at)
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
			v.want(n.types, at)
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
