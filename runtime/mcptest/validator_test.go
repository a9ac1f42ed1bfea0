package mcptest_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcptest"
	"github.com/mcpwright/mcp/runtime/wire"
)

// A validator checks messages in the order in which they were sent.
func ExampleValidator() {
	validator := mcptest.NewValidator(mcp.Revision20250618)
	validator.Check(mcptest.FromClient, []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	for _, v := range validator.Check(mcptest.FromServer, []byte(`{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"greet"}]}}`)) {
		fmt.Println("response to", v.Method)
		fmt.Println(v.Pointer, "-", v.Problem)
	}

	// Output:
	// response to tools/list
	// /result/tools/0 - missing properties: 'inputSchema'
}

// A transcript has the messages of connections. A line with > is a message of the
// client, and < a message of the server. Each ! is a violation of the message above: its
// revision, its pointer and the start of its problem. ~ begins a new connection, and =
// a new connection with an expected revision. # is a comment.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.jsonl"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".jsonl"), func(t *testing.T) { checkTranscript(t, file) })
	}
}

func checkTranscript(t *testing.T, file string) {
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	validator := mcptest.NewValidator(wire.Revision{})
	var open []*mcptest.Violation // found, but not yet in the transcript
	at, message := 0, 0
	finish := func() {
		require.Empty(t, texts(open), "%s:%d", file, message)
	}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		at++
		mark, rest, _ := strings.Cut(lines.Text(), " ")
		switch mark {
		case "", "#":
		case "~", "=":
			finish()
			revision, _ := mcp.ParseRevision(rest)
			validator = mcptest.NewValidator(revision)
		case ">", "<":
			finish()
			from := mcptest.FromClient
			if mark == "<" {
				from = mcptest.FromServer
			}
			open, message = validator.Check(from, []byte(rest)), at
		case "!":
			rest = strings.Replace(rest, "the latest", mcp.LatestRevision.String(), 1)
			require.NotEmpty(t, open, "%s:%d: %s", file, at, rest)
			require.True(t, strings.HasPrefix(short(open[0]), rest), "%s:%d: have %q, want %q", file, at, short(open[0]), rest)
			open = open[1:]
		default:
			require.Fail(t, "unknown mark", "%s:%d: %s", file, at, lines.Text())
		}
	}
	require.NoError(t, lines.Err())
	finish()
}

// short returns the text of a violation in a transcript.
func short(v *mcptest.Violation) string {
	return strings.Join(strings.Fields(fmt.Sprint(v.Revision, " ", v.Pointer, " ", v.Problem)), " ")
}

func texts(list []*mcptest.Violation) (out []string) {
	for _, v := range list {
		out = append(out, short(v))
	}
	return out
}

// FuzzCheck checks that no message makes a validator panic, that validators do not
// change messages, and that their results are reproducible.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{
		hello, greet, "nonsense", "[]", "[1,{}]", `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":5}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-03-26","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`,
		`[{"jsonrpc":"2.0","id":1,"error":{"code":1e400}},{"id":null,"error":{"code":-32700,"message":""}}]`,
		`{"jsonrpc":"2.0","id":"x","method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"}}}}`,
	} {
		for revision := range byte(5) {
			f.Add(revision, []byte(seed))
		}
	}
	f.Fuzz(func(t *testing.T, revision byte, message []byte) {
		r := mcp.Revisions[int(revision)%len(mcp.Revisions)].Revision
		a, b := mcptest.NewValidator(r), mcptest.NewValidator(r)
		for _, v := range []*mcptest.Validator{a, b} {
			v.Check(mcptest.FromClient, []byte(hello))
			v.Check(mcptest.FromClient, []byte(greet))
		}
		before := bytes.Clone(message)
		first := texts(a.Check(mcptest.FromServer, message))
		if !bytes.Equal(before, message) {
			t.Error("the message was changed")
		}
		if second := texts(b.Check(mcptest.FromServer, message)); len(first) != len(second) {
			t.Errorf("violations %q, want %q", second, first)
		}
		a.Check(mcptest.FromClient, message)
	})
}

func TestViolationText(t *testing.T) {
	long := json.RawMessage(`"` + strings.Repeat("é", 2000) + `"`)
	for want, v := range map[string]*mcptest.Violation{
		"2025-06-18: the client's message \"ping\": /id: bad\n\t{\"id\":5}": {
			Revision: mcp.Revision20250618, Method: "ping", Pointer: "/id", Problem: "bad", Message: []byte("{\n  \"id\": 5\n}"),
		},
		"2025-06-18: the server's response: bad\n\t\"\\nx\"":                              {Revision: mcp.Revision20250618, From: mcptest.FromServer, Response: true, Problem: "bad", Message: []byte("\nx")},
		"all revisions: the client's message: bad\n\t\"" + strings.Repeat("é", 499) + "…": {Problem: "bad", Message: long},
	} {
		require.EqualError(t, v, want)
	}
}

func TestValidatorRevision(t *testing.T) {
	require.Equal(t, mcp.Revision20260728, mcptest.NewValidator(mcp.Revision20260728).Revision())
	for _, r := range []wire.Revision{{}, wire.NewRevision(0, "1999-01-01"), wire.NewRevision(63, "2099-01-01")} {
		require.Equal(t, mcp.Revision20251125, mcptest.NewValidator(r).Revision())
	}
}

func TestFailDoesNothingAfterTheTest(t *testing.T) {
	var report func(*mcptest.Violation)
	failures := failuresOf(func(t mcptest.TB) { report = mcptest.Fail(t) })
	report(&mcptest.Violation{Problem: "late"})
	require.Empty(t, failures)
}

// TestValidatorForgetsRequestsWithoutResponse checks that a server that never responds needs
// a limited amount of memory, and that a late response to a forgotten request is not reported.
func TestValidatorForgetsRequestsWithoutResponse(t *testing.T) {
	v := mcptest.NewValidator(mcp.Revision20250618)
	send := func(from mcptest.Sender, format string, args ...any) []*mcptest.Violation {
		return v.Check(from, fmt.Appendf(nil, format, args...))
	}
	for id := range 100_000 {
		require.Empty(t, send(mcptest.FromClient, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`, id))
	}
	require.Less(t, mcptest.StoredRequests(v), 20_001)
	require.Empty(t, send(mcptest.FromServer, `{"jsonrpc":"2.0","id":0,"result":{}}`))
	require.Empty(t, send(mcptest.FromServer, `{"jsonrpc":"2.0","id":99999,"result":{}}`))
	require.NotEmpty(t, send(mcptest.FromServer, `{"jsonrpc":"2.0","id":99999,"result":{}}`), "two responses")
}
