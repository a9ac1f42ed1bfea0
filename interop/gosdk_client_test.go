package interop

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// goClient is the official SDK's client.
type goClient struct {
	*mcp.ClientSession

	changes chan string

	mu      sync.Mutex
	steps   []float64
	lines   []string
	arrived chan struct{} // buffered for all notifications of a tour
}

func goCommand(ctx context.Context, path, as, revision string) (client, error) {
	cmd := exec.Command(path)
	cmd.Env = append(os.Environ(), role+"="+as)
	cmd.Stderr = os.Stderr
	return goConnect(ctx, &mcp.CommandTransport{Command: cmd}, revision)
}

func goURL(ctx context.Context, url, revision string) (client, error) {
	return goConnect(ctx, &mcp.StreamableClientTransport{Endpoint: url}, revision)
}

func goConnect(ctx context.Context, to mcp.Transport, revision string) (client, error) {
	c := &goClient{changes: make(chan string, 8), arrived: make(chan struct{}, 8)}
	options := &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada"}}, nil
		},
		CreateMessageHandler: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Role: "assistant", Model: "m", Content: &mcp.TextContent{Text: "blue"}}, nil
		},
		ResourceUpdatedHandler: func(_ context.Context, req *mcp.ResourceUpdatedNotificationRequest) {
			c.changes <- req.Params.URI
		},
		ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
			c.record(func() { c.steps = append(c.steps, req.Params.Progress) })
		},
		LoggingMessageHandler: func(_ context.Context, req *mcp.LoggingMessageRequest) {
			c.record(func() { text, _ := req.Params.Data.(string); c.lines = append(c.lines, text) })
		},
	}
	goClient := mcp.NewClient(&mcp.Implementation{Name: "interop", Version: "1"}, options)
	goClient.AddRoots(&mcp.Root{URI: "file:///project"})
	var err error
	c.ClientSession, err = goClient.Connect(ctx, to, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	return c, err
}

// record runs a function that stores a notification.
func (c *goClient) record(store func()) {
	c.mu.Lock()
	store()
	c.mu.Unlock()
	c.arrived <- struct{}{}
}

// await waits for n notifications, which may arrive before or after a result. It returns and removes
// them.
func (c *goClient) await(ctx context.Context, n int) (steps []float64, lines []string, err error) {
	for range n {
		select {
		case <-c.arrived:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	steps, lines, c.steps, c.lines = c.steps, c.lines, nil, nil
	return steps, lines, nil
}

func (c *goClient) version() string { return c.InitializeResult().ProtocolVersion }

func (c *goClient) server() string { return c.InitializeResult().ServerInfo.Name }

func (c *goClient) tools(ctx context.Context) (names []string, err error) {
	for tool, err := range c.Tools(ctx, nil) {
		if err != nil {
			return nil, err
		}
		names = append(names, tool.Name)
	}
	return names, nil
}

func (c *goClient) call(ctx context.Context, tool string, arguments map[string]any) (string, bool, error) {
	return c.send(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
}

func (c *goClient) send(ctx context.Context, params *mcp.CallToolParams) (string, bool, error) {
	res, err := c.CallTool(ctx, params)
	if err != nil {
		return "", false, err
	}
	text := ""
	for _, block := range res.Content {
		if block, ok := block.(*mcp.TextContent); ok {
			text += block.Text
		}
	}
	return text, res.IsError, nil
}

func (c *goClient) progress(ctx context.Context, tool string) ([]float64, error) {
	params := &mcp.CallToolParams{Name: tool}
	params.SetProgressToken("token")
	if _, _, err := c.send(ctx, params); err != nil {
		return nil, err
	}
	steps, _, err := c.await(ctx, 3)
	return steps, err
}

func (c *goClient) logged(ctx context.Context, tool string) ([]string, error) {
	params := &mcp.CallToolParams{Name: tool}
	if c.version() >= "2026-07-28" {
		params.Meta = mcp.Meta{mcp.MetaKeyLogLevel: "debug"}
	} else if err := c.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: "debug"}); err != nil {
		return nil, err
	}
	if _, _, err := c.send(ctx, params); err != nil {
		return nil, err
	}
	_, lines, err := c.await(ctx, 1)
	return lines, err
}

func (c *goClient) resources(ctx context.Context) (uris []string, err error) {
	for resource, err := range c.Resources(ctx, nil) {
		if err != nil {
			return nil, err
		}
		uris = append(uris, resource.URI)
	}
	return uris, nil
}

func (c *goClient) read(ctx context.Context, uri string) (string, error) {
	res, err := c.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		return "", err
	}
	return res.Contents[0].Text, nil
}

func (c *goClient) prompt(ctx context.Context, name string, arguments map[string]string) (string, error) {
	res, err := c.GetPrompt(ctx, &mcp.GetPromptParams{Name: name, Arguments: arguments})
	if err != nil {
		return "", err
	}
	return res.Messages[0].Content.(*mcp.TextContent).Text, nil
}

func (c *goClient) complete(ctx context.Context, prompt, argument, value string) ([]string, error) {
	res, err := c.Complete(ctx, &mcp.CompleteParams{
		Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: prompt}, Argument: mcp.CompleteParamsArgument{Name: argument, Value: value},
	})
	if err != nil {
		return nil, err
	}
	return res.Completion.Values, nil
}

func (c *goClient) watch(ctx context.Context, uri string) (<-chan string, error) {
	return c.changes, c.Subscribe(ctx, &mcp.SubscribeParams{URI: uri})
}

func (c *goClient) code(err error) int64 {
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return e.Code
	}
	return 0
}

func (c *goClient) close() error { return c.Close() }
