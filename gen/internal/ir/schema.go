package ir

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/atombender/go-jsonschema/pkg/schemas"

	"github.com/mcpwright/mcp/gen/internal/refusal"
)

// Source is one revision's schema.
type Source struct {
	Revision string
	File     string // file name, printed in the headers of the generated files
	SHA256   string
	Defs     map[string]*schemas.Type
	// Restrictions has keywords that a value must match in addition to Defs, by JSON pointer.
	Restrictions map[string]any
}

// A node is a schema of one position in one revision. It has no descriptions, no
// framing of messages, and no allOf.
type node interface{ pos() string }

// at is the place of a node in the schemas: revision#/json/pointer.
type at string

type (
	refNode struct {
		at
		def string
	}
	scalarNode struct {
		at
		kinds    []string // sorted
		format   string
		min, max *float64
	}
	enumNode struct {
		at
		values []string
	}
	constNode struct {
		at
		value string
	}
	numberNode struct { // a constant integer
		at
		value int
	}
	valuesNode struct { // constants that are not all strings
		at
		values []string // JSON texts
	}
	anyNode struct{ at }
	mapNode struct {
		at
		elem node
	}
	arrayNode struct {
		at
		elem node
		max  int
	}
	unionNode struct {
		at
		alternatives []node
		// single reports whether the schema has the only alternative in place of the union.
		single bool
	}
	objectNode struct {
		at
		members []member
		// A message has its params here, and the name of their definition if they
		// refer to one. They become members of the message, unless the params
		// of some revision are a union.
		message   bool
		framed    bool // it has other members of JSON-RPC than the method
		hasID     bool
		params    *member
		paramsDef string
		paramsRef *refNode
		// An object without other members than the declared ones is closed.
		closed bool
		// The members that a value of the member caseKey requires, if the object was a
		// union.
		caseKey string
		cases   []objectCase
	}
)

// objectCase is one alternative of a union that became one object.
type objectCase struct {
	value    string
	required []string
}

func (a at) pos() string { return string(a) }

// member is a member of an object.
type member struct {
	name     string
	node     node
	required bool
}

func (o *objectNode) member(name string) *member {
	for i := range o.members {
		if o.members[i].name == name {
			return &o.members[i]
		}
	}
	return nil
}

// document is the parsed schema of one revision.
type document struct {
	name    string
	bit     int
	defs    map[string]node
	notices []string // about constraints that the codec does not check

	restrictions map[string]any  // see [Source]
	checked      map[string]bool // the pointers of restrictions that the generated code checks
}

// parser parses the definitions of one revision.
type parser struct {
	src      *Source
	document *document
	problems *problemList
	// unions reports whether a part of an allOf may be a union of objects, as in extensions.
	unions bool
	depth  int // of nested calls of narrower
	// merging has the places of the allOfs that are being merged.
	merging []string

	notices []string
}

// parse converts every definition of src to a node. Messages have no framing, and
// their params are separate.
func parse(src *Source, bit int, rules *ruleSet, problems *problemList) *document {
	d := &document{name: src.Revision, bit: bit, defs: make(map[string]node), restrictions: src.Restrictions, checked: make(map[string]bool)}
	p := &parser{src: src, document: d, problems: problems, unions: rules.own != nil}
	for _, name := range slices.Sorted(maps.Keys(src.Defs)) {
		where := fmt.Sprintf("%s#/$defs/%s", src.Revision, escape(name))
		n := p.node(src.Defs[name], where)
		if o, ok := n.(*objectNode); ok {
			p.framing(name, o, rules)
			n = p.message(o)
		}
		d.defs[name] = n
	}
	slices.Sort(p.notices)
	d.notices = slices.Compact(p.notices)
	return d
}

// framing reports closed objects in a definition that has no Go type, or the type of its data only.
func (p *parser) framing(name string, o *objectNode, rules *ruleSet) {
	code, _ := errorOf(o)
	if code == 0 && rules.framing(name) == nil {
		return
	}
	p.refuseClosed(o)
	for _, m := range o.members {
		p.refuseClosed(m.node)
	}
}

