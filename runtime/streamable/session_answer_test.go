package streamable_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
)

func TestAnAnswerThatCannotBeReadEndsItsCall(t *testing.T) {
	for name, bad := range map[string]string{
		"null":      `{"jsonrpc":"2.0","id":1,"result":null}`,
		"array":     `{"jsonrpc":"2.0","id":1,"result":[]}`,
		"bad error": `{"jsonrpc":"2.0","id":1,"error":"no"}`,
		"both":      `{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"no"}}`,
		"batched":   `[{"jsonrpc":"2.0","id":1,"result":null}]`,
	} {
		t.Run(name, func(t *testing.T) {
			outcome := make(chan error, 1)
			e := serve(t, map[string]tool{"asks": func(ctx context.Context, s *mcp.ServerSession) (*mcp.CallToolResult, error) {
				_, err := s.ListRoots(ctx)
				outcome <- err
				return mcp.TextResult("asked"), nil
			}}, nil)
			c := e.open("2025-03-26")
			l := e.stream(http.MethodPost, callTool(1, "asks"), c.headers()...)
			data, _ := l.data()
			require.Contains(t, data, `"id":1,"method":"roots/list"`)
			if a := c.post(bad); bad[0] == '{' {
				require.Equal(t, http.StatusBadRequest, a.status)
				require.Contains(t, a.body, `"id":null`)
			} else {
				require.Equal(t, http.StatusAccepted, a.status)
			}
			require.ErrorContains(t, within(t, outcome, "end of the call"), "answer of the peer")
			data, _ = l.data()
			require.Contains(t, data, "asked")
		})
	}
}

// The id of an answer is one of the server's. The client may have a request of the
// same id.
func TestARefusedAnswerIsNotAnsweredByItsID(t *testing.T) {
	e := serve(t, nil, nil)
	for _, answer := range []string{`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":1,"result":null}`} {
		a := e.post(answer, sessions+"gone")
		require.Equal(t, http.StatusNotFound, a.status)
		require.Contains(t, a.body, `"id":null`)
	}
}
