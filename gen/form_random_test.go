package main

import (
	"flag"
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"testing"
)

// oddSchemas replace schemas at random places.
var oddSchemas = []string{
	`{"type": "string", "pattern": "^a"}`,
	`{"type": "number", "const": 0.5}`,
	`{"not": {}}`,
	`false`,
	`null`,
	`"string"`,
	`[]`,
	`{}`,
	`{"oneOf": [{"type": "string"}, {"type": "integer"}]}`,
	`{"$ref": "#/$defs/Nothing"}`,
	`{"$ref": "#/$defs/ToolAnnotations"}`,
	`{"$ref": "#/$defs/ContentBlock"}`,
	`{"$ref": "#/$defs/Tool/properties/name"}`,
	`{"$ref": "#/$defs/LoggingLevel"}`,
	`{"$ref": "#/$defs/EmptyResult"}`,
	`{"allOf": [{"type": "string"}, {"type": "integer"}]}`,
	`{"allOf": [{"$ref": "#/$defs/Icon"}, {"$ref": "#/$defs/Root"}]}`,
	`{"anyOf": [{"type": "string"}, {"$ref": "#/$defs/Icon"}, {"type": "array", "items": {}}]}`,
	`{"anyOf": [{"$ref": "#/$defs/Icon"}, {"$ref": "#/$defs/Root"}]}`,
	`{"anyOf": [{"type": "null"}, {"$ref": "#/$defs/Role"}]}`,
	`{"anyOf": []}`,
	`{"type": ["string", "null"]}`,
	`{"type": "null"}`,
	`{"type": "date"}`,
	`{"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": false}`,
	`{"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "integer"}}`,
	`{"type": "object", "additionalProperties": {"type": "integer"}}`,
	`{"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a", "b"]}`,
	`{"type": "object", "properties": {"a b": {"type": "string"}, "a-b": {"type": "string"}, "": {}}}`,
	`{"type": "object", "required": ["method"], "properties": {"method": {"type": "string", "const": "acme/odd"}}}`,
	`{"type": "object", "required": ["kind"], "properties": {"kind": {"type": "string", "const": "text"}}}`,
	`{"enum": [1, 2]}`,
	`{"const": null}`,
	`{"const": {"a": 1}}`,
	`{"type": "string", "enum": ["a b", "a-b", ""]}`,
	`{"if": {}, "then": {"type": "string"}}`,
	`{"type": "array", "prefixItems": [{"type": "string"}]}`,
	`{"type": "array", "items": false}`,
	`{"type": "array"}`,
	`{"type": "boolean", "minimum": 1}`,
	`{"type": "integer", "minimum": "1"}`,
	`{"type": "string", "default": 3, "title": 4}`,
	`{"type": "string", "format": "byte"}`,
}

// oddNames are names of new definitions.
var oddNames = []string{"Text", "Methods", "tool", "my-type", "2nd", "Über", "CallRequest", "OddRequest", "OddNotification", "OddResult", "OddError", "Odd", "ClientPeer", "UnknownContentBlock", "Meta", "string", "func", "ToolKind"}

// oddMembers are names of new members.
var oddMembers = []string{"", "2nd", "a b", "名", "method", "_meta", "error", "extra", "Extra", "params", "name", "type", "input_schema", "id"}

// randomEdit returns an edit that depends on a seed.
func randomEdit(seed int64) edit {
	return func(defs object) {
		r := rand.New(rand.NewSource(seed))
		for range 1 + r.Intn(3) {
			edits := []func(*rand.Rand, object){replaceSchema, replaceSchema, replaceSchema, addMember, addDefinition, removeDefinition, renameOne, removeOne, requireOne}
			edits[r.Intn(len(edits))](r, defs)
		}
	}
}

func pick[T any](r *rand.Rand, list []T) T { return list[r.Intn(len(list))] }

// holders returns the objects and arrays that contain schemas, with the keys of the schemas.
func holders(v any) (list []func(any)) {
	visit := func(x any, put func(any)) { list = append(append(list, put), holders(x)...) }
	x, _ := v.(object)
	for _, key := range slices.Sorted(maps.Keys(x)) {
		switch inner := x[key].(type) {
		case object:
			switch key {
			case "properties":
				for _, name := range slices.Sorted(maps.Keys(inner)) {
					visit(inner[name], func(v any) { inner[name] = v })
				}
			case "items", "additionalProperties":
				visit(inner, func(v any) { x[key] = v })
			}
		case []any:
			if key == "anyOf" || key == "allOf" {
				for i := range inner {
					visit(inner[i], func(v any) { inner[i] = v })
				}
			}
		}
	}
	return list
}

func replaceSchema(r *rand.Rand, defs object) {
	def := pick(r, slices.Sorted(maps.Keys(defs)))
	odd := parsed(pick(r, oddSchemas))
	list := holders(defs[def])
	if o, ok := odd.(object); ok && r.Intn(len(list)+1) == 0 {
		defs[def] = o
	} else if len(list) > 0 {
		pick(r, list)(odd)
	}
}

func addMember(r *rand.Rand, defs object) {
	def := pick(r, slices.Sorted(maps.Keys(defs)))
	if props, ok := defs[def].(object)["properties"].(object); ok {
		props[pick(r, oddMembers)] = parsed(pick(r, oddSchemas))
	}
}

func addDefinition(r *rand.Rand, defs object) {
	o, ok := parsed(pick(r, oddSchemas)).(object)
	if r.Intn(2) == 0 {
		o, ok = clone(defs[pick(r, slices.Sorted(maps.Keys(defs)))]).(object), true
	}
	if name := pick(r, oddNames); ok {
		defs[name] = o
		if unions := []string{"ClientRequest", "ServerNotification", "ContentBlock"}; r.Intn(2) == 0 {
			if _, union := defs[unions[0]].(object)["anyOf"].([]any); union {
				addToUnion(unions[0], name)(defs)
			}
		}
	}
}

func removeDefinition(r *rand.Rand, defs object) {
	delete(defs, pick(r, slices.Sorted(maps.Keys(defs))))
}

func renameOne(r *rand.Rand, defs object) {
	renamed(pick(r, slices.Sorted(maps.Keys(defs))), pick(r, oddNames))(defs)
}

func removeOne(r *rand.Rand, defs object) {
	def := pick(r, slices.Sorted(maps.Keys(defs)))
	if props, ok := defs[def].(object)["properties"].(object); ok && len(props) > 0 {
		delete(props, pick(r, slices.Sorted(maps.Keys(props))))
	}
}

func requireOne(r *rand.Rand, defs object) {
	def := pick(r, slices.Sorted(maps.Keys(defs)))
	d := defs[def].(object)
	if props, ok := d["properties"].(object); ok && len(props) > 0 {
		d["required"] = []any{pick(r, append(slices.Sorted(maps.Keys(props)), "nothing"))}
	}
}

var (
	randomFirst = flag.Int64("random-first", 0, "the first seed of a random edit")
	randomSeeds = flag.Int64("random", 25, "the number of random edits")
)

// TestFormsOfRandomEdits fills in the forms of schemas with random edits.
func TestFormsOfRandomEdits(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the schemas several times for each edit")
	}
	for seed := *randomFirst; seed < *randomFirst+*randomSeeds; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			in := refusedInput(t, randomEdit(seed))
			if c, err := in.compile(&rules); err != nil {
				fillIn(t, in)
			} else {
				newChecker(t).mustCheck(t, c.printed)
			}
		})
	}
}
