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

// A checker collects what a schema file contains that the compiler does not support.
type checker struct {
	file  string
	in    string // the revision, or "" if it is unknown
	prose bool   // allow descriptions, because the file is official
	defs  string
	names map[string]any
	errs  []error
}

// check checks a whole file: keywords and their values, references, and required
// members.
func check(file, revision string, tree any, prose bool) error {
	c := &checker{file: file, in: revision, prose: prose}
	c.root(tree)
	walk("", tree, c.schema)
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
	}
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
	case v == true && at != "":
		return
	case v == false && closes(at):
		return
	case v == false:
		c.fail(at, "false is not supported, because it allows no value").
			Choose("The compiler ignores the schema.", c.remove(at))
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
	c.combinations(at, object)
	c.required(at, object)
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

// closes reports whether a pointer refers to the keyword additionalProperties, and not to a member or
// a definition with this name.
func closes(at string) bool {
	return strings.HasSuffix(at, "/additionalProperties") && !strings.HasSuffix(at, "/properties/additionalProperties") && strings.Count(at, "/") > 2
}

func (c *checker) keyword(at, key string, v any) {
	k := keywordAt(at, key)
	switch {
	case isAnnotation(key):
		c.annotation(at, key, v)
	case !k.known():
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

// required reports required members without a schema, because they would have no type.
func (c *checker) required(at string, object map[string]any) {
	names, _ := object["required"].([]any)
	properties, _ := object["properties"].(map[string]any)
	for i, v := range names {
		if name, ok := v.(string); ok && properties[name] == nil {
			r := c.fail(element(child(at, "required"), i), "required member %q is not in properties", name)
			if properties["method"] == nil { // a message has no members but params
				r.Choose("The member may be any JSON.", c.set(child(child(at, "properties"), name), "{}"))
			}
			r.Choose("The member is not required.", c.remove(element(child(at, "required"), i)))
		}
	}
}

// combinations reports keywords that have no effect in this place, and keywords whose
// combination is not supported.
func (c *checker) combinations(at string, object map[string]any) {
	for _, key := range sorted(object) {
		if isAnnotation(key) {
			continue
		}
		k := keywordAt(at, key)
		others := slices.DeleteFunc(sorted(object), func(other string) bool {
			return other == key || isAnnotation(other) && c.prose || other == "type" && k.types != nil
		})
		switch typed := hasType(object, k.types); {
		case k.exclusive && len(others) > 0:
			c.fail(child(at, key), "%s cannot be combined with %s; move one of them to a definition", key, strings.Join(others, ", ")).
				Choose("The compiler ignores the other keywords, so the codec does not check them.", c.removeAll(at, others)...).
				Choose("The compiler ignores this keyword, so the codec does not check it.", c.remove(child(at, key)))
		case !typed && (object["type"] != nil || !k.exclusive):
			c.fail(child(at, key), "%s requires the type %s", key, strings.Join(k.types, " or ")).
				Choose("The schema has the type that the keyword applies to.", c.set(child(at, "type"), `"`+k.types[0]+`"`)).
				Choose("The compiler ignores the keyword, so the codec does not check it.", c.remove(child(at, key)))
		}
	}
	extra, _ := object["additionalProperties"].(map[string]any)
	restricts := func(key string) bool { return !isAnnotation(key) }
	if object["properties"] != nil && slices.ContainsFunc(sorted(extra), restricts) {
		c.fail(child(at, "additionalProperties"), "additionalProperties must allow any value if there are properties").
			Choose("Other members may be any JSON.", c.remove(child(at, "additionalProperties"))).
			Choose("The value is a map, and the codec does not check which members it has.", c.removeAll(at, []string{"properties", "required"})...)
	}
}

// removeAll returns rules that remove keywords of a schema.
func (c *checker) removeAll(at string, keys []string) (rules []any) {
	for _, key := range keys {
		rules = append(rules, c.remove(child(at, key)))
	}
	return rules
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
