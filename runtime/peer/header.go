package peer

import "strings"

// Header contains HTTP headers. It can be converted to and from a Header of [net/http]. It is a type of
// its own, so that programs without HTTP do not link that package.
type Header map[string][]string

// Get returns the first value of a header, or "" if it is missing. The name is not case-sensitive.
func (h Header) Get(name string) string {
	if values := h.Values(name); len(values) > 0 {
		return values[0]
	}
	return ""
}

// Values returns the values of a header. The name is not case-sensitive.
func (h Header) Values(name string) []string {
	if values, ok := h[name]; ok {
		return values
	}
	for key, values := range h {
		if strings.EqualFold(key, name) {
			return values
		}
	}
	return nil
}
