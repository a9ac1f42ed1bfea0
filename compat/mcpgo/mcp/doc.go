// Package mcp has the names of package mcp of github.com/mark3labs/mcp-go that servers use.
//
// These names are missing:
//
//   - results that ask a question, such as InputRequiredResult, their requests and responses, and
//     ResultType: the server makes them if a handler asks a question in a revision without sessions;
//   - SchemaCache and its options, such as WithCachedInputSchema: a schema is compiled once in a
//     process;
//   - PropertyOrder of a schema: properties are sent in the order of their names;
//   - functions for the headers of HTTP requests, such as ValidateParamHeaders, and errors about
//     them: the transport checks them;
//   - errors for the codes of responses, such as ErrInvalidParams and UnsupportedProtocolVersionError.
//     A handler returns a [github.com/mcpwright/mcp/runtime/peer.Error] to choose the code;
//   - functions that make tasks, such as NewTask and WithTaskTTL, TasksCapability, and
//     WithModelImmediateResponse: the server makes the tasks and declares the capability;
//   - notifications as types, such as ProgressNotification: handlers get a [JSONRPCNotification];
//   - interfaces of all messages of one side, such as ClientRequest and ServerResult, and
//     JSONRPCRequest: the server decodes the messages;
//   - cache hints of single results: Options.CacheHints of
//     [github.com/mcpwright/mcp/runtime/mcpserver] sets them by method;
//   - constants and functions for revisions, such as ValidProtocolVersions: the server negotiates
//     them;
//   - the keys of "_meta" that the protocol defines, and the methods of Meta for them. The server
//     sets them, and [SessionWithClientInfo] describes the client.
//
// It is for existing programs. New programs, and files that are rewritten, use
// [github.com/mcpwright/mcp/generated/mcp] and
// [github.com/mcpwright/mcp/runtime/mcpserver]. The page docs/migrating.md maps the names.
//
// [SessionWithClientInfo]: https://pkg.go.dev/github.com/mcpwright/mcp/compat/mcpgo/server#SessionWithClientInfo
package mcp
