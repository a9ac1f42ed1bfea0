package load

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/mcpwright/mcp/gen/internal/refusal"
)

// maxDefinitions limits the definitions of a file. The newest revision has about 160.
const maxDefinitions = 2000

// maxParts limits the schemas that a definition leads to without a member or an element in between.
const maxParts = 1000

// A checker collects what a schema file contains that the compiler does not support.
type checker struct {
	file  string
	in    string // the revision, or "" if it is unknown
	prose bool   // allow descriptions, because the file is official
	newer bool   // the dialect is newer than draft 7
	defs  string
	names map[string]any
	sizes map[string][2]int // by name, see size
	errs  []error
}

// check checks a whole file: keywords and their values, references, and required
// members.
func check(file, revision string, tree any, prose bool) error {
	c := &checker{file: file, in: revision, prose: prose, sizes: make(map[string][2]int)}
	if c.root(tree); len(c.names) <= maxDefinitions {
		walk("", tree, c.schema)
	}
	return errors.Join(c.errs...)
}

// fail adds a refusal.
func (c *checker) fail(at, format string, args ...any) *refusal.Refusal {
	r := &refusal.Refusal{File: c.file, Revision: c.in, Pointer: at, Text: fmt.Sprintf(format, args...)}
	c.errs = append(c.errs, r)
	return r
}

// set returns a rule that sets what a pointer refers to.
func (c *checker) set(at, json string) refusal.Edit {
	return refusal.Edit{In: c.in, At: at, JSON: json}
}

// remove returns a rule that removes what a pointer refers to.
func (c *checker) remove(at string) refusal.Edit { return refusal.Edit{In: c.in, At: at} }

// root checks the top of a file: a dialect, and one set of definitions.
func (c *checker) root(tree any) {
	root, ok := tree.(map[string]any)
	if !ok {
		return // schema reports it
	}
	if _, ok := root["$schema"]; !ok {
		c.fail("", "$schema is missing; it must be one of %s", strings.Join(dialects, ", ")).
			Choose("The file is a schema in this dialect.", c.set("/$schema", `"`+dialects[1]+`"`))
	}
	c.newer = root["$schema"] == dialects[1]
	_, draft7 := root["definitions"]
	c.defs = "$defs"
	if _, ok := root[c.defs]; ok == draft7 {
		f := c.fail("", "must have either $defs or definitions")
		if draft7 {
			f.Choose("Only the definitions in $defs are compiled.", c.remove("/definitions"))
		}
	}
	if draft7 {
		c.defs = "definitions"
	}
	c.names, _ = root[c.defs].(map[string]any)
	if n := len(c.names); n > maxDefinitions {
		c.fail("/"+c.defs, "has %d definitions, more than the limit of %d", n, maxDefinitions)
		return
	}
	for _, name := range sorted(c.names) {
		c.definition(child("/"+c.defs, name), name)
	}
}

// identifier matches the names of definitions that can become Go names and need no
// escapes in references.
var identifier = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)

// valid returns a valid name that is similar to the name of a definition.
func valid(name string) string {
	return "X" + strings.Map(func(r rune) rune {
		if r < 128 && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return r
		}
		return '_'
	}, name)
}

func (c *checker) definition(at, name string) {
	if !identifier.MatchString(name) {
		c.fail(at, "the name of a definition must consist of letters, digits and underscores").
			Choose("The definition has a name that Go can use.", refusal.Edit{In: c.in, At: at, Name: valid(name)})
	}
	if c.reaches(c.names[name], name, make(map[string]bool)) {
		c.fail(at, "the definition refers to itself, without a member or an element in between").
			Choose("The definition allows any JSON.", c.set(at, "{}"))
	} else if n, depth := c.size(c.names[name]); n > maxParts || depth > maxDepth {
		c.fail(at, "references and alternatives lead to more than %d schemas here, or are nested deeper than %d", maxParts, maxDepth).
			Choose("The definition allows any JSON.", c.set(at, "{}"))
	}
}

// size returns the number of schemas that a value of a schema may match because of references, parts and
// alternatives, and how deep they are nested. Larger numbers than maxParts are not exact.
func (c *checker) size(v any) (n, depth int) {
	x, _ := v.(map[string]any)
	add := func(more, inner int) { n, depth = min(n+more, maxParts+1), max(depth, inner+1) }
	add(1, 0)
	if ref, ok := x["$ref"].(string); ok {
		name := strings.TrimPrefix(ref, "#/"+c.defs+"/")
		have, known := c.sizes[name]
		if !known {
			c.sizes[name] = [2]int{} // the definition may refer to itself
			have[0], have[1] = c.size(c.names[name])
			c.sizes[name] = have
		}
		add(have[0], have[1])
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := x[key].([]any)
		for _, part := range list {
			add(c.size(part))
		}
	}
	return n, depth
}

