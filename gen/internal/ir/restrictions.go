package ir

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
)

// restriction returns the keywords that the schema of a node has in addition to its form, or nil.
func (d *document) restriction(n node) any { return d.restrictions[pointerOf(n)] }

// isRestrictedWithin reports whether a node, or a schema in it, has a restriction.
func (d *document) isRestrictedWithin(n node) bool {
	prefix := pointerOf(n) + "/"
	for pointer := range d.restrictions {
		if strings.HasPrefix(pointer+"/", prefix) {
			return true
		}
	}
	return false
}

// restrict adds checks of the restrictions of the occurrences of a position to a list. A struct checks
// the members of objects.
func (m *merger) restrict(position string, list []Variant, occs []occurrence) []Variant {
	for i, o := range occs {
		raw := m.rules.raw(position) != nil && m.documents[o.bit].isRestrictedWithin(m.resolved([]occurrence{o})[0].node)
		join := restrictedJoin
		if !raw && !m.restricts(o.bit, o.node, nil) {
			if !m.narrowsEnum(o.bit, o.node, nil) {
				continue
			}
			join = narrowerJoin
		}
		for j, other := range occs {
			if other.bit == o.bit && i != j && !m.sameRestriction(o, other) {
				m.problems.fixing(fix{}, func() { m.refuseTwo(position, o.bit, other.node, o.node) })
			}
		}
		if !raw && m.needsAbsent(o.bit, o.node, nil) {
			m.refuseNeeds(o.node, position)
		}
		m.note(position, join, m.in(1<<o.bit))
		list = m.addVariant(list, m.variant(o))
	}
	return list
}

// narrowsEnum reports whether a schema has an enum with fewer values than the Go type of the enum has in the
// revision, because another place of the revision has more. The definitions in within contain the schema.
func (m *merger) narrowsEnum(bit int, n node, within []string) bool {
	switch n := n.(type) {
	case *refNode:
		def := m.documents[bit].defs[n.def]
		return def != nil && !slices.Contains(within, n.def) && m.narrowsEnum(bit, def, append(within, n.def))
	case *arrayNode:
		return m.narrowsEnum(bit, n.elem, within)
	case *mapNode:
		return m.narrowsEnum(bit, n.elem, within)
	case *enumNode:
		wider := func(o occurrence) bool {
			other, ok := o.node.(*enumNode)
			return ok && o.bit == bit && slices.ContainsFunc(other.values, func(v string) bool { return !slices.Contains(n.values, v) })
		}
		for _, t := range m.types {
			here := func(o occurrence) bool { return o.bit == bit && o.node.pos() == n.pos() }
			if slices.ContainsFunc(t.occs, here) && slices.ContainsFunc(t.occs, wider) {
				return true
			}
		}
	}
	return false
}

// refuseShared reports inline objects of a position that have the Go type of a different inline object of the revision.
func (m *merger) refuseShared(position string, occs []occurrence) {
	for _, o := range occs {
		if m.sharesType(o.bit, o.node) {
			m.problems.add(o.node.pos(), "another place of the revision has the Go type of %q with other members", position).
				Choose("The value may be any JSON.", setTo(o.node.pos(), "{}"))
		}
	}
}

// sharesType reports whether a schema has an inline object whose Go type is also the type of a different inline object
// of the revision.
func (m *merger) sharesType(bit int, n node) bool {
	switch n := n.(type) {
	case *arrayNode:
		return m.sharesType(bit, n.elem)
	case *mapNode:
		return m.sharesType(bit, n.elem)
	case *objectNode:
		here := func(o occurrence) bool { return o.bit == bit && o.node.pos() == n.pos() }
		other := func(o occurrence) bool { return o.bit == bit && is[*objectNode](o.node) && !equalNodes(o.node, n) }
		for _, t := range m.types {
			if slices.ContainsFunc(t.occs, here) && slices.ContainsFunc(t.occs, other) {
				return true
			}
		}
	}
	return false
}

