package main

import "github.com/mcpwright/mcp/gen/internal/ir"

// The reason and the alternatives of the deprecations of SEP-2577.
const (
	sep2577      = "SEP-2577; the schema does not mark deprecations"
	useModel     = "Servers that need a model call one themselves."
	useArguments = "Pass paths as tool arguments or resource URIs, or configure them."
	useLogs      = "Write logs to standard error or to a telemetry system."
)

// rules are the decisions that the schemas leave open, with a reason for each. A rule
// without effect is an error.
var rules = ir.Rules{
	For: []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"},

	OrderFrom: "2026-07-28",

	Framing: []ir.Framing{
		{Definition: "JSONRPC*", Why: "JSON-RPC messages; runtime/wire reads and writes them"},
		{Definition: "Request", Why: "the abstract request; it is an interface of runtime/peer"},
		{Definition: "PaginatedRequest", Why: "the abstract request of a page; it has no method"},
		{Definition: "Notification", Why: "the abstract notification; it is an interface of runtime/peer"},
		{Definition: "Error", Why: "the JSON-RPC error; it is a type of runtime/peer"},
		{Definition: "*ResultResponse", Why: "JSON-RPC responses; they only define the result of each request"},
	},

	MessageUnions: []ir.MessageUnion{
		{Definition: "ClientRequest", Direction: ir.ClientRequests, Why: "the requests that clients send"},
		{Definition: "ServerRequest", Direction: ir.ServerRequests, Why: "the requests that servers send"},
		{Definition: "InputRequest", Direction: ir.EmbeddedRequests, Why: "the requests that a result may contain"},
		{Definition: "ClientNotification", Direction: ir.ClientNotifications, Why: "the notifications that clients send"},
		{Definition: "ServerNotification", Direction: ir.ServerNotifications, Why: "the notifications that servers send"},
		{Definition: "ClientResult", Direction: ir.Results, Why: "its members cannot be distinguished, because Result is one of them; each request has its result instead"},
		{Definition: "ServerResult", Direction: ir.Results, Why: "its members cannot be distinguished, because Result is one of them; each request has its result instead"},
	},

	Renamed: []ir.Renaming{
		{Old: "ResourceReference", New: "ResourceTemplateReference", Why: "renamed in 2025-06-18; the JSON is the same"},
	},

	Widen: []ir.Widen{
		{Definition: "UntitledSingleSelectEnumSchema", In: "2025-06-18", Like: "EnumSchema",
			Why: "an EnumSchema of 2025-06-18 without enumNames has this form"},
	},

	Names: []ir.Name{
		{At: "RequestMetaObject", Go: "RequestMeta", Why: "short; it is the type of Meta in every request"},
		{At: "NotificationMetaObject", Go: "NotificationMeta", Why: "short; it is the type of Meta in every notification"},
		{At: "ResultMetaObject", Go: "ResultMeta", Why: "short; it is the type of Meta in every result"},
		{At: "SubscriptionsListenResultMetaObject", Go: "SubscriptionsListenResultMeta", Why: "as ResultMeta"},
		{At: "Annotated.annotations", Go: "Annotations", Why: "2024-11-05 has it inline in several places"},
		{At: "ResourceContents", Go: "BaseResourceContents", Why: "the base of text and blob contents; users need the union of the two"},
		{At: "ResourceContentsUnion", Go: "ResourceContents", Why: "the union of text and blob contents has no name in the schema"},
		{At: "EmbeddedResource.resource", Go: "ResourceContentsUnion", Why: "the union of text and blob contents"},
		{At: "ReadResourceResult.contents", Go: "ResourceContentsUnion", Why: "the union of text and blob contents"},
		{At: "CompleteRequest.ref", Go: "CompletionReference", Why: "the union has no name in the schema"},
		{At: "CompleteRequest.argument", Go: "CompletionArgument", Why: "the inline type has no name in the schema"},
		{At: "CompleteRequest.context", Go: "CompletionContext", Why: "the inline type has no name in the schema"},
		{At: "CompleteResult.completion", Go: "Completion", Why: "the inline type has no name in the schema"},
		{At: "ElicitRequestFormParams.requestedSchema", Go: "RequestedSchema", Why: "the inline type has no name in the schema"},
		{At: "TitledSingleSelectEnumSchema.oneOf", Go: "EnumOption", Why: "the same type for an option of any enum"},
		{At: "TitledMultiSelectEnumSchemaItems.anyOf", Go: "EnumOption", Why: "the same type for an option of any enum"},
		{At: "TitledMultiSelectEnumSchema.items", Go: "TitledMultiSelectEnumSchemaItems", Why: "its members need names too"},
		{At: "*.cacheScope", Go: "CacheScope", Why: "one enum in several results"},
		{At: "Icon.theme", Go: "IconTheme", Why: "the enum of icon themes"},
		{At: "StringSchema.format", Go: "StringFormat", Why: "shorter than the default name"},
		{At: "NumberSchema.type", Go: "NumberType", Why: "shorter than the default name"},
		{At: "ElicitResult.action", Go: "ElicitAction", Why: "shorter than the default name"},
		{At: "CreateMessageRequest.includeContext", Go: "IncludeContext", Why: "shorter than the default name"},
		{At: "ToolChoice.mode", Go: "ToolChoiceMode", Why: "the enum of tool choices"},
		{At: "ToolExecution.taskSupport", Go: "TaskSupport", Why: "shorter than the default name"},
		{At: "ClientCapabilities.elicitation", Go: "ElicitationCapability", Why: "capabilities are named after what they allow"},
		{At: "ClientCapabilities.roots", Go: "RootsCapability", Why: "capabilities are named after what they allow"},
		{At: "ClientCapabilities.sampling", Go: "SamplingCapability", Why: "capabilities are named after what they allow"},
		{At: "ClientCapabilities.tasks", Go: "ClientTasksCapability", Why: "capabilities are named after what they allow"},
		{At: "ClientTasksCapability.requests", Go: "ClientTaskRequests", Why: "capabilities are named after what they allow"},
		{At: "ClientTaskRequests.elicitation", Go: "ElicitationTaskRequests", Why: "capabilities are named after what they allow"},
		{At: "ClientTaskRequests.sampling", Go: "SamplingTaskRequests", Why: "capabilities are named after what they allow"},
		{At: "ServerCapabilities.prompts", Go: "PromptsCapability", Why: "capabilities are named after what they allow"},
		{At: "ServerCapabilities.resources", Go: "ResourcesCapability", Why: "capabilities are named after what they allow"},
		{At: "ServerCapabilities.tools", Go: "ToolsCapability", Why: "capabilities are named after what they allow"},
		{At: "ServerCapabilities.tasks", Go: "ServerTasksCapability", Why: "capabilities are named after what they allow"},
		{At: "ServerTasksCapability.requests", Go: "ServerTaskRequests", Why: "capabilities are named after what they allow"},
		{At: "ServerTaskRequests.tools", Go: "ToolTaskRequests", Why: "capabilities are named after what they allow"},
	},

	Raw: []ir.KeepRaw{
		{At: "Tool.inputSchema", Zero: `{"type":"object"}`, Why: "a JSON Schema is the author's document and must not change"},
		{At: "Tool.outputSchema", Why: "a JSON Schema is the author's document and must not change"},
		{At: "CallToolRequest.arguments", Why: "only the tool can decode its arguments"},
		{At: "*.structuredContent", Why: "a tool's own document; in older revisions it is an object"},
		{At: "ToolUseContent.input", Zero: `{}`, Why: "only the tool can decode its arguments"},
	},

	Ordered: []ir.Ordering{
		{At: "RequestedSchema.properties", Name: "FormField", Why: "the order of the members is the order of the fields in the form"},
	},

	Types: []ir.Builtin{
		{At: "RequestId", Kind: ir.ID, Why: "a string or an integer, with all digits"},
		{At: "ProgressToken", Kind: ir.Token, Why: "a string or an integer, with all digits"},
		{At: "JSONValue", Kind: ir.Raw, Why: "any JSON; the schema lacks numbers and null"},
		{At: "JSONObject", Kind: ir.Object, Why: "any JSON object"},
		{At: "MetaObject", Kind: ir.Object, Why: "any JSON object"},
	},

	Pointers: []ir.Pointer{
		{At: "ToolAnnotations.destructiveHint", Why: "true if absent, according to the text of the specification"},
		{At: "ToolAnnotations.openWorldHint", Why: "true if absent, according to the text of the specification"},
		{At: "*.default", Why: "an empty default is different from no default"},
		{At: "*.requestState", Why: "an empty state must be returned as an empty state"},
		{At: "*.nextCursor", Why: "an empty cursor is different from no cursor"},
		{At: "*.cursor", Why: "an empty cursor is different from no cursor"},
	},

	Open: []ir.Open{
		{At: "*.resultType", Name: "ResultType", Values: []string{"complete", "input_required"}, Why: "only the text of the specification has the values; extensions may add others"},
		{At: "CreateMessageResult.stopReason", Name: "StopReason", Values: []string{"endTurn", "stopSequence", "maxTokens", "toolUse"}, Why: "only the text of the specification has the values; clients may add others"},
	},

	Defaults: []ir.Default{
		{At: "InputRequiredResult.resultType", JSON: `"input_required"`, Why: "the type of this result"},
		{At: "*.resultType", JSON: `"complete"`, Why: "every other result is final"},
		{At: "*.cacheScope", JSON: `"private"`, Why: "the safe scope"},
		{At: "*.ttlMs", JSON: `0`, Why: "stale immediately"},
		{At: "RequestMetaObject.io.modelcontextprotocol/protocolVersion", Revision: true, Why: "the revision that a request is encoded for"},
	},

	Tolerances: []ir.Tolerance{
		{At: "*.resultType", Kind: ir.MayBeMissing, Why: "a missing type means complete"},
		{At: "*.cacheScope", Kind: ir.MayBeMissing, Why: "servers omit cache hints; without one, the result is not cached"},
		{At: "*.ttlMs", Kind: ir.MayBeMissing, Why: "servers omit cache hints; without one, the result is not cached"},
		{At: "*.cacheScope", Kind: ir.AnyShape, Why: "an invalid hint must not invalidate the result"},
		{At: "*.ttlMs", Kind: ir.AnyShape, Why: "an invalid hint must not invalidate the result; negative and invalid values mean stale immediately"},
		{At: "*.nextCursor", Kind: ir.NullIsAbsent, Why: "servers in other languages write null for the end of a list"},
		{At: "CallToolRequest.arguments", Kind: ir.NullIsAbsent, Why: "clients in other languages write null for no arguments"},
		{At: "ResultMetaObject.io.modelcontextprotocol/serverInfo", Kind: ir.AnyShape, Why: "it is only displayed; an invalid one must not invalidate the result"},
		{At: "TextResourceContents.text", Kind: ir.MayBeMissing, Why: "the official Go SDK omits an empty text"},
		{At: "ElicitResult.content", Kind: ir.AlsoFractions, Why: "a form may have a field for any number, but the schema of the content only has integers"},
	},

	Metas: []ir.MetaRole{
		{Suffix: "SubscriptionsListenResultMetaObject", Type: "SubscriptionsListenResultMetaObject", Role: ir.Meta, Why: "the _meta of the result that ends a subscription"},
		{Suffix: "Request", Type: "RequestMetaObject", Role: ir.Request, Why: "the _meta of requests has more members in each revision; one type keeps programs compatible"},
		{Suffix: "RequestParams", Type: "RequestMetaObject", Role: ir.Plain, Why: "params of several requests"},
		{Suffix: "RequestFormParams", Type: "RequestMetaObject", Role: ir.Plain, Why: "one of several params of a request"},
		{Suffix: "RequestURLParams", Type: "RequestMetaObject", Role: ir.Plain, Why: "one of several params of a request"},
		{Suffix: "Notification", Type: "NotificationMetaObject", Role: ir.Notification, Why: "as for requests"},
		{Suffix: "NotificationParams", Type: "NotificationMetaObject", Role: ir.Plain, Why: "params of several notifications"},
		{Suffix: "Result", Type: "ResultMetaObject", Role: ir.Result, Why: "as for requests"},
	},

	Methods: []ir.MethodFact{
		{Method: "completion/complete", Facts: ir.Facts{Capability: "completions"}, Why: "the schema does not contain capabilities of methods"},
		{Method: "prompts/list", Facts: ir.Facts{Capability: "prompts"}, Why: "the schema does not contain capabilities of methods"},
		{Method: "prompts/get", Facts: ir.Facts{Capability: "prompts", NameMember: "name"}, Why: "the schema does not contain capabilities and headers of methods"},
		{Method: "resources/list", Facts: ir.Facts{Capability: "resources"}, Why: "the schema does not contain capabilities of methods"},
		{Method: "resources/templates/list", Facts: ir.Facts{Capability: "resources"}, Why: "the schema does not contain capabilities of methods"},
		{Method: "resources/read", Facts: ir.Facts{Capability: "resources", NameMember: "uri"}, Why: "the schema does not contain capabilities and headers of methods"},
		{Method: "resources/subscribe", Facts: ir.Facts{Capability: "resources.subscribe"}, Why: "the schema does not contain capabilities of methods"},
		{Method: "resources/unsubscribe", Facts: ir.Facts{Capability: "resources.subscribe"}, Why: "the schema does not contain capabilities of methods"},
		{Method: "tools/list", Facts: ir.Facts{Capability: "tools"}, Why: "the schema does not contain capabilities of methods"},
		{Method: "tools/call", Facts: ir.Facts{Capability: "tools", NameMember: "name"}, Why: "the schema does not contain capabilities and headers of methods"},
		{Method: "logging/setLevel", Facts: ir.Facts{Capability: "logging"}, Why: "the schema does not contain capabilities of methods"},
		{Method: "sampling/createMessage", Facts: ir.Facts{Capability: "sampling"}, Why: "the schema does not contain capabilities of methods"},
		{Method: "elicitation/create", Facts: ir.Facts{Capability: "elicitation"}, Why: "the schema does not contain capabilities of methods"},
		{Method: "roots/list", Facts: ir.Facts{Capability: "roots"}, Why: "the schema does not contain capabilities of methods"},
		{Method: "tasks/list", Facts: ir.Facts{Capability: "tasks.list"}, Why: "the schema does not contain capabilities of methods"},
		{Method: "tasks/cancel", Facts: ir.Facts{Capability: "tasks.cancel"}, Why: "the schema does not contain capabilities of methods"},
		{Method: "tasks/get", Facts: ir.Facts{Capability: "tasks"}, Why: "the schema does not contain capabilities of methods"},
		{Method: "tasks/result", Facts: ir.Facts{Capability: "tasks"}, Why: "the schema does not contain capabilities of methods"},
		{Method: "ping", Facts: ir.Facts{Standalone: true}, Why: "a ping tests the connection and is not part of a request"},
		{Method: "notifications/message", Facts: ir.Facts{Capability: "logging", Helper: "SendLogMessage"}, Why: "the protocol calls it a log message"},
		{Method: "notifications/elicitation/complete", Facts: ir.Facts{Capability: "elicitation.url", Helper: "SendElicitComplete"}, Why: "named after ElicitURL, whose completion it reports"},
		{Method: "notifications/roots/list_changed", Facts: ir.Facts{Capability: "roots.listChanged", Standalone: true}, Why: "a list is part of the connection, not of a request"},
		{Method: "notifications/tools/list_changed", Facts: ir.Facts{Capability: "tools.listChanged", Standalone: true, FilterMember: "toolsListChanged"}, Why: "a list is part of the connection, not of a request"},
		{Method: "notifications/prompts/list_changed", Facts: ir.Facts{Capability: "prompts.listChanged", Standalone: true, FilterMember: "promptsListChanged"}, Why: "a list is part of the connection, not of a request"},
		{Method: "notifications/resources/list_changed", Facts: ir.Facts{Capability: "resources.listChanged", Standalone: true, FilterMember: "resourcesListChanged"}, Why: "a list is part of the connection, not of a request"},
		{Method: "notifications/resources/updated", Facts: ir.Facts{Capability: "resources.subscribe", Standalone: true, FilterMember: "resourceSubscriptions"}, Why: "a subscription is part of the connection, not of a request"},
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
		{At: "CreateMessageRequest.includeContext", Since: "2026-07-28", Use: "Leave it unset, or set it to none.", Why: "SEP-2596; only a description in the schema mentions it"},
		{At: "LegacyTitledEnumSchema", Since: "2025-11-25", Use: "Use [TitledSingleSelectEnumSchema].", Why: "needed for clients of 2025-06-18, the only revision without the newer form"},
	},

	Areas: []ir.AreaOf{
		{At: "initialize", Area: "lifecycle", Why: "begins a session"},
		{At: "notifications/initialized", Area: "lifecycle", Why: "begins a session"},
		{At: "server/discover", Area: "lifecycle", Why: "begins a connection"},
		{At: "ping", Area: "lifecycle", Why: "tests the connection"},
		{At: "notifications/cancelled", Area: "lifecycle", Why: "ends a request"},
		{At: "notifications/progress", Area: "lifecycle", Why: "reports the progress of a request"},
		{At: "notifications/message", Area: "logging", Why: "a log message"},
		{At: "Input*", Area: "input", Why: "several methods use input requests"},
		{At: "*Capability", Area: "lifecycle", Why: "capabilities are exchanged when a connection begins"},
		{At: "*TaskRequests", Area: "lifecycle", Why: "part of capabilities"},
		{At: "ClientRequest", Area: "messages", Why: "one of the four unions of messages"},
		{At: "ServerRequest", Area: "messages", Why: "one of the four unions of messages"},
		{At: "ClientNotification", Area: "messages", Why: "one of the four unions of messages"},
		{At: "ServerNotification", Area: "messages", Why: "one of the four unions of messages"},
	},

	Orders: []ir.Order{
		{At: "LoggingLevel", Values: []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}, Why: "from least to most severe; the schema has the order of names"},
	},

	// Decisions are rules for changes that the compiler refuses, as it prints them.
	Decisions: []any{},
}
