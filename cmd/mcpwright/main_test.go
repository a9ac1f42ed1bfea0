package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/cmd/mcpwright/internal/hostconfig"
	"github.com/mcpwright/mcp/cmd/mcpwright/internal/terminal"
	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/streamable"
)

// serveVariable makes the test program a server on its standard streams, and runVariable makes it the
// command.
const (
	serveVariable = "MCPWRIGHT_TEST_SERVE"
	runVariable   = "MCPWRIGHT_TEST_RUN"
	copyVariable  = "MCPWRIGHT_TEST_COPY"
)

func TestMain(m *testing.M) {
	if os.Getenv(runVariable) != "" {
		os.Unsetenv(runVariable)
		main()
	}
	if os.Getenv(serveVariable) != "" {
		if err := testServer().ServeStdio(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if to := os.Getenv(copyVariable); to != "" {
		fmt.Fprintln(os.Stderr, copyHTTP(to))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

type order struct {
	Dish  string   `json:"dish" jsonschema:"what to cook"`
	Count int      `json:"count,omitempty"`
	With  []string `json:"with,omitempty"`
	Fresh bool     `json:"fresh,omitempty"`
}

type who struct {
	Name string `json:"name" jsonschema:"your name"`
	Age  int    `json:"age,omitempty"`
}

// testServer returns a server with a bit of everything.
func testServer() *mcpserver.Server {
	s := mcpserver.New(mcp.Implementation{Name: "kitchen", Version: "1.2.3"}, &mcpserver.Options{Instructions: "Order first."})
	mcpserver.AddTool(s, &mcp.Tool{Name: "order", Description: "Orders a dish. Then waits."}, func(ctx context.Context, _ *mcp.ServerSession, in order) (*order, error) {
		return &in, nil
	})
	mcpserver.AddTool(s, &mcp.Tool{Name: "fail"}, func(context.Context, *mcp.ServerSession, struct{}) (string, error) {
		return "", mcpserver.Errorf("the oven is \x1b[31mbroken")
	})
	mcpserver.AddTool(s, &mcp.Tool{Name: "ask"}, func(ctx context.Context, session *mcp.ServerSession, _ struct{}) (string, error) {
		in, err := mcpserver.Elicit[who](ctx, session, "Who are you?")
		if err != nil {
			return "", err
		}
		return fmt.Sprint("Hello, ", in.Name, " ", in.Age), nil
	})
	s.AddRawTool(&mcp.Tool{Name: "picture", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.ContentBlock{&mcp.ImageContent{Data: []byte("PNG"), MIMEType: "image/png"}}}, nil
	})
	s.AddResource(&mcp.Resource{URI: "kitchen://menu", Name: "menu"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{&mcp.TextResourceContents{URI: "kitchen://menu", Text: "soup\n\n"}}}, nil
	})
	s.AddRawPrompt(&mcp.Prompt{Name: "cook", Arguments: []mcp.PromptArgument{{Name: "dish", Required: true}}}, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{{Role: mcp.RoleUser, Content: &mcp.TextContent{Text: "Cook " + req.Arguments["dish"]}}}}, nil
	})
	return s
}

// result is what a run of the program leaves.
type result struct {
	status    int
	out, errs string
}

// shell runs the program.
type shell struct {
	t     *testing.T
	dir   string
	env   map[string]string
	stdin string
	width int       // of the terminal, or 0
	human bool      // answers questions
	watch io.Writer // gets a copy of standard error, or nil
}

// lockedBuffer is a buffer for concurrent writers.
type lockedBuffer struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	next io.Writer // gets a copy, or nil
}

// Write implements [io.Writer].
func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next != nil {
		_, _ = b.next.Write(p)
	}
	return b.buf.Write(p)
}

func newShell(t *testing.T) *shell { return &shell{t: t, dir: t.TempDir(), env: map[string]string{}} }

func (s *shell) run(args ...string) result { return s.runContext(s.t.Context(), args...) }