// refuseNeeds reports a restriction of a struct that may need a member without a value.
func (m *merger) refuseNeeds(n node, position string) {
	r := m.problems.add(n.pos(), "the keywords of %q here may require a member with an empty value, which the Go type omits", position)
	r.Choose("The value may be any JSON.", setTo(n.pos(), "{}"))
	r.Untyped = true
}

// needsAbsent reports whether a restriction in a schema depends on the presence of members of a struct.
// The encoding of a struct omits optional members with the zero value. The definitions in within contain
// the schema.
func (m *merger) needsAbsent(bit int, n node, within []string) bool {
	if own, inner := m.needs(bit, n); (own || inner) && m.mayBeStruct(bit, n, nil) {
		return true
	}
	switch n := n.(type) {
	case *refNode:
		def := m.documents[bit].defs[n.def]
		return def != nil && !isObject(def) && !slices.Contains(within, n.def) && m.needsAbsent(bit, def, append(within, n.def))
	case *arrayNode:
		return m.needsAbsent(bit, n.elem, within)
	case *mapNode:
		return m.needsAbsent(bit, n.elem, within)
	case *unionNode:
		return slices.ContainsFunc(n.alternatives, func(n node) bool { return m.needsAbsent(bit, n, within) })
	}
	return false
}

// mayBeStruct reports whether a value, or a part of it, is a struct in Go.
func (m *merger) mayBeStruct(bit int, n node, within []string) bool {
	switch n := n.(type) {
	case *objectNode:
		return true
	case *refNode:
		def := m.documents[bit].defs[n.def]
		return def != nil && !slices.Contains(within, n.def) && m.mayBeStruct(bit, def, append(within, n.def))
	case *arrayNode:
		return m.mayBeStruct(bit, n.elem, within)
	case *mapNode:
		return m.mayBeStruct(bit, n.elem, within)
	case *unionNode:
		return slices.ContainsFunc(n.alternatives, func(n node) bool { return m.mayBeStruct(bit, n, within) })
	}
	return false
}

// needs reports whether the restriction of a node depends on the presence of its members, or of members of
// objects in it. Members that the schema does not declare are in Extra, which keeps values of all kinds.
func (m *merger) needs(bit int, n node) (own, inner bool) {
	o, ok := m.resolved([]occurrence{{bit, n}})[0].node.(*objectNode)
	omits := func(name string) bool { return !ok || o.member(name) != nil && !o.member(name).required }
	structs := func(name string) bool {
		return !ok || o.member(name) != nil && m.mayBeStruct(bit, o.member(name).node, nil)
	}
	return needsMembers(m.documents[bit].restriction(n), omits, structs)
}

// needsMembers reports whether keywords may refuse an object because it lacks a member for which omits reports
// true, and whether they may refuse a value because an object in it lacks a member. The function structs reports
// whether the value of a member may contain a struct.
func needsMembers(v any, omits, structs func(name string) bool) (own, inner bool) {
	x, ok := v.(map[string]any)
	if !ok {
		return false, false
	}
	for _, key := range []string{"minProperties", "dependentRequired", "dependentSchemas", "if", "not", "const", "enum"} {
		_, found := x[key]
		own = own || found
	}
	for _, key := range []string{"contains", "uniqueItems"} {
		_, found := x[key]
		inner = inner || found
	}
	required, _ := x["required"].([]any)
	own = own || slices.ContainsFunc(texts(required), omits)
	for _, key := range []string{"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"} {
		for _, part := range schemasIn(x[key], key == "dependentSchemas") {
			a, b := needsMembers(part, omits, structs)
			own, inner = own || a, inner || b
		}
	}
	always := func(string) bool { return true }
	members, _ := x["properties"].(map[string]any)
	for name, part := range members {
		a, b := needsMembers(part, always, always)
		inner = inner || (a || b) && structs(name)
	}
	for _, key := range []string{"items", "additionalProperties", "prefixItems", "patternProperties"} {
		for _, part := range schemasIn(x[key], key == "patternProperties") {
			a, b := needsMembers(part, always, always)
			inner = inner || a || b
		}
	}
	return own, inner
}

