package check

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// paramHeader is an argument of a tool that a header repeats.
type paramHeader struct {
	name string   // after "Mcp-Param-"
	path []string // members that lead to the argument
}

// set sets the header for arguments. It sets nothing if the argument is absent.
func (h paramHeader) set(header http.Header, arguments json.RawMessage) {
	raw := at(arguments, h.path...)
	if raw == nil || string(raw) == "null" {
		return
	}
	value := string(bytes.TrimSpace(raw))
	if strings.HasPrefix(value, `"`) {
		value = text(raw)
	}
	header.Set("Mcp-Param-"+h.name, headerValue(value))
}

// paramHeaders returns the headers that a schema declares, and its faults: JSON pointers
// and problems.
func paramHeaders(schema json.RawMessage) (list []paramHeader, faults []fault) {
	var walk func(node json.RawMessage, pointer string, path []string, reachable bool)
	walk = func(node json.RawMessage, pointer string, path []string, reachable bool) {
		members := object(node)
		if members == nil {
			return
		}
		if declared, ok := members["x-mcp-header"]; ok {
			h := paramHeader{name: text(declared), path: path}
			if problem := h.problem(members, reachable && len(path) > 0, list); problem != "" {
				faults = append(faults, fault{pointer + "/x-mcp-header", problem})
			} else {
				list = append(list, h)
			}
		}
		for _, name := range sortedKeys(object(members["properties"])) {
			walk(object(members["properties"])[name], pointer+"/properties/"+escape(name), append(slices.Clone(path), name), reachable)
		}
		for _, name := range []string{"items", "not", "if", "then", "else", "additionalProperties"} {
			walk(members[name], pointer+"/"+name, path, false)
		}
		for _, name := range []string{"oneOf", "anyOf", "allOf", "prefixItems"} {
			for i, one := range array(members[name]) {
				walk(one, fmt.Sprintf("%s/%s/%d", pointer, name, i), path, false)
			}
		}
	}
	walk(schema, "", nil, true)
	return list, faults
}

// fault is a problem at a JSON pointer.
type fault struct{ pointer, problem string }

// problem returns why a declaration is invalid, or "".
func (h paramHeader) problem(schema map[string]json.RawMessage, reachable bool, others []paramHeader) string {
	switch kind := text(schema["type"]); {
	case h.name == "":
		return "the name is empty, or not a string"
	case strings.ContainsFunc(h.name, notToken):
		return fmt.Sprintf("the name %q is not a token of HTTP", h.name)
	case slices.ContainsFunc(others, func(o paramHeader) bool { return strings.EqualFold(o.name, h.name) }):
		return fmt.Sprintf("the name %q is used twice", h.name)
	case kind != "string" && kind != "integer" && kind != "boolean":
		return fmt.Sprintf("the type is %s, not string, integer or boolean", cmp.Or(string(schema["type"]), "absent"))
	case !reachable:
		return "only \"properties\" may lead to the parameter"
	}
	return ""
}

// notToken reports whether a character cannot be part of the name of a header.
func notToken(c rune) bool {
	return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c < 128 && strings.ContainsRune("!#$%&'*+-.^_`|~", c))
}
