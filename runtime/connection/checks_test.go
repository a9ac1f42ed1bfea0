package connection_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/wire"
)

func TestHasClientCapability(t *testing.T) {
	for _, c := range []struct {
		have, want string
		ok         bool
	}{
		{`{}`, `{}`, true},
		{`{}`, `{"roots":{}}`, false},
		{`{"roots":{}}`, `{"roots":{}}`, true},
		{`{"roots":{}}`, `{"roots":{"listChanged":true}}`, false},
		{`{"roots":{"listChanged":true}}`, `{"roots":{"listChanged":true}}`, true},
		{`{"roots":{"listChanged":true}}`, `{"roots":{"listChanged":false}}`, true},
		{`{"sampling":{}}`, `{"sampling":{}}`, true},
		{`{}`, `{"sampling":{}}`, false},
		{`{"sampling":{}}`, `{"sampling":{"tools":{}}}`, false},
		{`{"sampling":{"tools":{}}}`, `{"sampling":{"tools":{"more":1}}}`, true},
		{`{"sampling":{"tools":{}}}`, `{"sampling":{"context":{}}}`, false},
		{`{"sampling":{"context":{}}}`, `{"sampling":{"context":{}}}`, true},
		{`{}`, `{"elicitation":{}}`, false},
		{`{"elicitation":{}}`, `{"elicitation":{"form":{}}}`, true},
		{`{"elicitation":{}}`, `{"elicitation":{"url":{}}}`, false},
		{`{"elicitation":{"url":{}}}`, `{"elicitation":{}}`, true},
		{`{"elicitation":{"url":{}}}`, `{"elicitation":{"form":{}}}`, false},
		{`{"elicitation":{"url":{},"form":{}}}`, `{"elicitation":{"form":{},"url":{}}}`, true},
		{`{"elicitation":{"form":{}}}`, `{"elicitation":{"voice":{}}}`, false},
		{`{"experimental":{"a":{"x":1.0}}}`, `{"experimental":{"a":{"x":1.0}}}`, true},
		{`{"experimental":{"a":{"x":{"p":1,"q":2}}}}`, `{"experimental":{"a":{"x":{"q":2, "p":1}}}}`, true},
		{`{"experimental":{"a":{"x":1}}}`, `{"experimental":{"a":{"x":2}}}`, false},
		{`{"experimental":{"a":{"x":1}}}`, `{"experimental":{"a":{}}}`, false},
		{`{"experimental":{"a":{}}}`, `{"experimental":{"b":{}}}`, false},
		{`{"experimental":{"a":{"x":null}}}`, `{"experimental":{"a":{"y":null}}}`, false},
		{`{"experimental":{"a":{},"b":{}}}`, `{"experimental":{"b":{}}}`, true},
		{`{"experimental":{"a":{"x":9007199254740993}}}`, `{"experimental":{"a":{"x":9007199254740992}}}`, false},
		{`{"extensions":{"a/b":{}}}`, `{"extensions":{"a/b":{"set":1}}}`, true},
		{`{"extensions":{}}`, `{"extensions":{"a/b":{}}}`, false},
		{`{"tasks":{}}`, `{"tasks":{}}`, true},
		{`{}`, `{"tasks":{}}`, false},
		{`{"tasks":{"cancel":{}}}`, `{"tasks":{"list":{}}}`, false},
		{`{"tasks":{"list":{},"cancel":{}}}`, `{"tasks":{"list":{},"cancel":{}}}`, true},
		{`{"tasks":{"requests":{"sampling":{"createMessage":{}}}}}`, `{"tasks":{"requests":{"sampling":{"createMessage":{}}}}}`, true},
		{`{"tasks":{"requests":{"sampling":{"createMessage":{}}}}}`, `{"tasks":{"requests":{"elicitation":{"create":{}}}}}`, false},
		{`{"tasks":{"requests":{"elicitation":{}}}}`, `{"tasks":{"requests":{"elicitation":{"create":{}}}}}`, false},
		{`{"tasks":{}}`, `{"tasks":{"requests":{}}}`, false},
		{`{"tasks":{"list":{}}}`, `{"tasks":{"cancel":{}}}`, false},
		{`{"tasks":{"requests":{}}}`, `{"tasks":{"requests":{"sampling":{"createMessage":{}}}}}`, false},
		{`{"tasks":{"requests":{"sampling":{}}}}`, `{"tasks":{"requests":{"sampling":{"createMessage":{}}}}}`, false},
		{`{"tasks":{"requests":{}}}`, `{"tasks":{"requests":{"elicitation":{"create":{}}}}}`, false},
		{`{"tasks":{"requests":{}}}`, `{"tasks":{"requests":{"brandNew":{}}}}`, false},
		{`{"tasks":{}}`, `{"tasks":{"brandNew":{}}}`, false},
		{`{"roots":{}}`, `{"roots":{"brandNew":true}}`, false},
		{`{"sampling":{}}`, `{"sampling":{"brandNew":{}}}`, false},
		{`{"brandNew":{}}`, `{"brandNew":{}}`, true},
		{`{}`, `{"brandNew":{}}`, false},
	} {
		var have, want mcp.ClientCapabilities
		require.NoError(t, json.Unmarshal([]byte(c.have), &have))
		require.NoError(t, json.Unmarshal([]byte(c.want), &want))
		conn := connection.NewForRequest(mcp.Revision20260728, nil, &have, nil)
		require.Equal(t, c.ok, conn.HasClientCapability(&want), "%s has %s", c.have, c.want)
	}
}

