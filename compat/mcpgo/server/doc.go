// Package server has the names of package server of github.com/mark3labs/mcp-go that servers use,
// so that a server moves to this SDK by changing its import paths. It is implemented with
// [github.com/mcpwright/mcp/runtime/mcpserver], which new programs use. [MCPServer.Kit] returns the
// server of that package, so that a program can move step by step.
//
// Differences:
//
//   - Clients of all revisions are served, including 2026-07-28, which has no sessions.
//   - Messages are validated, and limits on sizes, numbers and time are on. Arguments are validated
//     only with [WithInputSchemaValidation], as in mcp-go.
//   - Panics of handlers end no process, also without [WithRecovery].
//   - Requests from web pages of other origins are refused unless [WithStreamableHTTPCORS] allows
//     them.
//   - Required arguments of prompts are checked before the handler is called.
//   - Sessions are registered when their initialize request has succeeded, on every transport.
//   - The texts of errors that the server makes itself differ, for example for an unknown tool.
//   - Tasks, sampling, roots, completion, event stores and session id managers are missing.
package server