// schemasIn returns the schemas in the value of a keyword: one, a list, or an object if named is true.
func schemasIn(v any, named bool) []any {
	switch x := v.(type) {
	case []any:
		return x
	case map[string]any:
		if named {
			return slices.Collect(maps.Values(x))
		}
		return []any{x}
	}
	return nil
}

// sameRestriction reports whether two schemas in one revision are equal, with their restrictions.
func (m *merger) sameRestriction(a, b occurrence) bool {
	d := m.documents[a.bit]
	return pointerOf(a.node) == pointerOf(b.node) || equalNodes(a.node, b.node) && reflect.DeepEqual(d.restriction(a.node), d.restriction(b.node)) &&
		(d.isRestrictedWithin(a.node) == (d.restriction(a.node) != nil)) && (d.isRestrictedWithin(b.node) == (d.restriction(b.node) != nil))
}

// addVariant adds the check of a variant to a list with one check for each revision.
func (m *merger) addVariant(list []Variant, v Variant) []Variant {
	i := slices.IndexFunc(list, func(have Variant) bool { return have.In == v.In })
	if i < 0 {
		return append(list, v)
	}
	if !reflect.DeepEqual(list[i].Schema, v.Schema) {
		list[i].Schema = &Schema{AllOf: []*Schema{list[i].Schema, v.Schema}}
	}
	return list
}

// restricts reports whether a schema has restrictions that no struct checks. The definitions in within
// contain it.
func (m *merger) restricts(bit int, n node, within []string) bool {
	d := m.documents[bit]
	if _, object := n.(*objectNode); !object && d.restriction(n) != nil {
		return true
	}
	switch n := n.(type) {
	case *refNode:
		return !slices.Contains(within, n.def) && d.defs[n.def] != nil && m.restricts(bit, d.defs[n.def], append(within, n.def))
	case *arrayNode:
		return m.restricts(bit, n.elem, within)
	case *mapNode:
		return m.restricts(bit, n.elem, within)
	case *unionNode:
		return slices.ContainsFunc(n.alternatives, func(n node) bool { return m.restricts(bit, n, within) })
	}
	return false
}

// restrictedVariants returns the checks of the restrictions of the objects of the struct t, or of the
// params of the message t.
func (m *merger) restrictedVariants(t *mergedType, s *Struct, list []Variant) []Variant {
	if s.hasParamsUnion() {
		return list
	}
	occs := slices.Clone(t.occs)
	for i, o := range occs {
		if obj, ok := o.node.(*objectNode); ok && obj.params != nil {
			occs[i].node = obj.params.node
			if obj.paramsRef != nil {
				occs = append(occs, occurrence{o.bit, obj.paramsRef})
			}
		}
	}
	for _, o := range occs {
		if isMessage(o.node) {
			continue
		}
		v := m.documents[o.bit].restriction(o.node)
		if v == nil || m.fixes[fix{absorbFix, t.name}].Has(o.bit) {
			continue
		}
		for _, other := range occs {
			if other.bit == o.bit && !is[*refNode](o.node) && !is[*refNode](other.node) && other.node.pos() != o.node.pos() && !reflect.DeepEqual(m.documents[o.bit].restriction(other.node), v) {
				m.problems.fixing(fix{}, func() { m.refuseTwo(t.name, o.bit, other.node, o.node) })
			}
		}
		switch own, inner := m.needs(o.bit, o.node); {
		case inner, own && !m.keepsEmpty(s, o.bit):
			m.problems.fixing(fix{}, func() { m.refuseNeeds(o.node, t.name) })
		case own:
			m.depends[t.name] |= 1 << o.bit
			m.note(t.name, presenceJoin, m.in(1<<o.bit))
		}
		m.note(t.name, restrictedJoin, m.in(1<<o.bit))
		list = m.addVariant(list, Variant{pointerOf(o.node), m.openEnded(1<<o.bit, 0), m.restrictionSchema(o.bit, o.node, nil)})
	}
	return list
}

