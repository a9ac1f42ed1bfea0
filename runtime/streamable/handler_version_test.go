package streamable_test

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable"
	"github.com/mcpwright/mcp/runtime/wire"
)

func TestAnUnknownVersionIsToldByItsName(t *testing.T) {
	const unknown = version + "1999-01-01"
	const list = `{"jsonrpc":"2.0","id":3,"method":"tools/list"}`
	for name, e := range map[string]*endpoint{"sessions": serve(t, nil, nil), "stateless": serve(t, nil, &streamable.Options{Stateless: true})} {
		t.Run(name, func(t *testing.T) {
			for _, a := range []answer{
				e.post(list, unknown),
				e.post(`{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"_meta":{"progressToken":1}}}`, unknown),
				e.post(initialize("2025-11-25"), unknown),
				e.post(initialized, unknown),
				e.send(http.MethodGet, "", unknown),
				e.send(http.MethodDelete, "", unknown),
				e.send(http.MethodGet, "", version+"x"),
				e.send(http.MethodGet, "", version+"2025-11-25", version+"2025-11-25"),
			} {
				require.Equal(t, http.StatusBadRequest, a.status)
				require.Equal(t, mcp.CodeUnsupportedProtocolVersion, a.code())
				require.Contains(t, a.body, "Unsupported protocol version")
				require.Contains(t, a.body, `"requested":`)
				require.Contains(t, a.body, `"2025-11-25"`)
			}
			require.Contains(t, e.post(list, unknown).body, `"id":3`)
		})
	}
}

func TestWithoutAnyVersionTheHeaderIsMissing(t *testing.T) {
	o := kernelOptions(nil)
	o.Revisions = []wire.Revision{mcp.Revision20260728}
	e := serveKernel(t, connection.NewDispatcher(o), nil)
	a := e.post(`{"jsonrpc":"2.0","id":3,"method":"tools/list"}`)
	require.Equal(t, http.StatusBadRequest, a.status)
	require.Equal(t, mcp.CodeHeaderMismatch, a.code())
}

func TestNamesInHeadersArePrintable(t *testing.T) {
	e := serve(t, map[string]tool{"Füße": logs(0)}, nil)
	require.Equal(t, http.StatusOK, e.post(call26("Füße"), headers26("=?base64?RsO8w59l?=")...).status)
	a := e.post(call26("Füße"), headers26("Füße")...)
	require.Equal(t, http.StatusBadRequest, a.status)
	require.Equal(t, mcp.CodeHeaderMismatch, a.code())
}

func TestARequestIsReadInOnePass(t *testing.T) {
	var last atomic.Pointer[peer.Inbound]
	o := kernelOptions(nil)
	o.Middleware = []peer.Middleware{func(next peer.Handler) peer.Handler {
		return peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
			if in.Method == mcp.MethodCallTool {
				last.Store(in)
			}
			return next.Handle(ctx, in)
		})
	}}
	e := serveKernel(t, connection.NewDispatcher(o), nil)
	require.Equal(t, http.StatusOK, e.call26("echo").status)
	seen := last.Load()
	require.IsType(t, new(mcp.CallToolRequest), seen.Message)
	require.Equal(t, mcp.Revision20260728, seen.Frame.Revision)
	require.NotEmpty(t, seen.Params, "for whoever looks at what is not read")

	c := e.open("2025-11-25")
	require.Equal(t, http.StatusOK, c.call("echo").status)
	seen = last.Load()
	require.IsType(t, new(mcp.CallToolRequest), seen.Message)
	require.Equal(t, mcp.Revision20251125, seen.Frame.Revision)
	a := c.call("echo", "MCP-Protocol-Version")
	require.Equal(t, http.StatusOK, a.status)
	require.Contains(t, a.body, `{\"a\":1}`, "also where the revision is not said, and it is read again")
}

// moodRequest has what it need not write from a generated request, and reads its
// params itself, all but the "_meta".
type moodRequest struct{ mcp.PingRequest }

func (*moodRequest) Method() string               { return "acme/mood" }
func (*moodRequest) DecodeParams(d *wire.Decoder) { d.Skip() }

func TestAMetaThatItsTypeDoesNotTellIsLookedForInTheParams(t *testing.T) {
	o := kernelOptions(nil)
	peer.Handle(o.Mux, func(ctx context.Context, _ *moodRequest) (*mcp.EmptyResult, error) {
		return &mcp.EmptyResult{}, mcp.SessionFromContext(ctx).ReportProgress(ctx, peer.Progress{Progress: 1})
	})
	e := serveKernel(t, connection.NewDispatcher(o), nil)
	modern := `{"jsonrpc":"2.0","id":7,"method":"acme/mood","params":{` + strings.Replace(meta26, "{", `{"progressToken":"p",`, 1) + `}}}`
	c := e.open("2025-11-25")
	a := e.post(modern, version+"2026-07-28", "Mcp-Method: acme/mood")
	require.Len(t, a.events(), 2, "outside sessions: the report and the answer, not %s", a.body)
	a = c.post(`{"jsonrpc":"2.0","id":7,"method":"acme/mood","params":{"_meta":{"progressToken":"p"}}}`)
	require.Len(t, a.events(), 2, "in a session: the report and the answer, not %s", a.body)
	a = c.post(modern)
	require.Equal(t, http.StatusBadRequest, a.status)
	require.Equal(t, mcp.CodeHeaderMismatch, a.code(), "a version in a session")
}
