package mcpclient_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/internal/leaks"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable"
	"github.com/mcpwright/mcp/runtime/wire"
)

// word is a custom message without the members that revisions add to requests and results.
type word struct{ text string }

func (*word) Method() string   { return "acme/word" }
func (*word) NewResult() *word { return new(word) }

func (w *word) AppendParams(b []byte, e *wire.Encoder) []byte { return w.AppendJSON(b, e) }
func (w *word) DecodeParams(d *wire.Decoder)                  { w.DecodeJSON(d) }

func (w *word) AppendJSON(b []byte, _ *wire.Encoder) []byte {
	return append(wire.AppendString(append(b, `{"word":`...), w.text), '}')
}

func (w *word) DecodeJSON(d *wire.Decoder) {
	text, _ := d.Peek("word")
	w.text = strings.Clone(text)
	d.Skip()
}

// pages is a custom message with the params of a message of the protocol.
type pages struct{ mcp.ListToolsRequest }

func (*pages) Method() string { return "acme/pages" }

func TestCustomMethodInEachRevisionOverEachTransport(t *testing.T) {
	leaks.Check(t)
	kit := newKit(nil)
	mcpserver.Handle(kit, func(ctx context.Context, req *word) (*word, error) {
		err := mcp.SessionFromContext(ctx).ReportProgress(ctx, peer.Progress{Progress: 1})
		return &word{"back: " + req.text}, err
	})
	mcpserver.Handle(kit, func(ctx context.Context, _ *pages) (*mcp.ListToolsResult, error) {
		s := mcp.SessionFromContext(ctx)
		require.True(t, s.HasClientCapability(&mcp.ClientCapabilities{Sampling: new(mcp.SamplingCapability)}))
		return &mcp.ListToolsResult{}, s.ReportProgress(ctx, peer.Progress{Progress: 1})
	})
	for _, r := range mcp.Revisions {
		for _, w := range kitEndpoints(t, kit) {
			if w.name == "command" || w.old && !r.Handshake {
				continue
			}
			t.Run(r.Revision.String()+" "+w.name, func(t *testing.T) {
				c := connect(t, w.to, handlerOptions(mcpclient.Options{Revision: r.Revision}))
				steps := 0
				count := peer.OnProgress(func(peer.Progress) { steps++ })
				res, err := peer.SendRequest(t.Context(), c, &word{"forth"}, count)
				require.NoError(t, err)
				require.Equal(t, "back: forth", res.text)
				_, err = peer.SendRequest(t.Context(), c, &pages{}, count)
				require.NoError(t, err)
				require.Equal(t, 2, steps)
			})
		}
	}
}

// topic is a custom message with a name.
type topic struct{ word }

func (*topic) Method() string       { return "acme/topic" }
func (t *topic) NameMember() string { return t.text }

func TestNameHeaderOfCustomMethod(t *testing.T) {
	kit := newKit(nil)
	mcpserver.Handle(kit, func(ctx context.Context, req *topic) (*word, error) {
		return &word{strings.Join(mcp.SessionFromContext(ctx).Transport().Header().Values("Mcp-Name"), ",")}, nil
	})
	server := httptest.NewServer(streamable.NewHandler(kit, nil))
	t.Cleanup(server.Close)
	for _, r := range mcp.Revisions {
		c := connect(t, mcpclient.URL(server.URL), handlerOptions(mcpclient.Options{Revision: r.Revision}))
		for text, header := range map[string]string{"plain": "plain", "née": "=?base64?bsOpZQ==?=", "": ""} {
			if r.Handshake {
				header = ""
			}
			res, err := peer.SendRequest(t.Context(), c, &topic{word{text}})
			require.NoError(t, err, r.Revision)
			require.Equal(t, header, res.text, r.Revision)
		}
	}
	for header, want := range map[string]string{
		"":       "header Mcp-Name is missing",
		"other":  `header Mcp-Name does not repeat the name \"one\" of the body`,
		"ONE":    `header Mcp-Name does not repeat the name \"one\" of the body`,
		" one  ": `"word":" one  "`,
	} {
		body := `{"jsonrpc":"2.0","id":1,"method":"acme/topic","params":{"word":"one","_meta":{` +
			`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
		w, req := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "http://127.0.0.1/", strings.NewReader(body))
		for name, value := range map[string]string{
			"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
			"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "acme/topic", "Mcp-Name": header,
		} {
			if value != "" {
				req.Header.Set(name, value)
			}
		}
		streamable.NewHandler(kit, nil).ServeHTTP(w, req)
		require.Contains(t, w.Body.String(), want, header)
		require.Equal(t, strings.HasPrefix(want, "header"), w.Code == http.StatusBadRequest && strings.Contains(w.Body.String(), "-32020"), w.Body.String())
	}
}

func TestTypedToolHasRequest(t *testing.T) {
	leaks.Check(t)
	kit := newKit(nil)
	plain(kit, "whose", func(ctx context.Context, _ *mcp.ServerSession) (string, error) {
		req, _ := connection.RequestFromContext(ctx).(*mcp.CallToolRequest)
		return req.Name + " " + string(req.Meta.Extra["com.example/user"]), nil
	})
	require.Nil(t, connection.RequestFromContext(t.Context()))
	for _, r := range mcp.Revisions {
		for _, w := range kitEndpoints(t, kit) {
			if w.name == "command" || w.old && !r.Handshake {
				continue
			}
			c := connect(t, w.to, &mcpclient.Options{Revision: r.Revision})
			res, err := c.CallTool(t.Context(), &mcp.CallToolRequest{Name: "whose", Meta: &mcp.RequestMeta{
				Extra: map[string]json.RawMessage{"com.example/user": []byte(`"ada"`)},
			}})
			require.NoError(t, err)
			require.Equal(t, `whose "ada"`, mcp.TextOf(res.Content), "%s %s", r.Revision, w.name)
		}
	}
}
