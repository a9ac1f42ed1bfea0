package mcpserver_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/streamable"
	"github.com/mcpwright/mcp/runtime/wire"
)

// sayer returns the handler of a tool that returns a text.
func sayer(text string) func(context.Context, *mcp.ServerSession, struct{}) (string, error) {
	return func(context.Context, *mcp.ServerSession, struct{}) (string, error) { return text, nil }
}

// withLogin returns a server with the tools "login", which adds tools to the session of its caller,
// and "logout", which removes them, and "shared". The hook, if not nil, is called for new sessions.
func withLogin(o *mcpserver.Options) *mcpserver.Server {
	s := mcpserver.New(info, o)
	mcpserver.AddTool(s, &mcp.Tool{Name: "shared"}, sayer("of all"))
	mcpserver.AddTool(s, &mcp.Tool{Name: "login"}, func(ctx context.Context, _ *mcp.ServerSession, in struct{ User string }) (string, error) {
		conn := connection.FromContext(ctx)
		if err := mcpserver.AddSessionTool(s, conn, &mcp.Tool{Name: "mine"}, sayer("of "+in.User)); err != nil {
			return "", mcpserver.Errorf("%w", err)
		}
		return "", s.AddRawSessionTool(conn, &mcp.Tool{Name: "shared"}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.TextResult("only " + in.User), nil
		})
	})
	mcpserver.AddTool(s, &mcp.Tool{Name: "logout"}, func(ctx context.Context, _ *mcp.ServerSession, _ struct{}) (string, error) {
		s.RemoveSessionTools(connection.FromContext(ctx), "mine", "shared", "absent")
		return "", nil
	})
	return s
}

// pipeTo returns an endpoint on a pipe to a server.
func pipeTo(t *testing.T, s *mcpserver.Server) mcpclient.Endpoint {
	near, far := net.Pipe()
	served := make(chan error, 1)
	go func() { served <- s.ServeStreams(context.Background(), far, far) }() // ends when the pipe is closed
	t.Cleanup(func() {
		near.Close()
		<-served
	})
	return mcpclient.Streams(near, near)
}

// endpoints returns an endpoint of a server for each transport with sessions.
func endpoints(t *testing.T, s *mcpserver.Server) map[string]func() mcpclient.Endpoint {
	web := httptest.NewServer(streamable.NewHandler(s, nil))
	t.Cleanup(web.Close)
	legacy := httptest.NewServer(streamable.NewLegacySSEHandler(s, nil))
	t.Cleanup(legacy.Close)
	t.Cleanup(func() { _ = s.Shutdown(context.Background()) })
	return map[string]func() mcpclient.Endpoint{
		"in process": func() mcpclient.Endpoint { return mcpclient.InProcess(s) },
		"pipe":       func() mcpclient.Endpoint { return pipeTo(t, s) },
		"HTTP":       func() mcpclient.Endpoint { return mcpclient.URL(web.URL) },
		"legacy SSE": func() mcpclient.Endpoint { return mcpclient.LegacySSE(legacy.URL, nil) },
	}
}

// names returns the names of the tools that a client sees.
func names(t *testing.T, c *mcpclient.Client) (list []string) {
	t.Helper()
	for tool, err := range c.Tools(t.Context()) {
		require.NoError(t, err)
		list = append(list, tool.Name)
	}
	return list
}

// said returns the text that a tool returns.
func said(t *testing.T, c *mcpclient.Client, tool string, arguments any) string {
	t.Helper()
	text, err := mcpclient.CallTool[string](t.Context(), c, tool, arguments)
	require.NoError(t, err)
	return text
}

func TestSessionTools(t *testing.T) {
	s := withLogin(nil)
	for name, endpoint := range endpoints(t, s) {
		t.Run(name, func(t *testing.T) {
			changed := make(chan struct{}, 10)
			open := func(o *mcpclient.Options) *mcpclient.Client {
				o.Revision = mcp.Revision20250618
				if name == "legacy SSE" {
					o.Revision = mcp.Revision20241105
				}
				c, err := mcpclient.Connect(t.Context(), endpoint(), o)
				require.NoError(t, err)
				t.Cleanup(func() { c.Close() })
				return c
			}
			ada := open(&mcpclient.Options{OnToolListChanged: func(context.Context, *mcp.ToolListChangedNotification) error {
				changed <- struct{}{}
				return nil
			}})
			other := open(&mcpclient.Options{OnToolListChanged: func(context.Context, *mcp.ToolListChangedNotification) error {
				t.Error("the client of another session is notified")
				return nil
			}})
			before := []string{"login", "logout", "shared"}
			require.Equal(t, before, names(t, ada))
			said(t, ada, "login", map[string]string{"User": "Ada"})
			<-changed
			require.Equal(t, []string{"login", "logout", "mine", "shared"}, names(t, ada))
			require.Equal(t, "of Ada", said(t, ada, "mine", nil))
			require.Equal(t, "only Ada", said(t, ada, "shared", nil))

			require.Equal(t, before, names(t, other))
			require.Equal(t, "of all", said(t, other, "shared", nil))
			_, err := mcpclient.CallTool[string](t.Context(), other, "mine", nil)
			require.ErrorContains(t, err, "Unknown tool")

			said(t, ada, "logout", nil)
			require.Eventually(t, func() bool { return len(changed) > 0 }, 10*time.Second, time.Millisecond)
			require.Equal(t, before, names(t, ada))
			require.Equal(t, "of all", said(t, ada, "shared", nil))
		})
	}
}

