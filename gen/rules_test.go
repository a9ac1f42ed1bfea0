package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/gen/internal/emit"
	"github.com/mcpwright/mcp/gen/internal/ir"
	"github.com/mcpwright/mcp/gen/internal/load"
)

// noDocs returns documentation without texts.
func noDocs(t *testing.T) *load.Docs {
	t.Helper()
	docs, err := load.ParseDocs("docs.txt", []byte("covers: 2024-01-01\n"))
	require.NoError(t, err)
	return docs
}

// buildWithRules compiles the known revisions with other rules. If there are edits, it
// adds the future revision.
func buildWithRules(t *testing.T, change func(*ir.Rules), edits ...edit) (*ir.Package, error) {
	t.Helper()
	files, err := known()
	require.NoError(t, err)
	if len(edits) > 0 {
		files = append(slices.Clone(files), futureFile(t, edits...))
	}
	r := rules
	change(&r)
	return ir.Build(sources(files), &r, noDocs(t))
}

// addRule appends a rule to a copy of a list.
func addRule[R any](list *[]R, rule R) { *list = append(slices.Clip(*list), rule) }

const why = "needed by the test"

func TestRulesWithoutEffect(t *testing.T) {
	for want, change := range map[string]func(*ir.Rules){
		"rules: Raw Tool.inputScheme: applies nowhere":    func(r *ir.Rules) { addRule(&r.Raw, ir.KeepRaw{At: "Tool.inputScheme", Why: why}) },
		"rules: Names Nothing: applies nowhere":           func(r *ir.Rules) { addRule(&r.Names, ir.Name{At: "Nothing", Go: "X", Why: why}) },
		"rules: Members Tool.nothing: applies nowhere":    func(r *ir.Rules) { addRule(&r.Members, ir.MemberName{At: "Tool.nothing", Go: "X", Why: why}) },
		"rules: Renamed Nothing: applies nowhere":         func(r *ir.Rules) { addRule(&r.Renamed, ir.Renaming{Old: "Nothing", New: "Tool", Why: why}) },
		"rules: Framing Nothing*: applies nowhere":        func(r *ir.Rules) { addRule(&r.Framing, ir.Framing{Definition: "Nothing*", Why: why}) },
		"rules: MessageUnions Nothing: applies nowhere":   func(r *ir.Rules) { addRule(&r.MessageUnions, ir.MessageUnion{Definition: "Nothing", Why: why}) },
		"rules: Pointers *.nothing: applies nowhere":      func(r *ir.Rules) { addRule(&r.Pointers, ir.Pointer{At: "*.nothing", Why: why}) },
		"rules: Deprecated Tool.nothing: applies nowhere": func(r *ir.Rules) { addRule(&r.Deprecated, ir.Deprecation{At: "Tool.nothing", Why: why}) },
		"rules: Methods tools/nothing: applies nowhere":   func(r *ir.Rules) { addRule(&r.Methods, ir.MethodFact{Method: "tools/nothing", Why: why}) },
		"rules: Changes Tool.name: applies nowhere":       func(r *ir.Rules) { addRule(&r.Changes, ir.Change{At: "Tool.name", Why: why}) },
		"rules: Tolerances Tool.nothing: applies nowhere": func(r *ir.Rules) { addRule(&r.Tolerances, ir.Tolerance{At: "Tool.nothing", Why: why}) },
		"rules: Defaults *.nothing: applies nowhere":      func(r *ir.Rules) { addRule(&r.Defaults, ir.Default{At: "*.nothing", JSON: "1", Why: why}) },
		"rules: Orders Role2: applies nowhere":            func(r *ir.Rules) { addRule(&r.Orders, ir.Order{At: "Role2", Why: why}) },
		"rules: Areas nothing/*: applies nowhere":         func(r *ir.Rules) { addRule(&r.Areas, ir.AreaOf{At: "nothing/*", Area: "x", Why: why}) },
		"rules: Ordered Tool.nothing: applies nowhere":    func(r *ir.Rules) { addRule(&r.Ordered, ir.Ordering{At: "Tool.nothing", Name: "X", Why: why}) },
		"rules: Types Nothing: applies nowhere":           func(r *ir.Rules) { addRule(&r.Types, ir.Builtin{At: "Nothing", Why: why}) },
		"rules: Open Tool.nothing: applies nowhere":       func(r *ir.Rules) { addRule(&r.Open, ir.Open{At: "Tool.nothing", Name: "X", Why: why}) },
		"rules: Widen Tool: applies nowhere": func(r *ir.Rules) {
			addRule(&r.Widen, ir.Widen{Definition: "Tool", In: "2024-11-05", Like: "Nothing", Why: why})
		},
		"rules: Metas Nothing: applies nowhere":                 func(r *ir.Rules) { addRule(&r.Metas, ir.MetaRole{Suffix: "Nothing", Type: "X", Why: why}) },
		"rules: Pointers Tool.name: applies nowhere or changes": func(r *ir.Rules) { addRule(&r.Pointers, ir.Pointer{At: "Tool.name", Why: why}) },
	} {
		_, err := buildWithRules(t, change)
		require.ErrorContains(t, err, want)
	}
}

