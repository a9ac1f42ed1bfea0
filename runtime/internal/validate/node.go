package validate

import "regexp"

// node is a compiled schema. It does not change after the compilation.
type node struct {
	forward *node // to compare with instead, because the schema is only a reference

	values *valueRules
	number *numberRules
	text   *textRules
	array  *arrayRules
	object *objectRules
	logic  *logicRules

	typeNames       string // for messages
	at              uint32 // position of the schema
	resource        int32
	types           typeSet // or 0 for all types
	never           bool    // no value is valid
	meta            dialect // the node is the meta-schema of a dialect
	recursiveAnchor bool
	state           linkState // used only by the compiler
}

// linkState is the state of a node in the search for loops.
type linkState uint8

const (
	unseen linkState = iota
	open             // on the path that is searched
	closed
)

// valueRules are the rules for values of all types.
type valueRules struct {
	hasConst bool
	hasEnum  bool
	constant uint32              // position of the value of const
	enum     uint32              // position of the array of enum
	texts    map[string]struct{} // the values of enum, if all are strings and there are many
}

// numberRules are the rules for numbers.
type numberRules struct {
	minimum, maximum, above, below, multipleOf *bound
}

// textRules are the rules for strings. Lengths are in code points.
type textRules struct {
	minLength, maxLength int // maxLength is -1 if there is no limit
	pattern              *pattern
	base64, json         bool // contentEncoding and contentMediaType
}

// pattern is a regular expression.
type pattern struct {
	re           *regexp.Regexp
	instructions int
}

// arrayRules are the rules for arrays.
type arrayRules struct {
	minItems, maxItems       int // maxItems is -1 if there is no limit
	unique                   bool
	prefix                   []*node
	rest                     *node // for the items after prefix, or nil
	noRest                   bool  // items after prefix are not allowed, by additionalItems
	contains                 *node
	minContains, maxContains int
	containsEvaluates        bool // an item that contains matches is evaluated
	unevaluated              *node
}

// objectRules are the rules for objects.
type objectRules struct {
	properties   []property     // all names in the schema
	index        map[string]int // of properties, or nil if there are few
	required     int            // properties that are required
	minProps     int
	maxProps     int // or -1
	patterns     []patternRule
	additional   *node
	noAdditional bool // additionalProperties is false
	names        *node
	dependencies []dependency
	unevaluated  *node
}

// property is a name in a schema.
type property struct {
	name     string
	schema   *node // or nil
	required int   // place in the list of required properties, from 1, or 0
}

// patternRule is a member of patternProperties.
type patternRule struct {
	name   pattern
	schema *node
}

// dependency is a rule for objects that have a property.
type dependency struct {
	property int   // index of the property
	needs    []int // indices of properties that the object must have
	schema   *node // for the object, or nil
}

// logicRules are the rules that compare the value with other schemas.
type logicRules struct {
	ref, recursiveRef          *node
	dynamicRef                 *node
	dynamic                    *dynamicTargets // that replace dynamicRef, or nil
	not                        *node
	condition, then, otherwise *node
	allOf, anyOf, oneOf        []*node
}

// dynamicTargets are the schemas with the same $dynamicAnchor, one in a resource.
type dynamicTargets struct {
	byResource map[int32]*node
}

// sameValue returns the nodes that n compares its value with.
func (n *node) sameValue() []*node {
	var list []*node
	if l := n.logic; l != nil {
		for _, x := range [...]*node{l.ref, l.recursiveRef, l.dynamicRef, l.not, l.condition, l.then, l.otherwise} {
			if x != nil {
				list = append(list, x)
			}
		}
		list = append(append(append(list, l.allOf...), l.anyOf...), l.oneOf...)
	}
	if o := n.object; o != nil {
		for _, d := range o.dependencies {
			if d.schema != nil {
				list = append(list, d.schema)
			}
		}
	}
	return list
}
