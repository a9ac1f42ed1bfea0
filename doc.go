// Package mcpwright is the root of a Go SDK for the [Model Context Protocol] that is compiled from
// the protocol's JSON schemas. It contains only this description: programs import the packages
// below.
//
// This is a complete server. It offers one tool on standard input and output, to clients of every
// revision of the protocol:
//
//	package main
//
//	import (
//		"context"
//		"log"
//
//		"github.com/mcpwright/mcp/generated/mcp"
//		"github.com/mcpwright/mcp/runtime/mcpserver"
//	)
//
//	type input struct {
//		Name string `json:"name" jsonschema:"the name of the person"`
//	}
//
//	func greet(ctx context.Context, s *mcp.ServerSession, in input) (string, error) {
//		return "Hello, " + in.Name, nil
//	}
//
//	func main() {
//		server := mcpserver.New(mcp.Implementation{Name: "hello", Version: "1.0.0"}, nil)
//		mcpserver.AddTool(server, &mcp.Tool{Name: "greet", Description: "Greets a person."}, greet)
//		if err := server.ServeStdio(context.Background()); err != nil {
//			log.Fatal(err)
//		}
//	}
//
// # Packages
//
//   - [github.com/mcpwright/mcp/runtime/mcpserver]: servers
//   - [github.com/mcpwright/mcp/runtime/mcpclient]: clients
//   - [github.com/mcpwright/mcp/runtime/mcptest]: tests of servers
//   - [github.com/mcpwright/mcp/runtime/auth]: OAuth for both
//   - [github.com/mcpwright/mcp/generated/mcp]: the protocol's types, methods and revisions
//
// The README has a client and the list of pages. The other packages are for authors of transports
// and of extensions.
//
// [Model Context Protocol]: https://modelcontextprotocol.io
package mcpwright
