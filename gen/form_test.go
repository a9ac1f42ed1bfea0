package main

import (
	"encoding/json"
	"hash/crc32"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/gen/internal/load"
	"github.com/mcpwright/mcp/gen/internal/refusal"
)

// invalidSchemas are edits of an official file that the loader refuses.
var invalidSchemas = map[string]edit{
	"a keyword":                              member("Tool", "code", `{"type": "string", "unevaluatedItems": {}}`),
	"a keyword of a definition":              define("Code", `{"type": "string", "$dynamicRef": "a"}`),
	"a schema that is a number":              member("Tool", "n", `3`),
	"a reference to nothing":                 member("Tool", "nothing", `{"$ref": "#/$defs/Nothing"}`),
	"a reference to another file":            member("Tool", "far", `{"$ref": "https://example.com/a.json"}`),
	"a reference that is a number":           member("Tool", "far", `{"$ref": 3}`),
	"keywords that need members of a result": func(defs object) { defs["CallToolResult"].(object)["minProperties"] = json.Number("4") },
	"keywords that need members of a member": func(defs object) {
		defs["Tool"].(object)["if"] = parsed(`{"properties": {"annotations": {"required": ["title"]}}}`)
		defs["Tool"].(object)["then"] = parsed(`{"required": ["description"]}`)
	},
	"a result that is anything": define("CompleteResult", `{}`),
	"a result that is a string": define("CompleteResult", `{"type": "string"}`),
	"a result that is a list":   define("ReadResourceResult", `{"type": "array", "items": {"$ref": "#/$defs/Icon"}}`),
	"a response with an object": func(defs object) {
		defs["ListToolsResultResponse"].(object)["properties"].(object)["result"] = parsed(`{"type": "object", "required": ["tools"], "properties": {"tools": {"type": "array", "items": {"$ref": "#/$defs/Tool"}}}}`)
	},
	"a response with any result": func(defs object) {
		defs["ListToolsResultResponse"].(object)["properties"].(object)["result"] = parsed(`{}`)
	},
	"params that are a string":    define("CallToolRequestParams", `{"type": "string"}`),
	"params that become a union":  define("CallToolRequestParams", `{"anyOf": [{"$ref": "#/$defs/PaginatedRequestParams"}, {"$ref": "#/$defs/CompleteRequestParams"}]}`),
	"a method that is any string": member("CallToolRequest", "method", `{"type": "string"}`),
	"a method with two names":     member("CallToolRequest", "method", `{"type": "string", "enum": ["tools/call", "tools/run"]}`),
	"a keyword of an ID":          member("ListRootsRequest", "id", `{"$ref": "#/$defs/RequestId", "minLength": 3}`),
	"one of two results": func(defs object) {
		result := defs["CallToolResultResponse"].(object)["properties"].(object)["result"].(object)
		result["oneOf"] = result["anyOf"]
		delete(result, "anyOf")
	},
	"an unknown type":                         member("Tool", "code", `{"type": "text"}`),
	"an enum without values":                  member("Tool", "code", `{"type": "string", "enum": []}`),
	"a bound that is a string":                member("Tool", "code", `{"type": "integer", "minimum": "3"}`),
	"a description that is a number":          member("Tool", "code", `{"type": "integer", "description": 3}`),
	"a name that Go does not allow":           combine(define("Über-Typ", `{"type": "object", "properties": {"a": {"type": "string"}}}`), member("Tool", "typ", `{"$ref": "#/$defs/Über-Typ"}`)),
	"a name with a letter of no ASCII":        define("Über", `{"type": "object", "properties": {"a": {"type": "string"}}}`),
	"an invalid name of a keyword":            define("my-type", `{"type": "string", "unevaluatedItems": {}}`),
	"an invalid name of a null":               define("my-type", `{"type": "null"}`),
	"an invalid name in a union":              combine(define("2nd", `{"type": "object", "properties": {"a": {"type": "string"}}}`), addToUnion("ClientRequest", "2nd")),
	"an invalid name of a union":              define("2nd", `{"anyOf": [{"type": "string"}, {"$ref": "#/$defs/Icon"}, {"type": "array", "items": {}}]}`),
	"an invalid name of a request":            renamed("CallToolRequest", "2nd"),
	"a union of values among messages":        addToUnion("ClientRequest", "ContentBlock"),
	"another name of a value in messages":     combine(define("OtherRoot", `{"$ref": "#/$defs/Root"}`), addToUnion("ClientRequest", "OtherRoot")),
	"a message that requires another member":  requireMembers("ListRootsRequest", "nothing"),
	"a definition that is itself":             define("Self", `{"$ref": "#/$defs/Self"}`),
	"definitions in a circle":                 combine(define("Self", `{"allOf": [{"$ref": "#/$defs/Other"}]}`), define("Other", `{"anyOf": [{"$ref": "#/$defs/Self"}]}`)),
	"an allOf that contains itself":           member("Root", "icon", `{"allOf": [{"$ref": "#/$defs/Icon"}, {"$ref": "#/$defs/Root"}]}`),
	"a union of no schemas":                   define("Nothing", `{"anyOf": []}`),
	"a keyword and a constant":                combine(member("Tool", "code", `{"type": "string", "unevaluatedItems": {}}`), member("TextContent", "type", `{"type": "string", "const": "prose"}`)),
	"a keyword and clashing names":            combine(member("Tool", "code", `{"type": "string", "unevaluatedItems": {}}`), define("Text", `{"type": "object", "properties": {"a": {"type": "string"}}}`)),
	"a result that is not defined":            undefine("CompleteResult"),
	"params that are another definition":      member("ElicitRequest", "params", `{"$ref": "#/$defs/ToolAnnotations"}`),
	"params that are another object":          member("ElicitRequest", "params", `{"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}}`),
	"a constant of params that becomes a map": member("ElicitRequestFormParams", "mode", `{"type": "object", "additionalProperties": {"type": "integer"}}`),
	"a request that becomes a string":         define("ElicitRequest", `{"type": "string"}`),
}