func TestSessionToolsFromHook(t *testing.T) {
	inEveryRevision(t, func(t *testing.T, revision string) {
		var s *mcpserver.Server
		s = mcpserver.New(info, &mcpserver.Options{PageSize: 2, Capabilities: mcp.ServerCapabilities{Tools: &mcp.ToolsCapability{ListChanged: true}}, Hooks: mcpserver.Hooks{
			SessionStart: func(_ context.Context, conn *connection.Connection) {
				for _, name := range []string{"c", "a", "b"} {
					require.NoError(t, mcpserver.AddSessionTool(s, conn, &mcp.Tool{Name: name}, sayer(conn.ClientInfo().Name)))
				}
			},
		}})
		mcpserver.AddTool(s, &mcp.Tool{Name: "b"}, sayer("replaced"))
		r, _ := mcp.ParseRevision(revision)
		c, err := mcpclient.Connect(t.Context(), pipeTo(t, s), &mcpclient.Options{Revision: r, Info: mcp.Implementation{Name: "Ada"}})
		require.NoError(t, err)
		defer c.Close()
		if !handshakes(revision) {
			require.Equal(t, []string{"b"}, names(t, c))
			require.Equal(t, "replaced", said(t, c, "b", nil))
			return
		}
		require.Eventually(t, func() bool { return len(names(t, c)) == 3 }, 10*time.Second, time.Millisecond, "the hook runs after the handshake")
		require.Equal(t, []string{"a", "b", "c"}, names(t, c))
		require.Equal(t, "Ada", said(t, c, "b", nil))
	})
}

func TestSessionToolsAreFiltered(t *testing.T) {
	s := withLogin(&mcpserver.Options{Filter: func(_ context.Context, _ *mcp.ServerSession, item mcpserver.Item) bool { return item.Name != "mine" }})
	c, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(s), &mcpclient.Options{Revision: mcp.Revision20251125})
	require.NoError(t, err)
	defer c.Close()
	said(t, c, "login", map[string]string{"User": "Ada"})
	require.Equal(t, []string{"login", "logout", "shared"}, names(t, c))
	_, err = mcpclient.CallTool[string](t.Context(), c, "mine", nil)
	require.ErrorContains(t, err, "Unknown tool")
}

func TestSessionToolsNeedASession(t *testing.T) {
	s := withLogin(nil)
	web := httptest.NewServer(streamable.NewHandler(s, &streamable.Options{Stateless: true}))
	defer web.Close()
	for name, to := range map[string]struct {
		endpoint mcpclient.Endpoint
		revision wire.Revision
	}{
		"stateless revision": {mcpclient.InProcess(s), mcp.Revision20260728},
		"pipe":               {pipeTo(t, s), mcp.Revision20260728},
		"HTTP":               {mcpclient.URL(web.URL), mcp.Revision20260728},
		"Options.Stateless":  {mcpclient.URL(web.URL), mcp.Revision20251125},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := mcpclient.Connect(t.Context(), to.endpoint, &mcpclient.Options{Revision: to.revision})
			require.NoError(t, err)
			defer c.Close()
			_, err = mcpclient.CallTool[string](t.Context(), c, "login", map[string]string{"User": "Ada"})
			require.ErrorContains(t, err, "the client has no session")
			require.Equal(t, []string{"login", "logout", "shared"}, names(t, c))
		})
	}
}

func TestSessionToolsAfterTheSession(t *testing.T) {
	ended := make(chan *connection.Connection, 1)
	s := withLogin(&mcpserver.Options{Hooks: mcpserver.Hooks{SessionEnd: func(conn *connection.Connection) { ended <- conn }}})
	for name, endpoint := range endpoints(t, s) {
		for tool, args := range map[string]string{"login": `{"User":"Ada"}`, "shared": `{}`} {
			t.Run(name+" "+tool, func(t *testing.T) {
				c, err := mcpclient.Connect(t.Context(), endpoint(), &mcpclient.Options{Mode: mcpclient.Handshake})
				require.NoError(t, err)
				res, err := c.CallTool(t.Context(), &mcp.CallToolRequest{Name: tool, Arguments: []byte(args)})
				require.NoError(t, err)
				require.False(t, res.IsError)
				require.NoError(t, c.Close())
				conn := <-ended
				conn.Close(t.Context()) // returns when the connection is closed
				err = mcpserver.AddSessionTool(s, conn, &mcp.Tool{Name: "late"}, sayer("late"))
				require.ErrorIs(t, err, mcpserver.ErrNoSession)
				s.RemoveSessionTools(conn, "mine")
			})
		}
	}
}

func TestInvalidSessionTool(t *testing.T) {
	s := withLogin(nil)
	mcpserver.AddTool(s, &mcp.Tool{Name: "add"}, func(ctx context.Context, _ *mcp.ServerSession, _ struct{}) (string, error) {
		var nilHandler func(context.Context, *mcp.ServerSession, struct{}) (string, error)
		err := mcpserver.AddSessionTool(s, connection.FromContext(ctx), &mcp.Tool{Name: "t"}, nilHandler)
		if registration := new(mcpserver.RegistrationError); !errors.As(err, &registration) {
			return "", fmt.Errorf("not a registration error: %w", err)
		}
		err = s.AddRawSessionTool(connection.FromContext(ctx), &mcp.Tool{Name: "t", InputSchema: []byte("{")}, nil)
		return "", mcpserver.Errorf("%w", err)
	})
	c := connect(t, s, "2025-11-25")
	res := c.call("tools/call", `{"name":"add"}`)
	require.Contains(t, text(t, res), `mcpserver: tool "t": input schema`)
}