// keepsEmpty reports whether the codec keeps all members of a struct in a revision, even if they have empty values.
// It writes an optional constant always, and no empty metadata of a message.
func (m *merger) keepsEmpty(s *Struct, bit int) bool {
	return s.Role != Meta && !slices.ContainsFunc(s.Consts, func(c *Const) bool { return c.In.Has(bit) && !c.Required.Has(bit) }) &&
		!slices.ContainsFunc(s.Fields, func(f *Field) bool { return f.Role == Meta && f.In.Has(bit) })
}

// restrictionSchema returns the schema of the restriction of a node, or nil.
func (m *merger) restrictionSchema(bit int, n node, within []string) *Schema {
	d := m.documents[bit]
	v := d.restriction(n)
	if v == nil {
		return nil
	}
	d.checked[pointerOf(n)] = true
	return m.convert(bit, n.pos(), v, within)
}

// refuseUnchecked reports the restrictions that the codec does not check.
func (m *merger) refuseUnchecked() {
	for _, d := range m.documents {
		for name, n := range d.defs { // the places that use a definition check it, unless it is an object
			if _, object := n.(*objectNode); !object && m.rules.messageUnion(name) == nil && m.rules.framing(name) == nil {
				d.checked["/$defs/"+escape(name)] = true
			}
		}
		for pointer, v := range d.restrictions {
			if def := strings.Split(pointer, "/")[2]; d.checked[pointer] || d.defs[def] == nil {
				continue
			}
			for key, value := range v.(map[string]any) {
				schema := fmt.Sprintf("%s#%s/", d.name, pointer)
				rules := []any{edit(schema + key)}
				if key == "oneOf" {
					rules = append(rules, setTo(schema+"anyOf", jsonText(value)))
				}
				m.problems.add(schema+key, "the codec does not check the keyword %q here, because the runtime reads or writes the value", key).
					Choose("The compiler ignores the keyword, so the codec does not check it.", rules...)
			}
		}
	}
}

// convert converts the keywords of a JSON schema. The definitions in within contain it.
func (m *merger) convert(bit int, where string, v any, within []string) *Schema {
	x, ok := v.(map[string]any)
	if !ok {
		if v == false {
			return &Schema{Not: new(Schema)}
		}
		return new(Schema)
	}
	c := converter{func(place string, v any) *Schema { return m.convert(bit, where+place, v, within) }, new(Schema), x}
	if ref, ok := x["$ref"].(string); ok {
		c.add(m.schemaOfRef(bit, &refNode{at(where), ref[strings.LastIndex(ref, "/")+1:]}, within))
	}
	c.values()
	c.numbers()
	c.arrays()
	c.objects()
	c.choices()
	return c.schema
}

// A converter converts the keywords of one JSON schema, with a function for the schemas in it.
type converter struct {
	inner    func(place string, v any) *Schema
	schema   *Schema
	keywords map[string]any
}

// add adds a schema that must allow the value, too.
func (c *converter) add(s *Schema) { c.schema.AllOf = append(c.schema.AllOf, s) }

// one returns the schema of a keyword, or nil.
func (c *converter) one(key string) *Schema {
	v, ok := c.keywords[key]
	if !ok {
		return nil
	}
	return c.inner("/"+key, v)
}

// list returns the schemas of a keyword.
func (c *converter) list(key string) (list []*Schema) {
	array, _ := c.keywords[key].([]any)
	for i, v := range array {
		list = append(list, c.inner(fmt.Sprintf("/%s/%d", key, i), v))
	}
	return list
}

// named calls f with the names and schemas of a keyword, in order.
func (c *converter) named(key string, f func(name string, s *Schema)) {
	object, _ := c.keywords[key].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(object)) {
		f(name, c.inner("/"+key+"/"+escape(name), object[name]))
	}
}

// number returns the number of a keyword, or nil.
func (c *converter) number(key string) *float64 {
	n, ok := c.keywords[key].(json.Number)
	if !ok {
		return nil
	}
	f, _ := n.Float64()
	return &f
}

// limits returns the range of two keywords, or nil.
func (c *converter) limits(least, most string) *Range {
	low, high := c.number(least), c.number(most)
	if low == nil && high == nil {
		return nil
	}
	r := &Range{0, math.MaxInt32}
	if low != nil {
		r.Min = int(*low)
	}
	if high != nil {
		r.Max = int(*high)
	}
	return r
}