// refusedInput returns the input with an edited official file.
func refusedInput(t *testing.T, e edit) *input {
	t.Helper()
	released, err := known()
	require.NoError(t, err)
	return &input{schema: "../schema", docs: "../schema/docs.txt", released: released, official: []byte(futureSchema(t, e)),
		name: futureRevision, entry: load.Entry{Revision: futureRevision}}
}

func TestFormsCanBeFilledIn(t *testing.T) {
	all := make(map[string]edit)
	for _, table := range []map[string]mergeError{changedForms, clashingNames, brokenMessages, unsupportedTypes} {
		for name, r := range table {
			all[name] = r.edit
		}
	}
	for name, e := range invalidSchemas {
		all[name] = e
	}
	require.Greater(t, len(all), 50)
	for name, e := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && crc32.ChecksumIEEE([]byte(name))%12 != 0 {
				t.Skip("-short runs one of twelve subtests, which compile several times")
			}
			fillIn(t, refusedInput(t, e))
		})
	}
}

// TestFormsOfHistory fills in the forms of all states of the draft that are refused.
func TestFormsOfHistory(t *testing.T) {
	states, err := filepath.Glob("../../shared/spec/history/*.json")
	require.NoError(t, err)
	if len(states) == 0 || testing.Short() {
		t.Skip("needs the states of the draft, and time")
	}
	released, err := load.Dir("../schema")
	require.NoError(t, err)
	for _, state := range states {
		t.Run(filepath.Base(state), func(t *testing.T) {
			t.Parallel()
			official, err := os.ReadFile(state)
			require.NoError(t, err)
			in := &input{schema: "../schema", docs: "../schema/docs.txt", released: released, official: official, name: nextRevision, entry: load.Entry{Revision: nextRevision}}
			if _, err := in.compile(&rules); err != nil {
				fillIn(t, in)
			}
		})
	}
}

// fillIn pastes the first choice of each refusal until the input compiles, which takes at most three
// runs.
func fillIn(t *testing.T, in *input) {
	t.Helper()
	_, err := in.compile(&rules)
	require.Error(t, err, "the input is not refused")
	r := rules
	for run := 1; ; run++ {
		require.LessOrEqual(t, run, 3)
		text := in.refuse(err, &r).Error()
		if testing.Verbose() {
			t.Log(text)
		}
		require.NotContains(t, text, "no rule resolves this")
		pasted := pastedRules(t, text)
		require.NotEmpty(t, pasted, text)
		r.Decisions = append(append([]any{}, r.Decisions...), pasted...)
		_, err = in.compile(&r)
		require.ErrorContains(t, err, "has no reason; fill in Why", "the reason must be asked for")
		for i, rule := range r.Decisions {
			r.Decisions[i] = withReason(rule, why)
		}
		var c *compilation
		if c, err = in.compile(&r); err == nil {
			newChecker(t).mustCheck(t, c.printed)
			require.NotContains(t, string(c.raw), prose)
			return
		}
	}
}

