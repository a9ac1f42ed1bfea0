package mcp

import (
	"maps"
	"slices"
	"strconv"
)

// A place is where a value of a document stands. A new value is put into its
// parent by store.
type place struct {
	at      *any
	pointer string
	store   func(any)
}

// places lists all places of a document, the document itself first.
func places(root *any) []place {
	list := []place{{root, "", func(v any) { *root = v }}}
	for i := 0; i < len(list); i++ {
		switch v := (*list[i].at).(type) {
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(v)) {
				x := v[name]
				list = append(list, place{&x, pointer(list[i].pointer, name), func(y any) { v[name] = y }})
			}
		case []any:
			for j := range v {
				list = append(list, place{&v[j], pointer(list[i].pointer, strconv.Itoa(j)), func(y any) { v[j] = y }})
			}
		}
	}
	return list
}

// clone copies a document deeply.
func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, x := range v {
			out[name] = clone(x)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = clone(x)
		}
		return out
	}
	return v
}
