//go:build unix

package stdio_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/stdio"
)

func TestFirstRequestSelectsKindOfRevision(t *testing.T) {
	for _, kind := range []string{"handshake", "stateless"} {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				closed := false
				h := connection.NewPipe(newKernel(func(ctx context.Context) {
					transport, ok := mcp.SessionFromContext(ctx).Transport().(*stdio.TransportContext)
					require.True(t, ok)
					require.Equal(t, kind == "handshake", transport.CanSendRequest())
					require.Equal(t, stdio.Kind, transport.Kind())
					require.False(t, transport.NotifyOnly().CanSendRequest())
					connection.FromContext(ctx).OnClose(func(context.Context) error { closed = true; return nil })
				}), nil)
				c := serve(t, t.Context(), h, nil)
				c.play(t, "testdata/"+kind+".jsonl", "\n")
				c.in.Close()
				require.NoError(t, <-c.ended)
				require.True(t, closed, "the connection is closed")
			})
		})
	}
}

func TestFirstLineSelectsKindOfRevision(t *testing.T) {
	stateless := `{"jsonrpc":"2.0","id":"stateless","method":"tools/list","params":{"_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}` + "\n"
	handshake := `{"jsonrpc":"2.0","id":"handshake","method":"initialize","params":{"protocolVersion":"2025-11-25",` +
		`"capabilities":{},"clientInfo":{"name":"c","version":"1"}}}` + "\n"
	bare := `{"jsonrpc":"2.0","id":"bare","method":"ping"}` + "\n"
	for lines, want := range map[string]string{
		stateless + handshake + bare: `"handshake","error":{"code":-32022`,
		handshake + stateless + bare: `"stateless","error":{"code":-32600`,
		bare + stateless + handshake: `"stateless","error":{"code":-32600`,
	} {
		synctest.Test(t, func(t *testing.T) {
			h := connection.NewPipe(newKernel(func(context.Context) {}), nil)
			c := serve(t, t.Context(), h, nil)
			_, err := io.WriteString(c, lines)
			require.NoError(t, err)
			require.Contains(t, c.read(t)+c.read(t)+c.read(t), want)
			c.in.Close()
			require.NoError(t, <-c.ended)
		})
	}
}

// newKernel returns a server with one tool, which calls inspect and reports progress.
func newKernel(inspect func(ctx context.Context)) *connection.Dispatcher {
	var mux peer.Mux
	mcp.HandleCallTool(&mux, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		inspect(ctx)
		s := mcp.SessionFromContext(ctx)
		if err := s.ReportProgress(ctx, peer.Progress{Progress: 1}); err != nil {
			return nil, err
		}
		return &mcp.CallToolResult{Content: []mcp.ContentBlock{&mcp.TextContent{Text: s.Revision().String()}}}, nil
	})
	return connection.NewDispatcher(&connection.DispatcherOptions{
		Mux:          &mux,
		Info:         mcp.Implementation{Name: "server", Version: "1"},
		Capabilities: mcp.ServerCapabilities{Tools: &mcp.ToolsCapability{}},
	})
}