// pastedRules returns the rules of the first choices in a printed form, without repetitions.
func pastedRules(t *testing.T, text string) (list []any) {
	t.Helper()
	var literals []string
	first := true
	for line := range strings.Lines(text) {
		switch line = strings.TrimRight(line, "\n"); {
		case !strings.HasPrefix(line, "\t"):
			first = true
		case line == "\tor:":
			first = false
		case first && strings.HasPrefix(line, "\tir."):
			literals = append(literals, line)
		}
	}
	rules, err := parseRules("form", []byte(strings.Join(literals, "\n")))
	require.NoError(t, err)
	for i, rule := range rules {
		require.Equal(t, literals[i], "\t"+refusal.Go(rule)+",", "the literal is complete")
		if !containsRule(list, rule) {
			list = append(list, rule)
		}
	}
	return list
}

func containsRule(list []any, rule any) bool {
	for _, r := range list {
		if reflect.DeepEqual(r, rule) {
			return true
		}
	}
	return false
}

func TestFormListsAllRefusals(t *testing.T) {
	in := refusedInput(t, combine(invalidSchemas["a keyword"], changedForms["a _meta that is not an object"].edit, clashingNames["two values with one name"].edit,
		brokenMessages["a page with two lists"].edit))
	_, err := in.compile(&rules)
	text := in.refuse(err, &rules).Error()
	for _, want := range []string{
		"2027-03-01#/$defs/Tool/properties/code/unevaluatedItems: unsupported keyword",
		"2027-03-01#/$defs/CallToolResult/properties/_meta: the revisions define",
		"2027-03-01#/$defs/Tool/properties/mood: the value",
		`2027-03-01#/$defs/ListAgentsResult: the result of the paged method "agents/list" has two lists`,
		`ir.Edit{In: "2027-03-01", At: "/$defs/Tool/properties/code/unevaluatedItems", Why: ""},`,
		`ir.Edit{In: "2027-03-01", At: "/$defs/CallToolResult/properties/_meta", From: "2026-07-28", Why: ""},`,
		`ir.Page{Method: "agents/list", List: "agents", Why: ""},` + "\n\tor:\n\t// The pages are pages of \"more\".",
		"Paste one choice for each into Decisions in gen/rules.go",
	} {
		require.Contains(t, text, want)
	}
}

func TestFormsHaveMissingTexts(t *testing.T) {
	texts, err := os.ReadFile("../schema/docs.txt")
	require.NoError(t, err)
	in := refusedInput(t, combine(member("Tool", "mood", `{"type": "string", "enum": ["good"]}`), clashingNames["a member without a Go name"].edit))
	in.docs = filepath.Join(t.TempDir(), "docs.txt")
	covering := regexp.MustCompile(`(?m)^covers: .*$`).ReplaceAllString(string(texts), "covers: "+futureRevision)
	require.NoError(t, os.WriteFile(in.docs, []byte(covering), 0o600))
	_, err = in.compile(&rules)
	form := in.refuse(err, &rules).Error()
	require.Contains(t, form, "2027-03-01#/$defs/Tool/properties/2nd: the member")
	var added string
	for line := range strings.Lines(form) {
		if strings.HasSuffix(line, ": \n") && line[0] == '\t' || strings.HasSuffix(line, ": ") {
			added += strings.TrimSpace(line) + " is a text.\n"
		}
	}
	require.Contains(t, added, "Tool.mood: is a text.\n")
	require.NoError(t, os.WriteFile(in.docs, []byte(covering+"\n"+added), 0o600))
	r := rules
	for _, rule := range pastedRules(t, form) {
		addRule(&r.Decisions, withReason(rule, why))
	}
	c, err := in.compile(&r)
	require.NoError(t, err)
	newChecker(t).mustCheck(t, c.printed)
}

