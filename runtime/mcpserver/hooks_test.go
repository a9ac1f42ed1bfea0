package mcpserver_test

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpwright/mcp/runtime/tasks"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// diary records what the hooks of a server are called with.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) add(format string, values ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf(format, values...))
}

// take returns the lines that begin with a prefix, sorted.
func (d *diary) take(prefix string) (found []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, line := range d.lines {
		if strings.HasPrefix(line, prefix) {
			found = append(found, line)
		}
	}
	slices.Sort(found)
	return found
}

func (d *diary) clear() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = nil
}

func (d *diary) hooks() mcpserver.Hooks {
	return mcpserver.Hooks{
		SessionStart: func(_ context.Context, conn *connection.Connection) {
			d.add("start %s %v", conn.State().ClientInfo().Name, conn.State().Revision())
		},
		SessionEnd: func(conn *connection.Connection) { d.add("end %s", conn.State().ClientInfo().Name) },
		Before:     func(_ context.Context, in *peer.Inbound) { d.add("before %s", in.Method) },
		After: func(_ context.Context, in *peer.Inbound, reply peer.Reply) {
			d.add("after %s %T", in.Method, reply.Result)
		},
		Failed:     func(_ context.Context, in *peer.Inbound, err error) { d.add("failed %s: %v", in.Method, err) },
		Registered: func(item mcpserver.Item) { d.add("registered %s %s", item.Kind, item.Name) },
	}
}

// withEverything registers one item of each kind.
func withEverything(o *mcpserver.Options) *mcpserver.Server {
	s := mcpserver.New(info, o)
	mcpserver.AddTool(s, &mcp.Tool{Name: "tool"}, func(context.Context, *mcp.ServerSession, struct{}) (string, error) { return "done", nil })
	mcpserver.AddTool(s, &mcp.Tool{Name: "bad"}, func(context.Context, *mcp.ServerSession, struct{}) (string, error) {
		return "", &peer.Error{Code: -5, Message: "no"}
	})
	s.AddRawPrompt(&mcp.Prompt{Name: "prompt"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) { return nil, nil })
	s.AddResource(&mcp.Resource{Name: "r", URI: "file:///r"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) { return nil, nil })
	s.AddResourceTemplate(&mcp.ResourceTemplate{Name: "t", URITemplate: "file:///{name}"}, func(context.Context, *mcp.ReadResourceRequest, mcpserver.Variables) (*mcp.ReadResourceResult, error) {
		return nil, nil
	})
	return s
}

func TestHooks(t *testing.T) {
	for _, r := range mcp.Revisions {
		t.Run(r.Revision.String(), func(t *testing.T) {
			d := new(diary)
			s := withEverything(&mcpserver.Options{Hooks: d.hooks()})
			require.Equal(t, []string{"registered prompt prompt", "registered resource file:///r", "registered resource template file:///{name}", "registered tool bad", "registered tool tool"}, d.take("registered"))
			c, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(s), &mcpclient.Options{Revision: r.Revision, Info: mcp.Implementation{Name: "c"}})
			require.NoError(t, err)
			_, err = mcpclient.CallTool[string](t.Context(), c, "tool", nil)
			require.NoError(t, err)
			_, err = mcpclient.CallTool[string](t.Context(), c, "bad", nil)
			require.Error(t, err)
			require.Equal(t, []string{"after tools/call *mcp.CallToolResult"}, d.take("after tools/call"))
			require.Equal(t, []string{"failed tools/call: no (code -5)"}, d.take("failed"))
			require.Len(t, d.take("before tools/call"), 2)
			require.NoError(t, c.Close())
			if !r.Handshake {
				require.Empty(t, d.take("start"))
				require.Empty(t, d.take("end"))
				return
			}
			require.Equal(t, []string{"start c " + r.Revision.String()}, d.take("start"))
			require.NoError(t, s.Shutdown(t.Context()))
			require.Equal(t, []string{"end c"}, d.take("end"))
		})
	}
}

