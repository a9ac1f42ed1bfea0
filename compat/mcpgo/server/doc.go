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
//   - The hooks after a subscription of 2026-07-28 are called when its stream ends, and the hooks for
//     tasks for both the tasks of 2025-11-25 and the extension, whose results have other members.
//   - Hooks cannot change the results of tasks, subscriptions and requests without a result.
//
// These names are missing:
//
//   - RequestSampling, RequestRoots and RequestURLElicitation: handlers call methods of
//     [github.com/mcpwright/mcp/generated/mcp.SessionFromContext], in every revision. That is also
//     in place of InputRequestBuilder;
//   - TaskHooks: the hooks for requests and the middleware for tools see the calls that become tasks;
//   - resource templates of one session. Tools and resources of one session are supported;
//   - event stores, session id managers, keep-alive and the sizes of queues: the options of
//     [github.com/mcpwright/mcp/runtime/streamable] have them, with s.Kit().Handler;
//   - ProtectedResourceMetadataConfig: [github.com/mcpwright/mcp/runtime/auth] serves the metadata;
//   - WithTracer and WithPropagator: the module [github.com/mcpwright/mcp/otel] has middleware, for
//     s.Kit().Use;
//   - options for the paths of [SSEServer] that are computed for a request;
//   - WithOutputSchemaValidation, WithStrictInputSchemaDefault, cache hints and the choice of
//     revisions: [github.com/mcpwright/mcp/runtime/mcpserver.Options] has them, for servers that are
//     made with that package.
package server