func TestHasClientCapabilityOfUnknownClient(t *testing.T) {
	conn := connection.New(nil, nil)
	require.False(t, conn.HasClientCapability(&mcp.ClientCapabilities{}))
	require.False(t, conn.HasClientCapability(nil))
	conn.State().SetClient(new(mcp.Implementation), new(mcp.ClientCapabilities))
	require.True(t, conn.HasClientCapability(nil))
}

func TestElicitationModesOfEarlierRevision(t *testing.T) {
	caps := new(mcp.ClientCapabilities)
	raw := `{"elicitation":{"url":{}}}`
	require.NoError(t, wire.Decode([]byte(raw), &wire.Frame{Revision: mcp.Revision20250618}, caps))
	conn := connection.NewForRequest(mcp.Revision20250618, nil, caps, nil)
	some := map[string]json.RawMessage{}
	require.True(t, conn.HasClientCapability(&mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{Form: some}}))
	require.False(t, conn.HasClientCapability(&mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{URL: some}}))
}

func TestStrictClientSendsWhatServersCannotDeclare(t *testing.T) {
	for _, revision := range []string{"2024-11-05", "2025-03-26"} {
		out := &channel{answer: `{"completion":{"values":[]}}`}
		conn := connection.New(out, &connection.Options{Client: true, Strict: true, DefaultRevision: revisionOf(revision)})
		conn.State().SetServerCapabilities(&mcp.ServerCapabilities{})
		_, err := mcp.ServerPeer{Outbound: conn}.Complete(t.Context(), &mcp.CompleteRequest{Ref: &mcp.PromptReference{Name: "p"}})
		if revision == "2024-11-05" {
			require.NoError(t, err, "the revision has no capability for completion")
			out.take()
			_, err = mcp.ServerPeer{Outbound: conn}.ListTools(t.Context(), &mcp.ListToolsRequest{})
			require.Equal(t, "tools", requireRefused[*connection.CapabilityError](t, out, err).Capability, "the revision has this capability")
			continue
		}
		require.Equal(t, "completions", requireRefused[*connection.CapabilityError](t, out, err).Capability)
	}
}

func TestStrictClientRequiresServerCapabilities(t *testing.T) {
	out := &channel{answer: `{"tools":[]}`}
	conn := connection.New(out, &connection.Options{Client: true, Strict: true})
	server := mcp.ServerPeer{Outbound: conn}
	_, err := server.ListTools(t.Context(), &mcp.ListToolsRequest{})
	require.NoError(t, err, "the capabilities of the server are unknown")
	conn.State().SetServerCapabilities(&mcp.ServerCapabilities{})
	out.take()
	_, err = server.ListTools(t.Context(), &mcp.ListToolsRequest{})
	require.Equal(t, "tools", requireRefused[*connection.CapabilityError](t, out, err).Capability)

	conn.State().SetServerCapabilities(&mcp.ServerCapabilities{Tools: &mcp.ToolsCapability{}, Resources: &mcp.ResourcesCapability{}})
	_, err = server.ListTools(t.Context(), &mcp.ListToolsRequest{})
	require.NoError(t, err)
	out.take()
	_, err = server.Subscribe(t.Context(), &mcp.SubscribeRequest{URI: "a:b"})
	require.Equal(t, "resources.subscribe", requireRefused[*connection.CapabilityError](t, out, err).Capability)

	lenient := connection.New(out, &connection.Options{Client: true})
	lenient.State().SetServerCapabilities(&mcp.ServerCapabilities{})
	_, err = mcp.ServerPeer{Outbound: lenient}.ListTools(t.Context(), &mcp.ListToolsRequest{})
	require.NoError(t, err, "not strict")
}

func TestCheck(t *testing.T) {
	roots := &mcp.ListRootsRequest{}
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		back := new(channel)
		opts := &connection.Options{Outbound: back}
		require.NoError(t, connection.NewForRequest(revisionOf(version), nil, allCapabilities(), opts).Check(roots))
		err := connection.NewForRequest(revisionOf(version), nil, &mcp.ClientCapabilities{}, opts).Check(roots)
		requireRefused[*connection.CapabilityError](t, back, err)
		err = connection.NewForRequest(revisionOf(version), nil, allCapabilities(), opts).Check(&mcp.ElicitRequest{
			Params: &mcp.ElicitRequestURLParams{URL: "nowhere"},
		})
		requireRefused[*connection.InvalidError](t, back, err)
	}
}
