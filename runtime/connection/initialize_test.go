package connection_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

func TestOverHTTPAHandshakeWithAnEnvelopeIsAMethodThatIsNotThere(t *testing.T) {
	k := newKernel(func(o *connection.DispatcherOptions) { o.Revisions = []wire.Revision{mcp.Revision20260728} })
	require.Equal(t, []wire.Revision{mcp.Revision20260728}, k.Revisions())
	header := http.Header{}
	header.Set("MCP-Protocol-Version", "2026-07-28")
	header.Set("Mcp-Method", "initialize")
	const plain = `{"protocolVersion":"2025-11-25","clientInfo":{"name":"c","version":"1"},"capabilities":{}`
	const enveloped = plain + `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}`
	for _, c := range []struct {
		params string
		header http.Header
		code   int64
		data   string
	}{
		{enveloped, header, mcp.CodeMethodNotFound, `"initialize"`},
		{enveloped, nil, mcp.CodeUnsupportedProtocolVersion, `{"supported":["2026-07-28"],"requested":"2025-11-25"}`},
		{plain + `}`, header, mcp.CodeUnsupportedProtocolVersion, `{"supported":["2026-07-28"],"requested":"2025-11-25"}`},
		{`{"protocolVersion":7}`, header, mcp.CodeUnsupportedProtocolVersion, `{"supported":["2026-07-28"],"requested":""}`},
		{`{"protocolVersion":"2026-07-28"}`, header, mcp.CodeInvalidParams, ``}, // what is served cannot be unsupported
	} {
		_, err := k.ServeStateless(t.Context(), &peer.Inbound{
			Method: mcp.MethodInitialize, ID: wire.IntID(1), Params: []byte(c.params), Transport: peer.NewTransportContext("t", false, c.header, ""),
		}, nil)
		require.Equal(t, c.code, peer.AsError(err).Code, c.params)
		if c.data != "" {
			require.JSONEq(t, c.data, string(peer.AsError(err).Data))
		}
	}
}

func TestAHandshakeIsConfirmedOnce(t *testing.T) {
	told := 0
	k := newKernel(func(o *connection.DispatcherOptions) {
		o.OnInitialized = func(context.Context, *connection.Connection) { told++ }
	})
	conn := connection.New(nil, &connection.Options{Logger: quiet})
	k.Confirm(t.Context(), conn, []byte(`{"_meta":7}`))
	require.False(t, conn.State().Initialized(), "a malformed notification confirms nothing")
	k.Confirm(t.Context(), conn, nil)
	require.True(t, conn.State().Initialized())
	_, err := k.Serve(t.Context(), conn, &peer.Inbound{Method: mcp.MethodInitialized})
	require.NoError(t, err)
	require.Equal(t, 1, told)
}

func TestAQuestionWaitsUntilTheHandshakeIsConfirmed(t *testing.T) {
	early := func(test func(t *testing.T, conn *connection.Connection, out *channel, ask func(ctx context.Context) error)) {
		synctest.Test(t, func(t *testing.T) {
			out := &channel{answer: `{"roots":[]}`}
			conn := connection.New(out, nil)
			conn.State().SetClient(someInfo, allCapabilities())
			s := connection.Session(conn, request(mcp.MethodCallTool, `{"name":"x"}`, out))
			test(t, conn, out, func(ctx context.Context) error {
				_, err := s.ListRoots(ctx)
				return err
			})
		})
	}
	early(func(t *testing.T, conn *connection.Connection, out *channel, ask func(context.Context) error) {
		begin, asked := time.Now(), make(chan error, 1)
		go func() { asked <- ask(t.Context()) }() // ends with the question
		synctest.Wait()
		require.NoError(t, conn.Ping(t.Context()))
		require.Len(t, out.take(), 1, "a ping does not wait")
		conn.State().SetInitialized()
		require.NoError(t, <-asked)
		require.Len(t, out.take(), 1)
		require.NoError(t, ask(t.Context()))
		require.Zero(t, time.Since(begin))
	})
	early(func(t *testing.T, _ *connection.Connection, out *channel, ask func(context.Context) error) {
		begin := time.Now()
		require.NoError(t, ask(t.Context()), "a client that does not confirm is asked all the same")
		require.NoError(t, ask(t.Context()))
		require.Len(t, out.take(), 2)
		require.Equal(t, 5*time.Second, time.Since(begin), "and is waited for once")
	})
	early(func(t *testing.T, _ *connection.Connection, _ *channel, ask func(context.Context) error) {
		begin := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_ = ask(ctx)
		require.Equal(t, time.Second, time.Since(begin))
	})
}