// Hooks are called in the same way on every transport.
func TestHooksOverTransports(t *testing.T) {
	d := new(diary)
	s := withEverything(&mcpserver.Options{Hooks: d.hooks()})
	for name, endpoint := range endpoints(t, s) {
		for _, r := range mcp.Revisions {
			if name == "legacy SSE" && r.Revision != mcp.Revision20241105 {
				continue
			}
			t.Run(name+"/"+r.Revision.String(), func(t *testing.T) {
				d.clear()
				c, err := mcpclient.Connect(t.Context(), endpoint(), &mcpclient.Options{Revision: r.Revision, Info: mcp.Implementation{Name: "c"}})
				require.NoError(t, err)
				said(t, c, "tool", nil)
				_, err = mcpclient.CallTool[string](t.Context(), c, "bad", nil)
				require.Error(t, err)
				require.NoError(t, c.Close())
				require.Equal(t, []string{"before tools/call", "before tools/call"}, d.take("before tools/call"))
				require.Equal(t, []string{"after tools/call *mcp.CallToolResult"}, d.take("after tools/call"))
				require.Equal(t, []string{"failed tools/call: no (code -5)"}, d.take("failed"))
				if !r.Handshake {
					require.Empty(t, append(d.take("start"), d.take("end")...))
					return
				}
				require.Equal(t, []string{"start c " + r.Revision.String()}, d.take("start"))
				require.Eventually(t, func() bool { return len(d.take("end c")) == 1 }, 10*time.Second, time.Millisecond, "the session ends after its client")
			})
		}
	}
}

// Lists stay encoded unless there is middleware that may use them.
func TestHooksAndObserversLeaveListsEncoded(t *testing.T) {
	var result wire.Value
	record := func(_ context.Context, in *peer.Inbound, reply peer.Reply) {
		if in.Method == mcp.MethodListTools {
			result = reply.Result
		}
	}
	observer := func(next peer.Handler) peer.Handler { return peer.Observer(next.Handle) }
	for name, test := range map[string]struct {
		options *mcpserver.Options
		encoded bool
	}{
		"hooks":            {&mcpserver.Options{}, true},
		"tasks":            {&mcpserver.Options{Tasks: &tasks.Options{}}, true},
		"observers":        {&mcpserver.Options{Middleware: []peer.Middleware{observer, observer}}, true},
		"other middleware": {&mcpserver.Options{Middleware: []peer.Middleware{observer, func(next peer.Handler) peer.Handler { return peer.HandlerFunc(next.Handle) }}}, false},
	} {
		inEveryRevision(t, func(t *testing.T, revision string) {
			test.options.Hooks = mcpserver.Hooks{After: record}
			c := connect(t, withEverything(test.options), revision)
			res := c.call("tools/list", `{}`)
			require.Len(t, res["tools"], 2, name)
			_, isList := result.(*mcp.ListToolsResult)
			require.Equal(t, test.encoded, !isList, name)
			if page, ok := result.(interface {
				Items() iter.Seq[mcpserver.Item]
			}); test.encoded {
				require.True(t, ok)
				require.Equal(t, []mcpserver.Item{{Kind: mcpserver.KindTool, Name: "bad"}, {Kind: mcpserver.KindTool, Name: "tool"}}, slices.Collect(page.Items()))
			}
		})
	}
}

func TestPanicOfHookHasNoEffect(t *testing.T) {
	fails := func() { panic("hook") }
	s := withEverything(&mcpserver.Options{Logger: slog.New(slog.DiscardHandler), Hooks: mcpserver.Hooks{
		SessionStart: func(context.Context, *connection.Connection) { fails() },
		SessionEnd:   func(*connection.Connection) { fails() },
		Before:       func(context.Context, *peer.Inbound) { fails() },
		After:        func(context.Context, *peer.Inbound, peer.Reply) { fails() },
		Failed:       func(context.Context, *peer.Inbound, error) { fails() },
		Registered:   func(mcpserver.Item) { fails() },
	}})
	c, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(s), &mcpclient.Options{Revision: mcp.Revision20251125})
	require.NoError(t, err)
	text, err := mcpclient.CallTool[string](t.Context(), c, "tool", nil)
	require.NoError(t, err)
	require.Equal(t, "done", text)
	require.NoError(t, c.Close())
}

// A server counts its sessions and its failed requests.
func ExampleHooks() {
	var sessions, failed int
	server := mcpserver.New(mcp.Implementation{Name: "hello", Version: "1"}, &mcpserver.Options{Hooks: mcpserver.Hooks{
		SessionStart: func(context.Context, *connection.Connection) { sessions++ },
		Failed:       func(context.Context, *peer.Inbound, error) { failed++ },
	}})
	client, err := mcpclient.Connect(context.Background(), mcpclient.InProcess(server), &mcpclient.Options{Revision: mcp.Revision20251125})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, _ = client.CallTool(context.Background(), &mcp.CallToolRequest{Name: "unknown"})
	client.Close()
	fmt.Println(sessions, failed)
	// Output: 1 1
}
