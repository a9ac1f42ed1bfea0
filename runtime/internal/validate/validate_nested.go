package validate

import (
	"fmt"
	"math"
	"sort"
	"time"
)

// unlimited is the budget for trusted schemas.
const unlimited = time.Duration(math.MaxInt64)

// evaluated is the set of members or items that were compared with a schema, for
// unevaluatedProperties and unevaluatedItems.
type evaluated struct {
	all   bool
	first int // of the words of the set in validation.bits
	words int
}

// newEvaluated returns an empty set for a value with a number of members or items.
// It must be released in reverse order.
func (v *validation) newEvaluated(count uint32) evaluated {
	e := evaluated{first: len(v.bits), words: (int(count) + 63) / 64}
	v.spend(perValue * e.words)
	for range e.words {
		v.bits = append(v.bits, 0)
	}
	return e
}

func (v *validation) releaseEvaluated(e evaluated) { v.bits = v.bits[:e.first] }

// mark adds a member or an item to a set. The set may be nil.
func (v *validation) mark(e *evaluated, i int) {
	if e != nil {
		v.bits[e.first+i/64] |= 1 << (i % 64)
	}
}

func (v *validation) isMarked(e *evaluated, i int) bool {
	return e.all || v.bits[e.first+i/64]&(1<<(i%64)) != 0
}

// merge adds a set to another one for the same value, which may be nil.
func (v *validation) merge(into *evaluated, e evaluated) {
	if into == nil {
		return
	}
	into.all = into.all || e.all
	for i := range e.words {
		v.bits[into.first+i] |= v.bits[e.first+i]
	}
}

// compareNested compares an array or an object with all rules of a schema but its
// types and constants. The schema has rules for unevaluated values if it is last.
func (v *validation) compareNested(n *node, at uint32, e *evaluated, last bool) bool {
	if !last {
		return v.compareAdjacent(n, at, e)
	}
	own := v.newEvaluated(v.doc.values[at].count)
	ok := v.compareAdjacent(n, at, &own)
	if ok || !v.stop() {
		if v.doc.values[at].kind == kindArray {
			ok = v.compareUnevaluatedItems(n.array, at, &own) && ok
		} else {
			ok = v.compareUnevaluatedProperties(n.object, at, &own) && ok
		}
	}
	if e != nil {
		e.all = true
	}
	v.releaseEvaluated(own)
	return ok
}

// compareAdjacent compares an array or an object with the rules that add to the
// evaluated values.
func (v *validation) compareAdjacent(n *node, at uint32, e *evaluated) bool {
	ok := true
	if v.doc.values[at].kind == kindArray {
		ok = n.array == nil || v.compareArray(n.array, at, e)
	} else {
		ok = n.object == nil || v.compareObject(n.object, at, e)
	}
	if !ok && v.stop() {
		return false
	}
	return (n.logic == nil || v.compareLogic(n.logic, at, e)) && ok
}

// compareArray compares an array with the rules for arrays.
func (v *validation) compareArray(r *arrayRules, at uint32, e *evaluated) bool {
	x, mark := v.doc.values[at], len(v.causes)
	count := int(x.count)
	v.spend(perMember * count)
	if count < r.minItems && v.fail(fmt.Sprintf("minimum %d items required, but found %d items", r.minItems, count)) {
		return false
	}
	if r.maxItems >= 0 && count > r.maxItems && v.fail(fmt.Sprintf("maximum %d items required, but found %d items", r.maxItems, count)) {
		return false
	}
	if r.noRest && count > len(r.prefix) && v.fail(fmt.Sprintf("only %d items are allowed, but found %d items", len(r.prefix), count)) {
		return false
	}
	if len(r.prefix) > 0 || r.rest != nil {
		i, item := 0, at+1
		for ; item < x.end && (i < len(r.prefix) || r.rest != nil); i++ {
			schema := r.rest
			if i < len(r.prefix) {
				schema = r.prefix[i]
				v.mark(e, i)
			}
			if !v.compareItem(schema, i, item) && v.stop() {
				return false
			}
			item = v.doc.after(item)
		}
		if r.rest != nil && e != nil {
			e.all = true
		}
	}
	if r.unique && !v.compareUnique(at) && v.stop() {
		return false
	}
	if r.contains != nil && !v.compareContains(r, at, e) && v.stop() {
		return false
	}
	return len(v.causes) == mark
}

