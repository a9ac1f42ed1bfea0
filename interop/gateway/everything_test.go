// Package gateway tests examples/gateway with servers of others.
package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/interop/internal/npm"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// raw is a result as it was received.
type raw struct{ text json.RawMessage }

// AppendJSON implements [wire.Value].
func (r *raw) AppendJSON(b []byte, e *wire.Encoder) []byte { return e.RawObject(b, r.text, "") }

// DecodeJSON implements [wire.Value].
func (r *raw) DecodeJSON(d *wire.Decoder) { r.text = d.RawObject() }

func call(name, arguments string) peer.Message {
	return &mcp.CallToolRequest{Name: name, Arguments: json.RawMessage(arguments)}
}

// requests are sent to the server directly and through the gateway. The server's answers to them
// contain no time.
func requests(handshake bool) map[string]peer.Message {
	complete := func(prompt, argument, value string) peer.Message {
		return &mcp.CompleteRequest{Ref: &mcp.PromptReference{Name: prompt}, Argument: mcp.CompletionArgument{Name: argument, Value: value}}
	}
	prompt := func(name string, arguments map[string]string) peer.Message {
		return &mcp.GetPromptRequest{Name: name, Arguments: arguments}
	}
	all := map[string]peer.Message{
		"tools":                 &mcp.ListToolsRequest{},
		"prompts":               &mcp.ListPromptsRequest{},
		"resources":             &mcp.ListResourcesRequest{},
		"templates":             &mcp.ListResourceTemplatesRequest{},
		"echo":                  call("echo", `{"message":"Grüße"}`),
		"echo without message":  call("echo", `{}`),
		"sum":                   call("get-sum", `{"a":1.5,"b":2}`),
		"sum of text":           call("get-sum", `{"a":"1","b":2}`),
		"image":                 call("get-tiny-image", `{}`),
		"error message":         call("get-annotated-message", `{"messageType":"error"}`),
		"success with image":    call("get-annotated-message", `{"messageType":"success","includeImage":true}`),
		"debug message":         call("get-annotated-message", `{"messageType":"debug"}`),
		"two links":             call("get-resource-links", `{"count":2}`),
		"bad type of reference": call("get-resource-reference", `{"resourceType":"Other"}`),
		"structured":            call("get-structured-content", `{"location":"Chicago"}`),
		"structured, bad place": call("get-structured-content", `{"location":"Ulm"}`),
		"unknown tool":          call("unknown", `{}`),
		"simple prompt":         prompt("simple-prompt", nil),
		"prompt":                prompt("args-prompt", map[string]string{"city": "Ulm"}),
		"prompt without city":   prompt("args-prompt", nil),
		"unknown prompt":        prompt("unknown", nil),
		"document":              &mcp.ReadResourceRequest{URI: "demo://resource/static/document/features.md"},
		"unknown resource":      &mcp.ReadResourceRequest{URI: "demo://unknown"},
		"bad resource id":       &mcp.ReadResourceRequest{URI: "demo://resource/dynamic/text/x"},
		"departments":           complete("completable-prompt", "department", "S"),
		"completion of nothing": complete("completable-prompt", "other", ""),
		"unknown completion":    complete("unknown", "a", ""),
	}
	if handshake {
		all["ping"] = &mcp.PingRequest{}
		all["log level"] = &mcp.SetLevelRequest{Level: mcp.LoggingLevelError}
		all["subscribe"] = &mcp.SubscribeRequest{URI: "demo://resource/dynamic/text/1"}
		all["unsubscribe"] = &mcp.UnsubscribeRequest{URI: "demo://resource/dynamic/text/1"}
	}
	return all
}

// response returns the response to a request, without the members that only some revisions have.
func response(t *testing.T, c *mcpclient.Client, req peer.Message) string {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	res := new(raw)
	if err := c.Connection().Call(ctx, req, res); err != nil {
		e := peer.AsError(err)
		require.NotNil(t, e, "%v", err)
		return fmt.Sprintf("error %d: %s %s", e.Code, e.Message, e.Data)
	}
	var members map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(res.text, &members))
	for _, name := range []string{"resultType", "cacheScope", "ttlMs"} {
		delete(members, name)
	}
	if c.NoHandshake() { // the gateway adds its name
		delete(members, "_meta")
	}
	text, err := json.Marshal(members)
	require.NoError(t, err)
	return string(text)
}

