package load

import (
	"maps"
	"strings"
)

// Tree reads a JSON document into maps, slices, strings, booleans, nils and json.Numbers. The
// file name is only used in errors.
func Tree(file string, data []byte) (any, error) { return parse(file, data) }

// Shadow is the beginning of the new name of a definition of the protocol, if an extension has a
// definition with its name.
const Shadow = "Protocol"

// WithDefinitions returns the schema of a revision with further definitions, which it checks. If own
// is true and the revision has a definition of the same name, the definition of the revision gets
// another name, and its messages with the same method are removed. The rules for the revision change the
// result. The file name is only used in errors.
func (x *Edits) WithDefinitions(file string, f *File, defs map[string]any, own bool) (*File, error) {
	tree, err := parse(f.Name, f.Raw)
	if err != nil {
		return nil, err
	}
	if root, ok := tree.(map[string]any); ok && root["definitions"] != nil {
		root["$defs"] = localRefs(root["definitions"], "$defs")
		delete(root, "definitions")
	}
	if own {
		shadow(tree, defs)
	}
	_, all := definitions(tree)
	maps.Copy(all, defs)
	return x.Parse(file, Entry{Revision: f.Revision}, format(tree))
}

// shadow renames the definitions of a tree that have the names of others, and removes the messages
// that have the same methods.
func shadow(tree any, defs map[string]any) {
	methods := make(map[string]bool)
	for _, name := range sorted(defs) {
		methods[methodOf(defs[name])] = true
		renameDefinition(tree, name, Shadow+name)
	}
	delete(methods, "")
	_, all := definitions(tree)
	for _, name := range sorted(all) {
		if methods[methodOf(all[name])] {
			removeMessage(tree, name)
		}
	}
}

// methodOf returns the method of a definition that is a message, or "".
func methodOf(v any) string {
	x, _ := v.(map[string]any)
	parts, _ := x["allOf"].([]any)
	for _, part := range append([]any{v}, parts...) {
		if method, ok := ValueAt(part, []string{"properties", "method", "const"}); ok {
			name, _ := method.(string)
			return name
		}
	}
	return ""
}

// removeMessage removes a message, its places in unions, and the definition of its response.
func removeMessage(tree any, name string) {
	keyword, defs := definitions(tree)
	delete(defs, name)
	delete(defs, strings.TrimSuffix(name, "Request")+"ResultResponse")
	delete(defs, strings.TrimPrefix(strings.TrimSuffix(name, "Request")+"ResultResponse", Shadow))
	for _, v := range defs {
		union, _ := v.(map[string]any)
		list, _ := union["anyOf"].([]any)
		for i, alternative := range list {
			if ref, _ := alternative.(map[string]any); ref["$ref"] == "#/"+keyword+"/"+name {
				list[i] = hole{}
			}
		}
	}
	removeHoles(tree)
}

// Format encodes a schema in the layout of this repository.
func Format(tree any) []byte { return format(tree) }

// Restricting returns the keywords of a schema, and of the schemas in it, that no Go type has and the
// codec checks.
func Restricting(v any) (keys []string) {
	found := make(map[string]any)
	var visit func(v any, names bool)
	visit = func(v any, names bool) {
		switch x := v.(type) {
		case []any:
			for _, e := range x {
				visit(e, false)
			}
		case map[string]any:
			for key, e := range x {
				k := keywords[key]
				if !names && k.restricts {
					found[key] = true
				}
				if names || k.holds != plain {
					visit(e, !names && k.holds == mapping)
				}
			}
		}
	}
	visit(v, false)
	return sorted(found)
}
