package peer

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// goSDK is github.com/modelcontextprotocol/go-sdk. If raw is set, tools use its low-level
// Server.AddTool, without validation, and the handler decodes the arguments.
type goSDK struct {
	Unsupported
	name string
	raw  bool
}

func (p *goSDK) Name() string { return p.name }

func (p *goSDK) Work() string {
	if p.raw {
		return "decoded by encoding/json in the handler"
	}
	return "decoded, validated against the inferred schema"
}

var goSDKInfo = &mcp.Implementation{Name: "bench", Version: "1"}

func (p *goSDK) server() *mcp.Server {
	s := mcp.NewServer(goSDKInfo, &mcp.ServerOptions{
		PageSize:           pageSize,
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	if p.raw {
		p.addRaw(s)
	} else {
		p.addTyped(s)
	}
	mcp.AddTool(s, &mcp.Tool{Name: "update"},
		func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			return goSDKText("updated"), nil, s.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: ResourceURI})
		})
	s.AddResource(&mcp.Resource{URI: ResourceURI, Name: "r1"},
		func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: ResourceURI, Text: "x"}}}, nil
		})
	return s
}

func (p *goSDK) addRaw(s *mcp.Server) {
	s.AddTool(&mcp.Tool{Name: "greet", Description: "greet someone", InputSchema: json.RawMessage(greetSchema)},
		func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var a greetArgs
			if err := json.Unmarshal(req.Params.Arguments, &a); err != nil {
				return nil, err
			}
			return goSDKText(greet(a)), nil
		})
	s.AddTool(&mcp.Tool{Name: "ask", InputSchema: json.RawMessage(`{"type":"object"}`)}, goSDKAsk)
}

func (p *goSDK) addTyped(s *mcp.Server) {
	mcp.AddTool(s, &mcp.Tool{Name: "greet", Description: "greet someone"},
		func(_ context.Context, _ *mcp.CallToolRequest, a greetArgs) (*mcp.CallToolResult, any, error) {
			return goSDKText(greet(a)), nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "ask"},
		func(ctx context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			res, err := goSDKAsk(ctx, req)
			return res, nil, err
		})
}

func goSDKText(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

func goSDKAsk(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	res, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: "Your name?", RequestedSchema: json.RawMessage(askSchema)})
	if err != nil {
		return nil, err
	}
	return goSDKText(fmt.Sprint("Hello, ", res.Content["name"])), nil
}

type goSDKPair struct {
	cs *mcp.ClientSession
	ss *mcp.ServerSession
}

func (p *goSDK) Pair(ctx context.Context, via Via) (Pair, error) {
	var st, ct mcp.Transport
	switch via {
	case Memory:
		st, ct = mcp.NewInMemoryTransports()
	case Pipe:
		r1, w1 := io.Pipe()
		r2, w2 := io.Pipe()
		st = &mcp.IOTransport{Reader: r1, Writer: w2}
		ct = &mcp.IOTransport{Reader: r2, Writer: w1}
	default:
		return nil, ErrUnsupported
	}
	ss, err := p.server().Connect(ctx, st, nil)
	if err != nil {
		return nil, err
	}
	c := mcp.NewClient(goSDKInfo, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "gopher"}}, nil
		},
	})
	cs, err := c.Connect(ctx, ct, &mcp.ClientSessionOptions{ProtocolVersion: handshakeRevision})
	if err != nil {
		return nil, err
	}
	return &goSDKPair{cs, ss}, nil
}

func (p *goSDKPair) Greet(ctx context.Context, name string, count int) (string, error) {
	return p.call(ctx, &mcp.CallToolParams{Name: "greet", Arguments: greetArgs{Name: name, Count: count}})
}

func (p *goSDKPair) Ask(ctx context.Context) (string, error) {
	return p.call(ctx, &mcp.CallToolParams{Name: "ask"})
}

func (p *goSDKPair) call(ctx context.Context, params *mcp.CallToolParams) (string, error) {
	res, err := p.cs.CallTool(ctx, params)
	if err != nil {
		return "", err
	}
	return res.Content[0].(*mcp.TextContent).Text, nil
}

func (p *goSDKPair) Close() error { p.cs.Close(); return p.ss.Wait() }

func (p *goSDK) ServeLines(ctx context.Context, r io.ReadCloser, w io.WriteCloser) error {
	ss, err := p.server().Connect(ctx, &mcp.IOTransport{Reader: r, Writer: w}, nil)
	if err != nil {
		return err
	}
	return ss.Wait()
}

func (p *goSDK) HTTP(mode Mode) (http.Handler, error) {
	s := p.server()
	if mode == Large {
		p.addLarge(s)
	}
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s },
		&mcp.StreamableHTTPOptions{JSONResponse: true, Stateless: mode != Stateful}), nil
}

func (p *goSDK) Fanout(ctx context.Context, via Via, n int, got func()) (*Fanout, error) {
	if via != Pipe { // in one process it uses pipes too
		return nil, ErrUnsupported
	}
	s := p.server()
	subscribers, err := subscribe(n, got, func(r io.ReadCloser, w io.WriteCloser) error {
		_, err := s.Connect(ctx, &mcp.IOTransport{Reader: r, Writer: w}, nil)
		return err
	})
	return &Fanout{
		Notify: func(ctx context.Context) error {
			return s.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: ResourceURI})
		},
		Close: subscribers.close,
	}, err
}
