package main

import (
	"go/ast"
	"go/parser"
	"hash/crc32"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/gen/internal/ir"
	"github.com/mcpwright/mcp/gen/internal/load"
	"github.com/mcpwright/mcp/gen/internal/refusal"
)

// invalidSchemas are edits of an official file that the loader refuses.
var invalidSchemas = map[string]edit{
	"a keyword":                       member("Tool", "code", `{"type": "string", "pattern": "^a"}`),
	"a keyword of a definition":       define("Code", `{"type": "string", "maxLength": 3}`),
	"names of properties":             member("Tool", "codes", `{"type": "object", "additionalProperties": {}, "propertyNames": {"type": "string", "pattern": "^a"}}`),
	"several keywords":                combine(member("Tool", "code", `{"type": "string", "minLength": 1, "maxLength": 3}`), member("Icon", "rank", `{"type": "integer", "multipleOf": 2}`)),
	"a member that is false":          member("Tool", "never", `false`),
	"elements that are false":         member("Tool", "none", `{"type": "array", "items": false}`),
	"a schema that is a number":       member("Tool", "n", `3`),
	"a reference to nothing":          member("Tool", "nothing", `{"$ref": "#/$defs/Nothing"}`),
	"a reference to another file":     member("Tool", "far", `{"$ref": "https://example.com/a.json"}`),
	"a reference that is a number":    member("Tool", "far", `{"$ref": 3}`),
	"a required member without type":  requireMembers("Tool", "nothing"),
	"an unknown type":                 member("Tool", "code", `{"type": "text"}`),
	"a reference beside a keyword":    member("Tool", "icon", `{"$ref": "#/$defs/Icon", "required": ["src"]}`),
	"a keyword of another type":       member("Tool", "code", `{"type": "string", "minimum": 3}`),
	"a keyword without a type":        member("Tool", "code", `{"minimum": 3}`),
	"members and a map of one type":   define("Both", `{"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "string"}}`),
	"an enum without values":          member("Tool", "code", `{"type": "string", "enum": []}`),
	"a bound that is a string":        member("Tool", "code", `{"type": "integer", "minimum": "3"}`),
	"a description that is a number":  member("Tool", "code", `{"type": "integer", "description": 3}`),
	"a name that Go does not allow":   combine(define("Über-Typ", `{"type": "object", "properties": {"a": {"type": "string"}}}`), member("Tool", "typ", `{"$ref": "#/$defs/Über-Typ"}`)),
	"a union of no schemas":           define("Nothing", `{"anyOf": []}`),
	"a keyword and a constant":        combine(member("Tool", "code", `{"type": "string", "pattern": "^a"}`), member("TextContent", "type", `{"type": "string", "const": "prose"}`)),
	"a keyword and clashing names":    combine(member("Tool", "code", `{"type": "string", "pattern": "^a"}`), define("Text", `{"type": "object", "properties": {"a": {"type": "string"}}}`)),
	"an error and a clashing request": combine(newErrorCode, func(defs object) { defs["QuotaGoneError"] = clone(defs["QuotaExceededError"]) }, request("CallRequest", "call")),
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

// pastedRules returns the rules of the first choices in a printed form.
func pastedRules(t *testing.T, text string) (list []any) {
	t.Helper()
	first := true
	for line := range strings.Lines(text) {
		switch line = strings.TrimRight(line, "\n"); {
		case !strings.HasPrefix(line, "\t"):
			first = true
		case line == "\tor:":
			first = false
		case first && strings.HasPrefix(line, "\tir."):
			rule := ruleOf(t, strings.TrimSuffix(line, ","))
			if !containsRule(list, rule) {
				list = append(list, rule)
			}
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

// ruleTypes are the rules that a form may have.
var ruleTypes = map[string]any{"Edit": ir.Edit{}, "Name": ir.Name{}, "MemberName": ir.MemberName{}, "Framing": ir.Framing{}, "Builtin": ir.Builtin{},
	"Renaming": ir.Renaming{}, "Open": ir.Open{}, "Change": ir.Change{}, "Page": ir.Page{}, "KeepRaw": ir.KeepRaw{}}

// ruleOf evaluates a rule that is a Go literal.
func ruleOf(t *testing.T, text string) any {
	t.Helper()
	e, err := parser.ParseExpr(text)
	require.NoError(t, err, text)
	lit := e.(*ast.CompositeLit)
	zero, ok := ruleTypes[lit.Type.(*ast.SelectorExpr).Sel.Name]
	require.True(t, ok, text)
	v := reflect.New(reflect.TypeOf(zero)).Elem()
	for _, el := range lit.Elts {
		kv := el.(*ast.KeyValueExpr)
		f := v.FieldByName(kv.Key.(*ast.Ident).Name)
		switch x := kv.Value.(type) {
		case *ast.BasicLit:
			s, err := strconv.Unquote(x.Value)
			require.NoError(t, err)
			f.SetString(s)
		case *ast.CompositeLit:
			for _, el := range x.Elts {
				s, err := strconv.Unquote(el.(*ast.BasicLit).Value)
				require.NoError(t, err)
				f.Set(reflect.Append(f, reflect.ValueOf(s)))
			}
		case *ast.SelectorExpr:
			require.Equal(t, "ir.Raw", "ir."+x.Sel.Name, "the only constant in a form")
			f.Set(reflect.ValueOf(ir.Raw))
		default:
			t.Fatalf("%s: %T", text, x)
		}
	}
	require.Equal(t, text[1:], refusal.Go(v.Interface()), "the literal is complete")
	return v.Interface()
}

func TestFormListsAllRefusals(t *testing.T) {
	in := refusedInput(t, combine(invalidSchemas["a keyword"], changedForms["a constant that changes"].edit, clashingNames["a type named like a generated function"].edit,
		brokenMessages["a page with two lists"].edit))
	_, err := in.compile(&rules)
	text := in.refuse(err, &rules).Error()
	for _, want := range []string{
		"2027-03-01#/$defs/Tool/properties/code/pattern: unsupported keyword",
		"2027-03-01#/$defs/TextContent/properties/type: the revisions define",
		"2027-03-01#/$defs/Text: the generated code declares",
		`2027-03-01#/$defs/ListAgentsResult: the result of the paged method "agents/list" has two lists`,
		`ir.Edit{In: "2027-03-01", At: "/$defs/Tool/properties/code/pattern", Why: ""},`,
		`ir.Edit{In: "2027-03-01", At: "/$defs/TextContent", Name: "TextContentObject", Why: ""},`,
		`ir.Page{Method: "agents/list", List: "agents", Why: ""},` + "\n\tor:\n\t// The pages are pages of \"more\".",
		"Paste one choice for each into Decisions in gen/rules.go",
	} {
		require.Contains(t, text, want)
	}
}
