package peer

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"sync"

	"github.com/mcpwright/mcp/generated/mcp"
	mcpotel "github.com/mcpwright/mcp/otel"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/streamable"
	"github.com/mcpwright/mcp/runtime/wire"
)

var silent = slog.New(slog.DiscardHandler)

// ours is this module, used through mcpserver and mcpclient. If raw is set, tools have prepared schemas
// and decode their arguments themselves. If telemetry is set, client and server are
// instrumented; if sdk is set, they call the SDK without our telemetry.
type ours struct {
	name      string
	raw       bool
	telemetry *mcpotel.Options // nil for none
	sdk       *sdkAlone        // nil for none
}

func (p *ours) Name() string { return p.name }

func (p *ours) Work() string {
	if p.raw {
		return "decoded by encoding/json in the handler"
	}
	return "decoded, validated against the inferred schema"
}

func (p *ours) server() *mcpserver.Server {
	opts := &mcpserver.Options{Logger: silent, PageSize: pageSize}
	if p.telemetry != nil {
		opts = mcpotel.InstrumentServer(opts, p.telemetry)
	}
	if p.sdk != nil {
		opts.Middleware = append(opts.Middleware, p.sdk.middleware)
	}
	s := mcpserver.New(mcp.Implementation{Name: "bench", Version: "1"}, opts)
	if p.raw {
		p.addRaw(s)
	} else {
		p.addTyped(s)
	}
	mcpserver.AddTool(s, &mcp.Tool{Name: "update"}, func(ctx context.Context, _ *mcp.ServerSession, _ struct{}) (string, error) {
		return "updated", s.ResourceUpdated(ctx, ResourceURI)
	})
	s.AddResource(&mcp.Resource{URI: ResourceURI, Name: "r1"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{&mcp.TextResourceContents{URI: ResourceURI, Text: "x"}}}, nil
	})
	return s
}

func (p *ours) addTyped(s *mcpserver.Server) {
	mcpserver.AddTool(s, &mcp.Tool{Name: "greet", Description: "greet someone"}, func(_ context.Context, _ *mcp.ServerSession, a greetArgs) (string, error) {
		return greet(a), nil
	})
	mcpserver.AddTool(s, &mcp.Tool{Name: "ask"}, func(ctx context.Context, session *mcp.ServerSession, _ struct{}) (string, error) {
		return oursAsk(ctx, session)
	})
}

func (p *ours) addRaw(s *mcpserver.Server) {
	s.AddRawTool(&mcp.Tool{Name: "greet", Description: "greet someone", InputSchema: json.RawMessage(greetSchema)},
		func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var a greetArgs
			if err := json.Unmarshal(req.Arguments, &a); err != nil {
				return nil, err
			}
			return mcp.TextResult(greet(a)), nil
		})
	s.AddRawTool(&mcp.Tool{Name: "ask", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			text, err := oursAsk(ctx, mcp.SessionFromContext(ctx))
			return mcp.TextResult(text), err
		})
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func oursAsk(ctx context.Context, session *mcp.ServerSession) (string, error) {
	res, err := session.ElicitForm(ctx, askForm)
	if err != nil {
		return "", err
	}
	return fmt.Sprint("Hello, ", res.Content["name"]), nil
}

var askForm = func() *mcp.ElicitRequestFormParams {
	p := &mcp.ElicitRequestFormParams{Message: "Your name?"}
	must(wire.Unmarshal([]byte(askSchema), &p.RequestedSchema))
	return p
}()

// oursPair is a client and a function that ends its server.
type oursPair struct {
	*mcpclient.Client
	end func()
}

func (p *ours) Pair(ctx context.Context, via Via) (Pair, error) {
	s := p.server()
	to, end := mcpclient.InProcess(s), func() {}
	if via == Pipe {
		sr, cw := io.Pipe()
		cr, sw := io.Pipe()
		to = mcpclient.Streams(cr, cw)
		served := make(chan struct{})
		go func() { // returns when the client is closed
			defer close(served)
			_ = s.ServeStreams(ctx, sr, sw)
		}()
		end = func() { <-served }
	}
	opts := &mcpclient.Options{
		Revision: mcp.Revision20251125, Logger: silent,
		OnElicit: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: mcp.ElicitActionAccept, Content: map[string]any{"name": "gopher"}}, nil
		},
	}
	if p.telemetry != nil {
		opts = mcpotel.InstrumentClient(opts, p.telemetry)
	}
	if p.sdk != nil {
		opts.Outgoing = append(opts.Outgoing, p.sdk.outgoing)
	}
	c, err := mcpclient.Connect(ctx, to, opts)
	return &oursPair{c, end}, err
}

func (p *oursPair) Greet(ctx context.Context, name string, count int) (string, error) {
	return mcpclient.CallTool[string](ctx, p.Client, "greet", greetArgs{name, count})
}

func (p *oursPair) Ask(ctx context.Context) (string, error) {
	return mcpclient.CallTool[string](ctx, p.Client, "ask", nil)
}

func (p *oursPair) Close() error {
	err := p.Client.Close()
	p.end()
	return err
}

func (p *ours) ServeLines(ctx context.Context, r io.ReadCloser, w io.WriteCloser) error {
	if r == os.Stdin {
		return p.server().ServeStdio(ctx)
	}
	return p.server().ServeStreams(ctx, r, w)
}

func (p *ours) HTTP(mode Mode) (http.Handler, error) {
	s := p.server()
	if mode == Large {
		p.addLarge(s)
	}
	return streamable.NewHandler(s, &streamable.Options{
		Stateless: mode == Stateless || mode == Large, Logger: silent,
		MaxSessions: -1, MaxSessionsPerPrincipal: -1, // the others have no such limits
	}), nil
}

func (p *ours) Codec() (Codec, error) {
	if p.raw {
		return nil, ErrUnsupported
	}
	return ourCodec{}, nil
}

func (p *ours) Fanout(ctx context.Context, via Via, n int, got func()) (*Fanout, error) {
	s := p.server()
	f := &Fanout{Notify: func(ctx context.Context) error { return s.ResourceUpdated(ctx, ResourceURI) }}
	if via == Pipe {
		all, err := subscribe(n, got, func(r io.ReadCloser, w io.WriteCloser) error {
			go s.ServeStreams(ctx, r, w) // returns when the pipe is closed
			return nil
		})
		f.Close = all.close
		return f, err
	}
	return f, p.watch(ctx, s, f, n, got)
}

// watch subscribes n clients in this process to the resource.
func (p *ours) watch(ctx context.Context, s *mcpserver.Server, f *Fanout, n int, got func()) error {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	f.Close = func() {
		cancel()
		all.Wait()
	}
	for range n {
		c, err := mcpclient.Connect(ctx, mcpclient.InProcess(s), &mcpclient.Options{Revision: mcp.Revision20251125, Logger: silent})
		if err != nil {
			return err
		}
		all.Go(func() { // returns when ctx ends
			defer c.Close()
			for range c.Watch(ctx, ResourceURI) {
				got()
			}
		})
	}
	return nil
}
