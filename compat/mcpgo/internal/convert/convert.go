// Package convert converts between the types of package mcp and of the kit.
package convert

import (
	"encoding/json"

	"github.com/mcpwright/mcp/compat/mcpgo/mcp"
)

// JSON stores a value in another one, a pointer to a type with the same JSON.
func JSON(from, to any) error {
	data, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, to)
}

// SamplingContent is like [mcp.ParseSamplingContent]. It returns a list of one content as this content, in the
// form of the revisions before 2025-11-25.
func SamplingContent(content any) (any, error) {
	parsed, err := mcp.ParseSamplingContent(content)
	if list, ok := parsed.([]mcp.Content); ok && len(list) == 1 {
		return list[0], nil
	}
	return parsed, err
}
