package client

import (
	"context"
	"encoding/json"

	"github.com/mcpwright/mcp/compat/mcpgo/internal/convert"
	"github.com/mcpwright/mcp/compat/mcpgo/mcp"
	"github.com/mcpwright/mcp/compat/mcpgo/server"
	kit "github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

type (
	// SamplingHandler generates messages with the model of the client.
	SamplingHandler interface {
		// CreateMessage returns the message of the model. The user should be able to refuse the request.
		CreateMessage(ctx context.Context, request mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error)
	}
	// ElicitationHandler asks the user.
	ElicitationHandler interface {
		// Elicit returns the response of the user.
		Elicit(ctx context.Context, request mcp.ElicitationRequest) (*mcp.ElicitationResult, error)
	}
	// RootsHandler has the roots of the client.
	RootsHandler interface {
		// ListRoots returns the roots.
		ListRoots(ctx context.Context, request mcp.ListRootsRequest) (*mcp.ListRootsResult, error)
	}
)

// ClientOption configures a [Client].
type ClientOption func(*Client)

// WithSamplingHandler lets servers ask the model of the client.
func WithSamplingHandler(handler SamplingHandler) ClientOption {
	return func(c *Client) {
		c.opts.OnCreateMessage = func(ctx context.Context, req *kit.CreateMessageRequest) (*kit.CreateMessageResult, error) {
			var request mcp.CreateMessageRequest
			if err := paramsOf(req, &request.CreateMessageParams); err != nil {
				return nil, err
			}
			for i := range request.Messages {
				m := &request.Messages[i]
				var err error
				if m.Content, err = convert.SamplingContent(m.Content); err != nil {
					return nil, err
				}
			}
			request.Method = string(mcp.MethodSamplingCreateMessage)
			return answer[kit.CreateMessageResult](handler.CreateMessage(ctx, request))
		}
	}
}

// WithElicitationHandler lets servers ask the user with forms and pages.
func WithElicitationHandler(handler ElicitationHandler) ClientOption {
	return func(c *Client) {
		c.opts.ElicitURLs = true
		c.opts.OnElicit = func(ctx context.Context, req *kit.ElicitRequest) (*kit.ElicitResult, error) {
			var request mcp.ElicitationRequest
			if err := paramsOf(req, &request.Params); err != nil {
				return nil, err
			}
			request.Method = string(mcp.MethodElicitationCreate)
			return answer[kit.ElicitResult](handler.Elicit(ctx, request))
		}
	}
}

// WithRootsHandler lets servers ask for the roots of the client.
func WithRootsHandler(handler RootsHandler) ClientOption {
	return func(c *Client) {
		c.opts.OnListRoots = func(ctx context.Context, _ *kit.ListRootsRequest) (*kit.ListRootsResult, error) {
			request := mcp.ListRootsRequest{Request: mcp.Request{Method: string(mcp.MethodListRoots)}}
			return answer[kit.ListRootsResult](handler.ListRoots(ctx, request))
		}
	}
}

// paramsOf decodes the params of a request of a server into a type of package mcp.
func paramsOf(req peer.Message, params any) error {
	data, err := wire.AppendParams(nil, nil, req)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, params)
}

// answer returns the response of a handler as a type of the kit.
func answer[To, From any](response *From, err error) (*To, error) {
	if err != nil {
		return nil, &peer.Error{Code: mcp.INTERNAL_ERROR, Message: err.Error()}
	}
	return converted[To](response)
}

// NewInProcessClientWithSamplingHandler is like [NewInProcessClient] with the option [WithSamplingHandler].
func NewInProcessClientWithSamplingHandler(server *server.MCPServer, handler SamplingHandler) (*Client, error) {
	return NewClient(inProcess{server}, WithSamplingHandler(handler)), nil
}

// watch calls the handlers of [Client.OnConnectionLost] when the connection is lost.
func (c *Client) watch(connected *mcpclient.Client) {
	lost := c.lost
	if len(lost) == 0 {
		return
	}
	go func() { // ends when the client is closed
		<-connected.Done()
		if err := connected.Err(); err != nil {
			for _, handle := range lost {
				handle(err)
			}
		}
	}()
}