func (v *validation) compareUnique(at uint32) bool {
	x := &v.doc.values[at]
	for i := at + 1; i < x.end; i++ {
		d := time.Duration(perKey)
		if y := &v.doc.values[i]; y.kind == kindNumber || y.kind == kindString {
			d += time.Duration(y.end-y.start) * perDigit / 5
		}
		v.spend(int(d))
	}
	i, j, found := v.doc.equalItems(at)
	if found {
		v.fail(fmt.Sprintf("items at index %d and %d are equal", i, j))
	}
	return !found
}

// compareContains compares the items of an array with contains. If too few match,
// the items have the causes.
func (v *validation) compareContains(r *arrayRules, at uint32, e *evaluated) bool {
	end, count, index := v.doc.values[at].end, 0, 0
	for item := at + 1; item < end; item = v.doc.after(item) {
		if v.matches(r.contains, item, nil) {
			count++
			if r.containsEvaluates {
				v.mark(e, index)
			}
		}
		index++
	}
	switch {
	case count < r.minContains:
		if v.stop() {
			return false
		}
		mark, index := len(v.causes), 0
		for item := at + 1; item < end; item = v.doc.after(item) {
			if !v.compareItem(r.contains, index, item) && v.stop() {
				return false
			}
			index++
		}
		if len(v.causes) == mark {
			v.fail(fmt.Sprintf("must contain at least %d matching items, but found %d", r.minContains, count))
		}
		return false
	case r.maxContains >= 0 && count > r.maxContains:
		v.fail(fmt.Sprintf("must contain at most %d matching items, but found %d", r.maxContains, count))
		return false
	}
	return true
}

func (v *validation) compareUnevaluatedItems(r *arrayRules, at uint32, e *evaluated) bool {
	index, mark := 0, len(v.causes)
	for item := at + 1; item < v.doc.values[at].end; item = v.doc.after(item) {
		if !v.isMarked(e, index) && !v.compareItem(r.unevaluated, index, item) && v.stop() {
			return false
		}
		index++
	}
	return len(v.causes) == mark
}

// compareObject compares an object with the rules for objects.
func (v *validation) compareObject(r *objectRules, at uint32, e *evaluated) bool {
	count, mark := int(v.doc.values[at].count), len(v.causes)
	v.spend(perMember * count)
	if count < r.minProps && v.fail(fmt.Sprintf("minimum %d properties required, but found %d properties", r.minProps, count)) {
		return false
	}
	if r.maxProps >= 0 && count > r.maxProps && v.fail(fmt.Sprintf("maximum %d properties allowed, but found %d properties", r.maxProps, count)) {
		return false
	}
	if r.dependencies == nil {
		return v.compareMembers(r, at, e, nil) && len(v.causes) == mark
	}
	present := v.newEvaluated(uint32(len(r.properties))) // properties that the object has
	ok := v.compareMembers(r, at, e, &present)
	if ok || !v.stop() {
		ok = v.compareDependencies(r, at, e, &present) && ok
	}
	v.releaseEvaluated(present)
	return ok && len(v.causes) == mark
}

// compareMembers compares the members of an object with the rules for objects. It
// adds the properties that the object has to present, if present is not nil.
func (v *validation) compareMembers(r *objectRules, at uint32, e, present *evaluated) bool {
	c := memberComparison{v: v, rules: r, evaluated: e, present: present}
	i, ok := 0, true
	for name := at + 1; name < v.doc.values[at].end; name = v.doc.after(name + 1) {
		if !c.compare(name, i) {
			if ok = false; v.stop() {
				return false
			}
		}
		i++
	}
	return c.finish(at) && ok
}