// reaches reports whether a value of a schema is also a value of a definition, because of references.
func (c *checker) reaches(v any, def string, seen map[string]bool) bool {
	x, _ := v.(map[string]any)
	if ref, ok := x["$ref"].(string); ok {
		name := strings.TrimPrefix(ref, "#/"+c.defs+"/")
		if name == def || seen[name] {
			return name == def
		}
		seen[name] = true
		return c.reaches(c.names[name], def, seen)
	}
	all, _ := x["allOf"].([]any)
	some, _ := x["anyOf"].([]any)
	return slices.ContainsFunc(append(slices.Clip(all), some...), func(v any) bool { return c.reaches(v, def, seen) })
}

// schema checks one schema, without the schemas in it.
func (c *checker) schema(at string, v any) {
	object, ok := v.(map[string]any)
	switch {
	case at != "" && (v == true || v == false):
		return
	case !ok:
		r := c.fail(at, "a schema must be an object, not %s", kind(v))
		if at != "" { // no rule makes a schema of another file
			r.Choose("Any JSON is valid here.", c.set(at, "{}"))
		}
		return
	}
	for _, key := range sorted(object) {
		c.keyword(at, key, object[key])
	}
	c.reference(at, object)
	c.id(at, object)
}

// id reports an $id that changes the meaning of references, because they refer to definitions in the
// schema with the $id.
func (c *checker) id(at string, object map[string]any) {
	if object["$id"] == nil || at == "" {
		return
	}
	refers := false
	walk(at, object, func(_ string, v any) {
		object, _ := v.(map[string]any)
		refers = refers || object["$ref"] != nil
	})
	if refers {
		c.fail(child(at, "$id"), "a schema with an $id cannot contain a $ref").
			Choose("References refer to the definitions of the file.", c.remove(child(at, "$id")))
	}
}

func (c *checker) keyword(at, key string, v any) {
	k := keywordAt(at, key)
	switch {
	case isAnnotation(key):
		c.annotation(at, key, v)
	case !k.known(), k.newer && !c.newer:
		c.fail(child(at, key), "unsupported keyword %q; gen must implement it first", key).
			Choose("The compiler ignores the keyword, so the codec does not check it.", c.remove(child(at, key)))
	case key == "const" && v == nil && !c.prose:
		c.fault(at, key, "must not be null in a transcription; write an enum with the value null")
	case k.fault != nil:
		if fault := k.fault(v); fault != "" {
			c.fault(at, key, fault)
		}
	}
}

// fault reports the invalid value of a keyword.
func (c *checker) fault(at, key, fault string) {
	f := c.fail(child(at, key), "%s %s", key, fault)
	switch {
	case at == "" && key == "$schema":
		f.Choose("The file is a schema in this dialect.", c.set("/$schema", `"`+dialects[1]+`"`))
	case at != "" && (key == "$ref" || key == "type" || key == "anyOf" || key == "allOf"):
		f.Choose("Any JSON is valid here.", c.set(at, "{}"))
	case at != "":
		f.Choose("The compiler ignores the keyword, so the codec does not check it.", c.remove(child(at, key)))
	}
}

func (c *checker) annotation(at, key string, v any) {
	fault := ""
	if f := annotations[key]; f != nil {
		fault = f(v)
	}
	if fault != "" {
		c.fail(child(at, key), "%s %s", key, fault).
			Choose("The compiler ignores the keyword, which restricts no value.", c.remove(child(at, key)))
	} else if !c.prose {
		c.fail(child(at, key), "a %s is not allowed here; import the official file with make schema", key)
	}
}

// hasType reports whether an object has one of the types, or types is nil.
func hasType(object map[string]any, types []string) bool {
	list, many := object["type"].([]any)
	if !many {
		list = []any{object["type"]}
	}
	return types == nil || slices.ContainsFunc(list, func(v any) bool {
		name, _ := v.(string)
		return slices.Contains(types, name)
	})
}

// reference checks that a $ref refers to a definition in the same file.
func (c *checker) reference(at string, object map[string]any) {
	ref, ok := object["$ref"].(string)
	if !ok {
		return
	}
	anything := c.set(at, "{}")
	at = child(at, "$ref")
	name, local := strings.CutPrefix(ref, "#/"+c.defs+"/")
	if !local || strings.Contains(name, "/") {
		c.fail(at, "$ref %q must have the form #/%s/<name>", ref, c.defs).Choose("Any JSON is valid here.", anything)
	} else if _, ok := c.names[name]; !ok {
		c.fail(at, "$ref %q has no definition %q", ref, name).
			Choose("Any JSON is valid here.", anything).
			Choose("The definition allows any JSON.", c.set(child("/"+c.defs, name), "{}"))
	}
}