func (s *shell) runContext(ctx context.Context, args ...string) result {
	var out bytes.Buffer
	errs := lockedBuffer{next: s.watch}
	e := &environment{
		stdin: strings.NewReader(s.stdin), interactive: s.human,
		out: terminal.NewFixed(&out, s.width), errs: terminal.NewFixed(&errs, s.width),
		place: hostconfig.Place{Dir: s.dir, Home: filepath.Join(s.dir, "home"), OS: "linux", Getenv: func(name string) (string, bool) {
			value, ok := s.env[name]
			return value, ok
		}},
		environ: append(os.Environ(), serveVariable+"=1"), configDir: filepath.Join(s.dir, "config"), cacheDir: filepath.Join(s.dir, "cache"),
		openBrowser: func(string) error { return errors.New("no browser") },
	}
	status := e.run(ctx, args)
	return result{status, out.String(), errs.buf.String()}
}

// serveHTTP returns the URL of the test server.
func serveHTTP(t *testing.T, middleware func(http.Handler) http.Handler) string {
	var h http.Handler = streamable.NewHandler(testServer(), &streamable.Options{})
	if middleware != nil {
		h = middleware(h)
	}
	l := httptest.NewServer(h)
	t.Cleanup(l.Close)
	return l.URL
}

// child returns the words that make the test program the server.
func child(t *testing.T) []string {
	exe, err := os.Executable()
	require.NoError(t, err)
	return []string{"--", exe}
}

func TestList(t *testing.T) {
	got := newShell(t).run(append([]string{"list"}, child(t)...)...)
	require.Zero(t, got.status, got.errs)
	for _, want := range []string{
		"tools (4)\n", "  order(dish, [count], [fresh], …)  Orders a dish.\n", "resources (1)\n", "  kitchen://menu  menu\n", "prompts (1)\n", "  cook(dish)\n",
	} {
		require.Contains(t, got.out, want)
	}
	require.NotContains(t, got.out, "resource templates")
	got = newShell(t).run(append([]string{"list", "-l", "tools"}, child(t)...)...)
	require.Contains(t, got.out, "      dish   string    required. what to cook\n")
	require.Contains(t, got.out, "      with   string[]\n")
	require.NotContains(t, got.out, "prompts")
}

func TestEverythingAsJSON(t *testing.T) {
	url := serveHTTP(t, nil)
	for _, args := range [][]string{
		{"list", url}, {"info", url}, {"ping", "-n", "2", url}, {"call", url, "order", "dish=soup"}, {"call", url, "fail"},
		{"read", url, "kitchen://menu"}, {"read", url, "kitchen://none"}, {"prompt", url, "cook", "dish=soup"}, {"servers"},
	} {
		t.Run(strings.Join(args[:1], " "), func(t *testing.T) {
			got := newShell(t).run(append(args, "-json")...)
			require.True(t, json.Valid([]byte(got.out)), got)
			require.Empty(t, got.errs)
		})
	}
}

