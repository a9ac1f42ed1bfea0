package mcpclient_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
)

// changeCall returns middleware that passes a changed copy of each tool call on.
func changeCall(change func(in *peer.Inbound)) peer.Middleware {
	return func(next peer.Handler) peer.Handler {
		return peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
			if in.Method == mcp.MethodCallTool {
				changed := *in
				change(&changed)
				in = &changed
			}
			return next.Handle(ctx, in)
		})
	}
}

func TestHandlerGetsRequestThatMiddlewareChanged(t *testing.T) {
	for name, change := range map[string]func(in *peer.Inbound){
		"message": func(in *peer.Inbound) {
			in.Message = &mcp.CallToolRequest{Name: "echo", Arguments: json.RawMessage(`{"changed":true}`)}
		},
		"params": func(in *peer.Inbound) {
			if in.Value != nil {
				in.Params, in.Value = json.RawMessage(`{"name":"echo","arguments":{"changed":true}}`), nil
				return
			}
			in.Params = bytes.Replace(in.Params, []byte(`"arguments":{}`), []byte(`"arguments":{"changed":true}`), 1)
		},
	} {
		s := mcpserver.New(mcp.Implementation{Name: "s", Version: "1"}, &mcpserver.Options{Logger: silent, Middleware: []peer.Middleware{changeCall(change)}})
		s.AddRawTool(&mcp.Tool{Name: "echo"}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.TextResult(string(req.Arguments)), nil
		})
		for transport, to := range map[string]mcpclient.Endpoint{
			"in process": mcpclient.InProcess(s), "pipe": validatedPipe(t, s), "http": validatedURL(t, kitHandler(s)),
		} {
			for _, r := range mcp.Revisions {
				t.Run(name+"/"+transport+"/"+r.Revision.String(), func(t *testing.T) {
					c := connect(t, to, &mcpclient.Options{Revision: r.Revision})
					res, err := c.CallTool(t.Context(), &mcp.CallToolRequest{Name: "echo", Arguments: json.RawMessage(`{}`)})
					require.NoError(t, err)
					require.Equal(t, `{"changed":true}`, mcp.TextOf(res.Content))
				})
			}
		}
	}
}

func TestMiddlewareMayNotReplaceMessageByAnother(t *testing.T) {
	for want, change := range map[string]func(in *peer.Inbound){
		"Internal error": func(in *peer.Inbound) { in.Message = &mcp.PingRequest{} },
		"Invalid params": func(in *peer.Inbound) { in.Params, in.Value = json.RawMessage(`{"name":`), nil },
	} {
		s := mcpserver.New(mcp.Implementation{Name: "s", Version: "1"}, &mcpserver.Options{Logger: silent, Middleware: []peer.Middleware{changeCall(change)}})
		s.AddRawTool(&mcp.Tool{Name: "echo"}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return nil, errors.New("called")
		})
		for _, to := range []mcpclient.Endpoint{mcpclient.InProcess(s), validatedPipe(t, s)} {
			_, err := connect(t, to, nil).CallTool(t.Context(), &mcp.CallToolRequest{Name: "echo"})
			require.ErrorContains(t, err, want)
		}
	}
}
