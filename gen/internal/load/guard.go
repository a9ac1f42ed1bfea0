package load

import (
	"errors"
	"regexp"
	"slices"
	"strings"
)

// A guard collects what one schema file says that the compiler would not obey.
type guard struct {
	file  string
	prose bool // descriptions may stand: the file is an official one
	defs  string
	names map[string]any
	errs  []error
}

// check walks a whole file: keywords, the shape of their values, references,
// required members.
func check(file string, tree any, prose bool) error {
	g := &guard{file: file, prose: prose}
	g.root(tree)
	walk("", tree, g.schema)
	return errors.Join(g.errs...)
}

func (g *guard) fail(at, format string, args ...any) {
	g.errs = append(g.errs, problemf(g.file, at, format, args...))
}

// root looks for what every file has: a dialect and one set of definitions.
func (g *guard) root(tree any) {
	root, ok := tree.(map[string]any)
	if !ok {
		return // reported by schema
	}
	if _, ok := root["$schema"]; !ok {
		g.fail("", "$schema is missing; it must be one of %s", strings.Join(dialects, ", "))
	}
	_, draft7 := root["definitions"]
	g.defs = "$defs"
	if _, ok := root[g.defs]; ok == draft7 {
		g.fail("", "needs either $defs or definitions")
	}
	if draft7 {
		g.defs = "definitions"
	}
	g.names, _ = root[g.defs].(map[string]any)
	for _, name := range sorted(g.names) {
		g.definition(child("/"+g.defs, name), name)
	}
}

// identifier is what a definition may be called, so that it can become a Go
// name and stand in a reference without escapes.
var identifier = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)

func (g *guard) definition(at, name string) {
	if !identifier.MatchString(name) {
		g.fail(at, "a definition is named with letters, digits and underscores; rename it")
	}
}

// schema checks one schema, not those inside it.
func (g *guard) schema(at string, v any) {
	object, ok := v.(map[string]any)
	switch {
	case v == true && at != "":
		return
	case v == false:
		g.fail(at, "false allows no value at all, which no Go type can say; every object of the protocol is open")
	case !ok:
		g.fail(at, "a schema is an object, not %s", kind(v))
	}
	for _, key := range sorted(object) {
		g.keyword(at, key, object[key])
	}
	g.company(at, object)
	g.required(at, object)
	g.reference(at, object)
}

func (g *guard) keyword(at, key string, v any) {
	k := keywordAt(at, key)
	switch {
	case key == "description":
		g.description(child(at, key), v)
	case !k.known():
		g.fail(child(at, key), "unknown keyword %q; the compiler does not obey it, so teach it to gen first", key)
	case k.fault != nil:
		if fault := k.fault(v); fault != "" {
			g.fail(child(at, key), "%s %s", key, fault)
		}
	}
}

func (g *guard) description(at string, v any) {
	if _, ok := v.(string); !ok {
		g.fail(at, "description must be a string, not %s", kind(v))
	} else if !g.prose {
		g.fail(at, "official prose does not belong here; import the official file with make schema")
	}
}

// required refuses a name without a schema: it would be a member without a type.
func (g *guard) required(at string, object map[string]any) {
	names, _ := object["required"].([]any)
	properties, _ := object["properties"].(map[string]any)
	for i, v := range names {
		if name, ok := v.(string); ok && properties[name] == nil {
			g.fail(element(child(at, "required"), i), "required member %q is not in properties", name)
		}
	}
}

// company refuses a keyword that says nothing where it stands, or beside which
// another one would be overlooked.
func (g *guard) company(at string, object map[string]any) {
	for _, key := range sorted(object) {
		k := keywordAt(at, key)
		beside := slices.DeleteFunc(sorted(object), func(other string) bool {
			return other == key || other == "description" && g.prose || other == "type" && k.of != nil
		})
		switch typed := g.typed(object, k.of); {
		case k.alone && len(beside) > 0:
			g.fail(child(at, key), "%s has %s beside it; move one of them into a definition", key, strings.Join(beside, ", "))
		case !typed && (object["type"] != nil || !k.alone):
			g.fail(child(at, key), "%s needs the type %s beside it", key, strings.Join(k.of, " or "))
		}
	}
	extra, _ := object["additionalProperties"].(map[string]any)
	says := func(key string) bool { return key != "description" }
	if object["properties"] != nil && slices.ContainsFunc(sorted(extra), says) {
		g.fail(child(at, "additionalProperties"), "additionalProperties beside properties must allow anything: no type has members of both kinds")
	}
}

// typed tells whether an object says that it is of one of the types, if there are
// any to say.
func (g *guard) typed(object map[string]any, types []string) bool {
	list, many := object["type"].([]any)
	if !many {
		list = []any{object["type"]}
	}
	return types == nil || slices.ContainsFunc(list, func(v any) bool {
		name, _ := v.(string)
		return slices.Contains(types, name)
	})
}

// reference follows a $ref, which must lead to a definition of the same file.
func (g *guard) reference(at string, object map[string]any) {
	ref, ok := object["$ref"].(string)
	if !ok {
		return
	}
	at = child(at, "$ref")
	name, local := strings.CutPrefix(ref, "#/"+g.defs+"/")
	if !local || strings.Contains(name, "/") {
		g.fail(at, "$ref %q leaves the definitions of this file; write #/%s/<name>", ref, g.defs)
	} else if _, ok := g.names[name]; !ok {
		g.fail(at, "$ref %q leads nowhere; there is no definition %q", ref, name)
	}
}
