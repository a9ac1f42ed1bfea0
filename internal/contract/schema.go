package contract

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// dialect is a version of JSON Schema.
type dialect int

const (
	unknownDialect dialect = iota
	draft7                 // draft-06 and draft-07
	draft2019
	draft2020
)

func dialectOf(uri string) dialect {
	switch strings.TrimSuffix(uri, "#") {
	case "", "https://json-schema.org/draft/2020-12/schema":
		return draft2020
	case "https://json-schema.org/draft/2019-09/schema":
		return draft2019
	case "http://json-schema.org/draft-07/schema", "http://json-schema.org/draft-06/schema":
		return draft7
	}
	return unknownDialect
}

// document is a schema with its definitions.
type document struct {
	root    any
	dialect dialect
	// nested reports whether a part has an identifier or a dynamic reference. References are then
	// not resolved.
	nested bool
}

// parse reads a schema. An empty one allows everything.
func parse(raw json.RawMessage) (*document, error) {
	if len(raw) == 0 {
		return &document{root: true, dialect: draft2020}, nil
	}
	root, err := decode(raw)
	if err != nil {
		return nil, err
	}
	d := &document{root: root}
	members, _ := root.(map[string]any)
	uri, _ := members["$schema"].(string)
	d.dialect = dialectOf(uri)
	d.nested = hasIdentifier(root, true)
	return d, nil
}

func decode(raw []byte) (value any, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		return nil, err
	}
	if d.More() {
		return nil, fmt.Errorf("more than one JSON value")
	}
	return value, nil
}

// identifiers are the keywords that change how references are resolved.
var identifiers = []string{"$id", "id", "$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveRef", "$recursiveAnchor"}

func hasIdentifier(value any, isRoot bool) bool {
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			_, text := member.(string)
			if slices.Contains(identifiers, name) && text && !(isRoot && name == "$id") || name == "$recursiveAnchor" || hasIdentifier(member, false) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(value, func(v any) bool { return hasIdentifier(v, false) })
	}
	return false
}

// part is a part of a document.
type part struct {
	doc *document
	at  any
}

// nothing is a schema that allows no value.
var nothing = part{&document{dialect: draft2020}, false}

func (p part) members() map[string]any {
	members, _ := p.at.(map[string]any)
	return members
}

// sub returns the schema in a keyword.
func (p part) sub(keyword string) (part, bool) {
	at, ok := p.members()[keyword]
	return part{p.doc, at}, ok
}

// list returns the schemas in a keyword with an array.
func (p part) list(keyword string) (parts []part) {
	list, _ := p.members()[keyword].([]any)
	for _, at := range list {
		parts = append(parts, part{p.doc, at})
	}
	return parts
}

// table returns the schemas in a keyword with an object.
func (p part) table(keyword string) map[string]part {
	members, _ := p.members()[keyword].(map[string]any)
	parts := make(map[string]part, len(members))
	for name, at := range members {
		parts[name] = part{p.doc, at}
	}
	return parts
}

// reference returns the target of $ref. It returns false if the target cannot be found.
func (p part) reference() (target part, ok bool) {
	ref, _ := p.members()["$ref"].(string)
	pointer, local := strings.CutPrefix(ref, "#")
	if !local || p.doc.nested || strings.Contains(pointer, "%") {
		return part{}, false
	}
	value := p.doc.root
	if pointer == "" {
		return part{p.doc, value}, true
	}
	if pointer[0] != '/' {
		return part{}, false
	}
	for name := range strings.SplitSeq(pointer[1:], "/") {
		name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		switch at := value.(type) {
		case map[string]any:
			if value, ok = at[name]; !ok {
				return part{}, false
			}
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(at) {
				return part{}, false
			}
			value = at[i]
		default:
			return part{}, false
		}
	}
	return part{p.doc, value}, true
}

