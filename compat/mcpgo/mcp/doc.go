// Package mcp has the names of package mcp of github.com/mark3labs/mcp-go that servers use.
//
// Missing are
//
//   - sampling and roots. [MCPServer.Kit] has them for every revision: a handler calls CreateMessage
//     or ListRoots of [github.com/mcpwright/mcp/generated/mcp.SessionFromContext];
//   - results that ask a question, such as InputRequiredResult, and their requests and responses: the
//     server makes them if a handler asks a question in a revision without sessions;
//   - SchemaCache: a schema is compiled once in a process;
//   - functions for the headers of HTTP requests, and errors about them: the transport checks them;
//   - functions for clients that read results, such as ParseCallToolResult, and functions that make
//     the results of requests that the server handles itself, such as NewListToolsResult and NewTask;
//   - notifications as types: handlers get an [JSONRPCNotification];
//   - constants and functions for revisions, and the keys of "_meta" that the protocol defines.
//
// It is for existing programs. New programs, and files that are rewritten, use
// [github.com/mcpwright/mcp/generated/mcp] and
// [github.com/mcpwright/mcp/runtime/mcpserver]. The page docs/migrating.md maps the names.
//
// [MCPServer.Kit]: https://pkg.go.dev/github.com/mcpwright/mcp/compat/mcpgo/server#MCPServer.Kit
package mcp
