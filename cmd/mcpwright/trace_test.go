package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/cmd/mcpwright/internal/wiretrace"
	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/streamable"
)

// traceProcess returns the command mcpwright trace as a process of its own.
func traceProcess(t testing.TB, args ...string) *exec.Cmd {
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(exe, append([]string{"trace"}, args...)...)
	cmd.Env = append(os.Environ(), runVariable+"=1", serveVariable+"=1")
	return cmd
}

// events reads a recording.
func events(t testing.TB, path string) (list []wiretrace.Event) {
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	for line := range bytes.Lines(data) {
		var e wiretrace.Event
		require.NoError(t, json.Unmarshal(line, &e), "%s", line)
		list = append(list, e)
	}
	return list
}

func TestTraceCommand(t *testing.T) {
	exe, err := os.Executable()
	require.NoError(t, err)
	out := filepath.Join(t.TempDir(), "trace.jsonl")
	require.NoError(t, os.WriteFile(out, []byte("old"), 0o666))
	to := mcpclient.Command(exe, "trace", "-out", out, "-mask", "dish", "--", exe)
	to.Env = append(os.Environ(), runVariable+"=1", serveVariable+"=1", "API_TOKEN=s3cret99")
	var errs bytes.Buffer
	to.Start.Stderr = &errs
	client, err := mcpclient.Connect(t.Context(), to, &mcpclient.Options{Info: mcp.Implementation{Name: "c", Version: "1"}})
	require.NoError(t, err)
	res, err := client.CallTool(t.Context(), &mcp.CallToolRequest{Name: "order", Arguments: json.RawMessage(`{"dish":"soup","with":["s3cret99"]}`)})
	require.NoError(t, err)
	require.Contains(t, string(res.StructuredContent), "soup")
	require.NoError(t, client.Close())

	require.Regexp(t, `(?m)^\d+ \d\d:\d\d:\d\d\.\d{3} > request tools/call id=\S+ \{.*"\*\*\*"`, errs.String())
	require.Regexp(t, `(?m)^\d+ \d\d:\d\d:\d\d\.\d{3} < response tools/call id=\S+ to \d+ after [\d.]+ ms \{`, errs.String())
	require.NotContains(t, errs.String(), "violation")
	info, err := os.Stat(out)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	recording, err := os.ReadFile(out)
	require.NoError(t, err)
	require.NotContains(t, string(recording), "s3cret99", "the value of a variable with a secret name")
	var called wiretrace.Event
	for i, e := range events(t, out) {
		require.Equal(t, i+1, e.N)
		if e.Method == mcp.MethodCallTool && e.Kind == wiretrace.Request {
			called = e
		}
	}
	require.True(t, called.Masked)
	require.Contains(t, string(called.Message), `"dish":"***"`)
}

// copier is a server that sends back what it reads. It runs where a shell does.
func copier(t testing.TB, script string) []string {
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell")
	}
	return []string{"--", "sh", "-c", script}
}