func connect(t *testing.T, to mcpclient.Endpoint, r wire.Revision) *mcpclient.Client {
	c, err := mcpclient.Connect(t.Context(), to, &mcpclient.Options{Revision: r, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// startGateway starts the gateway in front of a command, and returns its URL.
func startGateway(t *testing.T, command ...string) string {
	program := filepath.Join(t.TempDir(), "gateway")
	build := exec.Command("go", "build", "-o", program, "github.com/mcpwright/mcp/examples/gateway")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	cmd := exec.Command(program, append([]string{"-http=" + address}, command...)...)
	var log bytes.Buffer
	cmd.Stderr = &log
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	url := "http://" + address + "/mcp"
	require.Eventually(t, func() bool {
		res, err := http.Get(url)
		if err == nil {
			res.Body.Close()
		}
		return err == nil
	}, time.Minute, 50*time.Millisecond, "the gateway does not listen: %s", &log)
	return url
}

// since lists members that the server sends in every revision, and the first revision that has them.
// The gateway sends them only since that revision.
var since = map[string]wire.Revision{
	"title":             mcp.Revision20250618,
	"outputSchema":      mcp.Revision20250618,
	"structuredContent": mcp.Revision20250618,
	"annotations":       mcp.Revision20250326,
	"execution":         mcp.Revision20251125,
}

// expected returns the response of the gateway for a response of the server.
func expected(t *testing.T, response string, r wire.Revision) string {
	if response[0] != '{' {
		return response
	}
	var members map[string]any
	require.NoError(t, json.Unmarshal([]byte(response), &members))
	for _, kind := range []string{"tools", "prompts"} {
		list, _ := members[kind].([]any)
		for _, item := range list {
			removeNewer(item.(map[string]any), r)
		}
	}
	removeNewer(members, r)
	text, err := json.Marshal(members)
	require.NoError(t, err)
	return string(text)
}

// removeNewer removes members that the revision does not have. Since 2026-07-28 there is no
// "execution" any more.
func removeNewer(object map[string]any, r wire.Revision) {
	for name, first := range since {
		if r.Index() < first.Index() || name == "execution" && r != first {
			delete(object, name)
		}
	}
}

func TestEverythingServerBehindGateway(t *testing.T) {
	server := filepath.Join(npm.Install(t, "everything"), "node_modules", "@modelcontextprotocol", "server-everything", "dist", "index.js")
	url := startGateway(t, "node", server, "stdio")
	for _, r := range mcp.Revisions {
		handshake := r.Revision != mcp.Revision20260728
		own := r.Revision
		if !handshake { // the newest revision of the server
			own = mcp.Revision20251125
		}
		direct, through := connect(t, mcpclient.Command("node", server, "stdio"), own), connect(t, mcpclient.URL(url), r.Revision)
		require.Equal(t, direct.ServerInfo().Name, through.ServerInfo().Name)
		require.Equal(t, direct.ServerInfo().Title, through.ServerInfo().Title)
		require.Equal(t, direct.Instructions(), through.Instructions())
		require.Nil(t, through.ServerCapabilities().Tasks)
		for name, req := range requests(handshake) {
			t.Run(r.Revision.String()+"/"+name, func(t *testing.T) {
				want, have := expected(t, response(t, direct, req), r.Revision), response(t, through, req)
				if name == "two links" && r.Revision.Index() < mcp.Revision20250618.Index() {
					require.Contains(t, have, `{"type":"text","text":"Text Resource 2: demo://resource/dynamic/text/2"}`, "older revisions have no links")
					require.NotContains(t, have, "resource_link")
					return
				}
				if want[0] == '{' && have[0] == '{' {
					require.JSONEq(t, want, have)
				} else {
					require.Equal(t, want, have)
				}
			})
		}
	}
}