// refusedExtensions are schemas of extensions that the compiler refuses: a text and its replacement.
var refusedExtensions = map[string][2]string{
	"a keyword":                 {`"enum": ["metric", "imperial"]`, `"$dynamicRef": "a"`},
	"a reference to nothing":    {"#/$defs/Units", "#/$defs/Unit"},
	"a reference to itself":     {`{"type": "string", "enum": ["metric", "imperial"]}`, `{"$ref": "#/$defs/Units"}`},
	"a list of itself":          {`{"type": "string", "enum": ["metric", "imperial"]}`, `{"type": "array", "items": {"$ref": "#/$defs/Units"}}`},
	"parts that contradict":     {`{"anyOf": [{"type": "number"}, {"type": "null"}]}`, `{"allOf": [` + needs("a", "string") + ` {"type": "object", "properties": {"a": {"type": "number"}}}]}`},
	"a method of protocol":      {"weather/forecast", "tools/call"},
	"three values of one name":  {`["metric", "imperial"]`, `["a b", "a-b", "a_b"]`},
	"three types of one name":   {`"Units":`, `"FooBar": {"type": "object", "properties": {"a": {}}}, "fooBar": {"type": "object", "properties": {"b": {}}}, "foo_bar": {"type": "object", "properties": {"c": {}}}, "Units":`},
	"three members of one name": {`"city": {"type": "string"}, "days"`, `"city": {"type": "string"}, "a_b": {}, "a-b": {}, "aB": {}, "days"`},
	"a name for no Go type":     {`"Units":`, `"2nd": {"type": "object", "properties": {"a": {"type": "string"}}}, "Units":`},
	"a reference to a file":     {"#/$defs/Units", "https://example.com/a.json#/$defs/Units"},
	"two values of one name":    {`["metric", "imperial"]`, `["a b", "a-b"]`},
	"metadata that may be null": {`"days": {"type": "array", "items": {"$ref": "#/$defs/Day"}}, "source"`, `"_meta": {"anyOf": [{"type": "object"}, {"type": "null"}]}, "days": {"type": "array", "items": {"$ref": "#/$defs/Day"}}, "source"`},
	"a name of the package":     {`"Units":`, `"Name": {"type": "object", "properties": {"a": {"type": "string"}}}, "Units":`},
}

func TestFormsOfExtensions(t *testing.T) {
	for name, replaced := range refusedExtensions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			skipMost(t)
			text := strings.Replace(weather, replaced[0], replaced[1], 1)
			pasted := filepath.Join(t.TempDir(), "rules.txt")
			require.NoError(t, os.WriteFile(pasted, nil, 0o600))
			_, _, err := compiled(t, text)
			require.Error(t, err, "the schema is not refused")
			for run := 1; err != nil; run++ {
				require.LessOrEqual(t, run, 3, "%v", err)
				require.Contains(t, err.Error(), "\nPaste one choice for each into the file of -rules, ")
				var b strings.Builder
				for _, rule := range pastedRules(t, err.Error()) {
					b.WriteString(refusal.Go(withReason(rule, why)) + ",\n")
				}
				require.NotEmpty(t, b.String(), err.Error())
				old, failed := os.ReadFile(pasted)
				require.NoError(t, failed)
				require.NoError(t, os.WriteFile(pasted, append(old, b.String()...), 0o600))
				_, _, err = compiled(t, text, "-rules", pasted)
			}
		})
	}
}

func TestInvalidRules(t *testing.T) {
	for text, want := range map[string]string{
		`ir.Edit{At: "/a", Why: ""},`:      "has no reason; fill in Why",
		`ir.Edit{`:                         "rules.txt:2:",
		"\nir.Edit{Where: \"/a\"},":        "rules.txt:2:9: this is not part of a rule",
		`ir.Edit{At: 3},`:                  "rules.txt:1:19: this is not part of a rule",
		`ir.Edit{At: f()},`:                "this is not part of a rule",
		`ir.Edit{"/a"},`:                   "this is not part of a rule",
		`ir.Builtin{At: "A", Kind: ir.X},`: "this is not part of a rule",
		`ir.Other{},`:                      "rules.txt:1:7: this is not part of a rule",
		`3,`:                               "rules.txt:1:7: this is not part of a rule",
		`} + []any{`:                       "the file has more than rules",
	} {
		file := filepath.Join(t.TempDir(), "rules.txt")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		files, _, err := compiled(t, weather, "-rules", file)
		require.ErrorContains(t, err, want)
		require.Empty(t, files)
	}
	_, _, err := compiled(t, weather, "-rules", "missing.txt")
	require.ErrorContains(t, err, "read rules: open missing.txt")
}

func TestChoicesAreDifferent(t *testing.T) {
	text := strings.Replace(weather, `"description": "The settings."`, `"patternProperties": {"^x-": {"required": ["a"]}}`, 1)
	_, _, err := compiled(t, text, "-server", "WeatherCapability")
	require.ErrorContains(t, err, "may require a member with an empty value")
	require.Equal(t, 1, strings.Count(err.Error(), `At: "/$defs/WeatherCapability"`), err.Error())
}