func TestTraceChangesNoByte(t *testing.T) {
	notifications := 10_000
	if testing.Short() {
		notifications = 1000
	}
	sent := "{\"jsonrpc\" : \"2.0\",\t\"id\":1,\"method\":\"ping\"}\r\n\n\n{broken\xff\x00\n[]\n" + `{"x":"` + strings.Repeat("y", 10<<20) + "\"}\n" +
		strings.Repeat(`{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n", notifications) + "no line end"
	s := newShell(t)
	s.stdin = sent
	got := s.run(append([]string{"trace", "-out", "trace.jsonl"}, copier(t, "cat; echo problem >&2")...)...)
	require.Zero(t, got.status)
	require.Equal(t, len(sent), len(got.out))
	require.True(t, sent == got.out, "the bytes differ")
	require.Contains(t, got.errs, "problem\n", "standard error passes through")
	require.Contains(t, got.errs, `violation at the whole message: invalid JSON`)
	require.Contains(t, got.errs, "10485768 bytes, not validated")
	list := events(t, filepath.Join(s.dir, "trace.jsonl"))
	if !strings.Contains(got.errs, "messages were passed on, but") {
		require.Len(t, list, 2*(notifications+5))
	}
	require.True(t, json.Valid(list[0].Message))
}

func TestTraceExitStatus(t *testing.T) {
	for script, want := range map[string]int{
		"exit 7": 7, "kill -TERM $$": 128 + int(syscall.SIGTERM), "exec >&-; cat >/dev/null; exit 3": 3,
	} {
		require.Equal(t, want, newShell(t).run(append([]string{"trace"}, copier(t, script)...)...).status, script)
	}
	got := newShell(t).run("trace", "--", "mcpwright-no-such-command")
	require.Equal(t, statusUnreachable, got.status)
	require.Contains(t, got.errs, "cannot start mcpwright-no-such-command")
	require.Contains(t, got.errs, "The command is not in PATH.")
}

func TestTraceUsage(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	for _, test := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"trace"}, statusUsage, "SERVER is missing"},
		{[]string{"trace", "http://127.0.0.1/mcp"}, statusUsage, "-listen is missing"},
		{[]string{"trace", "-listen", ":0", "--", "cat"}, statusUsage, "-listen is for the URL"},
		{[]string{"trace", "-listen", "9000", "http://127.0.0.1/mcp"}, statusUsage, "an address is host:port or :port"},
		{[]string{"trace", "-listen", taken.Addr().String(), "http://127.0.0.1/mcp"}, statusFailed, "address already in use"},
		{[]string{"trace", "-out", "none/x", "--", "cat"}, statusUsage, "open the file of -out"},
		{[]string{"trace", "-log", "none/x", "--", "cat"}, statusUsage, "open the file of -log"},
	} {
		got := newShell(t).run(test.args...)
		require.Equal(t, test.status, got.status, "%v %s", test.args, got.errs)
		require.Contains(t, got.errs, test.want)
	}
}

func TestTraceCopiesWithoutSpaceForRecording(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("needs /dev/full")
	}
	s := newShell(t)
	s.stdin = `{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n"
	got := s.run(append([]string{"trace", "-quiet", "-out", "/dev/full"}, copier(t, "cat")...)...)
	require.Zero(t, got.status)
	require.Equal(t, s.stdin, got.out)
	require.Contains(t, got.errs, "write the recording: ")
	require.Contains(t, got.errs, "the recording is not complete")
}

func TestTracePassesSignalsOn(t *testing.T) {
	cmd := traceProcess(t, copier(t, `trap 'echo ended; exit 9' TERM; echo ready; while :; do sleep 0.01; done`)...)
	_, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(out)
	require.True(t, lines.Scan())
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.True(t, lines.Scan())
	require.Equal(t, "ended", lines.Text())
	require.Error(t, cmd.Wait())
	require.Equal(t, 9, cmd.ProcessState.ExitCode())
}

// TestTraceEndsWithClient closes both pipes of the client while the server writes.
func TestTraceEndsWithClient(t *testing.T) {
	cmd := traceProcess(t, append([]string{"-quiet"}, copier(t, "yes")...)...)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = io.ReadFull(out, make([]byte, 1<<20))
	require.NoError(t, err)
	require.NoError(t, in.Close())
	require.NoError(t, out.Close())
	require.Error(t, cmd.Wait())
	require.Contains(t, []int{1, 128 + int(syscall.SIGPIPE)}, cmd.ProcessState.ExitCode())
}

// traceHTTP runs mcpwright trace for a URL, and returns the URL of the proxy, and a function that ends it
// and returns its result.
func traceHTTP(t *testing.T, args ...string) (string, func() result) {
	return serveCommand(t, append([]string{"trace", "-listen", "127.0.0.1:0"}, args...)...)
}

// serveCommand runs a subcommand that listens, and returns its URL, and a function that ends it and returns
// its result.
func serveCommand(t *testing.T, args ...string) (string, func() result) {
	s := newShell(t)
	ctx, cancel := context.WithCancel(t.Context())
	printed, w := io.Pipe()
	s.watch = w
	done := make(chan result, 1)
	go func() { // ends with ctx
		done <- s.runContext(ctx, args...)
		w.Close()
	}()
	lines := bufio.NewReader(printed)
	line, err := lines.ReadString('\n')
	require.NoError(t, err)
	go io.Copy(io.Discard, lines) // ends with the command
	address := strings.Fields(line)[2]
	stop := func() result {
		cancel()
		got := <-done
		done <- got
		return got
	}
	t.Cleanup(func() { stop() })
	return address, stop
}

func TestTraceHTTP(t *testing.T) {
	for _, legacy := range []bool{false, true} {
		t.Run(fmt.Sprint("legacy ", legacy), func(t *testing.T) {
			handler := http.Handler(streamable.NewHandler(testServer(), nil))
			if legacy {
				handler = streamable.NewLegacySSEHandler(testServer(), nil)
			}
			server := httptest.NewServer(handler)
			t.Cleanup(server.Close)
			proxy, stop := traceHTTP(t, server.URL+"/mcp")
			to := mcpclient.URL(proxy)
			to.LegacySSE = true
			client, err := mcpclient.Connect(t.Context(), to, &mcpclient.Options{Info: mcp.Implementation{Name: "c", Version: "1"}})
			require.NoError(t, err)
			_, err = client.CallTool(t.Context(), &mcp.CallToolRequest{Name: "order", Arguments: json.RawMessage(`{"dish":"soup"}`)})
			require.NoError(t, err)
			require.NoError(t, client.Close())
			got := stop()
			require.Zero(t, got.status)
			require.Regexp(t, `(?m)^\d+ \S+ > request tools/call id=\S+ POST /`, got.errs)
			require.Regexp(t, `(?m)^\d+ \S+ < response tools/call id=\S+ 200 \S+ (connection \d+ )?to \d+ after [\d.]+ ms \{`, got.errs)
			require.NotContains(t, got.errs, "INVALID")
		})
	}
}

// request sends a request, and returns the response with its whole body.
func request(t *testing.T, method, url, body string, header http.Header) (*http.Response, string) {
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	for name, values := range header {
		req.Header[name] = values
	}
	if host := header.Get("Host"); host != "" {
		req.Host = host
	}
	transport := &http.Transport{DisableCompression: true}
	defer transport.CloseIdleConnections()
	res, err := transport.RoundTrip(req)
	require.NoError(t, err)
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res, string(data)
}

func TestTraceHTTPChangesNoByte(t *testing.T) {
	const body = "{ \"broken\" \xff\r\n"
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = io.WriteString(z, body)
	require.NoError(t, z.Close())
	var seen *http.Request
	var received string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		seen, received = r, string(data)
		w.Header()["X-Own"] = []string{"a", "b"}
		w.Header().Set("Content-Type", "application/json")
		if r.Header.Get("Accept-Encoding") != "" {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(packed.Bytes())
			return
		}
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	proxy, stop := traceHTTP(t, server.URL+"/mcp")
	header := http.Header{"Origin": {"http://page.example"}, "X-Forwarded-For": {"192.0.2.1"}, "Authorization": {"Bearer s3cret99s3cret"}, "User-Agent": {"own"}}
	res, got := request(t, http.MethodPost, proxy+"?a=%2F&a=;b", body, header)
	require.Equal(t, body, got)
	require.Equal(t, http.StatusTeapot, res.StatusCode)
	require.Equal(t, []string{"a", "b"}, res.Header["X-Own"])
	require.Equal(t, body, received)
	require.Equal(t, "/mcp?a=%2F&a=;b", seen.RequestURI)
	require.Equal(t, strings.TrimPrefix(server.URL, "http://"), seen.Host)
	for name, values := range header {
		require.Equal(t, values, seen.Header[name])
	}
	require.Empty(t, seen.Header.Get("Accept-Encoding"))

	res, got = request(t, http.MethodDelete, proxy, "", http.Header{"Accept-Encoding": {"gzip"}})
	require.Equal(t, "gzip", res.Header.Get("Content-Encoding"))
	require.Equal(t, packed.String(), got)
	require.Equal(t, http.MethodDelete, seen.Method)

	res, _ = request(t, http.MethodGet, proxy, "", http.Header{"Host": {"attacker.example"}})
	require.Equal(t, http.StatusForbidden, res.StatusCode, "DNS rebinding")
	server.Close()
	res, got = request(t, http.MethodGet, proxy, "", nil)
	require.Equal(t, http.StatusBadGateway, res.StatusCode)
	require.Contains(t, got, "no response from 127.0.0.1:")
	end := stop()
	require.NotContains(t, end.errs, "s3cret")
	require.Contains(t, end.errs, `{ "broken" `+"\xff", "the compressed body is shown")
	require.Contains(t, end.errs, "no response: ")
}

// TestTraceHTTPStreams checks that each part of a stream arrives before the next one is sent, and that
// a client that vanishes ends the request to the server.
func TestTraceHTTPStreams(t *testing.T) {
	next, gone := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for range 3 {
			_, _ = io.WriteString(w, ": part\n\n")
			w.(http.Flusher).Flush()
			<-next
		}
		<-r.Context().Done()
		close(gone)
	}))
	t.Cleanup(server.Close)
	proxy, _ := traceHTTP(t, server.URL)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, proxy, nil)
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	for range 3 {
		part := make([]byte, len(": part\n\n"))
		_, err := io.ReadFull(res.Body, part)
		require.NoError(t, err)
		next <- struct{}{}
	}
	cancel()
	select {
	case <-gone:
	case <-time.After(30 * time.Second):
		require.Fail(t, "the request to the server has not ended")
	}
}