// node converts one schema.
func (p *parser) node(t *schemas.Type, where string) node {
	switch {
	case t.Ref != "":
		return &refNode{at(where), t.Ref[strings.LastIndex(t.Ref, "/")+1:]}
	case len(t.AllOf) > 0:
		return p.mergeAllOf(t.AllOf, where)
	case len(t.AnyOf) > 0:
		u := &unionNode{at: at(where)}
		for i, alternative := range t.AnyOf {
			u.alternatives = append(u.alternatives, p.node(alternative, fmt.Sprintf("%s/anyOf/%d", where, i)))
		}
		return simplest(u)
	case t.Const != nil:
		return p.constants([]any{t.Const}, t.Type, where, "const")
	case len(t.Enum) > 0:
		return p.constants(t.Enum, t.Type, where, "enum")
	case len(t.Type) == 0:
		return &anyNode{at(where)}
	case len(t.Type) > 1 && (t.Properties != nil || t.AdditionalProperties != nil || t.Items != nil || t.MaxItems != 0 || t.Format != ""):
		return p.eachType(t, where)
	case len(t.Type) > 1:
		kinds := slices.Sorted(slices.Values([]string(t.Type)))
		return &scalarNode{at: at(where), kinds: kinds, min: t.Minimum, max: t.Maximum}
	}
	switch t.Type[0] {
	case "object":
		return p.object(t, where)
	case "array":
		if t.Items == nil {
			return &arrayNode{at: at(where), elem: &anyNode{at(where + "/items")}, max: t.MaxItems}
		}
		return &arrayNode{at: at(where), elem: p.node(t.Items, where+"/items"), max: t.MaxItems}
	default:
		return &scalarNode{at: at(where), kinds: t.Type, format: t.Format, min: t.Minimum, max: t.Maximum}
	}
}

// eachType converts a schema with several types to a union of them, because its keywords apply to
// values of one type only.
func (p *parser) eachType(t *schemas.Type, where string) node {
	u := &unionNode{at: at(where)}
	for _, kind := range t.Type {
		one := *t
		one.Type = schemas.TypeList{kind}
		u.alternatives = append(u.alternatives, p.node(&one, where))
	}
	return u
}

// simplest returns a union of constants as an enum, and a union of types without bounds as one scalar.
func simplest(u *unionNode) node {
	enum, scalar := &enumNode{at: u.at}, &scalarNode{at: u.at}
	var all []string
	for _, n := range u.alternatives {
		all = append(all, constantValues(n)...)
		if values := textValues(n); values != nil {
			enum.values = append(enum.values, values...)
		}
		if s, ok := n.(*scalarNode); ok && s.format == "" && s.min == nil && s.max == nil {
			scalar.kinds = append(scalar.kinds, s.kinds...)
		} else {
			scalar.kinds = append(scalar.kinds, "")
		}
	}
	slices.Sort(enum.values)
	slices.Sort(scalar.kinds)
	scalar.kinds = slices.Compact(scalar.kinds)
	switch {
	case !slices.ContainsFunc(u.alternatives, func(n node) bool { return textValues(n) == nil }):
		enum.values = slices.Compact(enum.values)
		return enum
	case !slices.ContainsFunc(u.alternatives, func(n node) bool { return constantValues(n) == nil }):
		slices.Sort(all)
		return &valuesNode{u.at, slices.Compact(all)}
	case scalar.kinds[0] != "":
		return scalar
	}
	return u
}

// constants converts the values of a const or an enum that have one of the types.
func (p *parser) constants(list []any, types []string, where, keyword string) node {
	var texts, all []string
	for _, v := range list {
		if text := jsonText(v); len(types) == 0 || slices.ContainsFunc(types, func(kind string) bool { return isOfKind(text, kind) }) {
			all = append(all, text)
			if s, ok := v.(string); ok {
				texts = append(texts, s)
			}
		}
	}
	switch {
	case len(all) == 0:
		p.problems.add(where+"/"+keyword, "no value of the %s has the type %s", keyword, strings.Join(types, " or ")).
			Choose("The value has another type.", edit(where+"/type"))
		return &anyNode{at(where)}
	case slices.Equal(all, []string{"null"}):
		return &scalarNode{at: at(where), kinds: all}
	case len(texts) < len(all):
		return constantsOf(where, all)
	case keyword == "const":
		return &constNode{at(where), texts[0]}
	}
	return &enumNode{at(where), texts}
}

// jsonText returns the JSON text of a value from JSON.
func jsonText(v any) string {
	data, _ := json.Marshal(v)
	return string(data)
}

// constantsOf returns a node that allows the values of JSON texts, of which at least one is no string.
func constantsOf(where string, values []string) node {
	if len(values) == 1 && isOfKind(values[0], "integer") {
		if v, err := strconv.Atoi(values[0]); err == nil {
			return &numberNode{at(where), v}
		}
	}
	return &valuesNode{at(where), values}
}

