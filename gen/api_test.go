package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/gen/internal/ir"
)

func TestTheNewestRevisionChangesNothingThatProgramsUse(t *testing.T) {
	for _, c := range changes(surfaceOf(t, current(t, 1)), surfaceOf(t, current(t, 0))) {
		require.Contains(t, moved, c.name, "%q became %q", c.before, c.after)
	}
}

// moved are the names whose value tells of the newest revision.
var moved = map[string]string{"LatestRevision": "names the newest revision"}

// Before 2025-11-25 no revision named the union of what is sampled, so that a
// rule had to. These are the rules of that time.
func rulesOfThree(r *ir.Rules) {
	with(&r.Names, ir.Name{At: "CreateMessageResult.content", Go: "SamplingMessageContentBlock", Why: why})
	with(&r.Names, ir.Name{At: "SamplingMessage.content", Go: "SamplingMessageContentBlock", Why: why})
}

// changedIn20251125 is all that programs had to follow when 2025-11-25 came:
// names, with all that belongs to them, and the reasons.
var changedIn20251125 = map[string]string{
	"LatestRevision":                 "names the newest revision",
	"LatestHandshakeRevision":        "names the newest revision with a handshake",
	"ClientCapabilities.Sampling":    "an open object got members",
	"ClientCapabilities.Elicitation": "an open object got members",
	"CreateMessageResult.Content":    "one block of content, or several",
	"SamplingMessage.Content":        "one block of content, or several",
	"ElicitRequest":                  "its members became one of two sorts of params",
	"ElicitRequestRequestedSchema":   "belongs to one sort of params now",
	"ServerSession.Elicit":           "there is one helper for each sort of params",
	"EnumSchema":                     "one form of an enum became a choice of several",
}

func TestWhatChangedIn20251125IsKnown(t *testing.T) {
	files, err := known()
	require.NoError(t, err)
	r := rules
	rulesOfThree(&r)
	three, err := ir.Build(sources(files[:3]), &r, silent(t))
	require.NoError(t, err)
	found := make(map[string]bool)
	for _, c := range changes(surfaceOf(t, three), surfaceOf(t, model(t, 4))) {
		owner, _, _ := strings.Cut(c.name, ".")
		for _, name := range []string{c.name, owner} {
			found[name] = found[name] || changedIn20251125[name] != ""
		}
		require.True(t, found[c.name] || found[owner], "%s: %q became %q", c.name, c.before, c.after)
	}
	for name := range changedIn20251125 {
		require.True(t, found[name], "%s did not change", name)
	}
}
