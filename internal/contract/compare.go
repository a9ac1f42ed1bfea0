package contract

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Severity is the effect of a change on the users of a server.
type Severity int

// Severities, from the least to the most.
const (
	// Informational is a change of texts and hints.
	Informational Severity = iota
	// Compatible is a change that affects no existing user.
	Compatible
	// Risky is a change that may affect users, or whose effect the comparison cannot decide.
	Risky
	// Breaking is a change that makes valid calls or valid readers fail.
	Breaking
)

var severityNames = []string{"informational", "compatible", "risky", "breaking"}

// String returns the name of the severity.
func (s Severity) String() string { return severityNames[s] }

// problem is a value that a schema allows and another schema may refuse.
type problem struct {
	severity Severity
	at       string // the path of the value, such as "place.city"
	text     string // the change, from the old schema to the new one
}

// comparison compares two schemas. It is used once.
type comparison struct {
	swapped  bool // the first schema is the new one
	steps    int
	problems []problem
	active   map[string]bool
}

// maxSteps limits the work of a comparison.
const maxSteps = 50_000

// step counts a step and reports whether the comparison may go on.
func (c *comparison) step() bool {
	c.steps++
	return c.steps <= maxSteps
}

// implies returns the reasons why a value that schema a accepts may be refused by schema b. No reason
// means that b accepts each value of a. The new schema is a if swapped, and otherwise b.
//
// Objects of a have only declared members if a schema has the keyword properties and none of
// additionalProperties, patternProperties and unevaluatedProperties: programs do not send members
// that no schema mentions.
func implies(a, b *document, swapped bool) []problem {
	c := &comparison{swapped: swapped, active: map[string]bool{}}
	x, y := part{a, a.root}, part{b, b.root}
	if a.dialect == unknownDialect || b.dialect == unknownDialect {
		if !c.same(x, y) {
			c.unknown("", "schema of another dialect: changed")
		}
		return c.problems
	}
	c.implied([]part{x}, y, "")
	if c.steps > maxSteps {
		c.unknown("", "schema: too complex to compare")
	}
	return c.problems
}

func (c *comparison) unknown(at, text string) {
	c.problems = append(c.problems, problem{Risky, at, text})
}

// breaks reports that a value changed from a to b.
func (c *comparison) breaks(at, what, a, b string) { c.changed(Breaking, at, what, a, b) }

func (c *comparison) changed(s Severity, at, what, a, b string) {
	if c.swapped {
		a, b = b, a
	}
	c.problems = append(c.problems, problem{s, at, what + ": " + a + " → " + b})
}

// implied checks that b accepts each value that all schemas accept.
func (c *comparison) implied(schemas []part, b part, at string) {
	if b.at == true || !c.step() {
		return
	}
	key := identities(schemas) + " " + identity(b)
	if b.members() != nil && c.active[key] {
		return // documents are finite, so the parts of a cycle may assume each other
	}
	c.active[key] = true
	defer delete(c.active, key)
	for _, a := range c.cases(schemas) {
		c.covered(a, b, at, 0)
	}
}

// maxInPlace limits the references and branches for one value.
const maxInPlace = 40

// covered checks that b accepts each value of a set.
func (c *comparison) covered(a atoms, b part, at string, depth int) {
	members := b.members()
	switch {
	case b.at == true || a.kinds == 0 || slices.ContainsFunc(a.parts, func(p part) bool { return p.members() != nil && c.same(p, b) }):
		return
	case b.at == false:
		c.breaks(at, "value", "allowed", "not allowed")
		return
	case members == nil || !wellFormed(members) || depth > maxInPlace || !c.step():
		c.unknown(at, "schema: cannot be compared")
		return
	}
	if values, ok := c.values(a); ok {
		c.coveredValues(values, b, at)
		return
	}
	if _, ok := members["$ref"]; ok {
		target, ok := b.reference()
		if !ok {
			c.unknown(at, "reference "+show(members["$ref"])+": cannot be resolved")
		} else {
			c.covered(a, target, at, depth+1)
		}
		if b.doc.dialect == draft7 {
			return
		}
	}
	allowed, _ := b.types()
	if extra := a.kinds &^ allowed; extra != 0 {
		c.breaks(at, "type", a.kinds.String(), (allowed).String())
		if a.kinds &= allowed; a.kinds == 0 {
			return
		}
	}
	c.coveredKeywords(a, b, at)
	for _, of := range b.list("allOf") {
		c.covered(a, of, at, depth+1)
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if branches := b.list(keyword); len(branches) > 0 {
			c.coveredBranches(a, branches, keyword, at, depth)
		}
	}
}