// isOfKind reports whether a JSON text has a type.
func isOfKind(text, kind string) bool {
	switch kind {
	case "string":
		return text[0] == '"'
	case "integer":
		return isOfKind(text, "number") && !strings.ContainsAny(text, ".e")
	case "number":
		return text[0] == '-' || text[0] >= '0' && text[0] <= '9'
	case "boolean":
		return text == "true" || text == "false"
	case "object":
		return text[0] == '{'
	case "array":
		return text[0] == '['
	}
	return text == kind
}

// object converts an object with members, or a map. An object without declared members
// is a map of anything.
func (p *parser) object(t *schemas.Type, where string) node {
	if len(t.Properties) == 0 && !isFalse(t.AdditionalProperties) {
		elem := node(&anyNode{at(where + "/additionalProperties")}) // not where: it has no keywords of the map
		if t.AdditionalProperties != nil {
			elem = p.node(t.AdditionalProperties, where+"/additionalProperties")
		}
		return &mapNode{at(where), elem}
	}
	o := &objectNode{at: at(where), closed: isFalse(t.AdditionalProperties)}
	for _, name := range slices.Sorted(maps.Keys(t.Properties)) {
		o.members = append(o.members, member{
			name:     name,
			node:     p.node(t.Properties[name], where+"/properties/"+escape(name)),
			required: slices.Contains(t.Required, name),
		})
	}
	return o
}

// isFalse reports whether a schema is false.
func isFalse(t *schemas.Type) bool { return t != nil && t.Not != nil } // the compiler supports no other use of not

// mergeAllOf merges the parts of an allOf into one object.
func (p *parser) mergeAllOf(parts []*schemas.Type, where string) node {
	if len(parts) == 1 {
		return p.node(parts[0], where+"/allOf/0")
	}
	if slices.Contains(p.merging, where) {
		p.problems.add(where, "the allOf contains itself, so that the merged object would have no end").Choose("Any JSON is valid here.", setTo(where, "{}"))
		return &anyNode{at(where)}
	}
	p.merging = append(p.merging, where)
	defer func() { p.merging = p.merging[:len(p.merging)-1] }()
	if n := p.intersectAll(parts, where); n != nil {
		return n
	}
	o := &objectNode{at: at(where)}
	for i, part := range parts {
		n := p.resolve(p.node(part, fmt.Sprintf("%s/allOf/%d", where, i)))
		if u, ok := n.(*unionNode); ok && p.unions {
			n = p.unionAsObject(u)
		}
		switch n := n.(type) {
		case *objectNode:
			if n.closed {
				p.refusePart(parts, where, i, "a part of an allOf cannot forbid the members of other parts")
			}
			for _, m := range n.members {
				p.addMember(o, m)
			}
			if n.cases != nil {
				o.caseKey, o.cases = n.caseKey, n.cases
			}
		case *mapNode:
			if !is[*anyNode](n.elem) {
				p.refusePart(parts, where, i, "a part of an allOf cannot be a map of one type")
			}
		default:
			p.refusePart(parts, where, i, "a part of an allOf must be an object")
		}
	}
	slices.SortFunc(o.members, func(a, b member) int { return strings.Compare(a.name, b.name) })
	return o
}

// intersectAll returns the intersection of parts that are no objects, or nil.
func (p *parser) intersectAll(parts []*schemas.Type, where string) (all node) {
	for i, part := range parts {
		n := p.node(part, fmt.Sprintf("%s/allOf/%d", where, i))
		if r := p.resolve(n); isObject(r) || is[*unionNode](r) {
			return nil
		}
		if all == nil {
			all = n
			continue
		}
		both, ok := p.intersect(all, n)
		if !ok {
			return nil
		}
		all = both
	}
	return all
}

// refusePart reports a part of an allOf.
func (p *parser) refusePart(parts []*schemas.Type, where string, i int, text string) {
	var others []any
	for j := range parts {
		if j != i {
			others = append(others, edit(fmt.Sprintf("%s/allOf/%d", where, j)))
		}
	}
	part := fmt.Sprintf("%s/allOf/%d", where, i)
	r := p.problems.add(part, "%s", text)
	if len(others) > 0 {
		r.Choose("The compiler ignores this part, so the codec does not check it.", edit(part))
		r.Choose("The compiler ignores the other parts, so the codec does not check them.", others...)
	}
	r.Choose("Any JSON is valid here.", setTo(where, "{}"))
}

