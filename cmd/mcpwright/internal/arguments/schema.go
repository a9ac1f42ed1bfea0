package arguments

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// schema is a JSON Schema, or a part of one. The zero value allows everything.
type schema struct {
	root map[string]any // for references
	at   map[string]any
}

func newSchema(raw json.RawMessage) (schema, error) {
	if len(raw) == 0 {
		return schema{}, nil
	}
	value, err := decode(raw)
	if err != nil {
		return schema{}, err
	}
	at, _ := value.(map[string]any)
	return schema{at, at}, nil
}

// maxReferences limits a chain of references.
const maxReferences = 32

// sub returns a part of the schema with its references resolved. References to other documents
// allow everything.
func (s schema) sub(part any) schema {
	at, _ := part.(map[string]any)
	for range maxReferences {
		ref, ok := at["$ref"].(string)
		if !ok {
			return schema{s.root, at}
		}
		pointer, ok := strings.CutPrefix(ref, "#")
		if !ok {
			return schema{root: s.root}
		}
		at = s.resolve(pointer)
	}
	return schema{root: s.root}
}

func (s schema) resolve(pointer string) map[string]any {
	var value any = s.root
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if pointer == "" {
			break
		}
		members, _ := value.(map[string]any)
		value = members[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)]
	}
	at, _ := value.(map[string]any)
	return at
}

// Property describes an argument.
type Property struct {
	// Name is the name of the argument.
	Name string
	// Type is a short description of its type, such as "integer" or "a|b|c".
	Type string
	// Title and Description are texts of the schema.
	Title, Description string
	// Required reports whether the argument must be given.
	Required bool
	// Default is the JSON of the default value, or "".
	Default string
	// Choices are the allowed values, if the schema lists them.
	Choices []string
}

// Properties returns the arguments that a schema declares: first the required ones, in the schema's
// order, then the others by name.
func Properties(raw json.RawMessage) []Property {
	root, err := newSchema(raw)
	if err != nil {
		return nil
	}
	var list []Property
	required := root.requiredNames()
	members := root.members()
	for _, name := range slices.Sorted(maps.Keys(members)) {
		at := root.sub(members[name])
		p := at.describe(name)
		p.Required = slices.Contains(required, name)
		list = append(list, p)
	}
	slices.SortStableFunc(list, func(a, b Property) int {
		x, y := slices.Index(required, a.Name), slices.Index(required, b.Name)
		switch {
		case x == y: // both -1
			return 0
		case x < 0:
			return 1
		case y < 0:
			return -1
		}
		return x - y
	})
	return list
}

func (s schema) describe(name string) Property {
	p := Property{Name: name, Type: s.typeName(), Choices: s.choices()}
	if items, ok := s.items(); ok {
		p.Choices = items.choices()
	}
	p.Description, _ = s.at["description"].(string)
	p.Title, _ = s.at["title"].(string)
	if d, ok := s.at["default"]; ok {
		text, _ := json.Marshal(d)
		p.Default = string(text)
	}
	return p
}

func (s schema) members() map[string]any {
	members, _ := s.at["properties"].(map[string]any)
	return members
}

func (s schema) property(name string) (schema, bool) {
	part, ok := s.members()[name]
	if ok {
		return s.sub(part), true
	}
	if more, ok := s.at["additionalProperties"].(map[string]any); ok {
		return s.sub(more), true
	}
	if s.at == nil || s.members() == nil && !s.isClosed() {
		return schema{}, true
	}
	return schema{}, false
}

func (s schema) isClosed() bool { return s.at["additionalProperties"] == false }

func (s schema) requiredNames() (names []string) {
	list, _ := s.at["required"].([]any)
	for _, name := range list {
		if name, ok := name.(string); ok {
			names = append(names, name)
		}
	}
	return names
}

// checkRequired returns an error that lists the required arguments without a value.
func (s schema) checkRequired(values map[string]any) error {
	var missing []string
	for _, name := range s.requiredNames() {
		if _, ok := values[name]; !ok {
			at, _ := s.property(name)
			missing = append(missing, fmt.Sprintf("%s (%s)", name, at.typeName()))
		}
	}
	if missing == nil {
		return nil
	}
	return fmt.Errorf("missing required arguments: %s", strings.Join(missing, ", "))
}

// unknown returns the error for an argument that the schema does not declare.
func (s schema) unknown(name, part string) error {
	known := slices.Sorted(maps.Keys(s.members()))
	if len(known) == 0 {
		return fmt.Errorf("unknown argument %q: no arguments are declared", name)
	}
	if near := nearest(part, known); near != "" {
		return fmt.Errorf("unknown argument %q, did you mean %q? The arguments are %s", name, near, strings.Join(known, ", "))
	}
	return fmt.Errorf("unknown argument %q; the arguments are %s", name, strings.Join(known, ", "))
}

