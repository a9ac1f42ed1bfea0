package main

import "github.com/mcpwright/mcp/gen/internal/ir"

// What the deprecations of SEP-2577 tell users to do instead.
const (
	sep2577      = "SEP-2577; the schema has no mark for it"
	useModel     = "Servers that need a model call one themselves."
	useArguments = "Pass paths as tool arguments or resource URIs, or configure them."
	useLogs      = "Write logs to standard error or to a telemetry system."
)

// rules are the choices that the schemas leave open, each with its reason.
// A rule that changes nothing is an error, so the list stays short.
var rules = ir.Rules{
	For: []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"},

	Framing: []ir.Framing{
		{Definition: "JSONRPC*", Why: "the envelope of JSON-RPC; runtime/wire reads and writes it"},
		{Definition: "Request", Why: "the abstract request; runtime/peer has it as an interface"},
		{Definition: "PaginatedRequest", Why: "the abstract request for a page; it has no method"},
		{Definition: "Notification", Why: "the abstract notification; runtime/peer has it as an interface"},
		{Definition: "Error", Why: "the error of JSON-RPC; runtime/peer has it"},
		{Definition: "*ResultResponse", Why: "the envelope around a result; it only tells which result answers a request"},
	},

	Slots: []ir.Slot{
		{Definition: "ClientRequest", Direction: ir.ClientRequests, Why: "lists what a client may ask"},
		{Definition: "ServerRequest", Direction: ir.ServerRequests, Why: "lists what a server may ask"},
		{Definition: "InputRequest", Direction: ir.EmbeddedRequests, Why: "lists what a result may ask of the client"},
		{Definition: "ClientNotification", Direction: ir.ClientNotifications, Why: "lists what a client may tell"},
		{Definition: "ServerNotification", Direction: ir.ServerNotifications, Why: "lists what a server may tell"},
		{Definition: "ClientResult", Direction: ir.Results, Why: "its members, the open Result among them, cannot be told apart; each request names its result instead"},
		{Definition: "ServerResult", Direction: ir.Results, Why: "its members, the open Result among them, cannot be told apart; each request names its result instead"},
	},

	Same: []ir.Same{
		{Old: "ResourceReference", New: "ResourceTemplateReference", Why: "renamed in 2025-06-18; the wire form is the same"},
	},

	Widen: []ir.Widen{
		{Definition: "UntitledSingleSelectEnumSchema", In: "2025-06-18", Like: "EnumSchema",
			Why: "an EnumSchema of 2025-06-18 without enumNames already has this form"},
	},

	Names: []ir.Name{
		{At: "RequestMetaObject", Go: "RequestMeta", Why: "short; it is the type of Meta in every request"},
		{At: "NotificationMetaObject", Go: "NotificationMeta", Why: "short; it is the type of Meta in every notification"},
		{At: "ResultMetaObject", Go: "ResultMeta", Why: "short; it is the type of Meta in every result"},
		{At: "SubscriptionsListenResultMetaObject", Go: "SubscriptionsListenResultMeta", Why: "as ResultMeta"},
		{At: "Annotated.annotations", Go: "Annotations", Why: "2024-11-05 wrote the shape out wherever it was used"},
		{At: "ResourceContents", Go: "BaseResourceContents", Why: "the base of text and blob contents; the union of the two is what users meet"},
		{At: "ResourceContentsUnion", Go: "ResourceContents", Why: "the union of text and blob contents has no name in the schema"},
		{At: "EmbeddedResource.resource", Go: "ResourceContentsUnion", Why: "the union of text and blob contents"},
		{At: "ReadResourceResult.contents", Go: "ResourceContentsUnion", Why: "the union of text and blob contents"},
		{At: "CompleteRequest.ref", Go: "CompletionReference", Why: "the union has no name in the schema"},
		{At: "CompleteRequest.argument", Go: "CompletionArgument", Why: "the inline shape has no name in the schema"},
		{At: "CompleteRequest.context", Go: "CompletionContext", Why: "the inline shape has no name in the schema"},
		{At: "CompleteResult.completion", Go: "Completion", Why: "the inline shape has no name in the schema"},
		{At: "ElicitRequestFormParams.requestedSchema", Go: "RequestedSchema", Why: "the inline shape has no name in the schema"},
		{At: "TitledSingleSelectEnumSchema.oneOf", Go: "EnumOption", Why: "one option of an enum, wherever it stands"},
		{At: "TitledMultiSelectEnumSchemaItems.anyOf", Go: "EnumOption", Why: "one option of an enum, wherever it stands"},
		{At: "TitledMultiSelectEnumSchema.items", Go: "TitledMultiSelectEnumSchemaItems", Why: "named, so that its members can be"},
		{At: "*.cacheScope", Go: "CacheScope", Why: "one enum in several results"},
		{At: "Icon.theme", Go: "IconTheme", Why: "named for what it is"},
		{At: "StringSchema.format", Go: "StringFormat", Why: "named for what it is"},
		{At: "NumberSchema.type", Go: "NumberType", Why: "named for what it is"},
		{At: "ElicitResult.action", Go: "ElicitAction", Why: "named for what it is"},
		{At: "CreateMessageRequest.includeContext", Go: "IncludeContext", Why: "named for what it is"},
		{At: "ToolChoice.mode", Go: "ToolChoiceMode", Why: "named for what it is"},
		{At: "ToolExecution.taskSupport", Go: "TaskSupport", Why: "named for what it is"},
		{At: "ClientCapabilities.elicitation", Go: "ElicitationCapability", Why: "capabilities are named for what they allow"},
		{At: "ClientCapabilities.roots", Go: "RootsCapability", Why: "capabilities are named for what they allow"},
		{At: "ClientCapabilities.sampling", Go: "SamplingCapability", Why: "capabilities are named for what they allow"},
		{At: "ClientCapabilities.tasks", Go: "ClientTasksCapability", Why: "capabilities are named for what they allow"},
		{At: "ClientTasksCapability.requests", Go: "ClientTaskRequests", Why: "capabilities are named for what they allow"},
		{At: "ClientTaskRequests.elicitation", Go: "ElicitationTaskRequests", Why: "capabilities are named for what they allow"},
		{At: "ClientTaskRequests.sampling", Go: "SamplingTaskRequests", Why: "capabilities are named for what they allow"},
		{At: "ServerCapabilities.prompts", Go: "PromptsCapability", Why: "capabilities are named for what they allow"},
		{At: "ServerCapabilities.resources", Go: "ResourcesCapability", Why: "capabilities are named for what they allow"},
		{At: "ServerCapabilities.tools", Go: "ToolsCapability", Why: "capabilities are named for what they allow"},
		{At: "ServerCapabilities.tasks", Go: "ServerTasksCapability", Why: "capabilities are named for what they allow"},
		{At: "ServerTasksCapability.requests", Go: "ServerTaskRequests", Why: "capabilities are named for what they allow"},
		{At: "ServerTaskRequests.tools", Go: "ToolTaskRequests", Why: "capabilities are named for what they allow"},
	},

	Raw: []ir.KeepRaw{
		{At: "Tool.inputSchema", Zero: `{"type":"object"}`, Why: "a JSON Schema is the author's document, kept byte for byte"},
		{At: "Tool.outputSchema", Why: "a JSON Schema is the author's document, kept byte for byte"},
		{At: "CallToolRequest.arguments", Why: "arguments are decoded by whoever knows the tool"},
		{At: "*.structuredContent", Why: "a tool's own document; it was an object before it could be anything"},
		{At: "ToolUseContent.input", Zero: `{}`, Why: "arguments are decoded by whoever knows the tool"},
	},

	Ordered: []ir.Ordering{
		{At: "RequestedSchema.properties", Name: "FormField", Why: "the order of the members is the order of the form's fields"},
	},

	Types: []ir.Builtin{
		{At: "RequestId", Kind: ir.ID, Why: "a string or an integer, kept digit for digit"},
		{At: "ProgressToken", Kind: ir.Token, Why: "a string or an integer, kept digit for digit"},
		{At: "JSONValue", Kind: ir.Raw, Why: "any JSON; the schema forgets numbers and null"},
		{At: "JSONObject", Kind: ir.Object, Why: "any JSON object"},
		{At: "MetaObject", Kind: ir.Object, Why: "any JSON object"},
	},

	Pointers: []ir.Pointer{
		{At: "ToolAnnotations.destructiveHint", Why: "true when absent, which only prose says"},
		{At: "ToolAnnotations.openWorldHint", Why: "true when absent, which only prose says"},
		{At: "*.default", Why: "an empty default is a default"},
		{At: "*.requestState", Why: "an empty state must come back as an empty state"},
		{At: "*.nextCursor", Why: "an empty cursor is a cursor"},
		{At: "*.cursor", Why: "an empty cursor is a cursor"},
	},

	Open: []ir.Open{
		{At: "*.resultType", Name: "ResultType", Values: []string{"complete", "input_required"}, Why: "the values stand in prose; extensions may add others"},
		{At: "CreateMessageResult.stopReason", Name: "StopReason", Values: []string{"endTurn", "stopSequence", "maxTokens", "toolUse"}, Why: "the values stand in prose; clients may add others"},
	},

	Defaults: []ir.Default{
		{At: "InputRequiredResult.resultType", JSON: `"input_required"`, Why: "the type of this very result"},
		{At: "*.resultType", JSON: `"complete"`, Why: "every other result is the last one"},
		{At: "*.cacheScope", JSON: `"private"`, Why: "the scope that cannot leak"},
		{At: "*.ttlMs", JSON: `0`, Why: "stale at once: the hint that promises nothing"},
		{At: "RequestMetaObject.io.modelcontextprotocol/protocolVersion", Revision: true, Why: "a request speaks the revision it is written for"},
	},

	Tolerances: []ir.Tolerance{
		{At: "*.resultType", Kind: ir.MayBeMissing, Why: "a missing type means complete"},
		{At: "*.cacheScope", Kind: ir.MayBeMissing, Why: "servers forget cache hints; a missing one promises nothing"},
		{At: "*.ttlMs", Kind: ir.MayBeMissing, Why: "servers forget cache hints; a missing one promises nothing"},
		{At: "*.cacheScope", Kind: ir.AnyShape, Why: "a hint must not fail the result; a bad one promises nothing"},
		{At: "*.ttlMs", Kind: ir.AnyShape, Why: "a hint must not fail the result; a negative one means stale at once, and so does any other that is no number of milliseconds"},
		{At: "*.nextCursor", Kind: ir.NullIsAbsent, Why: "servers in other languages write null for the end of a list"},
		{At: "CallToolRequest.arguments", Kind: ir.NullIsAbsent, Why: "clients in other languages write null for no arguments"},
		{At: "ResultMetaObject.io.modelcontextprotocol/serverInfo", Kind: ir.AnyShape, Why: "it is only for display; a bad one must not fail the result"},
		{At: "TextResourceContents.text", Kind: ir.MayBeMissing, Why: "the SDK for Go leaves out a text that is empty"},
		{At: "ElicitResult.content", Kind: ir.AlsoFractions, Why: "a form may ask for a number; the schema forgot them among the answers"},
	},

	Metas: []ir.MetaRole{
		{Suffix: "SubscriptionsListenResultMetaObject", Type: "SubscriptionsListenResultMetaObject", Role: ir.Meta, Why: "the _meta of the result that ends a subscription"},
		{Suffix: "Request", Type: "RequestMetaObject", Role: ir.Request, Why: "the _meta of requests grows with the revisions; one type keeps Go code compiling"},
		{Suffix: "RequestParams", Type: "RequestMetaObject", Role: ir.Plain, Why: "params that several requests share"},
		{Suffix: "RequestFormParams", Type: "RequestMetaObject", Role: ir.Plain, Why: "params that are one of a request's alternatives"},
		{Suffix: "RequestURLParams", Type: "RequestMetaObject", Role: ir.Plain, Why: "params that are one of a request's alternatives"},
		{Suffix: "Notification", Type: "NotificationMetaObject", Role: ir.Notification, Why: "as for requests"},
		{Suffix: "NotificationParams", Type: "NotificationMetaObject", Role: ir.Plain, Why: "params that several notifications share"},
		{Suffix: "Result", Type: "ResultMetaObject", Role: ir.Result, Why: "as for requests"},
	},

	Methods: []ir.MethodFact{
		{Method: "completion/complete", Facts: ir.Facts{Capability: "completions"}, Why: "capability negotiation is prose"},
		{Method: "prompts/list", Facts: ir.Facts{Capability: "prompts"}, Why: "capability negotiation is prose"},
		{Method: "prompts/get", Facts: ir.Facts{Capability: "prompts", NameMember: "name"}, Why: "capability and header are prose"},
		{Method: "resources/list", Facts: ir.Facts{Capability: "resources"}, Why: "capability negotiation is prose"},
		{Method: "resources/templates/list", Facts: ir.Facts{Capability: "resources"}, Why: "capability negotiation is prose"},
		{Method: "resources/read", Facts: ir.Facts{Capability: "resources", NameMember: "uri"}, Why: "capability and header are prose"},
		{Method: "resources/subscribe", Facts: ir.Facts{Capability: "resources.subscribe"}, Why: "capability negotiation is prose"},
		{Method: "resources/unsubscribe", Facts: ir.Facts{Capability: "resources.subscribe"}, Why: "capability negotiation is prose"},
		{Method: "tools/list", Facts: ir.Facts{Capability: "tools"}, Why: "capability negotiation is prose"},
		{Method: "tools/call", Facts: ir.Facts{Capability: "tools", NameMember: "name"}, Why: "capability and header are prose"},
		{Method: "logging/setLevel", Facts: ir.Facts{Capability: "logging"}, Why: "capability negotiation is prose"},
		{Method: "sampling/createMessage", Facts: ir.Facts{Capability: "sampling"}, Why: "capability negotiation is prose"},
		{Method: "elicitation/create", Facts: ir.Facts{Capability: "elicitation"}, Why: "capability negotiation is prose"},
		{Method: "roots/list", Facts: ir.Facts{Capability: "roots"}, Why: "capability negotiation is prose"},
		{Method: "tasks/list", Facts: ir.Facts{Capability: "tasks.list"}, Why: "capability negotiation is prose"},
		{Method: "tasks/cancel", Facts: ir.Facts{Capability: "tasks.cancel"}, Why: "capability negotiation is prose"},
		{Method: "tasks/get", Facts: ir.Facts{Capability: "tasks"}, Why: "capability negotiation is prose"},
		{Method: "tasks/result", Facts: ir.Facts{Capability: "tasks"}, Why: "capability negotiation is prose"},
		{Method: "ping", Facts: ir.Facts{Standalone: true}, Why: "a ping asks after the connection, not after a request"},
		{Method: "notifications/message", Facts: ir.Facts{Capability: "logging", Helper: "SendLogMessage"}, Why: "the protocol calls it a log message"},
		{Method: "notifications/elicitation/complete", Facts: ir.Facts{Capability: "elicitation.url", Helper: "SendElicitComplete"}, Why: "named for ElicitURL, whose end it tells"},
		{Method: "notifications/roots/list_changed", Facts: ir.Facts{Capability: "roots.listChanged", Standalone: true}, Why: "a list belongs to the connection"},
		{Method: "notifications/tools/list_changed", Facts: ir.Facts{Capability: "tools.listChanged", Standalone: true, FilterMember: "toolsListChanged"}, Why: "a list belongs to the connection"},
		{Method: "notifications/prompts/list_changed", Facts: ir.Facts{Capability: "prompts.listChanged", Standalone: true, FilterMember: "promptsListChanged"}, Why: "a list belongs to the connection"},
		{Method: "notifications/resources/list_changed", Facts: ir.Facts{Capability: "resources.listChanged", Standalone: true, FilterMember: "resourcesListChanged"}, Why: "a list belongs to the connection"},
		{Method: "notifications/resources/updated", Facts: ir.Facts{Capability: "resources.subscribe", Standalone: true, FilterMember: "resourceSubscriptions"}, Why: "a subscription belongs to the connection"},
	},

	Deprecated: []ir.Deprecation{
		{At: "method sampling/createMessage", Since: "2026-07-28", Use: useModel, Why: sep2577},
		{At: "CreateMessageRequest", Since: "2026-07-28", Use: useModel, Why: sep2577},
		{At: "CreateMessageResult", Since: "2026-07-28", Use: useModel, Why: sep2577},
		{At: "SamplingMessage", Since: "2026-07-28", Use: useModel, Why: sep2577},
		{At: "SamplingMessageContentBlock", Since: "2026-07-28", Use: useModel, Why: sep2577},
		{At: "ModelPreferences", Since: "2026-07-28", Use: useModel, Why: sep2577},
		{At: "ModelHint", Since: "2026-07-28", Use: useModel, Why: sep2577},
		{At: "ToolChoice", Since: "2026-07-28", Use: useModel, Why: sep2577},
		{At: "ToolUseContent", Since: "2026-07-28", Use: useModel, Why: sep2577},
		{At: "ToolResultContent", Since: "2026-07-28", Use: useModel, Why: sep2577},
		{At: "SamplingCapability", Since: "2026-07-28", Use: useModel, Why: sep2577},
		{At: "ClientCapabilities.sampling", Since: "2026-07-28", Use: useModel, Why: sep2577},
		{At: "method roots/list", Since: "2026-07-28", Use: useArguments, Why: sep2577},
		{At: "ListRootsRequest", Since: "2026-07-28", Use: useArguments, Why: sep2577},
		{At: "ListRootsResult", Since: "2026-07-28", Use: useArguments, Why: sep2577},
		{At: "Root", Since: "2026-07-28", Use: useArguments, Why: sep2577},
		{At: "RootsCapability", Since: "2026-07-28", Use: useArguments, Why: sep2577},
		{At: "ClientCapabilities.roots", Since: "2026-07-28", Use: useArguments, Why: sep2577},
		{At: "method notifications/message", Since: "2026-07-28", Use: useLogs, Why: sep2577},
		{At: "LoggingMessageNotification", Since: "2026-07-28", Use: useLogs, Why: sep2577},
		{At: "LoggingLevel", Since: "2026-07-28", Use: useLogs, Why: sep2577},
		{At: "ServerCapabilities.logging", Since: "2026-07-28", Use: useLogs, Why: sep2577},
		{At: "RequestMeta.io.modelcontextprotocol/logLevel", Since: "2026-07-28", Use: useLogs, Why: sep2577},
		{At: "CreateMessageRequest.includeContext", Since: "2026-07-28", Use: "Leave it unset, or say none.", Why: "SEP-2596; the schema says so in prose only"},
		{At: "LegacyTitledEnumSchema", Since: "2025-11-25", Use: "Use [TitledSingleSelectEnumSchema].", Why: "kept for clients of 2025-06-18, the only revision without the newer form"},
	},

	Areas: []ir.AreaOf{
		{At: "initialize", Area: "lifecycle", Why: "opens a session"},
		{At: "notifications/initialized", Area: "lifecycle", Why: "opens a session"},
		{At: "server/discover", Area: "lifecycle", Why: "opens a conversation"},
		{At: "ping", Area: "lifecycle", Why: "asks after the connection"},
		{At: "notifications/cancelled", Area: "lifecycle", Why: "ends a request"},
		{At: "notifications/progress", Area: "lifecycle", Why: "tells about a request under way"},
		{At: "notifications/message", Area: "logging", Why: "a log message"},
		{At: "Input*", Area: "input", Why: "asking for input concerns several methods alike"},
		{At: "*Capability", Area: "lifecycle", Why: "capabilities are settled when a conversation opens"},
		{At: "*TaskRequests", Area: "lifecycle", Why: "parts of capabilities"},
		{At: "ClientRequest", Area: "messages", Why: "one of the four unions of messages"},
		{At: "ServerRequest", Area: "messages", Why: "one of the four unions of messages"},
		{At: "ClientNotification", Area: "messages", Why: "one of the four unions of messages"},
		{At: "ServerNotification", Area: "messages", Why: "one of the four unions of messages"},
	},

	Orders: []ir.Order{
		{At: "LoggingLevel", Values: []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}, Why: "from least to most severe; the schema sorts by name"},
	},
}