// addMember adds a member to the object of an allOf. If the object has the member, both schemas
// apply.
func (p *parser) addMember(o *objectNode, m member) {
	have := o.member(m.name)
	if have == nil {
		o.members = append(o.members, m)
		return
	}
	n, ok := p.intersect(have.node, m.node)
	if !ok {
		p.problems.add(m.node.pos(), "the member %q is %s here, but %s at %s in another part of the allOf", m.name, describe(m.node), describe(have.node), have.node.pos()).
			Choose("The member may be any JSON in this part.", setTo(m.node.pos(), "{}")).
			Choose("The member may be any JSON in the other part.", setTo(have.node.pos(), "{}"))
		return
	}
	*have = member{m.name, n, m.required || have.required}
}

// resolve follows references and returns the node of the definition.
func (p *parser) resolve(n node) node {
	for range 32 {
		r, ok := n.(*refNode)
		if !ok {
			return n
		}
		t := p.src.Defs[r.def]
		if t == nil {
			p.problems.add(r.pos(), "there is no definition %q", r.def).Choose("Any JSON is valid here.", setTo(r.pos(), "{}"))
			return &anyNode{r.at}
		}
		n = p.node(t, fmt.Sprintf("%s#/$defs/%s", p.src.Revision, escape(r.def)))
	}
	p.problems.add(n.pos(), "the reference refers to itself").Choose("Any JSON is valid here.", setTo(n.pos(), "{}"))
	return &anyNode{at(n.pos())}
}

// framing lists the members of a message that the runtime reads and writes.
var framing = []string{"id", "jsonrpc", "method", "params"}

// message removes the framing of a request or notification, which has a constant
// method, and separates its params.
func (p *parser) message(o *objectNode) node {
	method := o.member("method")
	if method == nil {
		return o
	}
	name, ok := method.node.(*constNode)
	if !ok {
		return o // an abstract base such as Request
	}
	if name.value == "" {
		p.problems.add(name.pos(), "the method name is empty").
			Choose("The method has a name.", setTo(name.pos()+"/const", fmt.Sprintf("%q", strings.ToLower(o.pos()[strings.LastIndex(o.pos(), "/")+1:]))))
	}
	p.refuseClosed(o)
	for _, x := range o.members {
		if !slices.Contains(framing, x.name) {
			p.problems.add(x.node.pos(), "gen does not support the member %q of a message, only params", x.name).
				Choose("The compiler ignores the member.", edit(x.node.pos()))
		}
	}
	m := &objectNode{at: o.at, message: true, hasID: o.member("id") != nil, framed: o.member("id") != nil || o.member("jsonrpc") != nil, members: []member{{"method", name, true}}}
	params := o.member("params")
	if params == nil {
		return m
	}
	if r, ok := params.node.(*refNode); ok {
		m.paramsDef, m.paramsRef = r.def, r
	}
	switch n := p.resolve(params.node).(type) {
	case *objectNode, *mapNode:
		if !isOpenObject(n) {
			p.problems.add(n.pos(), "the params of %q cannot be a map of one type", name.value).
				Choose("The params are any object.", setTo(n.pos(), `{"type": "object"}`))
		}
		if o, ok := n.(*objectNode); ok && o.member("method") != nil {
			p.problems.add(o.member("method").node.pos(), "gen does not support params with a member named method, as in %q", name.value).
				Choose("The member is in Extra, and the codec does not check it.", edit(o.member("method").node.pos()))
		}
		m.params = &member{"params", n, params.required}
	case *unionNode:
		m.params = params
	default:
		p.problems.add(n.pos(), "the params of %q are not an object", name.value).
			Choose("The params are any object.", setTo(n.pos(), `{"type": "object"}`))
	}
	return m
}

// refuseClosed reports an object whose other members the codec does not read.
func (p *parser) refuseClosed(n node) {
	if o, ok := n.(*objectNode); ok && o.closed {
		p.problems.add(o.pos(), "an object with the members of JSON-RPC cannot be closed, because the codec ignores its other members").
			Choose("The codec does not check which members it has.", edit(o.pos()+"/additionalProperties"))
	}
}

var escapes = strings.NewReplacer("~", "~0", "/", "~1")

// escape escapes a name for a JSON pointer.
func escape(s string) string { return escapes.Replace(s) }

// errorOf returns the code of an error definition, and its data or nil. It returns 0 if n is not an
// error definition.
func errorOf(n node) (code int, data node) {
	o, ok := n.(*objectNode)
	if !ok {
		return 0, nil
	}
	if e := o.member("error"); e != nil {
		if o, ok = e.node.(*objectNode); !ok {
			return 0, nil
		}
	}
	c := o.member("code")
	if c == nil {
		return 0, nil
	}
	num, ok := c.node.(*numberNode)
	if !ok {
		return 0, nil
	}
	if d := o.member("data"); d != nil {
		return num.value, d.node
	}
	return num.value, nil
}

