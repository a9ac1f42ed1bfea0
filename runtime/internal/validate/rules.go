package validate

import (
	"math"
	"regexp"
	"regexp/syntax"
	"strings"
)

// members contains the position of the value of each keyword of a schema, or 0.
type members [keywordCount]uint32

// fill compiles the keywords of a schema, which has been checked.
func (c *compiler) fill(n *node) error {
	var at members
	var groups group
	for i := n.at + 1; i < c.values[n.at].end; i = c.after(i + 1) {
		if kw := c.values[i].keyword; kw != noKeyword {
			at[kw] = i + 1
			groups |= keywords[kw].group
		}
	}
	if at[kwRef] != 0 && c.dialect <= draft7 {
		return c.fillRefs(n, &at) // the other keywords are ignored
	}
	if groups&forAll != 0 {
		c.fillTypes(n, at[kwType])
		c.fillValues(n, &at)
	}
	if groups&forNumbers != 0 {
		c.fillNumber(n, &at)
	}
	if groups&forArrays != 0 {
		c.fillArray(n, &at)
	}
	if groups&forLogic != 0 {
		c.fillLogic(n, &at)
	}
	if groups&forTexts != 0 {
		if err := c.fillText(n, &at); err != nil {
			return err
		}
	}
	if groups&forObjects != 0 {
		if err := c.fillObject(n, &at); err != nil {
			return err
		}
	}
	if groups&forRefs != 0 {
		return c.fillRefs(n, &at)
	}
	return nil
}

func (c *compiler) fillTypes(n *node, t uint32) {
	switch {
	case t == 0:
	case c.values[t].kind == kindString:
		n.typeNames = c.string(t)
		n.types = typeNamed(n.typeNames)
	default:
		var names []string
		for i := t + 1; i < c.values[t].end; i++ {
			names = append(names, c.string(i))
			n.types |= typeNamed(c.string(i))
		}
		n.typeNames = strings.Join(names, " or ")
	}
	if n.types&typeNumber != 0 {
		n.types |= typeInteger
	}
}

func (c *compiler) fillValues(n *node, at *members) {
	if at[kwConst] == 0 && at[kwEnum] == 0 {
		return
	}
	v := new(valueRules)
	n.values = v
	if x := at[kwConst]; x != 0 {
		v.hasConst, v.constant = true, c.constants.copyValue(&c.document, x)
	}
	e := at[kwEnum]
	if e == 0 || c.values[e].count == 0 {
		return // an empty enum has no effect
	}
	v.hasEnum, v.enum = true, c.constants.copyValue(&c.document, e)
	if c.values[e].count <= fewTexts {
		return
	}
	for i := e + 1; i < c.values[e].end; i = c.after(i) {
		if c.values[i].kind != kindString {
			return
		}
	}
	v.texts = make(map[string]struct{}, c.values[e].count)
	for i := e + 1; i < c.values[e].end; i++ {
		v.texts[c.string(i)] = struct{}{}
	}
}

// fewTexts is the number of strings up to which an enum is searched without an
// index.
const fewTexts = 8

func (c *compiler) fillNumber(n *node, at *members) {
	var r numberRules
	r.minimum, r.above = c.limits(at[kwMinimum], at[kwExclusiveMinimum])
	r.maximum, r.below = c.limits(at[kwMaximum], at[kwExclusiveMaximum])
	r.multipleOf = c.bound(at[kwMultipleOf])
	if r != (numberRules{}) {
		n.number = clone(r)
	}
}

// bound returns the number at a position, or nil for position 0.
func (c *compiler) bound(at uint32) *bound {
	if at == 0 {
		return nil
	}
	return newBound(c.raw(at))
}

// limits returns an inclusive and an exclusive limit. In draft-04, a boolean makes
// the inclusive limit exclusive.
func (c *compiler) limits(inclusive, exclusive uint32) (with, without *bound) {
	with = c.bound(inclusive)
	if exclusive == 0 {
		return with, nil
	}
	if is, ok := c.boolean(exclusive); !ok {
		return with, c.bound(exclusive)
	} else if is {
		return nil, with
	}
	return with, nil
}

