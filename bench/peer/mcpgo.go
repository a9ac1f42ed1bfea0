package peer

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"sync"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	mgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// mcpGo is github.com/mark3labs/mcp-go. If validate is set, the server uses the option
// WithInputSchemaValidation. (The go-sdk's AddTool always validates.) If telemetry is set, the server
// traces its requests.
type mcpGo struct {
	Unsupported
	name      string
	validate  bool
	telemetry bool
}

func (p *mcpGo) Name() string { return p.name }

func (p *mcpGo) Work() string {
	if p.validate {
		return "decoded, validated against the tool's schema"
	}
	return "decoded, not validated (its default)"
}

func (p *mcpGo) server() *server.MCPServer {
	opts := []server.ServerOption{
		server.WithToolCapabilities(true),
		server.WithResourceCapabilities(true, true),
		server.WithElicitation(),
	}
	if p.validate {
		opts = append(opts, server.WithInputSchemaValidation())
	}
	if p.telemetry {
		opts = append(opts, server.WithTracer(newMCPGoTracer()), server.WithMetaPropagator(mcpGoPropagator{}))
	}
	s := server.NewMCPServer("bench", "1", opts...)
	s.AddTool(mgo.NewTool("greet", mgo.WithDescription("greet someone"),
		mgo.WithString("name", mgo.Required(), mgo.Description("whom to greet")),
		mgo.WithInteger("count", mgo.Required(), mgo.Description("how often"))),
		mgo.NewTypedToolHandler(func(ctx context.Context, req mgo.CallToolRequest, a greetArgs) (*mgo.CallToolResult, error) {
			return mgo.NewToolResultText(greet(a)), nil
		}))
	s.AddTool(mgo.NewTool("ask"), func(ctx context.Context, req mgo.CallToolRequest) (*mgo.CallToolResult, error) {
		r, err := s.RequestElicitation(ctx, mgo.ElicitationRequest{Params: mgo.ElicitationParams{
			Mode: mgo.ElicitationModeForm, Message: "Your name?", RequestedSchema: json.RawMessage(askSchema)}})
		if err != nil {
			return nil, err
		}
		return mgo.NewToolResultText(fmt.Sprint("Hello, ", r.Content.(map[string]any)["name"])), nil
	})
	s.AddTool(mgo.NewTool("update"), func(context.Context, mgo.CallToolRequest) (*mgo.CallToolResult, error) {
		s.SendNotificationToAllClients("notifications/resources/updated", map[string]any{"uri": ResourceURI})
		return mgo.NewToolResultText("updated"), nil
	})
	s.AddResource(mgo.NewResource(ResourceURI, "r1"), func(context.Context, mgo.ReadResourceRequest) ([]mgo.ResourceContents, error) {
		return []mgo.ResourceContents{mgo.TextResourceContents{URI: ResourceURI, Text: "x"}}, nil
	})
	return s
}

type mcpGoElicit struct{}

func (mcpGoElicit) Elicit(context.Context, mgo.ElicitationRequest) (*mgo.ElicitationResult, error) {
	return &mgo.ElicitationResult{ElicitationResponse: mgo.ElicitationResponse{
		Action: mgo.ElicitationResponseActionAccept, Content: map[string]any{"name": "gopher"}}}, nil
}

type mcpGoPair struct {
	c     *client.Client
	close func() error
}

// mcp-go has one stdio session per process, so pairs on pipes must not overlap.
var mcpGoStdioMu sync.Mutex

