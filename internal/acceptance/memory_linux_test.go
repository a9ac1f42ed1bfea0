//go:build !race

package acceptance

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/streamable"
)

const (
	memoryLimit = 512 << 20        // of the server, as in a small container
	goMemLimit  = "400MiB"         // what an operator sets for such a container
	hostileURL  = "ACCEPTANCE_URL" // the variable with the URL of a hostile server
)

func init() { serveAttacked = serveWithLimit }

// serveWithLimit serves on a pipe and over both HTTP transports with the default limits, and is
// the client of a hostile server. The system lets it have no more memory than memoryLimit.
func serveWithLimit() error {
	if err := syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: memoryLimit, Max: memoryLimit}); err != nil {
		return err
	}
	server := newServer(nil)
	text := strings.Repeat("x", 3<<20)
	server.AddRawTool(&mcp.Tool{Name: "big", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.TextResult(strings.Clone(text)), nil
	})
	server.AddRawTool(&mcp.Tool{Name: "wait", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	opts := &streamable.Options{Principal: func(r *http.Request) string { return r.Header.Get("X-User") }}
	mux := http.NewServeMux()
	mux.Handle("/mcp", streamable.NewHandler(server, opts))
	mux.Handle("/sse", streamable.NewLegacySSEHandler(server, opts))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go http.Serve(listener, mux)                // ends with the process
	go callHostileServer(os.Getenv(hostileURL)) // ends with the process
	fmt.Fprintln(os.Stderr, listener.Addr())
	return server.ServeStdio(context.Background())
}

// callHostileServer calls a typed tool again and again.
func callHostileServer(url string) {
	for {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		c, err := mcpclient.Connect(ctx, mcpclient.URL(url), &mcpclient.Options{Logger: slog.New(slog.DiscardHandler)})
		if err == nil {
			_, _ = mcpclient.CallTool[map[string]any](ctx, c, "any", nil)
			c.Close()
		}
		cancel()
	}
}

// hostileServer has an endless list of tools with large output schemas.
func hostileServer() http.Handler {
	schema := `{"type":"object","description":"` + strings.Repeat("x", 1<<20-100) + `"}`
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req struct {
			ID     json.RawMessage
			Method string
		}
		if json.NewDecoder(r.Body).Decode(&req) != nil || req.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		result := `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"hostile","version":"1"}}`
		switch req.Method {
		case mcp.MethodListTools:
			result = fmt.Sprintf(`{"nextCursor":"%d","tools":[{"name":"t%[1]d","inputSchema":{"type":"object"},"outputSchema":%s}]}`, time.Now().UnixNano(), schema)
		case mcp.MethodCallTool:
			result = `{"content":[],"structuredContent":{}}`
		case mcp.MethodDiscover:
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, req.ID, result)
	})
}

// victim is the server under attack.
type victim struct {
	child   *exec.Cmd
	url     string
	in      io.WriteCloser
	client  *http.Client
	refused atomic.Int64 // responses with status 429 or 503
}

func startVictim(t *testing.T) *victim {
	hostile := httptest.NewServer(hostileServer())
	t.Cleanup(hostile.Close)
	program, err := os.Executable()
	require.NoError(t, err)
	v := &victim{child: exec.Command(program), client: &http.Client{Transport: &http.Transport{}}}
	v.child.Env = append(os.Environ(), serving+"="+attacked, hostileURL+"="+hostile.URL, "GOMEMLIMIT="+goMemLimit)
	v.in, err = v.child.StdinPipe()
	require.NoError(t, err)
	_, err = v.child.StdoutPipe() // is never read
	require.NoError(t, err)
	messages, err := v.child.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, v.child.Start())
	t.Cleanup(func() {
		v.client.CloseIdleConnections()
		v.child.Process.Kill()
		v.child.Wait()
	})
	lines := bufio.NewReader(messages)
	addr, err := lines.ReadString('\n')
	require.NoError(t, err)
	v.url = "http://" + strings.TrimSpace(addr)
	go io.Copy(os.Stderr, lines) // ends with the child
	return v
}

// post posts a message as a principal, with a session if it is not empty. It returns the session
// of the response and its beginning.
func (v *victim) post(ctx context.Context, user, session, path string, body io.Reader) (newSession string, status int, text []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, v.url+path, body)
	if err != nil {
		return "", 0, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("X-User", user)
	if session != "" {
		req.Header.Set("Mcp-Session-Id", session)
	}
	res, err := v.client.Do(req)
	if err != nil {
		return "", 0, nil, err
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusTooManyRequests || res.StatusCode == http.StatusServiceUnavailable {
		v.refused.Add(1)
	}
	text, err = io.ReadAll(io.LimitReader(res.Body, 64<<10))
	return res.Header.Get("Mcp-Session-Id"), res.StatusCode, text, err
}

const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`

func callTool(id int, tool, text string) io.Reader {
	return strings.NewReader(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{"season":%q}}}`, id, tool, text))
}

// open begins a session.
func (v *victim) open(ctx context.Context, user string) string {
	session, _, _, _ := v.post(ctx, user, "", "/mcp", strings.NewReader(initialize))
	return session
}

// large is an argument that makes a message almost as large as the server allows.
var large = strings.Repeat("x", 4<<20-1000)

