package command

import (
	"bufio"
	"cmp"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// goplsVersion is the version of gopls. It is built by itself, since it requires a version of
// golang.org/x/tools that other dependencies exclude.
const goplsVersion = "v0.23.0"

// A subject is a server of another author.
type subject struct {
	name string
	// script starts the server with Node.js: a path in node_modules. For a server in Go, program is
	// the package instead.
	script, program string
	args            []string
	env             []string // so that no call leaves this machine
	revision        string   // the newest that it supports, or "" for 2025-11-25
	listOnly        bool     // other subcommands are not run
	short           bool     // it is used with -short too
	call            []string // a tool without side effects, and its arguments
	status          int      // the exit status of call
	out             string   // a part of the output of call
	findings        []string // by quickCases: the severity and the case
}

// folder stands for a temporary folder in the arguments of a subject.
const folder = "FOLDER"

// quickCases are the cases of "mcpwright test" that need no load and no invalid JSON.
const quickCases = "message-schema,structured-content,structured-text,tool-name,tool-name-unique,tool-schema,unknown-tool,unknown-tool-error," +
	"unknown-resource,unknown-resource-code,unknown-method,unknown-method-code,capability-undeclared,cursor-loop,cursor-invalid,ping"

var (
	invalidCursor = "warning cursor-invalid"
	unknownTool   = "note unknown-tool-error"
	unknownCode   = "warning unknown-resource-code"
)

// subjects are the servers. Each starts without an account, and without a network.
var subjects = []*subject{
	{name: "everything", script: "@modelcontextprotocol/server-everything/dist/index.js", short: true,
		call: []string{"echo", "message=tea"}, out: "Echo: tea", findings: []string{invalidCursor, unknownTool, unknownCode}},
	{name: "filesystem", script: "@modelcontextprotocol/server-filesystem/dist/index.js", args: []string{folder},
		call: []string{"list_allowed_directories"}, out: "Allowed directories", findings: []string{invalidCursor, "warning structured-text", unknownTool}},
	{name: "memory", script: "@modelcontextprotocol/server-memory/dist/index.js", env: []string{"MEMORY_FILE_PATH=" + folder + "/memory.json"},
		call: []string{"read_graph"}, out: `"relations"`, findings: []string{invalidCursor, unknownTool, unknownCode}},
	{name: "thinking", script: "@modelcontextprotocol/server-sequential-thinking/dist/index.js",
		call: []string{"sequentialthinking", "thought=tea", "thoughtNumber=1", "totalThoughts=1", "nextThoughtNeeded=false"}, out: `"thoughtHistoryLength": 1`,
		findings: []string{invalidCursor, unknownTool}},
	{name: "playwright", script: "@playwright/mcp/cli.js", args: []string{"--headless"}, listOnly: true},
	{name: "context7", script: "@upstash/context7-mcp/dist/index.js", env: []string{"CONTEXT7_API_URL=http://127.0.0.1:1"}, revision: "2026-07-28",
		call: []string{"resolve-library-id", "query=tea", "libraryName=tea"}, out: "fetch failed", findings: []string{invalidCursor}},
	{name: "devtools", script: "chrome-devtools-mcp/build/src/bin/chrome-devtools-mcp.js", args: []string{"--no-usage-statistics", "--executablePath", "/no/such/program"},
		env: []string{"CHROME_DEVTOOLS_MCP_NO_UPDATE_CHECKS=1"}, call: []string{"list_pages"}, status: 1, out: "Browser was not found",
		findings: []string{invalidCursor}},
	{name: "eslint", script: "@eslint/mcp/src/mcp-cli.js", call: []string{"lint-files", `filePaths:=["` + folder + `/tea.js"]`}, status: 1, out: "lint-files",
		findings: []string{invalidCursor, unknownTool}},
	{name: "notion", script: "@notionhq/notion-mcp-server/bin/cli.mjs", env: []string{"BASE_URL=http://127.0.0.1:1"},
		call: []string{"API-get-self"}, status: 1, out: "ECONNREFUSED", findings: []string{invalidCursor}},
	{name: "budget", script: "@modelcontextprotocol/server-budget-allocator/dist/index.js", args: []string{"--stdio"},
		call: []string{"get-budget-data"}, out: "Default Budget", findings: []string{invalidCursor, unknownCode}},
	{name: "gosdk", program: "github.com/modelcontextprotocol/go-sdk/examples/server/everything", short: true, revision: "2026-07-28",
		call: []string{"greet", "name=Ada"}, out: "Hi Ada", findings: []string{"warning tool-name"}},
	{name: "mcpgo", program: "github.com/mark3labs/mcp-go/examples/everything", revision: "2026-07-28",
		call: []string{"echo", "message=tea"}, out: "Echo: tea"},
	{name: "gopls", program: "golang.org/x/tools/gopls@" + goplsVersion, args: []string{"mcp"},
		call: []string{"go_workspace"}, out: "not a Go workspace", findings: []string{"warning unknown-method-code"}},
}

// newest returns the revision to use.
func (s *subject) newest() string { return cmp.Or(s.revision, "2025-11-25") }

// words returns the words that start the server.
func (s *subject) words(t testing.TB, modules, dir string) []string {
	var words []string
	if s.script != "" {
		words = []string{"node", filepath.Join(modules, "node_modules", filepath.FromSlash(s.script))}
		require.FileExists(t, words[1])
	} else {
		words = []string{buildServer(t, s.program)}
	}
	for _, arg := range s.args {
		words = append(words, strings.ReplaceAll(arg, folder, dir))
	}
	return words
}

// buildServer builds a server in Go and returns its path.
func buildServer(t testing.TB, program string) string {
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", dir, program)
	cmd.Env = cmd.Environ()
	if strings.Contains(program, "@") {
		cmd = exec.CommandContext(t.Context(), "go", "install", program)
		cmd.Env = append(cmd.Environ(), "GOBIN="+dir, "GOWORK=off")
	}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	name, _, _ := strings.Cut(filepath.Base(program), "@")
	return filepath.Join(dir, name)
}

// TestServers uses each server with the subcommands, and compiles a client for each.
func TestServers(t *testing.T) {
	program, modules, made := build(t), install(t), t.TempDir()
	t.Run("each", func(t *testing.T) {
		for _, s := range subjects {
			if testing.Short() && !s.short {
				continue
			}
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				use := &session{subject: s, program: program, dir: t.TempDir()}
				use.server = s.words(t, modules, use.dir)
				if s.listOnly {
					require.Contains(t, use.run(t, 0, "list"), "tools (")
					return
				}
				use.all(t, filepath.Join(made, s.name))
			})
		}
	})
	compile(t, made)
}

