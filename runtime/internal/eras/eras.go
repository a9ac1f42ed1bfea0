// Package eras has what tells the two eras of the protocol apart: revisions whose
// sessions begin with a handshake, and those in which each request says itself who
// sends it.
package eras

import (
	"slices"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// The names in the "_meta" of a message under which its sender says, where no
// handshake does, in which revision it is and who sends it.
const (
	KeyVersion      = "io.modelcontextprotocol/protocolVersion"
	KeyCapabilities = "io.modelcontextprotocol/clientCapabilities"
	KeyInfo         = "io.modelcontextprotocol/clientInfo"
	KeyLogLevel     = "io.modelcontextprotocol/logLevel"
	KeyServerInfo   = "io.modelcontextprotocol/serverInfo"
)

// CodeNotFound is how revisions with a handshake say that a resource is not there.
// The schemas do not have it.
const CodeNotFound = -32002

// Handshake tells whether a session of the revision begins with initialize. That of
// the zero Revision, which is none, does not.
func Handshake(r wire.Revision) bool {
	i := r.Index()
	return i >= 0 && i < len(mcp.Revisions) && mcp.Revisions[i].Handshake
}

// WithoutHandshake tells whether a revision that has no handshake has a method.
func WithoutHandshake(method string) bool {
	m := mcp.MethodByName(method)
	return m != nil && slices.ContainsFunc(mcp.Revisions, func(r peer.RevisionInfo) bool {
		return !r.Handshake && (m.FromClient | m.FromServer).Has(r.Revision)
	})
}

// Newest is the newest revision with or without a handshake, and the newest of all
// where there is no such one.
func Newest(handshake bool) wire.Revision {
	for _, r := range slices.Backward(mcp.Revisions) {
		if r.Handshake == handshake {
			return r.Revision
		}
	}
	return mcp.Revisions[len(mcp.Revisions)-1].Revision
}

// Reserves tells whether it is the protocol's alone to give an error code a meaning,
// since there are revisions without a handshake.
func Reserves(code int64) bool { return -32099 <= code && code <= -32020 }
