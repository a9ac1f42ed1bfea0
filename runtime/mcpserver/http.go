package mcpserver

import (
	"context"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/paramheader"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable"
)

// Handler returns an [http.Handler] that serves the server at one URL, in every
// revision:
//
//	http.Handle("/mcp", server.Handler(nil))
//
// Nil options are the default. [Server.Shutdown] shuts it down, too.
func (s *Server) Handler(opts *streamable.Options) *streamable.Handler {
	var o streamable.Options
	if opts != nil {
		o = *opts
	}
	if o.Connection.Outgoing == nil {
		o.Connection.Outgoing = s.opts.Outgoing
	}
	if o.Logger == nil {
		o.Logger = s.opts.Logger
	}
	h := streamable.NewHandler(s.Kernel(), &o)
	if !s.hosts.add(h) {
		h.Close()
	}
	return h
}

// checkHeaders compares the arguments of a call with the headers that repeat them
// over HTTP, in the revisions that have such headers.
func (t *tool) checkHeaders(ctx context.Context, req *mcp.CallToolRequest) error {
	if len(t.headers) == 0 || handshake(revisionOf(ctx)) {
		return nil
	}
	header := mcp.SessionFrom(ctx).Transport().Header()
	if header == nil {
		return nil
	}
	if err := paramheader.Check(t.headers, req.Arguments, header); err != nil {
		return &peer.Error{Code: mcp.CodeHeaderMismatch, Message: "Header mismatch: " + err.Error()}
	}
	return nil
}