// tuple returns the schemas of the first elements, and of the others.
func (p part) tuple() (first []part, rest part, hasRest bool) {
	if p.doc.dialect == draft2020 {
		rest, hasRest = p.sub("items")
		return p.list("prefixItems"), rest, hasRest
	}
	if _, ok := p.members()["items"].([]any); ok {
		rest, hasRest = p.sub("additionalItems")
		return p.list("items"), rest, hasRest
	}
	rest, hasRest = p.sub("items")
	return nil, rest, hasRest
}

// texts returns the strings in a keyword with an array.
func (p part) texts(keyword string) (texts []string) {
	list, _ := p.members()[keyword].([]any)
	for _, v := range list {
		if text, ok := v.(string); ok {
			texts = append(texts, text)
		}
	}
	return texts
}

// number returns the number in a keyword.
func (p part) number(keyword string) (n *big.Rat, ok bool) {
	text, isNumber := p.members()[keyword].(json.Number)
	if !isNumber {
		return nil, false
	}
	return rational(text)
}

// maxNumber limits the digits of a number, and maxExponent its exponent. The comparison does not
// compute with larger numbers.
const (
	maxNumber   = 100
	maxExponent = 400
)

func rational(text json.Number) (*big.Rat, bool) {
	if len(text) > maxNumber {
		return nil, false
	}
	if i := strings.IndexAny(string(text), "eE"); i >= 0 {
		if e, err := strconv.Atoi(string(text[i+1:])); err != nil || e > maxExponent || e < -maxExponent {
			return nil, false
		}
	}
	return new(big.Rat).SetString(string(text))
}

// kinds is a set of kinds of values.
type kinds uint8

const (
	kindNull kinds = 1 << iota
	kindBoolean
	kindObject
	kindArray
	kindString
	kindInteger
	kindFraction // a number that is no integer
	kindNumber   = kindInteger | kindFraction
	allKinds     = 1<<7 - 1
)

var kindNames = []struct {
	name string
	kind kinds
}{
	{"null", kindNull}, {"boolean", kindBoolean}, {"object", kindObject}, {"array", kindArray}, {"string", kindString}, {"number", kindNumber}, {"integer", kindInteger},
}

func kindNamed(name string) kinds {
	for _, k := range kindNames {
		if k.name == name {
			return k.kind
		}
	}
	return 0
}

func (k kinds) String() string {
	if k == allKinds {
		return "any"
	}
	var names []string
	for _, n := range kindNames {
		if k&n.kind == n.kind && !(n.name == "integer" && k&kindFraction != 0) {
			names = append(names, n.name)
		}
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, " or ")
}

// types returns the kinds in the keyword type. It returns false if there is no such keyword, or if it is
// invalid.
func (p part) types() (k kinds, ok bool) {
	switch t := p.members()["type"].(type) {
	case string:
		k = kindNamed(t)
		return cmp.Or(k, allKinds), k != 0
	case []any:
		for _, v := range t {
			name, _ := v.(string)
			if kindNamed(name) == 0 {
				return allKinds, false
			}
			k |= kindNamed(name)
		}
		return k, true
	}
	return allKinds, false
}

func kindOf(value any) kinds {
	switch value := value.(type) {
	case nil:
		return kindNull
	case bool:
		return kindBoolean
	case map[string]any:
		return kindObject
	case []any:
		return kindArray
	case json.Number:
		if n, ok := rational(value); ok && !n.IsInt() {
			return kindFraction
		} else if !ok {
			return kindNumber
		}
		return kindInteger
	}
	return kindString
}

// equal reports whether two JSON values are equal. Numbers are compared by value.
func equal(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		if !ok || a == b {
			return ok
		}
		x, ok := rational(a)
		y, too := rational(b)
		return ok && too && x.Cmp(y) == 0
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, equal)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	return a == b
}

// show returns the JSON of a value, shortened.
func show(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		return "?"
	}
	return shorten(string(data))
}

// maxShown limits the characters of a text of the server in a change.
const maxShown = 80

func shorten(text string) string {
	if runes := []rune(text); len(runes) > maxShown {
		return string(runes[:maxShown]) + "…"
	}
	return text
}

func sortedNames(members map[string]any) []string { return slices.Sorted(maps.Keys(members)) }
