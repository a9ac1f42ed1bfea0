package docs

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/mcptest"
	"github.com/mcpwright/mcp/runtime/peer"
)

func TestForecast(t *testing.T) {
	client, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(weather(nil)), nil)
	require.NoError(t, err)
	defer client.Close()
	text, err := mcpclient.CallTool[string](t.Context(), client, "forecast", city{"Bern"})
	require.NoError(t, err)
	require.Equal(t, "sunny in Bern", text)
}

func TestMessagesOfEachRevision(t *testing.T) {
	mcptest.Run(t, weather(nil), func(t *testing.T, c *mcptest.Conn) {
		res, err := c.CallTool(t.Context(), &mcp.CallToolRequest{Name: "forecast", Arguments: []byte(`{"city":"Bern"}`)})
		require.NoError(t, err)
		require.Equal(t, "sunny in Bern", mcp.TextOf(res.Content))
	})
}

func TestContract(t *testing.T) {
	mcptest.Contract(t, weather(nil), "testdata/mcp.lock.json")
}

func TestUserDeclines(t *testing.T) {
	client, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(asker()), &mcpclient.Options{
		OnElicit: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: mcp.ElicitActionDecline}, nil
		},
	})
	require.NoError(t, err)
	defer client.Close()
	text, err := mcpclient.CallTool[string](t.Context(), client, "ask", nil)
	require.NoError(t, err)
	require.Equal(t, "decline", text)
}

// asker returns a server with a tool that returns the action of the user.
func asker() *mcpserver.Server {
	server := mcpserver.New(mcp.Implementation{Name: "asker", Version: "1.0.0"}, nil)
	mcpserver.AddTool(server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, s *mcp.ServerSession, _ struct{}) (string, error) {
		answer, err := s.ElicitForm(ctx, &mcp.ElicitRequestFormParams{Message: "Shall I?"})
		if err != nil {
			return "", err
		}
		return string(answer.Action), nil
	})
	return server
}

func TestTimeoutInBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := weather(nil)
		mcpserver.AddTool(server, &mcp.Tool{Name: "wait"}, func(ctx context.Context, _ *mcp.ServerSession, _ struct{}) (string, error) {
			<-ctx.Done()
			return "", context.Cause(ctx)
		})
		client, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(server), &mcpclient.Options{Timeout: time.Minute})
		require.NoError(t, err)
		defer client.Close()
		start := time.Now()
		_, err = client.CallTool(t.Context(), &mcp.CallToolRequest{Name: "wait"})
		var timeout *peer.TimeoutError
		require.ErrorAs(t, err, &timeout)
		require.Equal(t, time.Minute, time.Since(start))
	})
}
