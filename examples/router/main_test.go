package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/streamable/client"
)

func TestAuthenticationInEveryRevision(t *testing.T) {
	router, err := newRouter("https://mcp.example.com/mcp", map[string]string{"ada": "a", "bob": "b"})
	require.NoError(t, err)
	listener := httptest.NewServer(router)
	defer listener.Close()
	for _, r := range mcp.Revisions {
		t.Run(r.Revision.String(), func(t *testing.T) {
			for token, user := range map[string]string{"a": "ada", "b": "bob"} {
				to := mcpclient.URL(listener.URL + "/mcp")
				to.HTTP.Header = http.Header{"Authorization": {"Bearer " + token}}
				client, err := mcpclient.Connect(t.Context(), to, &mcpclient.Options{Revision: r.Revision})
				require.NoError(t, err)
				text, err := mcpclient.CallTool[string](t.Context(), client, "whoami", nil)
				require.NoError(t, err)
				require.Equal(t, user, text)
				require.NoError(t, client.Close())
			}
			_, err := mcpclient.Connect(t.Context(), mcpclient.URL(listener.URL+"/mcp"), &mcpclient.Options{Revision: r.Revision})
			var refused *client.HTTPError
			require.ErrorAs(t, err, &refused)
			require.Equal(t, http.StatusUnauthorized, refused.Status)
			require.Contains(t, refused.Header.Get("WWW-Authenticate"), "https://mcp.example.com/.well-known/oauth-protected-resource/mcp")
		})
	}
	res, err := http.Get(listener.URL + "/health")
	require.NoError(t, err)
	defer res.Body.Close()
	require.Equal(t, http.StatusOK, res.StatusCode)
}
