package mcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/mcpwright/mcp/runtime/wire"
)

// An ordering puts the sorted names of an object's members in another order.
type ordering func(names []string)

func sorted([]string)         {}
func reversed(names []string) { slices.Reverse(names) }

// A literal stands in a document for text that need not be JSON.
type literal string

// A twice stands in a document for an object with a member too many: the text
// of an object that holds it.
type twice struct {
	object map[string]any
	member literal
}

// render writes a document as text, with the members of each object in an order
// of choice.
func render(v any, order ordering) []byte { return appendAny(nil, v, order) }

func appendAny(b []byte, v any, order ordering) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		return wire.AppendBool(b, v)
	case json.Number:
		return append(b, v...)
	case string:
		return wire.AppendString(b, v)
	case literal:
		return append(b, v...)
	case twice:
		b = appendAny(b, v.object, order)
		return append(append(b[:len(b)-1], ','), v.member[1:]...)
	case []any:
		b = append(b, '[')
		for i, x := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendAny(b, x, order)
		}
		return append(b, ']')
	case map[string]any:
		names := slices.Sorted(maps.Keys(v))
		order(names)
		b = append(b, '{')
		for i, name := range names {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(wire.AppendString(b, name), ':')
			b = appendAny(b, v[name], order)
		}
		return append(b, '}')
	}
	panic(fmt.Sprintf("a document holds a %T", v))
}
