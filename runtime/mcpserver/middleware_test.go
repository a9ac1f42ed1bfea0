package mcpserver_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
)

// steps records what middleware does.
type steps struct {
	mu   sync.Mutex
	list []string
}

func (s *steps) add(step ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, strings.Join(step, " "))
}

func (s *steps) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.list
	s.list = nil
	return list
}

func TestWrappersOfHandlers(t *testing.T) {
	inEveryRevision(t, func(t *testing.T, revision string) {
		var log strings.Builder
		s := newForecaster(&mcpserver.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		var did steps
		wrap := func(name string) {
			s.WrapTools(func(tool *mcp.Tool, next mcpserver.ToolHandler) mcpserver.ToolHandler {
				return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					did.add(name, tool.Name, string(req.Arguments))
					res, err := next(ctx, req)
					if err == nil {
						did.add(name, mcp.TextOf(res.Content))
					}
					return res, err
				}
			})
			s.WrapPrompts(func(p *mcp.Prompt, next mcpserver.PromptHandler) mcpserver.PromptHandler {
				return func(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
					did.add(name, p.Name)
					return next(ctx, req)
				}
			})
			s.WrapResources(func(next mcpserver.ResourceHandler) mcpserver.ResourceHandler {
				return func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
					did.add(name, req.URI)
					return next(ctx, req)
				}
			})
		}
		wrap("outer")
		wrap("inner")
		mcpserver.AddTool(s, &mcp.Tool{Name: "broken"}, func(context.Context, *mcp.ServerSession, any) (string, error) {
			return "", errors.New("secret")
		})
		s.AddRawPrompt(&mcp.Prompt{Name: "p"}, noPrompt)
		s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "x:{a}", Name: "x"}, returnVariables("x"))
		c := connect(t, s, revision)
		require.Equal(t, "Ulm: 1 sunny days", text(t, c.call("tools/call", `{"name":"forecast","arguments":{"city":"Ulm"}}`)))
		require.Equal(t, []string{
			`outer forecast {"city":"Ulm"}`, `inner forecast {"city":"Ulm"}`, "inner Ulm: 1 sunny days", "outer Ulm: 1 sunny days",
		}, did.take())
		require.Equal(t, true, c.call("tools/call", `{"name":"broken"}`)["isError"])
		require.Len(t, did.take(), 4, "a failed tool has a result")
		require.Equal(t, 1, strings.Count(log.String(), "secret"))
		c.start("prompts/get", `{"name":"p"}`)
		c.receive()
		require.Equal(t, []string{"outer p", "inner p"}, did.take())
		c.call("resources/read", `{"uri":"x:1"}`)
		require.Equal(t, []string{"outer x:1", "inner x:1"}, did.take())
		c.refused("tools/call", `{"name":"unknown"}`, mcp.CodeInvalidParams)
		require.Empty(t, did.take())
	})
}

func TestWrapperOfToolsChangesCalls(t *testing.T) {
	inEveryRevision(t, func(t *testing.T, revision string) {
		s := newForecaster(&mcpserver.Options{Logger: slog.New(slog.DiscardHandler)})
		s.WrapTools(func(_ *mcp.Tool, next mcpserver.ToolHandler) mcpserver.ToolHandler {
			return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				switch {
				case strings.Contains(string(req.Arguments), "Atlantis"):
					return nil, mcpserver.Errorf("no such place")
				case strings.Contains(string(req.Arguments), "nothing"):
					return nil, nil
				}
				changed := *req
				changed.Arguments = []byte(strings.Replace(string(req.Arguments), "Ulm", "Bonn", 1))
				return next(ctx, &changed)
			}
		})
		c := connect(t, s, revision)
		require.Equal(t, "Bonn: 1 sunny days", text(t, c.call("tools/call", `{"name":"forecast","arguments":{"city":"Ulm"}}`)))
		refused := c.call("tools/call", `{"name":"forecast","arguments":{"city":"Atlantis"}}`)
		require.Equal(t, true, refused["isError"])
		require.Equal(t, "no such place", text(t, refused))
		require.Equal(t, true, c.call("tools/call", `{"name":"forecast","arguments":{"city":"nothing"}}`)["isError"])
	})
}

func TestUse(t *testing.T) {
	var did steps
	named := func(name string) peer.Middleware {
		return func(next peer.Handler) peer.Handler {
			return peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
				did.add(name, in.Method)
				return next.Handle(ctx, in)
			})
		}
	}
	options := &mcpserver.Options{Middleware: []peer.Middleware{named("first")}}
	s := mcpserver.New(info, options)
	s.Use(named("second"), named("third"))
	s.Use(named("fourth"))
	require.Len(t, options.Middleware, 1, "the options of the caller stay as they are")
	c := connect(t, s, modern)
	did.take()
	c.start("ping", `{}`)
	c.receive()
	require.Equal(t, []string{"first ping", "second ping", "third ping", "fourth ping"}, did.take())
	for name, change := range map[string]func(){
		"Use":           func() { s.Use(named("late")) },
		"WrapTools":     func() { s.WrapTools(nil) },
		"WrapPrompts":   func() { s.WrapPrompts(nil) },
		"WrapResources": func() { s.WrapResources(nil) },
	} {
		require.PanicsWithError(t, "mcpserver: "+name+": the server has begun to serve", change)
	}
}
