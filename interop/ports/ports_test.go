package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEdit(t *testing.T) {
	text := "one\ntwo\nthree\nfour\nfive\n"
	got, changed, err := edit(text, "5d\n3,4c\nthird\n.\n1a\nnew\nnewer\n.\n")
	require.NoError(t, err)
	require.Equal(t, "one\nnew\nnewer\ntwo\nthird\n", got)
	require.Equal(t, 5, changed)
	got, changed, err = edit("", "0a\nfirst\n.\n")
	require.NoError(t, err)
	require.Equal(t, "first\n", got)
	require.Equal(t, 1, changed)
	for script, want := range map[string]string{
		"x\n":          `invalid command "x"`,
		"1x\n":         `invalid command "1x"`,
		"9d\n":         `the lines of "9d" do not exist`,
		"0a\nnew\n":    `the lines of "0a" do not exist`,
		"1c\nno end":   `the lines after "1c" have no end`,
		"3,2c\nx\n.\n": `the lines of "3,2c" do not exist`,
	} {
		_, _, err := edit(text, script)
		require.EqualError(t, err, want)
	}
}

func TestImportsAndEdits(t *testing.T) {
	tree := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(tree, name)), 0o777))
		require.NoError(t, os.WriteFile(filepath.Join(tree, name), []byte(text), 0o666))
	}
	old := "package p\n\nimport \"github.com/mark3labs/mcp-go/mcp\"\n"
	write("a.go", old)
	write("e2e/b.go", old)
	write("c.txt", old)
	files, err := mcpgo.change(tree)
	require.NoError(t, err)
	require.Equal(t, 2, files)
	for name, changed := range map[string]bool{"a.go": true, "e2e/b.go": true, "c.txt": false} {
		text, err := os.ReadFile(filepath.Join(tree, name))
		require.NoError(t, err)
		require.Equal(t, changed, string(text) == "package p\n\nimport \"github.com/mcpwright/mcp/compat/mcpgo/mcp\"\n")
	}
	changed, err := applyEdits("absent", tree)
	require.NoError(t, err)
	require.Zero(t, changed)
	_, err = applyEdits("mcp-grafana", tree)
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestDifferences(t *testing.T) {
	decode := func(text string) (v any) {
		require.NoError(t, json.Unmarshal([]byte(text), &v))
		return v
	}
	original := decode(`{"same":1,"gone":2,"list":[{"a":1,"at":"0xff"}],"short":[1],"kind":"1","null":null}`)
	port := decode(`{"same":1,"new":3,"list":[{"a":2,"at":"0xfe"}],"short":[1,2],"kind":1,"null":null}`)
	require.Equal(t, []difference{
		{"x:/gone", "2", ""},
		{"x:/kind", `"1"`, "1"},
		{"x:/list/*/a", "1", "2"},
		{"x:/new", "", "3"},
		{"x:/short", "[1]", "[1,2]"},
	}, differences(original, port, "x:"))
	require.Empty(t, differences(original, original, "x:"))
}

func TestCompareCountsUnexplained(t *testing.T) {
	s := &server{calls: []string{"x {}"}, differences: []explained{
		{regexp.MustCompile("^x:/a$"), "a differs"}, {regexp.MustCompile("^x:/z$"), "z differs"}}}
	responses := func(a, b int) []any {
		return []any{nil, nil, map[string]any{"a": a, "b": b}}
	}
	require.Equal(t, 1, s.compare(responses(1, 1), responses(2, 1)), "z did not differ")
	require.Equal(t, 2, s.compare(responses(1, 1), responses(2, 2)), "b differs, too")
}

// TestCall uses this program as a server.
func TestCall(t *testing.T) {
	if os.Getenv("PORTS_TEST_SERVER") != "" {
		for decoder := json.NewDecoder(os.Stdin); decoder.More(); {
			var m struct {
				ID     *int
				Method string
			}
			require.NoError(t, decoder.Decode(&m))
			fmt.Println(`{"jsonrpc":"2.0","method":"notifications/message"}`)
			if m.ID != nil {
				fmt.Printf(`{"jsonrpc":"2.0","id":%d,"result":{"method":%q}}`+"\n", *m.ID, m.Method)
			}
		}
		os.Exit(0)
	}
	s := &server{args: []string{"-test.run=^TestCall$"}, env: []string{"PORTS_TEST_SERVER=1"}, calls: []string{"ping {}"}}
	responses, err := s.call(t.Context(), os.Args[0])
	require.NoError(t, err)
	require.Len(t, responses, 3)
	require.Nil(t, responses[1], "a notification has no response")
	require.Equal(t, map[string]any{"method": "ping"}, responses[2].(map[string]any)["result"])
}

func TestReadTests(t *testing.T) {
	failed, passed, err := readTests([]byte(`{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"fail","Package":"p","Test":"TestB/sub"}
{"Action":"fail","Package":"p","Test":"TestB"}
{"Action":"fail","Package":"p"}
{"Action":"build-fail","ImportPath":"q"}
{"Action":"fail","Package":"q"}
`))
	require.NoError(t, err)
	require.Equal(t, 1, passed)
	require.Equal(t, []string{"TestB", "q"}, slices.Sorted(maps.Keys(failed)))
	_, _, err = readTests([]byte("no JSON"))
	require.Error(t, err)
}
