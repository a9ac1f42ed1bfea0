package extension

import (
	"fmt"
	"maps"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpwright/mcp/gen/internal/load"
)

// dialects matches the versions of JSON Schema whose keywords are supported.
var dialects = regexp.MustCompile(`^https?://json-schema\.org/(draft-0[67]|draft/2019-09|draft/2020-12)/schema#?$`)

// maxDefinitions limits the definitions of a file. The schemas of the extensions in this repository have
// fewer than 100.
const maxDefinitions = 1000

// parse returns the definitions in a file. They refer to each other by their names in Go.
func parse(raw []byte, c *Config) (object, error) {
	file := c.Schema
	tree, err := load.Tree(file, raw)
	if err != nil {
		return nil, err
	}
	root, _ := tree.(object)
	if s, has := root["$schema"]; has {
		if name, ok := s.(string); !ok || !dialects.MatchString(name) {
			return nil, fmt.Errorf("%s#/$schema: the dialect %s is not supported; use https://json-schema.org/draft/2020-12/schema", file, text(s))
		}
	}
	all := make(object)
	for _, key := range []string{"$defs", "definitions"} {
		defs, _ := root[key].(object)
		for name, v := range defs {
			if all[name] != nil {
				return nil, fmt.Errorf("%s#/%s/%s: $defs has a definition of this name, too; remove one of the two", file, key, escape.Replace(name))
			}
			all[name] = v
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s#: the schema of an extension has its definitions in $defs, and has none", file)
	}
	if len(all) > maxDefinitions {
		return nil, fmt.Errorf("%s#/$defs: has %d definitions, more than the limit of %d", file, len(all), maxDefinitions)
	}
	name, _ := root["$schema"].(string)
	r := &resolver{root: root, old: strings.Contains(name, "/draft-0")}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		all[name] = r.schema(all[name], nil)
	}
	return all, nil
}

// definitionRef matches references to definitions of the file, also to definitions inside other definitions.
var definitionRef = regexp.MustCompile(`^#/(.*/)?(\$defs|definitions)/[^/]+$`)

// placeRef matches references to other schemas of the file.
var placeRef = regexp.MustCompile(`^#/(\$defs|definitions)/[^/]+/.+$`)

// maxCopies limits the schemas that are copied, because a reference refers to them.
const maxCopies = 1000

// A resolver rewrites references, so that they refer to definitions by their names in Go. A reference to a
// schema inside a definition becomes a copy of the schema.
type resolver struct {
	root   any
	old    bool // the dialect ignores the other keywords of a reference
	copies int
}

// schema rewrites the references in a schema. It was reached by the references in within.
func (r *resolver) schema(v any, within []string) any {
	x, ok := v.(object)
	if !ok {
		return v
	}
	if value, ok := x["const"]; ok && value == nil { // to the compiler, it is no constant
		delete(x, "const")
		x["enum"] = []any{nil}
	}
	ref, refers := x["$ref"].(string)
	if refers && r.old {
		maps.DeleteFunc(x, func(key string, _ any) bool { return key != "$ref" && key != "description" })
	}
	for _, key := range slices.Sorted(maps.Keys(x)) {
		r.keyword(x, key, within)
	}
	switch {
	case refers && definitionRef.MatchString(ref):
		x["$ref"] = "#/$defs/" + identifier(decoded(path.Base(ref)))
	case refers && placeRef.MatchString(ref) && r.copies < maxCopies && !slices.Contains(within, ref):
		plain, err := url.PathUnescape(ref)
		target, ok := load.ValueAt(r.root, strings.Split(plain, "/")[1:])
		if err != nil || !ok {
			return x
		}
		r.copies++
		target = r.schema(clone(target), append(slices.Clip(within), ref))
		copied, ok := target.(object)
		if others := without(without(x, "$ref"), "description"); ok && len(others) == 0 {
			if text := x["description"]; text != nil {
				copied["description"] = text
			}
			return copied
		}
		delete(x, "$ref")
		parts, _ := x["allOf"].([]any)
		x["allOf"] = append(parts, target)
	}
	return x
}

// keyword rewrites the references in the value of a keyword.
func (r *resolver) keyword(x object, key string, within []string) {
	switch v := x[key].(type) {
	case []any:
		for i, e := range v {
			if key != "enum" && key != "examples" {
				v[i] = r.schema(e, within)
			}
		}
	case object:
		switch key {
		case "const", "default":
		case "properties", "patternProperties", "dependentSchemas", "$defs", "definitions":
			for _, name := range slices.Sorted(maps.Keys(v)) {
				v[name] = r.schema(v[name], within)
			}
		default:
			x[key] = r.schema(v, within)
		}
	}
}

// decoded returns a name in a reference without its escapes.
func decoded(name string) string {
	if plain, err := url.PathUnescape(name); err == nil {
		name = plain
	}
	return unescape.Replace(name)
}

func clone(v any) any {
	switch x := v.(type) {
	case []any:
		list := make([]any, len(x))
		for i, e := range x {
			list[i] = clone(e)
		}
		return list
	case object:
		c := make(object, len(x))
		for key, e := range x {
			c[key] = clone(e)
		}
		return c
	}
	return v
}
