package validate

import "fmt"

// compareLogic compares a value with the schemas that allOf, $ref and other
// keywords compare it with.
func (v *validation) compareLogic(r *logicRules, at uint32, e *evaluated) bool {
	ok := v.compareRefs(r, at, e)
	if !ok && v.stop() {
		return false
	}
	for _, n := range r.allOf {
		if !v.compare(n, at, e) {
			if ok = false; v.stop() {
				return false
			}
		}
	}
	if r.not != nil && v.matches(r.not, at, nil) {
		if ok = false; v.fail("must not match the schema in not") {
			return false
		}
	}
	if len(r.anyOf) > 0 && !v.compareAnyOf(r.anyOf, at, e) {
		if ok = false; v.stop() {
			return false
		}
	}
	if len(r.oneOf) > 0 && !v.compareOneOf(r.oneOf, at, e) {
		if ok = false; v.stop() {
			return false
		}
	}
	return (r.condition == nil || v.compareCondition(r, at, e)) && ok
}

func (v *validation) compareRefs(r *logicRules, at uint32, e *evaluated) bool {
	ok := r.ref == nil || v.compare(r.ref, at, e)
	if !ok && v.stop() {
		return false
	}
	if target := r.recursiveRef; target != nil {
		if target.recursiveAnchor && v.recursive != nil {
			target = v.recursive
		}
		if !v.compare(target, at, e) {
			if ok = false; v.stop() {
				return false
			}
		}
	}
	if target := r.dynamicRef; target != nil {
		ok = v.compare(v.dynamicTarget(target, r.dynamic), at, e) && ok
	}
	return ok
}

// dynamicTarget returns the target in the outermost resource that has one, or the
// static target.
func (v *validation) dynamicTarget(static *node, targets *dynamicTargets) *node {
	if targets == nil {
		return static
	}
	for i, resource := range v.resources {
		if n := targets.byResource[resource]; n != nil {
			v.spend(perValue * i)
			return n
		}
	}
	return static
}

// alternative compares a value with one of several schemas, without adding causes.
// It adds the evaluated values of a schema that matches.
func (v *validation) alternative(n *node, at uint32, e *evaluated) bool {
	if e == nil {
		return v.matches(n, at, nil)
	}
	own := v.newEvaluated(v.doc.values[at].count)
	ok := v.matches(n, at, &own)
	if ok {
		v.merge(e, own)
	}
	v.releaseEvaluated(own)
	return ok
}

func (v *validation) compareAnyOf(list []*node, at uint32, e *evaluated) bool {
	ok := false
	for _, n := range list {
		if v.alternative(n, at, e) {
			if ok = true; e == nil {
				return true
			}
		}
	}
	if !ok {
		v.addClosest(list, at)
	}
	return ok
}

func (v *validation) compareOneOf(list []*node, at uint32, e *evaluated) bool {
	match := -1
	for i, n := range list {
		if !v.alternative(n, at, e) {
			continue
		}
		if match >= 0 {
			v.fail(fmt.Sprintf("must match exactly one schema in oneOf, but matches those at indexes %d and %d", match, i))
			return false
		}
		match = i
	}
	if match < 0 {
		v.addClosest(list, at)
	}
	return match >= 0
}

// addClosest adds the causes of the alternative that a value is closest to. The
// value matches none of the alternatives.
func (v *validation) addClosest(list []*node, at uint32) {
	if v.stop() {
		return
	}
	mark, limit := len(v.causes), v.limit
	ends := make([]int, len(list))
	for i, n := range list {
		v.limit = len(v.causes) + maxCauses
		v.compare(n, at, nil)
		ends[i] = len(v.causes)
	}
	v.limit = limit
	alternatives, start := make([][]cause, len(list)), mark
	for i, end := range ends {
		alternatives[i], start = v.causes[start:end], end
	}
	v.causes = append(v.causes[:mark], closestAlternative(alternatives)...)
}

func (v *validation) compareCondition(r *logicRules, at uint32, e *evaluated) bool {
	next := r.otherwise
	if v.alternative(r.condition, at, e) {
		next = r.then
	}
	return next == nil || v.compare(next, at, e)
}

// compareMeta compares a value with the meta-schema of a dialect.
func (v *validation) compareMeta(d dialect, at uint32, e *evaluated) bool {
	x := &v.doc.values[at]
	if x.kind >= kindArray {
		v.spend(perVisit * int(x.end-at))
	}
	k := checker{doc: &v.doc, dialect: d, names: keywordNames()}
	k.schema(at, 0)
	if e != nil && x.kind == kindObject {
		i := 0
		for name := at + 1; name < x.end; name = v.doc.after(name + 1) {
			if kw := k.names[v.doc.string(name)]; kw != noKeyword && kw.in(d) {
				v.mark(e, i)
			}
			i++
		}
	}
	if len(k.problems) == 0 {
		return true
	}
	if !v.quiet {
		v.spend(perProblem * len(k.problems))
		v.causes = append(v.causes, k.problems...)
	}
	return false
}
