package mcp

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/wire"
)

// unnamed lists the structs that revisions had before they had a name for them.
var unnamed = map[string]string{
	"Annotations":                    "2024-11-05 writes the shape out wherever it is used",
	"ElicitRequestFormParams":        "2025-06-18 has no other params of elicitation/create",
	"LegacyTitledEnumSchema":         "EnumSchema in 2025-06-18",
	"UntitledSingleSelectEnumSchema": "EnumSchema in 2025-06-18",
	"RequestMeta":                    "every revision has a _meta in requests",
	"NotificationMeta":               "every revision has a _meta in notifications",
	"ResultMeta":                     "every revision has a _meta in results",
}

// TestTypesAreRefusedWhereTheyDoNotExist encodes every struct that has a
// definition for the revisions without that definition.
func TestTypesAreRefusedWhereTheyDoNotExist(t *testing.T) {
	applied := map[string]bool{}
	refused := 0
	for _, name := range slices.Sorted(maps.Keys(goTypes().structs)) {
		in, defined := definedIn(goTypes().structs[name])
		for _, r := range revisions() {
			if !defined || in.Has(r) {
				continue
			}
			_, err := wire.Append(nil, &wire.Frame{Revision: r}, filler{arm: 1}.filled(goTypes().structs[name]))
			if err == nil && unnamed[name] != "" {
				applied[name] = true
				continue
			}
			require.ErrorContains(t, err, "revision has no", "%v %s", r, name)
			refused++
		}
	}
	require.Len(t, applied, len(unnamed))
	t.Logf("%d refused", refused)
	require.Greater(t, refused, 100)
}

// definedIn returns the revisions in which a struct has a definition, and
// whether it has one anywhere.
func definedIn(t reflect.Type) (in wire.Window, ok bool) {
	for _, s := range subjects() {
		if reflect.TypeOf(s.fresh()) == reflect.PointerTo(t) {
			in |= 1 << s.file.revision.Index()
			ok = true
		}
	}
	return in, ok
}