// memberComparison compares the members of an object with the rules for objects.
type memberComparison struct {
	v         *validation
	rules     *objectRules
	evaluated *evaluated
	present   *evaluated
	required  int      // properties that are required and present
	extra     []string // names that are not allowed
}

// compare compares the member whose name is at a position. It returns false if the
// member is invalid.
func (c *memberComparison) compare(at uint32, i int) bool {
	r, v, ok := c.rules, c.v, true
	name := v.text(at)
	known := false
	if p := r.find(name); p >= 0 {
		property := &r.properties[p]
		if property.required > 0 {
			c.required++
		}
		v.mark(c.present, p)
		if property.schema != nil {
			known = true
			ok = v.compareMember(property.schema, at, at+1)
		}
	}
	for p := range r.patterns {
		if !ok && v.stop() {
			return false
		}
		if v.match(&r.patterns[p].name, name) {
			known = true
			ok = v.compareMember(r.patterns[p].schema, at, at+1) && ok
		}
	}
	if !known && r.additional != nil {
		known = true
		ok = v.compareMember(r.additional, at, at+1) && ok
	}
	if !known && r.noAdditional {
		known = true
		if v.stop() {
			return false
		}
		v.spend(perName)
		c.extra = append(c.extra, name)
	}
	if r.names != nil && (ok || !v.stop()) {
		ok = v.compareMember(r.names, at, at) && ok
	}
	if known {
		v.mark(c.evaluated, i)
	}
	return ok
}

// finish compares the names of the object at a position with the rules.
func (c *memberComparison) finish(at uint32) bool {
	r, v, ok := c.rules, c.v, true
	if len(c.extra) > 0 {
		sort.Strings(c.extra)
		ok = false
		if v.fail("additionalProperties " + quoteAll(c.extra) + " not allowed") {
			return false
		}
	}
	if c.required == r.required {
		return ok
	}
	if v.stop() {
		return false
	}
	v.fail("missing properties: " + quoteAll(v.missing(r, at)))
	return false
}

// missing returns the required properties that an object does not have, in the order
// of the schema.
func (v *validation) missing(r *objectRules, at uint32) []string {
	count := int(v.doc.values[at].count)
	v.spend(perName * (count + len(r.properties)))
	has := make(map[string]bool, count)
	for i := at + 1; i < v.doc.values[at].end; i = v.doc.after(i + 1) {
		has[v.text(i)] = true
	}
	var list []*property
	for i := range r.properties {
		if p := &r.properties[i]; p.required > 0 && !has[p.name] {
			list = append(list, p)
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].required < list[j].required })
	names := make([]string, len(list))
	for i, p := range list {
		names[i] = p.name
	}
	return names
}

// compareDependencies compares an object with the rules for objects that have
// certain properties.
func (v *validation) compareDependencies(r *objectRules, at uint32, e, present *evaluated) bool {
	ok := true
	for i := range r.dependencies {
		d := &r.dependencies[i]
		v.spend(perValue * (1 + len(d.needs)))
		if !v.isMarked(present, d.property) {
			continue
		}
		for _, p := range d.needs {
			if v.isMarked(present, p) {
				continue
			}
			ok = false
			if v.stop() || v.fail(fmt.Sprintf("property %s is required, if %s property exists", quote(r.properties[p].name), quote(r.properties[d.property].name))) {
				return false
			}
		}
		if d.schema != nil && !v.compare(d.schema, at, e) {
			ok = false
			if v.stop() {
				return false
			}
		}
	}
	return ok
}

func (v *validation) compareUnevaluatedProperties(r *objectRules, at uint32, e *evaluated) bool {
	i, mark := 0, len(v.causes)
	for name := at + 1; name < v.doc.values[at].end; name = v.doc.after(name + 1) {
		if !v.isMarked(e, i) && !v.compareMember(r.unevaluated, name, name+1) && v.stop() {
			return false
		}
		i++
	}
	return len(v.causes) == mark
}