// A session uses one server.
type session struct {
	*subject
	program string
	dir     string
	server  []string
}

// run runs a subcommand on the server, and returns its output with the errors.
func (s *session) run(t *testing.T, status int, args ...string) string {
	t.Helper()
	cmd := s.command(t, slices.Concat(args[:1], []string{"-timeout", "1m", "-revision", s.newest()}, args[1:], []string{"--"}, s.server))
	var errs strings.Builder
	cmd.Stderr = &errs
	out, _ := cmd.Output() // the status is compared below
	require.Equal(t, status, cmd.ProcessState.ExitCode(), "%q: %s%s", args, out, errs.String())
	if status != 0 {
		return string(out) + errs.String()
	}
	return string(out)
}

// command returns a command of the program with the environment of the server.
func (s *session) command(t *testing.T, words []string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), s.program, words...)
	cmd.Dir, cmd.Env = s.dir, cmd.Environ()
	for _, e := range s.env {
		cmd.Env = append(cmd.Env, strings.ReplaceAll(e, folder, s.dir))
	}
	return cmd
}

func (s *session) all(t *testing.T, made string) {
	require.Regexp(t, `(?m)^revision +`+s.newest()+`$`, s.run(t, 0, "info"))
	require.Regexp(t, `(?m)^tools \(\d+\)$`, s.run(t, 0, "list"))
	call := []string{"call"}
	for _, word := range s.call {
		call = append(call, strings.ReplaceAll(word, folder, s.dir))
	}
	require.Contains(t, s.run(t, s.status, call...), s.out)

	lock := filepath.Join(s.dir, "mcp.lock.json")
	require.NoError(t, os.WriteFile(lock, []byte(s.run(t, 0, "lock")), 0o600))
	require.Contains(t, s.run(t, 0, "diff", lock), "There are no changes.")

	require.NoError(t, os.Mkdir(made, 0o700))
	s.run(t, 0, "client", "-package", "made", "-out", filepath.Join(made, "made.go"))
	s.check(t)
	s.trace(t)
	s.inspect(t)
}

