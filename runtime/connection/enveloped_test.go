package connection_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/outbound"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// sealed is a message in its envelope.
type sealed struct {
	peer.Message
	meta string
}

func (m *sealed) Envelope() (peer.Message, json.RawMessage) { return m.Message, []byte(m.meta) }

func (m *sealed) AppendParams(b []byte, e *wire.Encoder) []byte {
	return append(b, `{"name":"greet","_meta":`+m.meta+`}`...)
}

// otherCall is a call of another type than handlers take.
type otherCall struct{ mcp.CallToolRequest }

const fullMeta = `{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientCapabilities":{"roots":{}},` +
	`"io.modelcontextprotocol/clientInfo":{"name":"ada","version":"1"}}`

func TestAMessageInItsEnvelopeIsServedInProcess(t *testing.T) {
	var seen *mcp.CallToolRequest
	var sender *mcp.Implementation
	var capabilities *mcp.ClientCapabilities
	var mux peer.Mux
	mcp.HandleCallTool(&mux, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		s := mcp.SessionFromContext(ctx)
		seen, sender, capabilities = req, s.ClientInfo(), s.ClientCapabilities()
		return mcp.TextResult("hi"), nil
	})
	pipe := connection.NewPipe(connection.NewDispatcher(&connection.DispatcherOptions{Mux: &mux}), nil)
	serve := func(m peer.Message) error {
		_, err := pipe.Handle(t.Context(), &peer.Inbound{Method: mcp.MethodCallTool, ID: wire.IntID(1), Value: m, Back: outbound.None{}})
		return err
	}
	call := &mcp.CallToolRequest{Name: "greet"}
	require.NoError(t, serve(&sealed{call, fullMeta}))
	require.Same(t, call, seen, "nothing is written down")
	require.Equal(t, "ada", sender.Name)
	require.NotNil(t, capabilities.Roots)

	require.NoError(t, serve(&sealed{&otherCall{*call}, fullMeta}))
	require.NotSame(t, call, seen)
	require.Equal(t, "ada", seen.Meta.ClientInfo.Name, "a message of another type is written down, envelope and all")

	err := serve(&sealed{call, `{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`})
	require.ErrorContains(t, err, "clientCapabilities")
	err = serve(&sealed{call, `{"io.modelcontextprotocol/protocolVersion":"1999-01-01","io.modelcontextprotocol/clientCapabilities":{}}`})
	require.ErrorAs(t, err, new(*mcp.UnsupportedProtocolVersionError))
}

func TestAPipeThatShookHandsServesMessagesInProcess(t *testing.T) {
	var mux peer.Mux
	mcp.HandleCallTool(&mux, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.TextResult("hi"), nil
	})
	pipe := connection.NewPipe(connection.NewDispatcher(&connection.DispatcherOptions{Mux: &mux}), nil)
	serve := func(m peer.Message) error {
		_, err := pipe.Handle(t.Context(), &peer.Inbound{Method: m.Method(), ID: wire.IntID(1), Value: m, Back: outbound.None{}})
		return err
	}
	require.NoError(t, serve(&mcp.InitializeRequest{ProtocolVersion: "2025-11-25"}))
	require.NoError(t, serve(&mcp.CallToolRequest{Name: "greet"}), "what the newer revision would fill in is no envelope")
	require.ErrorContains(t, serve(&sealed{&mcp.CallToolRequest{Name: "greet"}, fullMeta}), "settled by its first request")
}

// refusing is a transport that has more to say about the error of the peer.
type refusing struct{ outbound.None }

func (refusing) Call(context.Context, peer.Message, wire.Value, ...peer.CallOption) error {
	return fmt.Errorf("status 400: %w", &peer.Error{
		Code: mcp.CodeUnsupportedProtocolVersion, Data: []byte(`{"supported":["2031-01-01"],"requested":"2026-07-28"}`),
	})
}

func TestAnErrorHasItsTypeAlsoInWhatATransportSays(t *testing.T) {
	conn := connection.New(&refusing{}, &connection.Options{Client: true})
	err := peer.AsError(conn.Call(t.Context(), &mcp.PingRequest{}, nil))
	require.NotNil(t, err)
	whole := conn.Call(t.Context(), &mcp.PingRequest{}, nil)
	require.ErrorContains(t, whole, "status 400")
	var unsupported *mcp.UnsupportedProtocolVersionError
	require.ErrorAs(t, whole, &unsupported)
	require.Equal(t, []string{"2031-01-01"}, unsupported.Supported)
}