func (c *comparison) coveredValues(values []any, b part, at string) {
	for _, v := range values {
		switch c.accepts(b, v) {
		case no:
			c.breaks(at, "value "+show(v), "allowed", "not allowed")
		case unknown:
			c.unknown(at, "value "+show(v)+": the schema changed, and may not allow it")
		}
	}
}

// coveredKeywords checks the keywords that are not applied in place.
func (c *comparison) coveredKeywords(a atoms, b part, at string) {
	if list, ok := b.members()["enum"].([]any); ok {
		c.breaks(at, "values", "any "+a.kinds.String(), show(list))
	}
	if value, ok := b.members()["const"]; ok {
		c.breaks(at, "values", "any "+a.kinds.String(), show(value))
	}
	c.coveredUnsupported(a, b, at)
	if a.kinds&kindNumber != 0 {
		c.coveredNumber(a, b, at)
	}
	if a.kinds&kindString != 0 {
		c.limits(a, b, at, "minLength", "maxLength", 0, -1)
		c.coveredPattern(a, b, at)
	}
	if a.kinds&kindArray != 0 {
		c.coveredArray(a, b, at)
	}
	if a.kinds&kindObject != 0 {
		c.coveredObject(a, b, at)
	}
}

// groups are keywords that the comparison does not interpret, with the kinds of values that they
// apply to. The keywords of a group have an effect on each other.
var groups = []struct {
	keywords []string
	kinds    kinds
}{
	{[]string{"if", "then", "else"}, allKinds},
	{[]string{"not"}, allKinds},
	{[]string{"$dynamicRef"}, allKinds},
	{[]string{"$recursiveRef"}, allKinds},
	{[]string{"contains", "minContains", "maxContains"}, kindArray},
	{[]string{"propertyNames"}, kindObject},
	{[]string{"dependencies"}, kindObject},
	{[]string{"dependentSchemas"}, kindObject},
	{[]string{"dependentRequired"}, kindObject},
	{[]string{"format"}, kindString | kindNumber},
	{[]string{"contentEncoding", "contentMediaType", "contentSchema"}, kindString},
}

func (c *comparison) coveredUnsupported(a atoms, b part, at string) {
	for keyword, kind := range map[string]kinds{"unevaluatedProperties": kindObject, "unevaluatedItems": kindArray} {
		if _, ok := b.members()[keyword]; ok && a.kinds&kind != 0 {
			c.unknown(at, keyword+": the schema changed") // its effect depends on all other keywords
		}
	}
	for _, g := range groups {
		keyword := g.keywords[0]
		if keyword == "contentEncoding" || keyword == "if" {
			for _, k := range g.keywords {
				if _, ok := b.members()[k]; ok {
					keyword = k
				}
			}
		}
		value, ok := b.members()[keyword]
		if !ok || a.kinds&g.kinds == 0 {
			continue
		}
		if keyword == "not" && c.disjoint(a, part{b.doc, value}, 0) {
			continue
		}
		if !slices.ContainsFunc(a.parts, func(p part) bool { return c.sameGroup(p, b, g.keywords) }) {
			c.changed(Risky, at, keyword, c.showFirst(a, keyword), show(value))
		}
	}
}

func (c *comparison) showFirst(a atoms, keyword string) string {
	for _, p := range a.parts {
		if value, ok := p.members()[keyword]; ok {
			return show(value)
		}
	}
	return "none"
}

// sameGroup reports whether some keywords are the same in two schemas.
func (c *comparison) sameGroup(a, b part, keywords []string) bool {
	if a.doc.dialect != b.doc.dialect || a.members() == nil {
		return false
	}
	for _, k := range keywords {
		x, has := a.members()[k]
		y, needs := b.members()[k]
		if has != needs || has && !c.sameKeyword(a, b, k, x, y, map[string]bool{}) {
			return false
		}
	}
	return true
}

func (c *comparison) coveredPattern(a atoms, b part, at string) {
	pattern, ok := b.members()["pattern"].(string)
	if !ok || slices.ContainsFunc(a.parts, func(p part) bool { return p.members()["pattern"] == pattern }) {
		return
	}
	c.changed(Risky, at, "pattern", c.showFirst(a, "pattern"), show(pattern))
}