// is reports whether a node has the type N.
func is[N node](n node) bool { _, ok := n.(N); return ok }

// nullable reports whether a scalar may be null.
func nullable(n node) bool {
	s, ok := n.(*scalarNode)
	return ok && slices.Contains(s.kinds, "null")
}

func isObject(n node) bool { return is[*objectNode](n) || is[*mapNode](n) }

// isOpenMap reports whether a node is an object without declared members.
func isOpenMap(n node) bool {
	x, ok := n.(*mapNode)
	return ok && is[*anyNode](x.elem)
}

// isRestricted reports whether a node is neither any value nor an object whose undeclared
// members may be any value.
func isRestricted(n node) bool {
	switch x := n.(type) {
	case *mapNode:
		return !is[*anyNode](x.elem)
	case *objectNode:
		return x.closed
	case *scalarNode, *enumNode, *constNode, *numberNode, *valuesNode, *arrayNode, *unionNode:
		return true
	}
	return false
}

// primitive reports whether a value may be a boolean, a string or a number, and
// nothing else.
func primitive(n node) bool {
	s, ok := n.(*scalarNode)
	numeric := func(k string) bool { return k == "integer" || k == "number" }
	return ok && s.min == nil && s.max == nil && slices.ContainsFunc(s.kinds, numeric) &&
		slices.Equal(slices.DeleteFunc(slices.Clone(s.kinds), numeric), []string{"boolean", "string"})
}

// fractional reports whether a scalar may be any number.
func fractional(n node) bool {
	s, ok := n.(*scalarNode)
	return ok && slices.Contains(s.kinds, "number")
}

// isText reports whether a scalar is always a string.
func isText(n node) bool {
	s, ok := n.(*scalarNode)
	return ok && slices.Equal(s.kinds, []string{"string"})
}

// isTextual reports whether a node is any string or an enum.
func isTextual(n node) bool { return isText(n) || is[*enumNode](n) }

// isOpenObject reports whether a node is an object that may have additional members of
// any type.
func isOpenObject(n node) bool {
	x, typed := n.(*mapNode)
	return isObject(n) && (!typed || is[*anyNode](x.elem))
}

// describe returns a description of a node for error messages.
func describe(n node) string {
	switch n := n.(type) {
	case *refNode:
		return n.def
	case *scalarNode:
		form := strings.Join(n.kinds, " or ")
		if n.min != nil {
			form += fmt.Sprintf(" from %g", *n.min)
		}
		if n.max != nil {
			form += fmt.Sprintf(" up to %g", *n.max)
		}
		return form
	case *enumNode:
		return "an enum"
	case *constNode:
		return fmt.Sprintf("the constant %q", n.value)
	case *numberNode:
		return fmt.Sprintf("the constant %d", n.value)
	case *valuesNode:
		if len(n.values) == 1 {
			return "the constant " + n.values[0]
		}
		return "one of " + strings.Join(n.values, ", ")
	case *anyNode:
		return "anything"
	case *mapNode:
		return "a map"
	case *arrayNode:
		return "an array"
	case *unionNode:
		return "a union"
	case *objectNode:
		return "an object"
	}
	return "unknown"
}

// problemList collects problems, so that one run reports all of them.
type problemList struct {
	list []*problem
	fix  fix // of the problems that are added now
}

// problem is a refusal that a fix may solve.
type problem struct {
	refusal.Refusal
	fix fix // without a kind if there is none
}

// add adds a problem at a place.
func (p *problemList) add(where, format string, args ...any) *refusal.Refusal {
	x := &problem{fix: p.fix}
	x.File, x.Pointer, _ = strings.Cut(where, "#")
	x.Text = fmt.Sprintf(format, args...)
	p.list = append(p.list, x)
	return &x.Refusal
}

// last returns the problem that was added last.
func (p *problemList) last() *refusal.Refusal { return &p.list[len(p.list)-1].Refusal }

// err returns all problems as one error, sorted and without duplicates, or nil.
func (p *problemList) err(stage string) error {
	list := slices.SortedFunc(slices.Values(p.list), func(a, b *problem) int { return strings.Compare(a.Error(), b.Error()) })
	var errs []error
	for i, x := range list {
		if i == 0 || x.Error() != list[i-1].Error() {
			x.Stage = stage
			errs = append(errs, &x.Refusal)
		}
	}
	return errors.Join(errs...)
}
