package main

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/gen/internal/ir"
	"github.com/mcpwright/mcp/gen/internal/load"
)

// allChanges are the changes of the future revision together.
var allChanges = combine(newClientRequest, newServerRequest, newEmbeddedRequest, newClientNotification, newServerNotification,
	newContent, newMembers, newEnumValue, newUnion, removedMethod, newPagedList, newErrorCode)

func TestFutureRevisionWithoutNewGoCode(t *testing.T) {
	j := importFuture(t, allChanges)
	summary, files := compile(t, j)
	o := newOverlay(t, j.out)
	t.Run("old programs print the same", func(t *testing.T) {
		skipIfShort(t)
		require.Equal(t, runProgram(t, "old"), runProgram(t, "old", "-overlay", o.file))
	})
	t.Run("new programs use all new names", func(t *testing.T) {
		skipIfShort(t)
		out := runProgram(t, "new", "-overlay", o.file)
		golden(t, "testdata/future/new/want.txt", out)
		validateLines(t, j.schema, out)
	})
	t.Run("vet reports nothing", func(t *testing.T) {
		skipIfShort(t)
		goRun(t, exec.Command("go", "vet", "-overlay", o.file, "../generated/mcp", "./testdata/future/old", "./testdata/future/new"))
	})
	t.Run("names without docs are reported", func(t *testing.T) { golden(t, "testdata/future/summary.txt", summary) })
	t.Run("names without docs have plain docs", func(t *testing.T) { checkPlainDocs(t, files) })
}

var update = flag.Bool("update", false, "update the golden files")

// skipIfShort skips a test that runs the go command if -short is set.
func skipIfShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short builds no programs")
	}
}

func TestNumberBoundsOfFutureRevision(t *testing.T) {
	p, err := futureModel(t, newBounds)
	require.NoError(t, err)
	files := printed(t, p)
	for file, lines := range map[string][]string{
		"lifecycle_codec.go": {"x.Progress = d.NumberIn(since20270301, 0, math.MaxFloat64)", "b = e.NumberIn(b, x.Progress, since20270301, 0, math.MaxFloat64)"},
		"sampling_codec.go":  {"x.MaxTokens = d.IntIn(since20270301, 1, math.MaxInt64)", "b = e.IntIn(b, x.MaxTokens, since20270301, 1, math.MaxInt64)"},
		"common_codec.go":    {"x.Priority = new(d.Number(0, 1))"},
	} {
		for _, line := range lines {
			require.Contains(t, string(files[file]), line)
		}
	}
}

func TestUnlistedMessagesKeepTheirDirection(t *testing.T) {
	p, err := futureModel(t, unlistedMessages)
	require.NoError(t, err)
	before := modelOf(t, 5)
	for _, wire := range []string{"resources/templates/list", "notifications/progress", "notifications/message"} {
		is := func(m *ir.Method) bool { return m.Wire == wire }
		was, now := before.Methods[slices.IndexFunc(before.Methods, is)], p.Methods[slices.IndexFunc(p.Methods, is)]
		require.Equal(t, was.FromClient.Has(4), now.FromClient.Has(5), wire)
		require.Equal(t, was.FromServer.Has(4), now.FromServer.Has(5), wire)
	}
}

func TestAllOfRequiresMembersOfAnyPart(t *testing.T) {
	p, err := futureModel(t, define("Folded", `{"allOf": [{"$ref": "#/$defs/Icon"}, {"type": "object", "properties": {"src": {"type": "string"}}}]}`))
	require.NoError(t, err)
	require.Contains(t, string(printed(t, p)["common_codec.go"]), "&wire.Members{Type: \"Folded\", List: []wire.Member{\n\t{Name: \"src\", In: wire.Always, Required: wire.Always},\n")
}

func TestPrimitivesWithNumbersAllowFractions(t *testing.T) {
	p, err := futureModel(t, newForms)
	require.NoError(t, err)
	codec := string(printed(t, p)["tools_codec.go"])
	require.Contains(t, codec, "x.Answer = d.Primitive(0, false)")
	require.Contains(t, codec, "return d.Primitive(0, true)")
	require.Contains(t, codec, `",\"f`+"`"+`g\\u0001\":"`)
}

