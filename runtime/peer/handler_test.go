package peer_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// spoken is a message that records the revision it was decoded with.
type spoken struct {
	words    string
	invalid  bool // it cannot be encoded
	revision wire.Revision
}

var spokenMembers = wire.NewMembers("spoken", wire.Member{Name: "words", In: wire.Always})

func (*spoken) Method() string { return "test/speak" }
func (s *spoken) AppendParams(b []byte, e *wire.Encoder) []byte {
	if s.invalid {
		return e.Missing(b, "words")
	}
	return append(wire.AppendString(append(b, `{"words":`...), s.words), '}')
}

func (s *spoken) DecodeParams(d *wire.Decoder) {
	s.revision = d.Revision()
	for o := d.Object(spokenMembers); o.Next(); {
		s.words = d.String()
	}
}

func TestInboundDecode(t *testing.T) {
	revision := wire.NewRevision(1, "2025-01-01")
	newer := &wire.Frame{Revision: revision}
	for name, c := range map[string]struct {
		in    peer.Inbound
		frame *wire.Frame
		want  spoken
	}{
		"params":           {peer.Inbound{Params: json.RawMessage(`{"words":"hi"}`)}, newer, spoken{words: "hi", revision: revision}},
		"no params":        {peer.Inbound{}, newer, spoken{revision: revision}},
		"a value":          {peer.Inbound{Value: &spoken{words: "ho"}}, newer, spoken{words: "ho", revision: revision}},
		"of all revisions": {peer.Inbound{Params: json.RawMessage(`{"words":"hi"}`)}, nil, spoken{words: "hi"}},
	} {
		var got spoken
		require.NoError(t, c.in.Decode(c.frame, &got), name)
		require.Equal(t, c.want, got, name)
	}
	require.False(t, newer.Checked, "the caller's frame is not changed")

	in := peer.Inbound{Params: json.RawMessage(`{"words":7}`)}
	require.ErrorAs(t, in.Decode(nil, new(spoken)), new(*wire.DecodeError))
	in = peer.Inbound{Value: &spoken{invalid: true}}
	require.ErrorAs(t, in.Decode(nil, new(spoken)), new(*wire.EncodeError))
}

func TestHandlerFunc(t *testing.T) {
	h := peer.HandlerFunc(func(_ context.Context, in *peer.Inbound) (peer.Reply, error) {
		return peer.Reply{Result: &answer{in.Method}}, errBroken
	})
	reply, err := h.Handle(t.Context(), &peer.Inbound{Method: "test/ask"})
	require.ErrorIs(t, err, errBroken)
	require.Equal(t, &answer{"test/ask"}, reply.Result)
}

func TestNewTransportContext(t *testing.T) {
	type http2 struct { // as in a transport
		peer.TransportContext
		Request *http.Request
	}
	header := http.Header{"A": {"b"}}
	var c peer.TransportContext = http2{TransportContext: peer.NewTransportContext("streamable-http", true, header, "ada")}
	require.Equal(t, "streamable-http", c.Kind())
	require.True(t, c.CanSendRequest())
	require.Equal(t, peer.Header(header), c.Header())
	require.Equal(t, "ada", c.Principal())
	_, ok := c.(http2)
	require.True(t, ok, "a handler can use a type assertion")
}
