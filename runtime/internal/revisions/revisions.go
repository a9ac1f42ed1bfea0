// Package revisions contains what distinguishes the revisions of the protocol and is not in the
// generated tables.
//
// Sessions of a handshake revision begin with initialize. In a stateless revision each request
// describes its sender in its "_meta", the message metadata.
package revisions

import (
	"slices"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// The keys of the message metadata in stateless revisions. Results have KeyServerInfo, requests
// the others.
const (
	KeyVersion      = "io.modelcontextprotocol/protocolVersion"
	KeyCapabilities = "io.modelcontextprotocol/clientCapabilities"
	KeyInfo         = "io.modelcontextprotocol/clientInfo"
	KeyLogLevel     = "io.modelcontextprotocol/logLevel"
	KeyServerInfo   = "io.modelcontextprotocol/serverInfo"
)

// CodeResourceNotFound is the error code of handshake revisions for a resource that does not
// exist. The schemas do not contain it.
const CodeResourceNotFound = -32002

// ReservedCode reports whether the stateless revisions reserve an error code for the protocol.
func ReservedCode(code int64) bool { return -32099 <= code && code <= -32020 }

// Handshake reports whether r is a handshake revision. It returns false for the zero Revision.
func Handshake(r wire.Revision) bool {
	i := r.Index()
	return i >= 0 && i < len(mcp.Revisions) && mcp.Revisions[i].Handshake
}

// Newest returns the newest handshake revision or the newest stateless revision. If there is
// none, it returns the newest revision of all.
func Newest(handshake bool) wire.Revision {
	for _, r := range slices.Backward(mcp.Revisions) {
		if r.Handshake == handshake {
			return r.Revision
		}
	}
	return mcp.Revisions[len(mcp.Revisions)-1].Revision
}

// StatelessMethod reports whether a stateless revision defines a method.
func StatelessMethod(method string) bool {
	m := mcp.MethodByName(method)
	return m != nil && slices.ContainsFunc(mcp.Revisions, func(r peer.RevisionInfo) bool {
		return !r.Handshake && (m.FromClient | m.FromServer).Has(r.Revision)
	})
}