// waitingCalls makes 256 calls with large arguments in each of four sessions of a principal. The tool
// does not return, and the client gives up soon.
func (v *victim) waitingCalls(ctx context.Context) {
	var all sync.WaitGroup
	for range 4 {
		session := v.open(ctx, "mallory")
		for worker := range 8 {
			all.Go(func() { // ends after its calls
				for i := range 32 {
					ctx, cancel := context.WithTimeout(ctx, time.Second)
					v.post(ctx, "mallory", session, "/mcp", callTool(1+32*worker+i, "wait", large))
					cancel()
				}
			})
		}
	}
	all.Wait()
}

// unreadPipe calls a tool with a large result on the pipe and reads nothing.
func (v *victim) unreadPipe() {
	io.WriteString(v.in, initialize+"\n")
	for i := range 1100 {
		if _, err := io.Copy(v.in, io.MultiReader(callTool(1+i, "big", ""), strings.NewReader("\n"))); err != nil {
			return
		}
	}
}

// unreadLegacyStream does the same over the legacy transport.
func (v *victim) unreadLegacyStream(ctx context.Context) {
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, v.url+"/sse", nil)
	req.Header.Set("Accept", "text/event-stream")
	res, err := v.client.Do(req)
	if err != nil {
		return
	}
	defer res.Body.Close()
	lines := bufio.NewReader(res.Body)
	lines.ReadString('\n')
	endpoint, _ := lines.ReadString('\n')
	path := strings.TrimSpace(strings.TrimPrefix(endpoint, "data: "))
	v.post(ctx, "", "", path, strings.NewReader(initialize))
	for i := range 400 {
		v.post(ctx, "", "", path, callTool(1+i, "big", ""))
	}
	<-ctx.Done()
}

// storedEvents makes calls with large results in 90 sessions of a principal, and does not read the
// responses, so that they are stored.
func (v *victim) storedEvents(ctx context.Context) {
	for range 90 {
		session := v.open(ctx, "trudy")
		call, cancel := context.WithCancel(ctx)
		req, _ := http.NewRequestWithContext(call, http.MethodPost, v.url+"/mcp", callTool(1, "big", ""))
		for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "X-User": "trudy", "Mcp-Session-Id": session} {
			req.Header.Set(name, value)
		}
		if res, err := v.client.Do(req); err == nil {
			res.Body.Close()
		}
		cancel()
	}
}

// slowUploads begins 200 large requests of an unknown caller and does not finish them.
func (v *victim) slowUploads(ctx context.Context) {
	for range 200 {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", strings.TrimPrefix(v.url, "http://"))
		if err != nil {
			return
		}
		defer conn.Close()
		fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: 4000000\r\n\r\n", conn.RemoteAddr())
		conn.Write(bytes.Repeat([]byte(" "), 100<<10))
	}
	<-ctx.Done()
}

// useNormally makes at least 20 calls of another principal, some of them large, until ctx ends or a call
// fails. It returns the number of calls that succeeded, and why the last one did not.
func (v *victim) useNormally(ctx context.Context) (succeeded int, failure string) {
	session := v.open(ctx, "bob")
	for i := 1; ctx.Err() == nil || succeeded < 20; i++ {
		text := "summer"
		if i%8 == 0 {
			text = large[:1<<20]
		}
		call, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
		_, status, response, err := v.post(call, "bob", session, "/mcp", callTool(i, "echo", text))
		cancel()
		if err != nil || status != http.StatusOK || !bytes.Contains(response, []byte(text[:6])) {
			return succeeded, fmt.Sprintf("%d %v %.200s", status, err, response)
		}
		succeeded++
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
	return succeeded, ""
}

// peakMemory returns the maximum resident memory of the server so far.
func (v *victim) peakMemory(t *testing.T) int {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", v.child.Process.Pid))
	require.NoError(t, err)
	_, peak, found := strings.Cut(string(status), "VmHWM:")
	require.True(t, found)
	n, err := strconv.Atoi(strings.Fields(peak)[0])
	require.NoError(t, err)
	return n << 10
}

// TestMemoryUnderAttack attacks a server in every way at once. It must keep to the memory of a small
// container with the default limits, refuse what is too much, and serve another principal.
func TestMemoryUnderAttack(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 20 seconds")
	}
	v := startVictim(t)
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	var attacks sync.WaitGroup
	for _, attack := range []func(context.Context){v.waitingCalls, v.unreadLegacyStream, v.storedEvents, v.slowUploads} {
		attacks.Go(func() { attack(ctx) }) // ends with ctx
	}
	go v.unreadPipe() // ends with the server
	name := strings.Repeat("m", 1<<20)
	_, _, response, err := v.post(ctx, "mallory", v.open(ctx, "mallory"), "/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"`+name+`"}`))
	require.NoError(t, err)
	require.Less(t, len(response), 1<<10)
	succeeded, failure := v.useNormally(ctx)
	attacks.Wait()
	require.Empty(t, failure, "a call of another principal")
	require.Positive(t, v.refused.Load())
	peak := v.peakMemory(t)
	require.Less(t, peak, memoryLimit)
	t.Logf("peak %d MiB, %d refused requests, %d calls of another principal", peak>>20, v.refused.Load(), succeeded)
}
