package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
)

// useKitchen calls tools of the test server.
func useKitchen(t *testing.T, to mcpclient.Endpoint, revision mcp.Revision, dish string) {
	client, err := mcpclient.Connect(t.Context(), to, &mcpclient.Options{
		Info: mcp.Implementation{Name: "c", Version: "1"}, Revision: revision,
		OnElicit: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada", "age": int64(36)}}, nil
		},
	})
	require.NoError(t, err)
	res, err := client.CallTool(t.Context(), &mcp.CallToolRequest{Name: "order", Arguments: json.RawMessage(`{"dish":"` + dish + `"}`)})
	require.NoError(t, err)
	require.Contains(t, string(res.StructuredContent), dish)
	res, err = client.CallTool(t.Context(), &mcp.CallToolRequest{Name: "ask", Arguments: json.RawMessage(`{}`)})
	require.NoError(t, err)
	require.Equal(t, "Hello, Ada 36", res.Content[0].(*mcp.TextContent).Text)
	require.NoError(t, client.Close())
}

// process returns the endpoint of the command with arguments.
func process(t *testing.T, stderr io.Writer, args ...string) mcpclient.Endpoint {
	exe, err := os.Executable()
	require.NoError(t, err)
	to := mcpclient.Command(exe, args...)
	to.Env = append(os.Environ(), runVariable+"=1", serveVariable+"=1")
	to.Start.Stderr = stderr
	return to
}

// record records the use of the test server over standard input and output.
func record(t *testing.T, s *shell, revision mcp.Revision) string {
	file := filepath.Join(s.dir, "trace.jsonl")
	useKitchen(t, process(t, nil, append([]string{"trace", "-quiet", "-out", file}, child(t)...)...), revision, "soup")
	return file
}

func TestReplayBothSides(t *testing.T) {
	for _, revision := range []mcp.Revision{mcp.Revision20251125, mcp.Revision20260728} {
		t.Run(revision.String(), func(t *testing.T) {
			s := newShell(t)
			file := record(t, s, revision)
			got := s.run(append([]string{"replay", file}, child(t)...)...)
			require.Equal(t, result{0, "0 differences\n", ""}, got, "the server by a command")
			require.Equal(t, result{0, "0 differences\n", ""}, s.run("replay", file, serveHTTP(t, nil)), "the server over HTTP")

			var errs strings.Builder
			useKitchen(t, process(t, &errs, "replay", "-serve", file), revision, "soup")
			require.Equal(t, "0 differences\n", errs.String(), "the client over standard input and output")

			errs.Reset()
			client, err := mcpclient.Connect(t.Context(), process(t, &errs, "replay", "-serve", file), &mcpclient.Options{Revision: revision})
			require.NoError(t, err)
			_, err = client.CallTool(t.Context(), &mcp.CallToolRequest{Name: "order", Arguments: json.RawMessage(`{"dish":"pie"}`)})
			require.NoError(t, err)
			require.NoError(t, client.Close())
			require.Contains(t, errs.String(), `tools/call: /params/arguments/dish: recorded "soup", received "pie"`)
			require.Contains(t, errs.String(), "tools/call: the client has not sent this request")
		})
	}
}

func TestReplayServesHTTP(t *testing.T) {
	for _, revision := range []mcp.Revision{mcp.Revision20251125, mcp.Revision20260728} {
		t.Run(revision.String(), func(t *testing.T) {
			file := record(t, newShell(t), revision)
			url, stop := serveCommand(t, "replay", "-serve", "-listen", "127.0.0.1:0", file)
			useKitchen(t, mcpclient.URL(url), revision, "soup")
			got := stop()
			require.Zero(t, got.status, got.out)
			require.Equal(t, "0 differences\n", got.out)
		})
	}
}

func TestReplayOfHTTPRecording(t *testing.T) {
	for _, revision := range []mcp.Revision{mcp.Revision20251125, mcp.Revision20260728} {
		t.Run(revision.String(), func(t *testing.T) {
			s := newShell(t)
			file := filepath.Join(s.dir, "trace.jsonl")
			server := serveHTTP(t, nil)
			url, stop := traceHTTP(t, "-quiet", "-out", file, server)
			useKitchen(t, mcpclient.URL(url), revision, "soup")
			require.Zero(t, stop().status)
			require.Equal(t, result{0, "0 differences\n", ""}, s.run("replay", file, server))
		})
	}
}

