package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/gen/internal/load"
)

var update = flag.Bool("update", false, "write the expected outputs anew")

// bumps are the edits of the unseen revision, each by itself.
var bumps = map[string]edit{
	"a client request":              newClientRequest,
	"a server request":              newServerRequest,
	"a union of one server request": oneServerRequest,
	"an embedded request":           newEmbeddedRequest,
	"a client notification":         newClientNotification,
	"a server notification":         newServerNotification,
	"a content block":               newContent,
	"a content block for another":   followedContent,
	"members of existing types":     newMembers,
	"an enum value":                 newEnumValue,
	"a union":                       newUnion,
	"a method removed":              removedMethod,
	"members and values removed":    removedMembers,
	"a paged list":                  newPagedList,
	"an error code":                 newErrorCode,
	"a request in both directions":  otherDirection,
	"areas with names of files":     newAreas,
	"every form of a member":        newForms,
	"bounds of numbers":             newBounds,
	"nothing but another date":      together(),
}

// everything is the unseen revision as a whole.
var everything = together(newClientRequest, newServerRequest, newEmbeddedRequest, newClientNotification, newServerNotification,
	newContent, newMembers, newEnumValue, newUnion, removedMethod, newPagedList, newErrorCode)

func TestEachChangeOfAnUnseenRevisionKeepsAllThatProgramsUse(t *testing.T) {
	before := surfaceOf(t, model(t, 5))
	for name, bump := range bumps {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "members of existing types" && name != "every form of a member" {
				t.Skip("-short checks two of the changes")
			}
			t.Parallel()
			p, err := quick(t, bump)
			require.NoError(t, err)
			for _, c := range changes(before, surfaceOf(t, p)) {
				require.Equal(t, "LatestRevision", c.name, "%q became %q", c.before, c.after)
			}
		})
	}
}

func TestAnUnseenRevisionNeedsNoLineOfGo(t *testing.T) {
	j := drill(t, everything)
	summary, files := compile(t, j)
	o := newOverlay(t, j.out)
	t.Run("old programs print the same", func(t *testing.T) {
		skipBuild(t)
		require.Equal(t, program(t, "old"), program(t, "old", "-overlay", o.file))
	})
	t.Run("new programs use all that is new", func(t *testing.T) {
		skipBuild(t)
		out := program(t, "new", "-overlay", o.file)
		golden(t, "testdata/drill/new/want.txt", out)
		judgeLines(t, j.schema, out)
	})
	t.Run("vet finds nothing", func(t *testing.T) {
		skipBuild(t)
		goRun(t, exec.Command("go", "vet", "-overlay", o.file, "../generated/mcp", "./testdata/drill/old", "./testdata/drill/new"))
	})
	t.Run("names without a text are reported", func(t *testing.T) { golden(t, "testdata/drill/summary.txt", summary) })
	t.Run("their texts are facts", func(t *testing.T) { factsOnly(t, files) })
}

// skipBuild skips a test that builds programs with the go command if -short is set.
func skipBuild(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short builds no programs")
	}
}

func TestBoundsOfNumbersHoldSinceTheRevisionThatBringsThem(t *testing.T) {
	p, err := quick(t, newBounds)
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

func TestWhatAFoldRequiresInOnePartIsRequired(t *testing.T) {
	p, err := quick(t, define("Folded", `{"allOf": [{"$ref": "#/$defs/Icon"}, {"type": "object", "properties": {"src": {"type": "string"}}}]}`))
	require.NoError(t, err)
	require.Contains(t, string(printed(t, p)["common_codec.go"]), "wire.NewMembers(\"Folded\",\n\twire.Member{Name: \"src\", In: wire.Always, Required: wire.Always},\n")
}

func TestPlainKindsWithNumbersMayBeFractions(t *testing.T) {
	p, err := quick(t, newForms)
	require.NoError(t, err)
	codec := string(printed(t, p)["tools_codec.go"])
	require.Contains(t, codec, "x.Answer = d.Primitive(0, false)")
	require.Contains(t, codec, "return d.Primitive(0, true)")
	require.Contains(t, codec, `",\"f`+"`"+`g\\u0001\":"`)
}

// factsOnly looks for the texts of new names, and for official prose.
func factsOnly(t *testing.T, files map[string][]byte) {
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

func TestNoProseOfAnImportedFileIsKept(t *testing.T) {
	j := drill(t, everything)
	require.NotContains(t, contents(t, j.schema)[unseen+".json"], prose)
}

func TestWhatAnotherFollowsInAUnionIsStillFoundInItsRevisions(t *testing.T) {
	p, err := quick(t, followedContent)
	require.NoError(t, err)
	require.Contains(t, string(printed(t, p)["common_codec.go"]), `
	case "resource_link":
		switch {
		case d.Has(from20250618to20260728) && d.Probe("_meta"):
			return wire.New[ResourceLink](d)
		case d.Has(since20270301):
			return wire.New[LinkedResource](d)
		case d.Has(from20250618to20260728):
			return wire.New[ResourceLink](d)
		}
`)
}

func TestAnUnseenRevisionIsStaleUntilItIsPrinted(t *testing.T) {
	j := drill(t, newClientRequest)
	printed := *j
	_, _ = compile(t, &printed)
	j.check = true
	require.NoError(t, j.run(new(strings.Builder)))
	j.out = "../generated/mcp"
	require.ErrorContains(t, j.run(new(strings.Builder)), "tools.go is stale")
}

// judged is a line "Definition JSON <nil>" that a program printed.
var judged = regexp.MustCompile(`(?m)^([A-Z][A-Za-z]*) (\{.*\}) <nil>$`)

// judgeLines lets the unseen schema judge what the new program wrote for it:
// all lines that do not say another revision.
func judgeLines(t *testing.T, dir, out string) {
	t.Helper()
	files, err := load.Dir(dir)
	require.NoError(t, err)
	lines := judged.FindAllStringSubmatch(out, -1)
	require.NotEmpty(t, lines)
	for _, line := range lines {
		schema, err := files[len(files)-1].Judge(line[1])
		require.NoError(t, err)
		require.NoError(t, schema.Validate(parsed(line[2])), line[0])
	}
}

// golden compares a text with the file that holds the expected one.
func golden(t *testing.T, file, text string) {
	t.Helper()
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), text, "if the change is right: go test ./gen -update")
}