// types returns the JSON types that the schema allows, or nil for all.
func (s schema) types() (types []string) {
	switch t := s.at["type"].(type) {
	case string:
		return []string{t}
	case []any:
		for _, name := range t {
			if name, ok := name.(string); ok {
				types = append(types, name)
			}
		}
		return types
	}
	if value, ok := s.at["const"]; ok {
		return []string{typeOf(value)}
	}
	if list, ok := s.at["enum"].([]any); ok {
		for _, value := range list {
			types = append(types, typeOf(value))
		}
		return types
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		list, _ := s.at[keyword].([]any)
		for _, part := range list {
			of := s.sub(part).types()
			if of == nil {
				return nil
			}
			types = append(types, of...)
		}
		if types != nil {
			return types
		}
	}
	if s.members() != nil {
		return []string{"object"}
	}
	return nil
}

func typeOf(value any) string {
	switch value := value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case json.Number:
		if _, err := value.Int64(); err == nil {
			return "integer"
		}
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	}
	return "object"
}

// choices returns the texts that are allowed, or nil.
func (s schema) choices() (texts []string) {
	list, _ := s.at["enum"].([]any)
	for _, value := range list {
		texts = append(texts, textOf(value))
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		parts, _ := s.at[keyword].([]any)
		for _, part := range parts {
			if value, ok := s.sub(part).at["const"]; ok && len(texts) < len(parts) {
				texts = append(texts, textOf(value))
			}
		}
	}
	return texts
}

func textOf(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	text, _ := json.Marshal(value)
	return string(text)
}

// maxChoices limits the choices in the description of a type.
const maxChoices = 6

func (s schema) typeName() string {
	if c := s.choices(); len(c) > 0 {
		if len(c) > maxChoices {
			c = append(slices.Clone(c[:maxChoices]), "…")
		}
		return strings.Join(c, "|")
	}
	if items, ok := s.items(); ok {
		return items.typeName() + "[]"
	}
	if types := s.types(); types != nil {
		slices.Sort(types)
		return strings.Join(slices.Compact(types), "|")
	}
	return "any"
}

// items returns the schema of the elements if the value is an array, and nothing else but null.
func (s schema) items() (schema, bool) {
	array := false
	for _, t := range s.types() {
		switch t {
		case "array":
			array = true
		case "null":
		default:
			return schema{}, false
		}
	}
	if !array {
		return schema{}, false
	}
	if s.at["items"] == nil {
		for _, keyword := range []string{"anyOf", "oneOf"} {
			parts, _ := s.at[keyword].([]any)
			for _, part := range parts {
				if of, ok := s.sub(part).items(); ok {
					return of, true
				}
			}
		}
	}
	return s.sub(s.at["items"]), true
}

// value returns the value that a text describes.
func (s schema) value(text string) (any, error) {
	types := s.types()
	if types == nil {
		return anyValue(text), nil
	}
	var failures []string
	for _, t := range []string{"null", "boolean", "integer", "number", "array", "object", "string"} {
		if !slices.Contains(types, t) {
			continue
		}
		value, err := parseAs(t, text)
		if err != nil {
			failures = append(failures, err.Error())
			continue
		}
		return value, s.checkChoice(value)
	}
	if failures == nil {
		return nil, errors.New("the schema allows no value")
	}
	return nil, errors.New(strings.Join(failures, ", "))
}

// checkChoice returns an error if the schema lists the allowed values and this is not one.
func (s schema) checkChoice(value any) error {
	choices := s.choices()
	if choices == nil || slices.Contains(choices, textOf(value)) {
		return nil
	}
	return fmt.Errorf("%q is not one of %s", textOf(value), strings.Join(choices, ", "))
}

func parseAs(t, text string) (any, error) {
	if t == "string" {
		return text, nil
	}
	value, err := decode([]byte(text))
	if got := typeOf(value); err != nil || got != t && (t != "number" || got != "integer") && (t != "integer" || !isWhole(value)) {
		article := "a"
		if strings.ContainsRune("aeio", rune(t[0])) {
			article = "an"
		}
		return nil, fmt.Errorf("%q is not %s %s", text, article, t)
	}
	return value, nil
}

// isWhole reports whether a value is an integer too large for an int64, which JSON allows.
func isWhole(value any) bool {
	n, ok := value.(json.Number)
	return ok && !strings.ContainsAny(string(n), ".eE")
}

// anyValue returns the JSON value of a text, or the text if it is not JSON.
func anyValue(text string) any {
	if value, err := decode([]byte(text)); err == nil {
		return value
	}
	return text
}

// nearest returns the name that differs least from a wrong one, or "" if none is near.
func nearest(wrong string, names []string) string {
	best, least := "", max(1, len(wrong)/3)+1
	for _, name := range names {
		if d := distance(strings.ToLower(wrong), strings.ToLower(name)); d < least {
			best, least = name, d
		}
	}
	return best
}

// distance returns the number of bytes to insert, remove or replace.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
