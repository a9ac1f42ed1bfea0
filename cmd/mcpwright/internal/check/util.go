package check

import (
	"encoding/json"
	"slices"
	"strings"
)

// sortedKeys returns the names of the members of an object in order.
func sortedKeys(members map[string]json.RawMessage) []string {
	names := make([]string, 0, len(members))
	for name := range members {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// escape returns a member name for a JSON pointer.
func escape(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// maxClip limits the part of a message that a finding contains.
const maxClip = 400

// clip returns the beginning of a message as valid text.
func clip(raw []byte) string {
	s := strings.ToValidUTF8(string(raw), "\uFFFD")
	if len(s) > maxClip {
		return strings.ToValidUTF8(s[:maxClip], "") + "…"
	}
	return s
}
