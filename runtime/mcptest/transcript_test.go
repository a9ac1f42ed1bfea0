package mcptest_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcptest"
)

// A transcript is a conversation: > is what the client sends, < what the server
// does, and each ! below a message a violation that it is, with its revision,
// its pointer and the beginning of what is wrong. # is a remark, = the revision
// that the conversation is expected to be in, and ~ a new conversation.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.jsonl"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".jsonl"), func(t *testing.T) { transcript(t, file) })
	}
}

func transcript(t *testing.T, file string) {
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	judge := mcptest.NewJudge("")
	var open []*mcptest.Violation // found and not yet expected
	at, message := 0, 0
	settle := func() {
		require.Empty(t, texts(open), "%s:%d", file, message)
	}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		at++
		mark, rest, _ := strings.Cut(lines.Text(), " ")
		switch mark {
		case "", "#":
		case "~", "=":
			settle()
			judge = mcptest.NewJudge(rest)
		case ">", "<":
			settle()
			from := mcptest.FromClient
			if mark == "<" {
				from = mcptest.FromServer
			}
			open, message = judge.Check(from, []byte(rest)), at
		case "!":
			rest = strings.Replace(rest, "the latest", mcp.LatestRevision, 1)
			require.NotEmpty(t, open, "%s:%d: %s", file, at, rest)
			require.True(t, strings.HasPrefix(short(open[0]), rest), "%s:%d: have %q, want %q", file, at, short(open[0]), rest)
			open = open[1:]
		default:
			require.Fail(t, "what is this?", "%s:%d: %s", file, at, lines.Text())
		}
	}
	require.NoError(t, lines.Err())
	settle()
}

// short is a violation as the transcripts have it.
func short(v *mcptest.Violation) string {
	return strings.Join(strings.Fields(fmt.Sprint(v.Revision, " ", v.Pointer, " ", v.Problem)), " ")
}

func texts(list []*mcptest.Violation) (out []string) {
	for _, v := range list {
		out = append(out, short(v))
	}
	return out
}
