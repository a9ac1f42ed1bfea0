package mcpserver

import (
	"context"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/eras"
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
	h := streamable.NewHandler(s.Dispatcher(), s.webOptions(opts))
	if !s.hosts.add(h) {
		h.Close()
	}
	return h
}

// LegacySSEHandler returns an [http.Handler] that serves the server over the
// transport of revision 2024-11-05, for clients that know no other. Nil options
// are the default. [Server.Shutdown] shuts it down, too.
func (s *Server) LegacySSEHandler(opts *streamable.Options) *streamable.LegacySSEHandler {
	h := streamable.NewLegacySSEHandler(s.Dispatcher(), s.webOptions(opts))
	if !s.hosts.add(h) {
		h.Close()
	}
	return h
}

// webOptions are the options of a handler, completed with those of the server.
func (s *Server) webOptions(opts *streamable.Options) *streamable.Options {
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
	return &o
}

// checkHeaders compares the arguments of a call with the headers that repeat them
// over HTTP, in the revisions that have such headers.
func (t *tool) checkHeaders(ctx context.Context, req *mcp.CallToolRequest) error {
	if len(t.headers) == 0 || eras.Handshake(revisionOf(ctx)) {
		return nil
	}
	header := mcp.SessionFromContext(ctx).Transport().Header()
	if header == nil {
		return nil
	}
	if err := paramheader.Check(t.headers, req.Arguments, header); err != nil {
		return &peer.Error{Code: mcp.CodeHeaderMismatch, Message: "Header mismatch: " + err.Error()}
	}
	return nil
}
