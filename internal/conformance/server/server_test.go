package main

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/streamable"
)

// newEndpoint serves the server until the test ends, and returns its URL.
func newEndpoint(t *testing.T) string {
	server := newServer(taskOptions, new(replicas))
	s := httptest.NewServer(streamable.NewHandler(server, &streamable.Options{Polling: true}))
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		server.Shutdown(ctx)
		s.Close()
	})
	return s.URL
}

// request sends a request in a stateless revision, and returns the status and the response.
func request(t *testing.T, url, method, name, params string) (int, map[string]json.RawMessage) {
	t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + params + `"_meta":{
		"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/logLevel":"debug","progressToken":1,
		"io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"sampling":{},"roots":{}}}}}`
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("MCP-Protocol-Version", "2026-07-28")
	r.Header.Set("Mcp-Method", method)
	if name != "" {
		r.Header.Set("Mcp-Name", name)
	}
	r.Header.Set("Accept", "application/json")
	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer res.Body.Close()
	var response map[string]json.RawMessage
	require.NoError(t, json.NewDecoder(res.Body).Decode(&response))
	return res.StatusCode, response
}

func TestToolsRespondToCallsWithoutArguments(t *testing.T) {
	url := newEndpoint(t)
	_, response := request(t, url, "tools/list", "", "")
	var list struct {
		Tools []struct{ Name, Description string }
	}
	require.NoError(t, json.Unmarshal(response["result"], &list))
	require.Len(t, list.Tools, 35)
	require.Equal(t, "confirm_delete", list.Tools[0].Name, "the suite calls the first tool")
	rejected := map[string]int{
		"failing_job": http.StatusBadRequest, "test_tool_with_task": http.StatusBadRequest, // because the request does not declare the extension
	}
	for _, tool := range list.Tools {
		require.NotEmpty(t, tool.Description)
		status, response := request(t, url, "tools/call", tool.Name, `"name":"`+tool.Name+`","arguments":{},`)
		require.Equal(t, cmp.Or(rejected[tool.Name], http.StatusOK), status, "%s: %s", tool.Name, response["error"])
	}
}

func TestPromptsAndResourcesRespond(t *testing.T) {
	url := newEndpoint(t)
	for name, arguments := range map[string]string{
		"test_simple_prompt": `{}`, "test_prompt_with_image": `{}`, "test_input_required_result_prompt": `{}`,
		"test_prompt_with_arguments": `{"arg1":"a","arg2":"b"}`, "test_prompt_with_embedded_resource": `{"resourceUri":"test://x"}`,
	} {
		status, response := request(t, url, "prompts/get", name, `"name":"`+name+`","arguments":`+arguments+`,`)
		require.Equal(t, http.StatusOK, status, "%s: %s", name, response["error"])
	}
	for _, uri := range []string{"test://static-text", "test://static-binary", "test://watched-resource", "test://template/123/data"} {
		status, response := request(t, url, "resources/read", uri, `"uri":"`+uri+`",`)
		require.Equal(t, http.StatusOK, status, "%s: %s", uri, response["error"])
	}
	status, response := request(t, url, "resources/read", "test://none", `"uri":"test://none",`)
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, string(response["error"]), `-32602`)
}