// coveredBranches checks that a branch accepts each value.
func (c *comparison) coveredBranches(a atoms, branches []part, keyword, at string, depth int) {
	for _, p := range a.parts {
		mine := p.list(keyword)
		if p.doc.dialect == branches[0].doc.dialect && len(mine) == len(branches) && slices.EqualFunc(mine, branches, c.same) {
			return
		}
	}
	if c.branch(a, branches, keyword, at, depth) {
		return
	}
	for kind := kinds(1); kind < allKinds; kind <<= 1 {
		one := a
		if one.kinds &= kind; one.kinds == 0 || c.branch(one, branches, keyword, at, depth) {
			continue
		}
		var candidates []part
		for _, b := range branches {
			if !c.disjoint(one, b, 0) {
				candidates = append(candidates, b)
			}
		}
		switch len(candidates) {
		case 0:
			c.breaks(at, "type "+kind.String(), "allowed", "not allowed")
		case 1:
			c.covered(one, candidates[0], at, depth+1)
		default:
			c.unknown(at, fmt.Sprintf("%s: no alternative allows all that was allowed", keyword))
		}
	}
}

// branch reports whether one branch accepts the whole set, and in oneOf no other branch accepts a
// part of the set.
func (c *comparison) branch(a atoms, branches []part, keyword, at string, depth int) bool {
	for i, b := range branches {
		before := c.problems
		c.problems = nil
		c.covered(a, b, at, depth+1)
		ok := len(c.problems) == 0 && c.steps <= maxSteps
		c.problems = before
		for j, other := range branches {
			ok = ok && (keyword == "anyOf" || i == j || c.disjoint(a, other, 0))
		}
		if ok {
			return true
		}
	}
	return false
}

// limits checks a minimum and a maximum of a length. The set has at least least and, if it is not
// negative, at most most.
func (c *comparison) limits(a atoms, b part, at, minimum, maximum string, least, most int) {
	low, high := big.NewRat(int64(least), 1), (*big.Rat)(nil)
	if most >= 0 {
		high = big.NewRat(int64(most), 1)
	}
	for _, p := range a.parts {
		if n, ok := p.number(minimum); ok && n.Cmp(low) > 0 {
			low = n
		}
		if n, ok := p.number(maximum); ok && (high == nil || n.Cmp(high) < 0) {
			high = n
		}
	}
	c.limit(a, b, at, minimum, func(n *big.Rat) bool { return low.Cmp(n) >= 0 })
	c.limit(a, b, at, maximum, func(n *big.Rat) bool { return high != nil && high.Cmp(n) <= 0 })
}

// limit checks a keyword with a number.
func (c *comparison) limit(a atoms, b part, at, keyword string, implied func(n *big.Rat) bool) {
	value, ok := b.members()[keyword]
	if !ok {
		return
	}
	n, ok := b.number(keyword)
	switch {
	case !ok:
		c.changed(Risky, at, keyword, c.showFirst(a, keyword), show(value))
	case !implied(n):
		c.breaks(at, keyword, c.showFirst(a, keyword), show(value))
	}
}

func (c *comparison) coveredNumber(a atoms, b part, at string) {
	var low, high *big.Rat
	openLow, openHigh := false, false
	for _, p := range a.parts {
		for _, keyword := range []string{"minimum", "exclusiveMinimum"} {
			open := keyword == "exclusiveMinimum"
			if n, ok := p.number(keyword); ok && (low == nil || n.Cmp(low) > 0 || n.Cmp(low) == 0 && open) {
				low, openLow = n, open
			}
		}
		for _, keyword := range []string{"maximum", "exclusiveMaximum"} {
			open := keyword == "exclusiveMaximum"
			if n, ok := p.number(keyword); ok && (high == nil || n.Cmp(high) < 0 || n.Cmp(high) == 0 && open) {
				high, openHigh = n, open
			}
		}
	}
	if a.kinds&kindFraction == 0 { // x > 0 is x >= 1
		one := big.NewRat(1, 1)
		if openLow && low.IsInt() {
			low, openLow = new(big.Rat).Add(low, one), false
		}
		if openHigh && high.IsInt() {
			high, openHigh = new(big.Rat).Sub(high, one), false
		}
	}
	c.limit(a, b, at, "minimum", func(n *big.Rat) bool { return low != nil && low.Cmp(n) >= 0 })
	c.limit(a, b, at, "maximum", func(n *big.Rat) bool { return high != nil && high.Cmp(n) <= 0 })
	c.limit(a, b, at, "exclusiveMinimum", func(n *big.Rat) bool { return low != nil && (low.Cmp(n) > 0 || openLow && low.Cmp(n) == 0) })
	c.limit(a, b, at, "exclusiveMaximum", func(n *big.Rat) bool { return high != nil && (high.Cmp(n) < 0 || openHigh && high.Cmp(n) == 0) })
	c.limit(a, b, at, "multipleOf", func(n *big.Rat) bool {
		divides := func(of *big.Rat) bool { return n.Sign() > 0 && new(big.Rat).Quo(of, n).IsInt() }
		return a.kinds&kindFraction == 0 && divides(big.NewRat(1, 1)) || slices.ContainsFunc(a.parts, func(p part) bool {
			of, ok := p.number("multipleOf")
			return ok && divides(of)
		})
	})
}