func TestCall(t *testing.T) {
	url := serveHTTP(t, nil)
	file := filepath.Join(t.TempDir(), "arguments.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"dish":"pie","count":2}`), 0o600))
	for _, test := range []struct {
		name, stdin string
		args        []string
		want        string
	}{
		{"values by type", "", []string{"dish=7", "count=7", "fresh=true", "with=a", "with=b"}, `{"dish":"7","count":7,"with":["a","b"],"fresh":true}`},
		{"JSON object", "", []string{`{"dish":"soup"}`}, `{"dish":"soup"}`},
		{"JSON value", "", []string{"dish=soup", `with:=["x"]`}, `{"dish":"soup","with":["x"]}`},
		{"file", "", []string{"@" + file}, `{"dish":"pie","count":2}`},
		{"standard input", `{"dish":"tea"}`, []string{"-"}, `{"dish":"tea"}`},
		{"later words", "", []string{"@" + file, "count=3"}, `{"dish":"pie","count":3}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newShell(t)
			s.stdin = test.stdin
			got := s.run(append([]string{"call", url, "order"}, test.args...)...)
			require.Zero(t, got.status, got.errs)
			require.JSONEq(t, test.want, got.out)
		})
	}
}

func TestBadArguments(t *testing.T) {
	url := serveHTTP(t, nil)
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"missing":       {[]string{"call", url, "order"}, "missing required arguments: dish (string)"},
		"type":          {[]string{"call", url, "order", "dish=x", "count=many"}, `argument "count": "many" is not an integer`},
		"name":          {[]string{"call", url, "order", "dsh=x"}, `did you mean "dish"?`},
		"no value":      {[]string{"call", url, "order", "dish"}, `argument "dish" is neither name=value nor a JSON object`},
		"not JSON":      {[]string{"call", url, "order", "{dish"}, "arguments from argument are not JSON"},
		"no tool":       {[]string{"call", url}, "TOOL is missing"},
		"no server":     {[]string{"call"}, "SERVER is missing"},
		"no command":    {[]string{"list", "--"}, "there is no command after --"},
		"URL":           {[]string{"list", "ftp://x"}, "is not a URL of the scheme http or https"},
		"revision":      {[]string{"list", url, "-revision", "2020-01-01"}, "the revisions are 2024-11-05"},
		"subcommand":    {[]string{"lst"}, "unknown command"},
		"flag":          {[]string{"list", "-x", url}, "flag provided but not defined"},
		"header":        {[]string{"list", "-header", "x", url}, "a header is"},
		"unknown name":  {[]string{"list", "none"}, `no configuration file declares the server "none"`},
		"unknown list":  {[]string{"list", url, "tols"}, "unknown list"},
		"no subcommand": {nil, "mcpwright list"},
	} {
		t.Run(name, func(t *testing.T) {
			got := newShell(t).run(test.args...)
			require.Equal(t, statusUsage, got.status, got)
			require.Contains(t, got.errs, test.want)
			require.Empty(t, got.out)
		})
	}
}

func TestToolThatFails(t *testing.T) {
	s := newShell(t)
	s.width = 80
	got := s.run("call", serveHTTP(t, nil), "fail")
	require.Equal(t, statusFailed, got.status)
	require.Contains(t, got.errs, `the oven is \x1b[31mbroken`, "control characters do not reach a terminal")
	require.Empty(t, got.out)
}

func TestServerThatCannotBeReached(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	for name, args := range map[string][]string{
		"nothing listens": {"list", gone.URL}, "no program": {"list", "--", "no-such-program"}, "no server": {"list", "--", "true"},
	} {
		t.Run(name, func(t *testing.T) {
			got := newShell(t).run(args...)
			require.Equal(t, statusUnreachable, got.status, got)
			require.Contains(t, got.errs, "cannot connect to "+args[len(args)-1])
		})
	}
}

func TestTokenOfTheEnvironment(t *testing.T) {
	guarded := serveHTTP(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer secret" {
				http.Error(w, "no", http.StatusUnauthorized)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	s := newShell(t)
	got := s.run("ping", guarded)
	require.Equal(t, statusUnreachable, got.status)
	s.env[tokenVariable] = "secret"
	got = s.run("ping", guarded)
	require.Zero(t, got.status, got.errs)
	got = s.run("ping", guarded, "-header", "Authorization: Bearer other")
	require.Equal(t, statusUnreachable, got.status)
	require.Contains(t, got.errs, "requires authorization")
}

func TestRevision(t *testing.T) {
	for _, r := range mcp.Revisions {
		got := newShell(t).run("info", serveHTTP(t, nil), "-revision", r.Revision.String())
		require.Zero(t, got.status, got.errs)
		require.Regexp(t, `revision +`+r.Revision.String(), got.out)
		require.Contains(t, got.out, "Order first.")
	}
}

func TestQuestionAtTheTerminal(t *testing.T) {
	url := serveHTTP(t, nil)
	for name, test := range map[string]struct{ stdin, want string }{
		"accepted": {"Ada\nx\n36\ny\n", "Hello, Ada 36\n"},
		"defaults": {"\nAda\n\n\n", "Hello, Ada 0\n"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShell(t)
			s.human, s.stdin = true, test.stdin
			got := s.run("call", url, "ask")
			require.Zero(t, got.status, got.errs)
			require.Equal(t, test.want, got.out)
			require.Contains(t, got.errs, "The server asks: Who are you?")
			require.Contains(t, got.errs, "name (string): ")
			require.Contains(t, got.errs, "age (integer, optional): ")
		})
	}
	s := newShell(t)
	s.human, s.stdin = true, "Ada\n\nn\n"
	require.Equal(t, statusFailed, s.run("call", url, "ask").status, "declined")
	s.stdin = ""
	require.Equal(t, statusFailed, s.run("call", url, "ask").status, "canceled")
	s.human = false
	require.Equal(t, statusFailed, s.run("call", url, "ask").status, "no person")
}

func TestAnswersFromFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "answers.json")
	require.NoError(t, os.WriteFile(file, []byte(`[{"action":"accept","content":{"name":"Bo","age":3}}]`), 0o600))
	got := newShell(t).run("call", serveHTTP(t, nil), "ask", "-answer", file)
	require.Zero(t, got.status, got.errs)
	require.Equal(t, "Hello, Bo 3\n", got.out)
	require.NoError(t, os.WriteFile(file, []byte(`[]`), 0o600))
	got = newShell(t).run("call", serveHTTP(t, nil), "ask", "-answer", file)
	require.Equal(t, statusFailed, got.status)
}

func TestImageIsSaved(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"image-1.png", "image-2.png"} {
		got := newShell(t).run("call", serveHTTP(t, nil), "picture", "-save", dir)
		require.Zero(t, got.status, got.errs)
		require.Contains(t, got.out, name)
		data, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Equal(t, "PNG", string(data))
	}
}

func TestReadWritesTheExactText(t *testing.T) {
	got := newShell(t).run("read", serveHTTP(t, nil), "kitchen://menu")
	require.Equal(t, result{out: "soup\n\n"}, got)
	file := filepath.Join(t.TempDir(), "menu")
	require.Zero(t, newShell(t).run("read", serveHTTP(t, nil), "kitchen://menu", "-o", file).status)
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "soup\n\n", string(data))
}

func TestWatch(t *testing.T) {
	for _, r := range mcp.Revisions {
		t.Run(r.Revision.String(), func(t *testing.T) {
			server := testServer()
			l := httptest.NewServer(streamable.NewHandler(server, nil))
			defer l.Close()
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			done := make(chan result)
			go func() { // ends with the command
				done <- newShell(t).runContext(ctx, "watch", l.URL, "kitchen://menu", "-n", "2", "-json", "-revision", r.Revision.String())
			}()
			go func() { // ends with the test
				for ctx.Err() == nil {
					_ = server.ResourceUpdated(ctx, "kitchen://menu")
					time.Sleep(10 * time.Millisecond)
				}
			}()
			got := <-done
			require.Zero(t, got.status, got.errs)
			lines := strings.Split(strings.TrimSpace(got.out), "\n")
			require.Len(t, lines, 2)
			for _, line := range lines {
				var c change
				require.NoError(t, json.Unmarshal([]byte(line), &c))
				require.Equal(t, "resource kitchen://menu", c.Kind+" "+c.URI)
			}
		})
	}
	url := serveHTTP(t, nil)
	got := newShell(t).run("watch", url, "-for", "10ms")
	require.Equal(t, result{}, got)
	ctx, interrupt := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, interrupt)
	require.Zero(t, newShell(t).runContext(ctx, "watch", url, "kitchen://menu").status)
	got = newShell(t).run("watch", url, "kitchen://menu", "-revision", "2024-11-05", "-for", "10ms")
	require.Zero(t, got.status, got.errs)
}

func TestInterruptCancelsTheCall(t *testing.T) {
	canceled := make(chan struct{})
	server := mcpserver.New(mcp.Implementation{Name: "s", Version: "1"}, nil)
	begun := make(chan struct{})
	mcpserver.AddTool(server, &mcp.Tool{Name: "wait"}, func(ctx context.Context, _ *mcp.ServerSession, _ struct{}) (string, error) {
		close(begun)
		<-ctx.Done()
		close(canceled)
		return "", ctx.Err()
	})
	l := httptest.NewServer(streamable.NewHandler(server, nil))
	defer l.Close()
	ctx, interrupt := context.WithCancel(t.Context())
	done := make(chan result)
	go func() { done <- newShell(t).runContext(ctx, "call", l.URL, "wait") }() // ends with the call
	<-begun
	interrupt()
	require.Equal(t, statusFailed, (<-done).status)
	<-canceled
}

// TestInterruptedProcess interrupts a command that waits for a server without a response.
func TestInterruptedProcess(t *testing.T) {
	for signal, status := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		received := make(chan struct{}, 1)
		l := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // so that the end of the connection is noticed
			select {
			case received <- struct{}{}:
			default:
			}
			<-r.Context().Done()
		}))
		defer l.Close()
		exe, err := os.Executable()
		require.NoError(t, err)
		cmd := exec.Command(exe, "list", l.URL)
		cmd.Env = append(os.Environ(), runVariable+"=1")
		var out, errs strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &errs
		require.NoError(t, cmd.Start())
		<-received
		require.NoError(t, cmd.Process.Signal(signal))
		require.Error(t, cmd.Wait())
		require.Equal(t, status, cmd.ProcessState.ExitCode(), errs.String())
		require.Empty(t, out.String())
		require.Equal(t, "mcpwright list: interrupted\n", errs.String())
	}
}

func TestServersOfConfigurationFiles(t *testing.T) {
	s := newShell(t)
	exe, err := os.Executable()
	require.NoError(t, err)
	write := func(name, text string) {
		path := filepath.Join(s.dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	write(".mcp.json", fmt.Sprintf(`{"mcpServers":{"kitchen":{"command":%q,"env":{%q:"${SERVE}"}},"web":{"type":"http","url":"http://127.0.0.1:1"}}}`, exe, serveVariable))
	write("home/.cursor/mcp.json", `{"mcpServers":{"web":{"url":"http://127.0.0.1:2"}}}`)
	write(".vscode/mcp.json", "{\n// comment\n\"servers\":{\"asks\":{\"command\":\"x\",\"args\":[\"${input:key}\"]},},\n}")
	s.env["SERVE"] = "yes"
	got := s.run("servers")
	require.Zero(t, got.status)
	require.Contains(t, got.out, "  web      http://127.0.0.1:1\n")
	require.Contains(t, got.out, "http://127.0.0.1:2 (a file above has the same name)")
	got = s.run("call", "kitchen", "order", "dish=soup")
	require.Zero(t, got.status, got.errs)
	delete(s.env, "SERVE")
	got = s.run("list", "kitchen")
	require.Equal(t, statusUsage, got.status)
	require.Contains(t, got.errs, `the environment variable "SERVE" is not set`)
	got = s.run("list", "asks")
	require.Contains(t, got.errs, "${input:key}")
	got = s.run("list", "none")
	require.Contains(t, got.errs, "the servers are asks, kitchen, web")
	write(".mcp.json", "{")
	got = s.run("servers")
	require.Contains(t, got.errs, "read configuration file")
}

// TestSlowServers waits for the whole timeout if there is only one revision to try.
func TestSlowServers(t *testing.T) {
	c := connection{revision: "2026-07-28", timeout: time.Minute}
	opts := new(mcpclient.Options)
	none := filepath.Join(t.TempDir(), "none")
	_, err := c.connect(t.Context(), &environment{}, &server{name: none, Server: hostconfig.Server{Command: none}}, opts)
	require.ErrorContains(t, err, "The command, its interpreter or its folder does not exist.")
	require.Equal(t, time.Minute, opts.ProbeTimeout)
}

func TestHelp(t *testing.T) {
	for _, c := range commands {
		got := newShell(t).run(c.name, "-h")
		require.Zero(t, got.status)
		require.Contains(t, got.out, "usage: mcpwright "+c.name+" ")
		require.Contains(t, got.out, "\nexample:\n  mcpwright "+c.name)
	}
	got := newShell(t).run("-h")
	require.Zero(t, got.status)
	for _, c := range commands {
		require.Contains(t, got.out, "mcpwright "+c.name)
	}
	require.Equal(t, newShell(t).run("call", "-h"), newShell(t).run("help", "call"))
	require.Contains(t, newShell(t).run("help", "none").errs, `unknown command "none"`)
	for _, word := range []string{"version", "-version", "--version"} {
		got := newShell(t).run(word)
		require.Zero(t, got.status)
		require.Regexp(t, `^mcpwright \S+ go1\.\S+\n$`, got.out)
	}
}
