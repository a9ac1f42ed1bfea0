package load

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const docsText = `# Comment.

covers: 2026-07-28
# Types
Tool: A tool: what a model can call.
  It has a name.
	.
  Second paragraph,

# in two lines
  here.
Tool.inputSchema: The schema of its arguments.
*.icons: Pictures.
Resource.icons: Pictures of a resource.
*.io.modelcontextprotocol/clientInfo:
  Who asks.
LoggingLevel=debug: Everything.
method tools/call: Runs a tool.
method ping: Asks for a sign of life.
error -32602: Bad arguments.
`

func TestDocsLookup(t *testing.T) {
	d, err := ParseDocs("docs.txt", []byte(docsText))
	require.NoError(t, err)
	require.Equal(t, "2026-07-28", d.Covers)
	for _, test := range []lookup{
		result(d.Type("Tool"))("A tool: what a model can call. It has a name.\n\nSecond paragraph, here."),
		result(d.Member("Tool", "inputSchema"))("The schema of its arguments."),
		result(d.Member("Resource", "icons"))("Pictures of a resource."),
		result(d.Member("Tool", "icons"))("Pictures."),
		result(d.Member("RequestMeta", "io.modelcontextprotocol/clientInfo"))("Who asks."),
		result(d.Value("LoggingLevel", "debug"))("Everything."),
		result(d.Method("tools/call"))("Runs a tool."),
		result(d.Method("ping"))("Asks for a sign of life."),
		result(d.Error(-32602))("Bad arguments."),
		result(d.Type("Nothing"))(""),
		result(d.Member("Tool", "nothing"))(""),
		result(d.Type("ping"))(""),
	} {
		require.Equal(t, test.want, test.text)
		require.Equal(t, test.want != "", test.ok)
	}
	require.Empty(t, d.Unused())
}

// A lookup is a result of Docs and the expected text.
type lookup struct {
	text string
	ok   bool
	want string
}

func result(text string, ok bool) func(want string) lookup {
	return func(want string) lookup { return lookup{text, ok, want} }
}

func TestDocsUnused(t *testing.T) {
	d, err := ParseDocs("docs.txt", []byte("covers: 2026-07-28\nTool: x\nTool.b: x\n*.b: x\nerror -1: x\n"))
	require.NoError(t, err)
	d.Type("Tool")
	d.Member("Tool", "b")
	require.Equal(t, []string{"docs.txt:4: *.b", "docs.txt:5: error -1"}, d.Unused())
}

func TestInvalidDocs(t *testing.T) {
	const covers = "covers: 2026-07-28\n"
	for text, want := range map[string]string{
		"":                                 `docs.txt:1: the first entry must be "covers: <revision>"`,
		"# nothing\n":                      `docs.txt:1: the first entry must be "covers: <revision>"`,
		"\nTool: x\n":                      `docs.txt:2: the first entry must be "covers: <revision>", not "Tool"`,
		"covers: soon\n":                   `docs.txt:1: covers: revision "soon" is not a date; write it like 2026-07-28`,
		"  lost\n" + covers:                `docs.txt:1: indented line without an entry above`,
		covers + covers:                    `docs.txt:2: "covers" is not a valid key; keys are Type, Type.member, *.member, Type=value, method name, error code`,
		covers + "Tool: x\nTool: y\n":      `docs.txt:3: Tool already has a text in line 2`,
		covers + "error 1: x\nerror 01: y": `docs.txt:3: error 01 already has a text in line 2`,
		covers + "Tool:\n\nTask: x\n":      `docs.txt:2: Tool has no text`,
		covers + "Tool:\n  .\n":            `docs.txt:2: Tool has no text`,
		covers + "Tool is\n  a thing\n":    `docs.txt:2: "Tool is" is not an entry; write "key: text", and indent continuation lines`,
		covers + ": x\n":                   `docs.txt:2: ": x" is not an entry; write "key: text", and indent continuation lines`,
		covers + "tools/call: x\n":         `docs.txt:2: "tools/call" is not a valid key; keys are Type, Type.member, *.member, Type=value, method name, error code`,
		covers + "error x: y\n":            `docs.txt:2: "error x" is not a valid key; keys are Type, Type.member, *.member, Type=value, method name, error code`,
		covers + "*: y\n":                  `docs.txt:2: "*" is not a valid key; keys are Type, Type.member, *.member, Type=value, method name, error code`,
	} {
		d, err := ParseDocs("docs.txt", []byte(text))
		require.Nil(t, d, text)
		require.EqualError(t, err, want, text)
	}
}