func TestReplayFindsDifferences(t *testing.T) {
	s := newShell(t)
	data, err := os.ReadFile(record(t, s, mcp.Revision20251125))
	require.NoError(t, err)
	changed := strings.Replace(string(data), `"structuredContent":{"dish":"soup"}`, `"structuredContent":{"dish":"tea"}`, 1)
	require.NotEqual(t, string(data), changed)
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, "changed.jsonl"), []byte(changed), 0o600))
	replayed := func(flags ...string) result {
		return s.run(append(append([]string{"replay"}, flags...), append([]string{"changed.jsonl"}, child(t)...)...)...)
	}
	got := replayed()
	require.Equal(t, 1, got.status)
	require.Regexp(t, `^\d+ tools/call: /result/structuredContent/dish: recorded "tea", received "soup"\n1 differences\n$`, got.out)
	require.Zero(t, replayed("-ignore", "/result/*/dish").status)
	require.Zero(t, replayed("-ignore", "/params,/result/structuredContent").status)
	require.Equal(t, 1, replayed("-ignore", "/result/content").status)
	got = replayed("-json")
	require.Equal(t, 1, got.status)
	require.Contains(t, got.out, `"pointer": "/result/structuredContent/dish"`)
	require.True(t, json.Valid([]byte(got.out)))

	silent := s.run(append([]string{"replay", "-timeout", "200ms", "changed.jsonl"}, copier(t, "cat >/dev/null")...)...)
	require.Equal(t, 1, silent.status)
	require.Contains(t, silent.out, "initialize: no response in 200ms")
	ended := s.run(append([]string{"replay", "changed.jsonl"}, copier(t, "exit 1")...)...)
	require.Equal(t, 1, ended.status)
	require.Contains(t, ended.errs, "the server has ended the connection")
}

func TestReplaySendsNoMaskedValues(t *testing.T) {
	s := newShell(t)
	data, err := os.ReadFile(record(t, s, mcp.Revision20251125))
	require.NoError(t, err)
	lines := strings.Split(string(data), "\n")
	for i, line := range lines {
		if strings.Contains(line, `"arguments":{"dish":"soup"}`) {
			lines[i] = strings.Replace(strings.Replace(line, `"dish":"soup"`, `"dish":"***"`, 1), `"size":`, `"masked":true,"size":`, 1)
		}
	}
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, "masked.jsonl"), []byte(strings.Join(lines, "\n")), 0o600))
	got := s.run(append([]string{"replay", "masked.jsonl"}, child(t)...)...)
	require.Equal(t, statusUsage, got.status)
	require.Contains(t, got.errs, `"dish" in message`)
	require.Contains(t, got.errs, "-secret NAME=VARIABLE")
	s.env["DISH"] = "soup"
	require.Equal(t, result{0, "0 differences\n", ""}, s.run(append([]string{"replay", "-secret", "dish=DISH", "masked.jsonl"}, child(t)...)...))
}

func TestReplayUsage(t *testing.T) {
	s := newShell(t)
	file := record(t, s, mcp.Revision20251125)
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, "broken.jsonl"), []byte("{}\n"), 0o600))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	l.Close()
	for _, test := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"replay"}, statusUsage, "FILE is missing"},
		{[]string{"replay", "none.jsonl", "http://x"}, statusUsage, "no such file"},
		{[]string{"replay", "broken.jsonl", "http://x"}, statusUsage, "line 1 is not a message of mcpwright trace"},
		{[]string{"replay", os.DevNull, "http://x"}, statusUsage, "has no messages"},
		{[]string{"replay", file}, statusUsage, "SERVER is missing"},
		{[]string{"replay", "-serve", file, "http://x"}, statusUsage, "there is no SERVER"},
		{[]string{"replay", "-listen", ":0", file, "http://x"}, statusUsage, "-listen is for -serve"},
		{[]string{"replay", "-secret", "x", file, "http://x"}, statusUsage, "a secret is name=VARIABLE"},
		{[]string{"replay", "-secret", "x=NONE", file, "http://x"}, statusUsage, `no variable "NONE"`},
		{[]string{"replay", file, "http://" + l.Addr().String()}, statusUnreachable, "Nothing listens at this address"},
		{[]string{"replay", file, "--", "mcpwright-no-such-command"}, statusUnreachable, "is not in PATH"},
	} {
		got := s.run(test.args...)
		require.Equal(t, test.status, got.status, "%v %v", test.args, got)
		require.Contains(t, got.errs, test.want)
	}
}

// TestReplayServesManyRequests sends 10,000 requests at once, and broken lines.
func TestReplayServesManyRequests(t *testing.T) {
	s := newShell(t)
	file := record(t, s, mcp.Revision20251125)
	var in strings.Builder
	for id := range 10_000 {
		fmt.Fprintf(&in, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`+"\n", id)
	}
	s.stdin = in.String() + "{broken\n[]\nnull\n"
	got := s.run("replay", "-serve", file)
	require.Equal(t, 1, got.status)
	require.Equal(t, 10_000, strings.Count(got.out, `"result":{}`))
	require.Contains(t, got.errs, "initialize: the client has not sent this request")
	require.Contains(t, got.errs, "not JSON-RPC")
}
