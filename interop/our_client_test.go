package interop

import (
	"context"
	"encoding/json"
	"os"
	"sync"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/peer"
)

// ourClient is this module's client.
type ourClient struct {
	*mcpclient.Client

	lines    chan string
	stop     context.CancelFunc // ends the subscriptions
	watching sync.WaitGroup
}

func ourCommand(ctx context.Context, path, as, revision string) (client, error) {
	command := mcpclient.Command(path)
	command.Env = []string{role + "=" + as}
	command.Start.Stderr = os.Stderr
	return ourConnect(ctx, command, revision)
}

func ourURL(ctx context.Context, url, revision string) (client, error) {
	return ourConnect(ctx, mcpclient.URL(url), revision)
}

func ourConnect(ctx context.Context, to mcpclient.Endpoint, revision string) (client, error) {
	r, _ := mcp.ParseRevision(revision)
	c := &ourClient{lines: make(chan string, 8), stop: func() {}}
	var err error
	c.Client, err = mcpclient.Connect(ctx, to, &mcpclient.Options{
		Revision: r,
		OnElicit: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: mcp.ElicitActionAccept, Content: map[string]any{"name": "Ada"}}, nil
		},
		OnCreateMessage: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: "m", Content: []mcp.SamplingMessageContentBlock{mcp.Text("blue")}}, nil
		},
		Roots: []mcp.Root{{URI: "file:///project"}},
		OnLog: func(_ context.Context, n *mcp.LoggingMessageNotification) error {
			var text string
			err := json.Unmarshal(n.Data, &text)
			c.lines <- text
			return err
		},
	})
	return c, err
}

func (c *ourClient) version() string { return c.Revision().String() }

func (c *ourClient) server() string { return c.ServerInfo().Name }

func (c *ourClient) tools(ctx context.Context) (names []string, err error) {
	for tool, err := range c.Tools(ctx) {
		if err != nil {
			return nil, err
		}
		names = append(names, tool.Name)
	}
	return names, nil
}

func (c *ourClient) call(ctx context.Context, tool string, arguments map[string]any) (string, bool, error) {
	raw, err := json.Marshal(arguments)
	if err != nil {
		return "", false, err
	}
	if arguments == nil {
		raw = nil
	}
	res, err := c.CallTool(ctx, &mcp.CallToolRequest{Name: tool, Arguments: raw})
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

func (c *ourClient) progress(ctx context.Context, tool string) (steps []float64, err error) {
	view := c.With(peer.OnProgress(func(p peer.Progress) { steps = append(steps, p.Progress) }))
	_, err = view.CallTool(ctx, &mcp.CallToolRequest{Name: tool})
	return steps, err
}

func (c *ourClient) logged(ctx context.Context, tool string) ([]string, error) {
	if _, _, err := c.call(ctx, tool, nil); err != nil {
		return nil, err
	}
	select {
	case line := <-c.lines:
		return []string{line}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *ourClient) resources(ctx context.Context) (uris []string, err error) {
	for resource, err := range c.Resources(ctx) {
		if err != nil {
			return nil, err
		}
		uris = append(uris, resource.URI)
	}
	return uris, nil
}

func (c *ourClient) read(ctx context.Context, uri string) (string, error) {
	res, err := c.ReadResource(ctx, &mcp.ReadResourceRequest{URI: uri})
	if err != nil {
		return "", err
	}
	return res.Contents[0].(*mcp.TextResourceContents).Text, nil
}

func (c *ourClient) prompt(ctx context.Context, name string, arguments map[string]string) (string, error) {
	res, err := c.GetPrompt(ctx, &mcp.GetPromptRequest{Name: name, Arguments: arguments})
	if err != nil {
		return "", err
	}
	return res.Messages[0].Content.(*mcp.TextContent).Text, nil
}

func (c *ourClient) complete(ctx context.Context, prompt, argument, value string) ([]string, error) {
	res, err := c.Complete(ctx, &mcp.CompleteRequest{
		Ref: &mcp.PromptReference{Name: prompt}, Argument: mcp.CompletionArgument{Name: argument, Value: value},
	})
	if err != nil {
		return nil, err
	}
	return res.Completion.Values, nil
}

func (c *ourClient) watch(ctx context.Context, uri string) (<-chan string, error) {
	changes := make(chan string)
	ctx, c.stop = context.WithCancel(ctx)
	c.watching.Go(func() { // returns when the client is closed
		for uri, err := range c.Watch(ctx, uri) {
			if err != nil {
				return
			}
			select {
			case changes <- uri:
			case <-ctx.Done():
			}
		}
	})
	return changes, nil
}

func (c *ourClient) code(err error) int64 {
	if e := peer.AsError(err); e != nil {
		return e.Code
	}
	return 0
}

func (c *ourClient) close() error {
	c.stop()
	c.watching.Wait()
	return c.Close()
}