// checkPlainDocs checks the docs of new names, and that descriptions are not in the
// files.
func checkPlainDocs(t *testing.T, files map[string][]byte) {
	t.Helper()
	for file, want := range map[string]string{
		"tools.go":    "\t// Version is the member \"version\", since 2027-03-01.\n\tVersion string\n",
		"agents.go":   "// ListAgentsRequest is the message agents/list, since 2027-03-01.\n",
		"common.go":   "// VideoContent is the definition VideoContent, since 2027-03-01.\n",
		"logging.go":  "\t// LoggingLevelTrace is the value \"trace\", since 2027-03-01.\n",
		"peers.go":    "// DescribeTool is the method tools/describe, since 2027-03-01.\n",
		"errors.go":   "\t// CodeQuotaExceeded is the error code -32031, since 2027-03-01.\n",
		"sessions.go": "// SendQuota is the method notifications/quota, since 2027-03-01.\n",
	} {
		require.Contains(t, string(files[file]), want)
	}
	for name, text := range files {
		require.NotContains(t, strings.Join(strings.Fields(string(text)), " "), prose[:30], name)
	}
}

func TestImportRemovesDescriptions(t *testing.T) {
	j := importFuture(t, allChanges)
	require.NotContains(t, contents(t, j.schema)[futureRevision+".json"], prose)
}

func TestReplacedUnionMemberKeepsItsRevisions(t *testing.T) {
	p, err := futureModel(t, replacedContent)
	require.NoError(t, err)
	require.Contains(t, string(printed(t, p)["common_codec.go"]), `
	case "resource_link":
		switch {
		case d.Has(from20250618to20260728) && d.Probe("_meta"):
			v = new(ResourceLink)
		case d.Has(since20270301):
			v = new(LinkedResource)
		case d.Has(from20250618to20260728):
			v = new(ResourceLink)
		}
`)
}

func TestCheckOfFutureRevision(t *testing.T) {
	j := importFuture(t, newClientRequest)
	printed := *j
	_, _ = compile(t, &printed)
	j.check = true
	require.NoError(t, j.run(new(strings.Builder)))
	j.out = "../generated/mcp"
	require.ErrorContains(t, j.run(new(strings.Builder)), "tools.go is stale")
}

// jsonLine matches a line "Definition JSON <nil>" of the new program.
var jsonLine = regexp.MustCompile(`(?m)^([A-Z][A-Za-z]*) (\{.*\}) <nil>$`)

// validateLines validates the JSON in the lines of the new program with the future
// schema.
func validateLines(t *testing.T, dir, out string) {
	t.Helper()
	files, err := load.Dir(dir)
	require.NoError(t, err)
	lines := jsonLine.FindAllStringSubmatch(out, -1)
	require.NotEmpty(t, lines)
	for _, line := range lines {
		schema, err := files[len(files)-1].Validator(line[1])
		require.NoError(t, err)
		require.NoError(t, schema.Validate(parsed(line[2])), line[0])
	}
}

// golden compares a text with the content of a file.
func golden(t *testing.T, file, text string) {
	t.Helper()
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), text, "if the change is intended: go test ./gen -update")
}

// An overlay replaces the generated package in the repository by new files for the go
// command, without writing to the repository.
type overlay struct{ file string }

func newOverlay(t *testing.T, printed string) overlay {
	t.Helper()
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	replace := make(map[string]string)
	mcp := filepath.Join(root, "generated", "mcp")
	for name := range contents(t, mcp) {
		replace[filepath.Join(mcp, name)] = "" // removed, unless there is a new file
	}
	for name := range contents(t, printed) {
		replace[filepath.Join(mcp, name)] = filepath.Join(printed, name)
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	o := overlay{filepath.Join(t.TempDir(), "overlay.json")}
	require.NoError(t, os.WriteFile(o.file, data, 0o600))
	return o
}

// runProgram builds and runs one of the programs in testdata/future and returns what
// it printed.
func runProgram(t *testing.T, name string, flags ...string) string {
	t.Helper()
	exe := filepath.Join(t.TempDir(), name)
	goRun(t, exec.Command("go", append(append([]string{"build"}, flags...), "-o", exe, "./testdata/future/"+name)...))
	return goRun(t, exec.Command(exe))
}

// goRun runs a command and returns its output. The command must succeed.
func goRun(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	require.NoError(t, cmd.Run(), "%s\n%s", cmd, &stderr)
	return stdout.String()
}
