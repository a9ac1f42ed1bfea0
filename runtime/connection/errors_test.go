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

func TestPeerErrorHasTheTypeOfItsCode(t *testing.T) {
	out := &channel{refusal: &peer.Error{
		Code: mcp.CodeUnsupportedProtocolVersion, Data: json.RawMessage(`{"requested":"a","supported":["b"]}`),
	}}
	conn := connection.NewForRequest(mcp.Revision20260728, nil, nil, &connection.Options{Outbound: out, Client: true})
	_, err := peer.SendRequest(t.Context(), conn, &mcp.DiscoverRequest{})
	var unsupported *mcp.UnsupportedProtocolVersionError
	require.ErrorAs(t, err, &unsupported)
	require.Equal(t, []string{"b"}, unsupported.Supported)
	var plain *peer.Error
	require.ErrorAs(t, err, &plain)

	out.refusal = fmt.Errorf(`POST "/mcp": 400 Bad Request: %w`, out.refusal)
	_, over := peer.SendRequest(t.Context(), conn, &mcp.DiscoverRequest{})
	require.ErrorAs(t, over, &unsupported)
	require.ErrorIs(t, over, out.refusal)
	require.EqualError(t, over, `POST "/mcp": 400 Bad Request: `+err.Error(), "the text of the transport is kept")
}

func TestErrorCodesOfTheProtocol(t *testing.T) {
	missing := json.RawMessage(`{"requiredCapabilities":{}}`)
	for _, c := range []struct {
		code      int64
		data      json.RawMessage
		stateless int64 // the code in a stateless revision, 0 for an internal error
		handshake bool
	}{
		{-32019, nil, -32019, true},
		{mcp.CodeHeaderMismatch, nil, mcp.CodeHeaderMismatch, false},
		{mcp.CodeMissingRequiredClientCapability, missing, mcp.CodeMissingRequiredClientCapability, false},
		{mcp.CodeMissingRequiredClientCapability, nil, 0, false},
		{mcp.CodeUnsupportedProtocolVersion, missing, 0, false},
		{-32023, nil, mcp.CodeInternal, true},
		{mcp.CodeURLElicitationRequired, nil, 0, false},
		{mcp.CodeURLElicitationRequired, json.RawMessage(`{"elicitations":[]}`), 0, true},
		{-32099, json.RawMessage(`{"after":3}`), mcp.CodeInternal, true},
		{-32100, nil, -32100, true},
	} {
		k := newDispatcher(func(o *connection.DispatcherOptions) {
			o.Middleware = []peer.Middleware{func(peer.Handler) peer.Handler {
				return peer.HandlerFunc(func(context.Context, *peer.Inbound) (peer.Reply, error) {
					return peer.Reply{}, &peer.Error{Code: c.code, Message: "no", Data: c.data}
				})
			}}
		})
		_, err := k.ServeStateless(t.Context(), request("tools/call", `{"name":"a",`+minimalParams[1:], nil), nil)
		if e := peer.AsError(err); c.stateless == 0 {
			require.Nil(t, e, c.code)
		} else {
			require.Equal(t, &peer.Error{Code: c.stateless, Message: "no", Data: c.data}, e)
		}
		_, err = k.Handler(connection.New(nil, nil)).Handle(t.Context(), request("tools/call", `{"name":"a"}`, nil))
		require.Equal(t, c.handshake, peer.AsError(err) != nil, "%d %v", c.code, err)
	}
}

// failingTransport is a transport that wraps the error of the peer.
type failingTransport struct{ outbound.None }

func (failingTransport) Call(context.Context, peer.Message, wire.Value, ...peer.CallOption) error {
	return fmt.Errorf("status 400: %w", &peer.Error{
		Code: mcp.CodeUnsupportedProtocolVersion, Data: []byte(`{"supported":["2031-01-01"],"requested":"2026-07-28"}`),
	})
}

func TestWrappedPeerErrorHasItsType(t *testing.T) {
	conn := connection.New(&failingTransport{}, &connection.Options{Client: true})
	err := peer.AsError(conn.Call(t.Context(), &mcp.PingRequest{}, nil))
	require.NotNil(t, err)
	whole := conn.Call(t.Context(), &mcp.PingRequest{}, nil)
	require.ErrorContains(t, whole, "status 400")
	var unsupported *mcp.UnsupportedProtocolVersionError
	require.ErrorAs(t, whole, &unsupported)
	require.Equal(t, []string{"2031-01-01"}, unsupported.Supported)
}

func TestCapabilityErrorUnwrap(t *testing.T) {
	modern := &connection.CapabilityError{
		Method: mcp.MethodElicit, Capability: "elicitation.url",
		Required: only("elicitation.url"), Revision: mcp.Revision20260728,
	}
	e := peer.AsError(fmt.Errorf("ask: %w", modern))
	require.EqualValues(t, mcp.CodeMissingRequiredClientCapability, e.Code)
	require.JSONEq(t, `{"requiredCapabilities":{"elicitation":{"url":{}}}}`, string(e.Data))

	old := *modern
	old.Revision = mcp.Revision20251125
	e = peer.AsError(fmt.Errorf("ask: %w", &old))
	require.EqualValues(t, mcp.CodeInvalidRequest, e.Code, "the revision has no code for the error")
	require.Equal(t, `The client did not declare the capability "elicitation.url", which the request needs`, e.Message)
	require.JSONEq(t, `{"requiredCapabilities":{"elicitation":{"url":{}}}}`, string(e.Data))
	require.Nil(t, peer.AsError(&connection.CapabilityError{Capability: "tools"}), "the capability of a server")
	require.Equal(t, `send "elicitation/create": the peer did not declare the capability "elicitation.url"`, old.Error())
}