func (c *comparison) coveredArray(a atoms, b part, at string) {
	c.limits(a, b, at, "minItems", "maxItems", 0, -1)
	if b.members()["uniqueItems"] == true && !slices.ContainsFunc(a.parts, func(p part) bool { return p.members()["uniqueItems"] == true }) {
		c.breaks(at, "uniqueItems", "no", "yes")
	}
	first, rest, hasRest := b.tuple()
	n := max(len(first), a.tupleLength())
	for i := range n {
		of, ok := rest, hasRest
		if i < len(first) {
			of, ok = first[i], true
		}
		if ok && !c.shorter(a, i) {
			c.implied(a.element(i), of, at+"["+strconv.Itoa(i)+"]")
		}
	}
	if hasRest && !c.shorter(a, n) {
		c.implied(a.element(n), rest, at+"[]")
	}
}

// shorter reports whether the arrays of a set have no element i.
func (c *comparison) shorter(a atoms, i int) bool {
	return slices.ContainsFunc(a.parts, func(p part) bool {
		n, ok := p.number("maxItems")
		return ok && n.Cmp(big.NewRat(int64(i), 1)) <= 0
	})
}

func (c *comparison) coveredObject(a atoms, b part, at string) {
	most := -1
	if a.closed {
		most = len(a.declared)
	}
	c.limits(a, b, at, "minProperties", "maxProperties", len(a.requiredNames()), most)
	for _, name := range b.texts("required") {
		if !a.requires(name) {
			c.breaks(join(at, name), "required", "no", "yes")
		}
	}
	properties, patterns := b.table("properties"), b.table("patternProperties")
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		c.implied(a.member(name, true), properties[name], join(at, name))
	}
	for _, pattern := range slices.Sorted(maps.Keys(patterns)) {
		for _, name := range slices.Sorted(maps.Keys(a.declared)) {
			if matches(pattern, name) {
				c.implied(a.member(name, true), patterns[pattern], join(at, name))
			}
		}
		c.implied(a.matching(pattern), patterns[pattern], join(at, "{"+shorten(pattern)+"}"))
	}
	more, ok := b.sub("additionalProperties")
	if !ok {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(a.declared)) {
		_, found := properties[name]
		for pattern := range patterns {
			found = found || matches(pattern, name) && compiles(pattern)
		}
		if !found {
			c.implied(a.member(name, true), more, join(at, name))
		}
	}
	c.implied(a.others(), more, join(at, "*"))
}

// matches reports whether a name may match a pattern.
func matches(pattern, name string) bool {
	re, err := regexp.Compile(pattern)
	return err != nil || re.MatchString(name)
}

func compiles(pattern string) bool {
	_, err := regexp.Compile(pattern)
	return err == nil
}

// join adds the name of a member to a path.
func join(at, name string) string {
	if name = shorten(name); strings.ContainsAny(name, ".[]\" \t\n") || name == "" {
		name = strconv.Quote(name)
	}
	if at == "" {
		return name
	}
	return at + "." + name
}

// wellFormed reports whether the keywords that the comparison reads have values of the right kind.
func wellFormed(members map[string]any) bool {
	for keyword, value := range members {
		if ok, known := wellFormedKeyword(keyword, value); known && !ok {
			return false
		}
	}
	return true
}

func wellFormedKeyword(keyword string, value any) (ok, known bool) {
	switch keyword {
	case "type":
		_, ok = part{at: map[string]any{"type": value}}.types()
	case "enum":
		list, isList := value.([]any)
		ok = isList && len(list) > 0
	case "required", "allOf", "anyOf", "oneOf", "prefixItems":
		_, ok = value.([]any)
	case "properties", "patternProperties":
		_, ok = value.(map[string]any)
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties":
		_, ok = value.(json.Number)
	case "pattern", "$ref":
		_, ok = value.(string)
	case "uniqueItems":
		_, ok = value.(bool)
	default:
		return false, false
	}
	return ok, true
}