func TestRuleWithoutReason(t *testing.T) {
	_, err := buildWithRules(t, func(r *ir.Rules) {
		r.Raw = slices.Clone(r.Raw)
		r.Raw[0].Why = ""
	})
	require.EqualError(t, err, "rules: ir.KeepRaw{At: \"Tool.inputSchema\", Zero: `{\"type\":\"object\"}`, Why: \"\"} has no reason; fill in Why")
}

func TestUnusedRulesWithMissingRevision(t *testing.T) {
	files, err := known()
	require.NoError(t, err)
	_, err = ir.Build(sources(files[:4]), &rules, noDocs(t))
	require.NoError(t, err)
}

func TestSuggestedRulesFixErrors(t *testing.T) {
	for name, c := range map[string]struct {
		edit   edit
		change func(*ir.Rules)
		joined bool // the change is also joined without the rule, with another Go type
	}{
		"a name for a value": {member("Tool", "mood", `{"type": "string", "enum": ["a b", "a-b"]}`),
			func(r *ir.Rules) { addRule(&r.Members, ir.MemberName{At: "ToolMood=a-b", Go: "ADashB", Why: why}) }, false},
		"a name for a union": {member("Tool", "sample", `{"anyOf": [{"$ref": "#/$defs/Icon"}, {"$ref": "#/$defs/Root"}]}`),
			func(r *ir.Rules) { addRule(&r.Names, ir.Name{At: "Tool.sample", Go: "Sample", Why: why}) }, true},
		"a name for a type": {define("Text", `{"type": "object", "properties": {"a": {"type": "string"}}}`),
			func(r *ir.Rules) { addRule(&r.Names, ir.Name{At: "Text", Go: "Letter", Why: why}) }, false},
		"a name for a request": {request("CallRequest", "call"),
			func(r *ir.Rules) { addRule(&r.Names, ir.Name{At: "CallRequest", Go: "RingRequest", Why: why}) }, false},
		"a name for an inline type": {combine(member("Tool", "kind", `{"type": "string", "enum": ["a"]}`), define("ToolKind", `{"type": "object", "properties": {"a": {"type": "string"}}}`)),
			func(r *ir.Rules) { addRule(&r.Names, ir.Name{At: "Tool.kind", Go: "ToolSort", Why: why}) }, true},
		"a definition that is framing": {define("LostNotification", `{"type": "object", "required": ["method"], "properties": {"method": {"type": "string", "const": "notifications/lost"}}}`),
			func(r *ir.Rules) { addRule(&r.Framing, ir.Framing{Definition: "LostNotification", Why: why}) }, true},
		"a raw value": {member("Tool", "mood", `{"anyOf": [{"type": "string"}, {"$ref": "#/$defs/Icon"}]}`),
			func(r *ir.Rules) { addRule(&r.Raw, ir.KeepRaw{At: "Tool.mood", Why: why}) }, true},
		"an error that was renamed": {func(defs object) {
			defs["HeaderClashError"] = defs["HeaderMismatchError"]
			delete(defs, "HeaderMismatchError")
		}, func(r *ir.Rules) {
			addRule(&r.Renamed, ir.Renaming{Old: "HeaderMismatchError", New: "HeaderClashError", Why: why})
			addRule(&r.Names, ir.Name{At: "HeaderClashError", Go: "HeaderMismatchError", Why: why})
		}, true},
		"a request that was renamed": {func(defs object) {
			defs["FetchPromptRequest"], defs["FetchPromptResult"] = clone(defs["GetPromptRequest"]), clone(defs["GetPromptResult"])
			defs["GetPromptResultResponse"].(object)["properties"].(object)["result"].(object)["anyOf"].([]any)[1] = parsed(`{"$ref": "#/$defs/FetchPromptResult"}`)
			defs["FetchPromptResultResponse"] = defs["GetPromptResultResponse"]
			for _, name := range []string{"GetPromptRequest", "GetPromptResult", "GetPromptResultResponse"} {
				delete(defs, name)
			}
			removeFromUnion("ClientRequest", "GetPromptRequest")(defs)
			removeFromUnion("ServerResult", "GetPromptResult")(defs)
			addToUnion("ClientRequest", "FetchPromptRequest")(defs)
		}, func(r *ir.Rules) {
			addRule(&r.Renamed, ir.Renaming{Old: "GetPromptRequest", New: "FetchPromptRequest", Why: why})
			addRule(&r.Renamed, ir.Renaming{Old: "GetPromptResult", New: "FetchPromptResult", Why: why})
			addRule(&r.Names, ir.Name{At: "FetchPromptRequest", Go: "GetPromptRequest", Why: why})
		}, true},
		"a change of a declaration": {member("PromptMessage", "content", `{"anyOf": [{"$ref": "#/$defs/ContentBlock"}, {"type": "array", "items": {"$ref": "#/$defs/ContentBlock"}}]}`),
			func(r *ir.Rules) { addRule(&r.Changes, ir.Change{At: "PromptMessage.content", Why: why}) }, true},
		"an enum that is open": {define("LoggingLevel", `{"type": "string"}`),
			func(r *ir.Rules) {
				addRule(&r.Open, ir.Open{At: "LoggingLevel", Name: "LoggingLevel", Values: []string{"debug"}, Why: why})
			}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			skipMost(t)
			_, err := buildWithRules(t, func(*ir.Rules) {}, c.edit)
			if err == nil {
				p, _ := buildWithRules(t, func(*ir.Rules) {}, c.edit)
				_, err = emit.Files(p)
			}
			require.Equal(t, c.joined, err == nil, "%v", err)
			p, err := buildWithRules(t, c.change, c.edit)
			require.NoError(t, err)
			newChecker(t).mustCheck(t, printed(t, p))
		})
	}
}

