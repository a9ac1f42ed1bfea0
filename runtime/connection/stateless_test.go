package connection_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/outbound"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

func TestServeStatelessErrorsDoNotDependOnTransport(t *testing.T) {
	k := newDispatcher(nil)
	params := `{"name":"boom",` + minimalParams[1:]
	in := request("tools/call", params, nil)
	_, onPipe := k.ServeStateless(t.Context(), in, nil)
	in.Transport = peer.NewTransportContext("http", false, header(
		"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "boom"), "")
	_, onHTTP := k.ServeStateless(t.Context(), in, nil)
	require.EqualError(t, onHTTP, onPipe.Error())
	require.Nil(t, peer.AsError(onHTTP))

	in.Transport = peer.NewTransportContext("http", false, header(), "")
	_, err := k.ServeStateless(t.Context(), in, nil)
	require.EqualValues(t, mcp.CodeHeaderMismatch, peer.AsError(err).Code)
}

func TestServeStatelessTypedMessage(t *testing.T) {
	k := newDispatcher(nil)
	in := request("tools/call", "", nil)
	in.Value = &mcp.CallToolRequest{Name: "x", Meta: &mcp.RequestMeta{
		ProtocolVersion: "2026-07-28", ClientCapabilities: &mcp.ClientCapabilities{},
		Extra: map[string]json.RawMessage{},
	}}
	reply, err := k.ServeStateless(t.Context(), in, nil)
	require.NoError(t, err)
	require.Equal(t, mcp.TextResult("called x"), reply.Result)
}

func TestHandlerGetsClientFromMetadata(t *testing.T) {
	metadata := `{"_meta":{` + version + `:"2026-07-28",` + caps + `:{"roots":{}},` + info + `:{"name":"sender","version":"1"}}}`
	for _, c := range []struct {
		params string
		check  func(*mcp.ServerSession, *connection.State)
	}{
		{metadata, func(s *mcp.ServerSession, _ *connection.State) {
			require.Equal(t, "sender", s.ClientInfo().Name)
		}},
		{metadata, func(s *mcp.ServerSession, _ *connection.State) {
			require.True(t, s.HasClientCapability(only("roots")))
			require.False(t, s.HasClientCapability(only("sampling")))
		}},
		{metadata, func(_ *mcp.ServerSession, state *connection.State) {
			state.SetClient(nil, nil)
			require.Nil(t, state.ClientInfo())
			require.NotNil(t, state.ClientCapabilities().Roots)
		}},
		{minimalParams, func(s *mcp.ServerSession, state *connection.State) {
			require.Nil(t, s.ClientInfo(), "the metadata has no client info")
			require.NotNil(t, state.ClientCapabilities())
		}},
	} {
		called := false
		k := newDispatcher(func(o *connection.DispatcherOptions) {
			peer.Handle(o.Mux, func(ctx context.Context, _ *lateRequest) (*weather, error) {
				called = true
				c.check(mcp.SessionFromContext(ctx), connection.FromContext(ctx).State())
				return &weather{}, nil
			})
		})
		_, err := k.ServeStateless(t.Context(), request("acme/late", c.params, nil), nil)
		require.NoError(t, err)
		require.True(t, called)
	}
}

func TestHandlerGetsClientFromTypedRequest(t *testing.T) {
	const sent = `{"name":"x","_meta":{` + version + `:"2026-07-28",` + caps + `:{"roots":{}}%s}}`
	for _, c := range []struct{ params, name string }{
		{fmt.Sprintf(sent, `,`+info+`:{"name":"sender","version":"1"}`), "sender"},
		{fmt.Sprintf(sent, ``), ""},
	} {
		called := false
		k := newDispatcher(func(o *connection.DispatcherOptions) {
			o.Mux = new(peer.Mux)
			mcp.HandleCallTool(o.Mux, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				called = true
				s := mcp.SessionFromContext(ctx)
				require.Equal(t, "2026-07-28", s.Revision().String())
				require.True(t, s.HasClientCapability(only("roots")))
				require.False(t, s.HasClientCapability(only("sampling")))
				if c.name == "" {
					require.Nil(t, s.ClientInfo())
				} else {
					require.Equal(t, c.name, s.ClientInfo().Name)
				}
				return mcp.TextResult("done"), nil
			})
		})
		_, err := k.ServeStateless(t.Context(), request("tools/call", c.params, nil), nil)
		require.NoError(t, err)
		require.True(t, called)
	}
}

func TestServeStatelessChecksHeaders(t *testing.T) {
	k := newDispatcher(nil)
	for _, c := range []struct {
		params string
		header http.Header
		code   int64
	}{
		{`{"name":"x",` + minimalParams[1:], header("Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "x"), 0},
		{`{"name":"x",` + minimalParams[1:], header("Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "y"), mcp.CodeHeaderMismatch},
		{`{"name":"x",` + minimalParams[1:], header("Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call"), mcp.CodeHeaderMismatch},
		{`{"name":"x",` + minimalParams[1:], header("Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/list", "Mcp-Name", "x"), mcp.CodeHeaderMismatch},
		{`{"name":"x",` + minimalParams[1:], header("Mcp-Protocol-Version", "2025-11-25", "Mcp-Method", "tools/call", "Mcp-Name", "x"), mcp.CodeHeaderMismatch},
		{`{"name":"x",` + minimalParams[1:], header("Mcp-Method", "tools/call", "Mcp-Name", "x"), mcp.CodeHeaderMismatch},
		{`{"name":"x","_meta":{` + version + `:"2026-07-28"}}`, header("Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "x"), mcp.CodeInvalidParams},
	} {
		in := request("tools/call", c.params, nil)
		in.Transport = peer.NewTransportContext("http", false, c.header, "")
		_, err := k.ServeStateless(t.Context(), in, nil)
		if c.code == 0 {
			require.NoError(t, err)
			continue
		}
		require.Equal(t, c.code, peer.AsError(err).Code, "%v", c.header)
	}
}

// messageWithMeta is a request with message metadata.
type messageWithMeta struct {
	peer.Message
	meta string
}

func (m *messageWithMeta) SplitMetadata() (peer.Message, json.RawMessage) {
	return m.Message, []byte(m.meta)
}

func (m *messageWithMeta) AppendParams(b []byte, e *wire.Encoder) []byte {
	return append(b, `{"name":"greet","_meta":`+m.meta+`}`...)
}

// otherCallRequest is a call with another Go type than the handler's.
type otherCallRequest struct{ mcp.CallToolRequest }

const fullMeta = `{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientCapabilities":{"roots":{}},` +
	`"io.modelcontextprotocol/clientInfo":{"name":"ada","version":"1"}}`

func TestPipeServesWithMetadataInProcess(t *testing.T) {
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
	require.NoError(t, serve(&messageWithMeta{call, fullMeta}))
	require.Same(t, call, seen, "the message is not encoded")
	require.Equal(t, "ada", sender.Name)
	require.NotNil(t, capabilities.Roots)

	require.NoError(t, serve(&messageWithMeta{&otherCallRequest{*call}, fullMeta}))
	require.NotSame(t, call, seen)
	require.Equal(t, "ada", seen.Meta.ClientInfo.Name, "a message of another type is encoded with its metadata")

	err := serve(&messageWithMeta{call, `{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`})
	require.ErrorContains(t, err, "clientCapabilities")
	err = serve(&messageWithMeta{call, `{"io.modelcontextprotocol/protocolVersion":"1999-01-01","io.modelcontextprotocol/clientCapabilities":{}}`})
	require.ErrorAs(t, err, new(*mcp.UnsupportedProtocolVersionError))
}

func TestServeStatelessClosesTheConnection(t *testing.T) {
	for _, name := range []string{"fine", "boom", "panic", "cancelled"} {
		synctest.Test(t, func(t *testing.T) {
			closed := false
			k := newDispatcher(func(o *connection.DispatcherOptions) {
				o.Middleware = []peer.Middleware{func(next peer.Handler) peer.Handler {
					return peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
						connection.FromContext(ctx).OnClose(func(ctx context.Context) error {
							closed = ctx.Err() == nil
							return nil
						})
						if name == "panic" {
							panic(name)
						}
						return next.Handle(ctx, in)
					})
				}}
			})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if name == "cancelled" {
				cancel()
			}
			serve := func() {
				defer func() { _ = recover() }()
				_, _ = k.ServeStateless(ctx, request("tools/call", `{"name":"`+name+`",`+minimalParams[1:], nil), nil)
			}
			serve()
			require.True(t, closed, name)
		})
	}
}

func TestServeStatelessReturnsResultAfterSlowCleanup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		defer close(free)
		k := newDispatcher(func(o *connection.DispatcherOptions) {
			peer.Handle(o.Mux, func(ctx context.Context, _ *lateRequest) (*weather, error) {
				connection.FromContext(ctx).OnClose(func(context.Context) error { <-free; return nil })
				return &weather{"grey"}, nil
			})
		})
		began := time.Now()
		reply, err := k.ServeStateless(t.Context(), request("acme/late", minimalParams, nil), &connection.Options{Logger: discardLog})
		require.NoError(t, err)
		require.Equal(t, &weather{"grey"}, reply.Result)
		require.Equal(t, 5*time.Second, time.Since(began))
	})
}

type lateRequest struct{ weatherRequest }

func (*lateRequest) Method() string { return "acme/late" }

func (*lateRequest) DecodeParams(d *wire.Decoder) { d.Skip() }

func TestMalformedMetadataReachesOnlyCustomHandlers(t *testing.T) {
	k := newDispatcher(nil)
	bad := `"_meta":{` + version + `:"2026-07-28",` + caps + `:7,` + info + `:[]}}`
	reply, err := k.ServeStateless(t.Context(), request("acme/weather", `{"place":"here",`+bad, nil), nil)
	require.NoError(t, err)
	require.Equal(t, &weather{"grey"}, reply.Result)
	_, err = k.ServeStateless(t.Context(), request("tools/call", `{"name":"x",`+bad, nil), nil)
	require.EqualValues(t, mcp.CodeInvalidParams, peer.AsError(err).Code)
}
