package mcptest

import (
	"bytes"
	"encoding/json"
	"slices"
)

// amend mends the places where a schema says less, or more, than the protocol
// does: what is valid must not be called invalid.
func amend(definitions map[string]any) {
	allowFractions(definitions)    // a form may ask for a number, so 1.5 is an answer
	completeJSONValue(definitions) // JSON has fractions and null, also where a schema lists its kinds of values
	allowNullID(definitions)       // JSON-RPC answers with the id null what it cannot tell the id of
}

func allowFractions(definitions map[string]any) {
	answers, ok := at(definitions["ElicitResult"], "properties", "content", "additionalProperties").(map[string]any)
	if !ok {
		return
	}
	if arms, ok := answers["anyOf"].([]any); ok {
		answers = arms[len(arms)-1].(map[string]any)
	}
	answers["type"] = []any{"string", "number", "boolean"}
}

func completeJSONValue(definitions map[string]any) {
	if arms, ok := at(definitions["JSONValue"], "anyOf").([]any); ok {
		arms[len(arms)-1] = map[string]any{"type": []any{"string", "number", "boolean", "null"}}
	}
}

func allowNullID(definitions map[string]any) {
	for _, def := range definitions {
		properties, _ := at(def, "properties").(map[string]any)
		if properties["error"] == nil || properties["id"] == nil {
			continue
		}
		properties["id"] = map[string]any{"anyOf": []any{properties["id"], map[string]any{"type": "null"}}}
		required, _ := at(def, "required").([]any)
		def.(map[string]any)["required"] = slices.DeleteFunc(required, func(name any) bool { return name == "id" })
	}
}

// at goes down a path of member names; nil where it ends early.
func at(v any, path ...string) any {
	for _, name := range path {
		object, _ := v.(map[string]any)
		v = object[name]
	}
	return v
}

func parseObject(data []byte) (object map[string]any, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	err = d.Decode(&object)
	return object, err
}
