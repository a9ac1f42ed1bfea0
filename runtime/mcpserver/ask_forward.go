package mcpserver

import (
	"context"

	"github.com/mcpwright/mcp/runtime/mcpserver/internal/rounds"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Forward returns a view of another server for handlers that hand on requests
// to it. Where that server asks for input in its answer, as servers do since
// 2026-07-28, the question goes to the client whose request is being handled, and
// the answer back, whatever that client's revision; reports of progress go to the
// client, too. A tool of another server is then one line:
//
//	upstream := mcp.ServerPeer{Outbound: mcpserver.Forward(client.Forward())}
//	server.AddRawTool(tool, upstream.CallTool)
//
// Upstream must not answer questions by itself, and declares to its server what
// the clients of this one can be asked for; a question that a client cannot be
// asked is an error of the handler. A request may be another than the one being
// handled, and there may be several of them. As any other step of a handler, a
// request is sent again in each round of questions: put what must not be into a
// [Once], and so equal requests to several servers, which are told apart by the
// names of their memos.
//
// A server with a handshake asks by requests of its own, which come to the
// handlers of the upstream client. Over HTTP and in process these have the context
// of the call, so that this hands a question on:
//
//	OnElicit: func(ctx context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
//		return peer.SendRequest(ctx, mcp.SessionFromContext(ctx), req)
//	}
//
// On a pipe nothing tells which call a question is about, and there is no session:
// each client needs an upstream client of its own.
func Forward(upstream peer.Outbound) peer.Outbound { return forward{upstream} }

type forward struct{ peer.Outbound }

// Call implements [peer.Outbound].
func (f forward) Call(ctx context.Context, req peer.Message, res wire.Value, opts ...peer.CallOption) error {
	if r := rounds.From(ctx); r != nil {
		return r.Call(ctx, f.Outbound, req, res, opts...)
	}
	return f.Outbound.Call(ctx, req, res, opts...)
}