// trace lists the tools through "mcpwright trace", and plays the recording to the server.
func (s *session) trace(t *testing.T) {
	traced, file := *s, filepath.Join(s.dir, "trace.jsonl")
	traced.server = append([]string{s.program, "trace", "-quiet", "-log", filepath.Join(s.dir, "trace.log"), "-out", file, "--"}, s.server...)
	require.Equal(t, s.run(t, 0, "list"), traced.run(t, 0, "list"))
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(data), `"method":"tools/list"`)
	require.NotContains(t, string(data), `"violations"`)
	out, _ := s.command(t, append([]string{"replay", file, "--"}, s.server...)).CombinedOutput()
	require.Contains(t, string(out), "0 differences")
}

// inspect starts the page, and reads its events until the page has the tools.
func (s *session) inspect(t *testing.T) {
	cmd := s.command(t, append([]string{"inspect", "-open=false", "-revision", s.newest(), "--"}, s.server...))
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	defer func() {
		require.NoError(t, cmd.Process.Signal(os.Interrupt))
		require.NoError(t, cmd.Wait())
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	page, token, _ := strings.Cut(strings.TrimSpace(line), "#")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, page+"api/events", nil)
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	events := bufio.NewScanner(res.Body)
	events.Buffer(nil, 16<<20)
	for events.Scan() {
		require.NotContains(t, events.Text(), `"state":"failed"`)
		if strings.Contains(events.Text(), `"kind":"tools"`) {
			require.Contains(t, events.Text(), `"inputSchema"`)
			return
		}
	}
	require.Fail(t, "the events of the page have ended", "%v", events.Err())
}

// check compares the findings of the quick cases with the expected ones.
func (s *session) check(t *testing.T) {
	report := filepath.Join(s.dir, "report.json")
	s.run(t, 0, "test", "-only", quickCases, "-report", "json="+report)
	data, err := os.ReadFile(report)
	require.NoError(t, err)
	var found struct {
		Findings []struct{ ID, Severity string }
	}
	require.NoError(t, json.Unmarshal(data, &found))
	ids := []string{}
	for _, f := range found.Findings {
		ids = append(ids, f.Severity+" "+f.ID)
	}
	slices.Sort(ids)
	want := slices.Clone(s.findings)
	slices.Sort(want)
	require.Equal(t, strings.Join(want, "\n"), strings.Join(slices.Compact(ids), "\n"), "%s", data)
}

// compile compiles the clients in the folders of a folder, as packages of this module.
func compile(t *testing.T, made string) {
	here, err := os.Getwd()
	require.NoError(t, err)
	entries, err := os.ReadDir(made)
	require.NoError(t, err)
	if len(entries) == 0 {
		return // the test was run for a server that is only listed
	}
	replace, build := map[string]string{}, []string{"build", "-overlay", filepath.Join(made, "overlay.json")}
	for _, e := range entries {
		replace[filepath.Join(here, "made", e.Name(), "made.go")] = filepath.Join(made, e.Name(), "made.go")
		build = append(build, "./made/"+e.Name())
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(build[2], overlay, 0o600))
	out, err := exec.CommandContext(t.Context(), "go", build...).CombinedOutput()
	require.NoError(t, err, "%s", out)
}