func (c *converter) values() {
	switch v := c.keywords["type"].(type) {
	case string:
		c.schema.Types = []string{v}
	case []any:
		c.schema.Types = texts(v)
	}
	if list, ok := c.keywords["enum"].([]any); ok {
		for _, v := range list {
			c.schema.Equal = append(c.schema.Equal, jsonText(v))
		}
	}
	if v, ok := c.keywords["const"]; ok {
		c.add(&Schema{Equal: []string{jsonText(v)}})
	}
	c.schema.Base64 = c.keywords["format"] == "byte"
	c.schema.Length = c.limits("minLength", "maxLength")
	c.schema.Pattern, _ = c.keywords["pattern"].(string)
}

func (c *converter) numbers() {
	c.schema.Min, c.schema.Max = c.number("minimum"), c.number("maximum")
	c.schema.Above, c.schema.Below = c.number("exclusiveMinimum"), c.number("exclusiveMaximum")
	if n, ok := c.keywords["multipleOf"].(json.Number); ok {
		c.schema.Multiple = n.String()
	}
}

func (c *converter) arrays() {
	c.schema.Items, c.schema.First = c.one("items"), c.list("prefixItems")
	c.schema.Count = c.limits("minItems", "maxItems")
	c.schema.Unique = c.keywords["uniqueItems"] == true
	if c.schema.Contains = c.one("contains"); c.schema.Contains != nil {
		c.schema.Contained = c.limits("minContains", "maxContains")
		if _, ok := c.keywords["minContains"]; !ok {
			if c.schema.Contained == nil {
				c.schema.Contained = &Range{0, math.MaxInt32}
			}
			c.schema.Contained.Min = 1
		}
	}
}

func (c *converter) objects() {
	required, _ := c.keywords["required"].([]any)
	names := texts(required)
	c.named("properties", func(name string, s *Schema) {
		c.schema.Members = append(c.schema.Members, SchemaMember{name, slices.Contains(names, name), s})
	})
	declared, _ := c.keywords["properties"].(map[string]any)
	for _, name := range names {
		if _, ok := declared[name]; !ok {
			c.add(hasMember(name))
		}
	}
	c.named("patternProperties", func(name string, s *Schema) {
		c.schema.Patterns = append(c.schema.Patterns, SchemaPattern{name, s})
	})
	if c.keywords["additionalProperties"] == false {
		c.schema.Closed = true
	} else {
		c.schema.Others = c.one("additionalProperties")
	}
	c.schema.Names = c.one("propertyNames")
	c.schema.Size = c.limits("minProperties", "maxProperties")
	depend := func(name string, s *Schema) {
		c.schema.Dependents = append(c.schema.Dependents, SchemaMember{Name: name, Schema: s})
	}
	c.named("dependentSchemas", depend)
	lists, _ := c.keywords["dependentRequired"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(lists)) {
		list, _ := lists[name].([]any)
		all := new(Schema)
		for _, other := range texts(list) {
			all.AllOf = append(all.AllOf, hasMember(other))
		}
		depend(name, all)
	}
}

// hasMember returns a schema of objects with a member, and of all other values.
func hasMember(name string) *Schema {
	return &Schema{Members: []SchemaMember{{name, true, new(Schema)}}}
}

func (c *converter) choices() {
	for _, s := range c.list("allOf") {
		c.add(s)
	}
	c.schema.AnyOf, c.schema.OneOf, c.schema.Not = c.list("anyOf"), c.list("oneOf"), c.one("not")
	condition := c.one("if")
	if condition == nil {
		return
	}
	if then := c.one("then"); then != nil {
		c.add(&Schema{AnyOf: []*Schema{{Not: condition}, then}})
	}
	if otherwise := c.one("else"); otherwise != nil {
		c.add(&Schema{AnyOf: []*Schema{condition, otherwise}})
	}
}

// texts returns the strings of a list.
func texts(list []any) (texts []string) {
	for _, v := range list {
		if text, ok := v.(string); ok {
			texts = append(texts, text)
		}
	}
	return texts
}
