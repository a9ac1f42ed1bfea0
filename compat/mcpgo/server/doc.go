// Package server has the names of package server of github.com/mark3labs/mcp-go that servers use,
// so that a server moves to this SDK by changing its import paths. It is implemented with
// [github.com/mcpwright/mcp/runtime/mcpserver], which new programs use. [MCPServer.Kit] returns the
// server of that package, so that a program can move step by step.
//
// Differences:
//
//   - Clients of all revisions are served, including 2026-07-28, which has no sessions.
//   - Messages are validated, and limits on sizes, numbers and time are on. Arguments are validated
//     only with [WithInputSchemaValidation], and results of tools only with
//     [WithOutputSchemaValidation], as in mcp-go.
//   - Requests that the HTTP transport refuses are not logged. Some have another status: 421 for a Host
//     header that is not allowed, and 400 for a request without the id of its session.
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
//   - InputRequestBuilder and WithLegacyServerInitiatedRequests: handlers ask with RequestElicitation,
//     RequestSampling and RequestRoots in every revision;
//   - WithStrictInputSchemaDefault, WithCacheHints, WithMethodCacheHints and
//     WithSupportedProtocolVersions: [github.com/mcpwright/mcp/runtime/mcpserver.Options] has them,
//     for servers that are made with that package;
//   - the functions and sessions for the revision of a request, such as RequestProtocolVersion:
//     [github.com/mcpwright/mcp/runtime/connection.FromContext] returns the connection, whose state
//     has the revision;
//   - SessionWithResourceSubscriptions and SessionWithSubscriptionFilter: the server stores the
//     subscriptions of its sessions, and notifies the subscribers when a program calls
//     s.Kit().ResourceUpdated;
//   - SubscriptionIDFromContext and WithSubscriptionID: the server adds the id to notifications;
//   - event stores, the sizes of queues and SessionWithStreamableHTTPConfig: the options of
//     [github.com/mcpwright/mcp/runtime/streamable] have them;
//   - Handle of [StreamableHTTPServer], HTTPRequest and HTTPResponseWriter: the server is an
//     [net/http.Handler] only. CloseSessions: Shutdown closes the sessions;
//   - ProtectedResourceMetadataConfig and its functions:
//     [github.com/mcpwright/mcp/runtime/auth] serves the metadata;
//   - WithMetaPropagator: the module [github.com/mcpwright/mcp/otel] has middleware, for s.Kit().Use;
//   - the methods of [SSEServer] that return URLs, WithAppendQueryToMessageEndpoint and
//     SendEventToSession;
//   - SetClientInfo of [SessionWithClientInfo]: the server does it itself;
//   - errors about what is missing here, such as ErrLoadShedding.
package server