func TestRenamedMethodsAndErrorsKeepGoNames(t *testing.T) {
	before := surfaceOf(t, modelOf(t, 5))
	for old, c := range map[string]struct {
		now, want string
		edit      edit // in addition to the new name
	}{
		"DiscoverRequest": {"LookupRequest", "changes the Go declaration of method server/discover from Discover(DiscoverRequest) DiscoverResult to Lookup(LookupRequest) DiscoverResult",
			renamed("DiscoverResultResponse", "LookupResultResponse")},
		"CancelledNotification": {"StoppedNotification", "changes the Go declaration of method notifications/cancelled from Cancelled(CancelledNotification) to Stopped(StoppedNotification)", combine()},
		"HeaderMismatchError":   {"HeaderClashError", "changes the Go declaration of error -32020 from HeaderMismatchError to HeaderClashError", combine()},
	} {
		t.Run(old, func(t *testing.T) {
			t.Parallel()
			rename := func(r *ir.Rules) { addRule(&r.Renamed, ir.Renaming{Old: old, New: c.now, Why: why}) }
			edit := combine(c.edit, renamed(old, c.now))
			_, err := buildWithRules(t, rename, edit)
			require.ErrorContains(t, err, c.want)
			p, err := buildWithRules(t, func(r *ir.Rules) {
				rename(r)
				addRule(&r.Names, ir.Name{At: c.now, Go: old, Why: why})
			}, edit)
			require.NoError(t, err)
			require.Empty(t, changes(before, surfaceOf(t, p)))
		})
	}
}

// buildWithDocs compiles the schemas of the repository with a changed docs.txt.
func buildWithDocs(t *testing.T, change func(string) string) (*ir.Package, error) {
	t.Helper()
	text, err := os.ReadFile("../schema/docs.txt")
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "docs.txt")
	require.NoError(t, os.WriteFile(file, []byte(change(string(text))), 0o600))
	files, err := load.Dir("../schema")
	require.NoError(t, err)
	return build(files, file)
}

func TestDocsForUnknownNames(t *testing.T) {
	for key, want := range map[string]string{
		"NoSuchType":              "NoSuchType: no such name",
		"Tool.noSuchMember":       "Tool.noSuchMember: no such name",
		"*.noSuchMember":          "*.noSuchMember: no such name",
		"LoggingLevel=loud":       "LoggingLevel=loud: no such name",
		"method tools/noSuchCall": "method tools/noSuchCall: no such name",
		"error -1":                "error -1: no such name",
	} {
		_, err := buildWithDocs(t, func(text string) string { return text + "\n" + key + ": is unknown.\n" })
		require.ErrorContains(t, err, want)
	}
}

func TestDocsCoverRevision(t *testing.T) {
	without := func(text string) string { return strings.Replace(text, "\nTool: ", "\n# Tool: ", 1) }
	_, err := buildWithDocs(t, without)
	require.ErrorContains(t, err, `"Tool" has no text, but the texts cover 20`)

	p, err := buildWithDocs(t, func(text string) string {
		return regexp.MustCompile(`(?m)^covers: .*$`).ReplaceAllString(without(text), "covers: 2024-01-01")
	})
	require.NoError(t, err)
	require.Equal(t, []ir.Undocumented{{Key: "Tool", Since: "2024-11-05"}}, p.Undocumented)
}