func (p *mcpGo) Pair(ctx context.Context, via Via) (Pair, error) {
	s := p.server()
	opts := []client.ClientOption{client.WithElicitationHandler(mcpGoElicit{}), client.WithProtocolVersion(handshakeRevision)}
	if p.telemetry {
		opts = append(opts, client.WithTracer(newMCPGoTracer()), client.WithMetaPropagator(mcpGoPropagator{}))
	}
	var c *client.Client
	var closeFn func() error
	switch via {
	case Memory:
		var err error
		c, err = client.NewInProcessClientWithOptions(s, opts...)
		if err != nil {
			return nil, err
		}
		closeFn = c.Close
	case Pipe:
		r1, w1 := io.Pipe()
		r2, w2 := io.Pipe()
		mcpGoStdioMu.Lock()
		done := make(chan error, 1)
		go func() { done <- p.listen(ctx, s, r1, w2) }()
		c = client.NewClient(transport.NewIO(r2, w1, io.NopCloser(eofReader{})), opts...)
		closeFn = func() error {
			defer mcpGoStdioMu.Unlock()
			err := c.Close()
			w1.Close()
			<-done
			w2.Close()
			return err
		}
	default:
		return nil, ErrUnsupported
	}
	if err := mcpGoStart(ctx, c); err != nil {
		return nil, err
	}
	return &mcpGoPair{c, closeFn}, nil
}

func mcpGoStart(ctx context.Context, c *client.Client) error {
	if err := c.Start(ctx); err != nil {
		return err
	}
	_, err := c.Initialize(ctx, mgo.InitializeRequest{Params: mgo.InitializeParams{
		ProtocolVersion: handshakeRevision, ClientInfo: mgo.Implementation{Name: "bench", Version: "1"}}})
	return err
}

type eofReader struct{}

func (eofReader) Read([]byte) (int, error) { return 0, io.EOF }

func (p *mcpGoPair) Greet(ctx context.Context, name string, count int) (string, error) {
	return p.call(ctx, mgo.CallToolParams{Name: "greet", Arguments: greetArgs{Name: name, Count: count}})
}

func (p *mcpGoPair) Ask(ctx context.Context) (string, error) {
	return p.call(ctx, mgo.CallToolParams{Name: "ask"})
}

func (p *mcpGoPair) call(ctx context.Context, params mgo.CallToolParams) (string, error) {
	res, err := p.c.CallTool(ctx, mgo.CallToolRequest{Params: params})
	if err != nil {
		return "", err
	}
	return res.Content[0].(mgo.TextContent).Text, nil
}

func (p *mcpGoPair) Close() error { return p.close() }

func (p *mcpGo) listen(ctx context.Context, s *server.MCPServer, r io.Reader, w io.Writer) error {
	ss := server.NewStdioServer(s)
	ss.SetErrorLogger(log.New(io.Discard, "", 0))
	return ss.Listen(ctx, r, w)
}

func (p *mcpGo) ServeLines(ctx context.Context, r io.ReadCloser, w io.WriteCloser) error {
	mcpGoStdioMu.Lock()
	defer mcpGoStdioMu.Unlock()
	defer w.Close()
	return p.listen(ctx, p.server(), r, w)
}

func (p *mcpGo) HTTP(mode Mode) (http.Handler, error) {
	session := server.WithStateLess(true)
	if mode == Stateful {
		session = server.WithStateful(true)
	}
	s := p.server()
	if mode == Large {
		p.addLarge(s)
	}
	return server.NewStreamableHTTPServer(s, session, server.WithStreamableHTTPLogger(slog.New(slog.DiscardHandler))), nil
}

// Fanout uses clients in the process, because a server has one session on pipes only. mcp-go stores no
// subscriptions and notifies every client.
func (p *mcpGo) Fanout(ctx context.Context, via Via, n int, got func()) (*Fanout, error) {
	if via != Memory {
		return nil, ErrUnsupported
	}
	s := p.server()
	var clients []*client.Client
	for range n {
		c, err := client.NewInProcessClientWithOptions(s, client.WithProtocolVersion(handshakeRevision))
		if err != nil {
			return nil, err
		}
		c.OnNotification(func(mgo.JSONRPCNotification) { got() })
		if err := mcpGoStart(ctx, c); err != nil {
			return nil, err
		}
		clients = append(clients, c)
	}
	return &Fanout{
		Notify: func(context.Context) error {
			s.SendNotificationToAllClients("notifications/resources/updated", map[string]any{"uri": ResourceURI})
			return nil
		},
		Close: func() {
			for _, c := range clients {
				c.Close()
			}
		},
	}, nil
}