// countAt returns the integer at a position, or another value for position 0.
func (c *compiler) countAt(at uint32, otherwise int) int {
	if at == 0 {
		return otherwise
	}
	text := c.raw(at)
	if n, ok := smallInteger(text); ok {
		return int(min(n, math.MaxInt))
	}
	d := parseDecimal(nil, text)
	if d.exponent > smallDigits {
		return math.MaxInt
	}
	return int(d.smallScaled(d.exponent - len(d.digits)))
}

func (c *compiler) fillText(n *node, at *members) error {
	t := textRules{minLength: c.countAt(at[kwMinLength], 0), maxLength: c.countAt(at[kwMaxLength], -1)}
	if x := at[kwPattern]; x != 0 {
		p, err := c.pattern(x)
		if err != nil {
			return err
		}
		t.pattern = p
	}
	if c.dialect == draft7 { // since 2019-09, these keywords are annotations
		encoding, media := at[kwContentEncoding], at[kwContentMediaType]
		t.base64 = encoding != 0 && c.string(encoding) == "base64"
		t.json = media != 0 && c.string(media) == "application/json" && (encoding == 0 || t.base64)
	}
	if t != (textRules{maxLength: -1}) {
		n.text = clone(t)
	}
	return nil
}

// pattern compiles the regular expression at a position.
func (c *compiler) pattern(at uint32) (*pattern, error) {
	text := c.string(at)
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, newError(c.pointer(at), err.Error()) // cannot happen, because it was checked
	}
	p := &pattern{instructions: instructions(tree)}
	if c.instructions += p.instructions; c.instructions > maxInstructions {
		return nil, newError(c.pointer(at), "the patterns of the schema are too large")
	}
	if p.re, err = regexp.Compile(text); err != nil {
		return nil, newError(c.pointer(at), err.Error())
	}
	return p, nil
}

// child returns the node of the schema at a position, or nil for position 0.
func (c *compiler) child(at uint32) *node {
	if at == 0 {
		return nil
	}
	return c.node(at)
}

// children returns the nodes of an array of schemas, or nil for position 0.
func (c *compiler) children(at uint32) []*node {
	if at == 0 {
		return nil
	}
	list := make([]*node, 0, c.values[at].count)
	for i := at + 1; i < c.values[at].end; i = c.after(i) {
		list = append(list, c.node(i))
	}
	return list
}

func (c *compiler) fillArray(n *node, at *members) {
	a := arrayRules{
		minItems:          c.countAt(at[kwMinItems], 0),
		maxItems:          c.countAt(at[kwMaxItems], -1),
		contains:          c.child(at[kwContains]),
		minContains:       c.countAt(at[kwMinContains], 1),
		maxContains:       c.countAt(at[kwMaxContains], -1),
		containsEvaluates: c.dialect >= draft2020,
		unevaluated:       c.child(at[kwUnevaluatedItems]),
	}
	if at[kwUniqueItems] != 0 {
		a.unique, _ = c.boolean(at[kwUniqueItems])
	}
	items := at[kwItems]
	switch {
	case items == 0 || c.values[items].kind != kindArray:
		a.prefix, a.rest = c.children(at[kwPrefixItems]), c.child(items)
	default:
		a.prefix = c.children(items)
		additional := at[kwAdditionalItems]
		if additional == 0 {
			break
		}
		if allowed, ok := c.boolean(additional); !ok || allowed {
			a.rest = c.child(additional)
		} else {
			a.noRest = true
		}
	}
	if a.contains == nil && a.prefix == nil && a.rest == nil && a.unevaluated == nil && !a.unique && !a.noRest && a.minItems == 0 && a.maxItems < 0 {
		return
	}
	n.array = clone(a)
}

func (c *compiler) fillLogic(n *node, at *members) {
	l := logicRules{
		not:   c.child(at[kwNot]),
		allOf: c.children(at[kwAllOf]),
		anyOf: c.children(at[kwAnyOf]),
		oneOf: c.children(at[kwOneOf]),
	}
	if at[kwIf] != 0 {
		l.condition, l.then, l.otherwise = c.child(at[kwIf]), c.child(at[kwThen]), c.child(at[kwElse])
	}
	if l.not != nil || l.allOf != nil || l.anyOf != nil || l.oneOf != nil || l.condition != nil {
		n.logic = clone(l)
	}
}

// clone returns a pointer to a copy. The address of a variable would need an
// allocation for each schema, even for a schema without such rules.
func clone[T any](rules T) *T { return &rules }