// TestNotificationsBeforeFirstRequest writes notifications and a request at once. All are
// read before the first of them is handled.
func TestNotificationsBeforeFirstRequest(t *testing.T) {
	const (
		initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"
		changed     = `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}` + "\n"
		call        = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}` + "\n"
		response    = `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"1 change"}]}}` + "\n"
	)
	for range 100 {
		changes := 0
		var mux peer.Mux
		mcp.HandleRootsListChanged(&mux, func(context.Context, *mcp.RootsListChangedNotification) error {
			changes++
			return nil
		})
		mcp.HandleCallTool(&mux, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.TextResult(fmt.Sprintf("%d change", changes)), nil
		})
		k := connection.NewDispatcher(&connection.DispatcherOptions{Mux: &mux, Capabilities: mcp.ServerCapabilities{Tools: &mcp.ToolsCapability{}}})
		c := serve(t, t.Context(), connection.NewPipe(k, nil), nil)
		_, err := fmt.Fprint(c, initialized+changed+call)
		require.NoError(t, err)
		require.Equal(t, response, c.read(t))
		c.in.Close()
		require.NoError(t, <-c.ended)
	}
}

// sharedKernel returns a server for several clients. Its tool "state" returns the state of
// the client that calls it.
func sharedKernel(release <-chan struct{}) *connection.Dispatcher {
	visits := connection.NewKey[int]("visits")
	var mux peer.Mux
	mcp.HandleCallTool(&mux, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		state := connection.FromContext(ctx).State()
		n := visits.Update(state, func(n int) int { return n + 1 })
		if req.Name == "state" {
			return mcp.TextResult(fmt.Sprintf("level %q, subscriptions %v, %d in flight, visit %d",
				state.LogLevel(), state.Subscriptions(), len(state.InFlight().IDs()), n)), nil
		}
		select {
		case <-release:
			return mcp.TextResult("released"), nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	})
	mcp.HandleSubscribe(&mux, func(context.Context, *mcp.SubscribeRequest) (*mcp.EmptyResult, error) {
		return &mcp.EmptyResult{}, nil
	})
	return connection.NewDispatcher(&connection.DispatcherOptions{
		Mux: &mux, Info: mcp.Implementation{Name: "shared", Version: "1"},
		Capabilities: mcp.ServerCapabilities{
			Logging: map[string]json.RawMessage{}, Tools: &mcp.ToolsCapability{}, Resources: &mcp.ResourcesCapability{Subscribe: true},
		},
	})
}

func TestClientsWithTheSameIDsAreSeparate(t *testing.T) {
	const (
		initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
		call       = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q}}`
		cancel     = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`
		setLevel   = `{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"error"}}`
		subscribe  = `{"jsonrpc":"2.0","id":3,"method":"resources/subscribe","params":{"uri":"a:b"}}`
	)
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		kernel := sharedKernel(release)
		send := func(c *client, text string) {
			_, err := fmt.Fprintln(c, text)
			require.NoError(t, err)
			synctest.Wait()
		}
		var clients []*client
		for range 2 {
			c := serve(t, t.Context(), connection.NewPipe(kernel, nil), nil)
			send(c, initialize)
			c.read(t)
			send(c, fmt.Sprintf(call, 1, "wait"))
			clients = append(clients, c)
		}
		one, two := clients[0], clients[1]
		send(one, setLevel)
		one.read(t)
		send(one, subscribe)
		one.read(t)
		send(one, cancel)

		send(one, fmt.Sprintf(call, 4, "state"))
		require.Contains(t, one.read(t), `level \"error\", subscriptions [a:b], 1 in flight, visit 2`)
		send(two, fmt.Sprintf(call, 2, "state"))
		require.Contains(t, two.read(t), `level \"\", subscriptions [], 2 in flight, visit 2`)
		close(release)
		require.Contains(t, two.read(t), `"id":1,"result":{"content":[{"type":"text","text":"released"}]}`)
		for _, c := range clients {
			c.in.Close()
			require.NoError(t, <-c.ended)
			require.Empty(t, c.lines, "the cancelled request has no response")
		}
	})
}

// maxDepth limits the functions on the stack of a handler, from the function that its
// goroutine began with to the handler itself.
const maxDepth = 6

// TestStackOfHandlerIsShort checks maxDepth: deep stacks cost memory and make handlers
// hard to debug.
func TestStackOfHandlerIsShort(t *testing.T) {
	var stack []string
	var mux peer.Mux
	mcp.HandleCallTool(&mux, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		stack = callers()
		return &mcp.CallToolResult{}, nil
	})
	for revision, meta := range map[string]string{
		"2025-11-25": ``,
		"2026-07-28": `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`,
	} {
		t.Run(revision, func(t *testing.T) {
			in, toServer := io.Pipe()
			fromServer, out := io.Pipe()
			pipe := connection.NewPipe(connection.NewDispatcher(&connection.DispatcherOptions{Mux: &mux}), nil)
			ended := make(chan error)
			go func() { ended <- stdio.ServeStreams(context.Background(), in, out, pipe, nil) }() // returns when its input ends
			responses := bufio.NewReader(fromServer)
			call := func(line string) {
				_, err := io.WriteString(toServer, line+"\n")
				require.NoError(t, err)
				_, err = responses.ReadString('\n')
				require.NoError(t, err)
			}
			if meta == "" {
				call(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
			}
			stack = nil
			call(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"weather"` + meta + `}}`)
			require.NotEmpty(t, stack)
			require.LessOrEqual(t, len(stack), maxDepth, strings.Join(stack, "\n"))
			require.NoError(t, toServer.Close())
			require.NoError(t, <-ended)
		})
	}
}

// callers returns the functions on the stack, beginning with its caller, without those
// of package runtime.
func callers() (names []string) {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	for more := true; more; {
		var f runtime.Frame
		if f, more = frames.Next(); !strings.HasPrefix(f.Function, "runtime.") {
			names = append(names, f.Function)
		}
	}
	return names
}
