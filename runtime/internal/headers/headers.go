// Package headers contains the names of the HTTP headers that repeat members of a request's body.
package headers

// The names in the canonical form of net/http.Header.
const (
	ProtocolVersion = "Mcp-Protocol-Version"
	Method          = "Mcp-Method"
	Name            = "Mcp-Name"
)
