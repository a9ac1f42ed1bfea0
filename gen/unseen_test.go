package main

// The edits that make the unseen revision. Each is something that a revision
// may well do, and none needs a line of Go.

// newClientRequest adds a request that clients send, whose answer may ask for
// input.
var newClientRequest = together(
	define("DescribeToolRequest", `{"type": "object", "required": ["id", "jsonrpc", "method", "params"], "properties": {
		"id": {"$ref": "#/$defs/RequestId"}, "jsonrpc": {"type": "string", "const": "2.0"},
		"method": {"type": "string", "const": "tools/describe"}, "params": {"$ref": "#/$defs/DescribeToolRequestParams"}}}`),
	define("DescribeToolRequestParams", `{"type": "object", "required": ["_meta", "name"], "properties": {
		"_meta": {"$ref": "#/$defs/RequestMetaObject"}, "name": {"type": "string"}, "depth": {"type": "integer", "minimum": 1},
		"inputResponses": {"$ref": "#/$defs/InputResponses"}, "requestState": {"type": "string"}}}`),
	define("DescribeToolResult", `{"type": "object", "required": ["resultType", "tool"], "properties": {
		"_meta": {"$ref": "#/$defs/ResultMetaObject"}, "resultType": {"type": "string"}, "tool": {"$ref": "#/$defs/Tool"},
		"callsPerDay": {"type": "number"}, "examples": {"type": "array", "items": {"type": "object", "required": ["title"],
			"properties": {"title": {"type": "string"}, "arguments": {"type": "object", "additionalProperties": {}}}}}}}`),
	define("DescribeToolResultResponse", `{"type": "object", "required": ["id", "jsonrpc", "result"], "properties": {
		"id": {"$ref": "#/$defs/RequestId"}, "jsonrpc": {"type": "string", "const": "2.0"},
		"result": {"anyOf": [{"$ref": "#/$defs/InputRequiredResult"}, {"$ref": "#/$defs/DescribeToolResult"}]}}}`),
	arm("ClientRequest", "DescribeToolRequest"), arm("ServerResult", "DescribeToolResult"),
)

// newServerRequest brings back the union of what servers send on their own.
var newServerRequest = together(approval,
	define("ServerRequest", `{"anyOf": [{"$ref": "#/$defs/RequestApprovalRequest"}, {"$ref": "#/$defs/HeartbeatRequest"}]}`),
	define("HeartbeatRequest", `{"type": "object", "required": ["id", "jsonrpc", "method"], "properties": {
		"id": {"$ref": "#/$defs/RequestId"}, "jsonrpc": {"type": "string", "const": "2.0"},
		"method": {"type": "string", "const": "heartbeat"}, "params": {"$ref": "#/$defs/RequestParams"}}}`),
)

// oneServerRequest brings the union back with one member, which the schemas
// print as that member itself.
var oneServerRequest = together(approval, func(defs object) {
	defs["ServerRequest"] = clone(defs["RequestApprovalRequest"])
})

var approval = together(
	define("RequestApprovalRequest", `{"type": "object", "required": ["id", "jsonrpc", "method", "params"], "properties": {
		"id": {"$ref": "#/$defs/RequestId"}, "jsonrpc": {"type": "string", "const": "2.0"},
		"method": {"type": "string", "const": "approval/request"},
		"params": {"type": "object", "required": ["question"], "properties": {
			"_meta": {"$ref": "#/$defs/RequestMetaObject"}, "question": {"type": "string"}, "risk": {"type": "string", "enum": ["low", "high"]}}}}}`),
	define("RequestApprovalResult", `{"type": "object", "required": ["approved", "resultType"], "properties": {
		"_meta": {"$ref": "#/$defs/ResultMetaObject"}, "resultType": {"type": "string"}, "approved": {"type": "boolean"}}}`),
)

// newEmbeddedRequest adds a question that results may carry.
var newEmbeddedRequest = together(
	define("GetLocationRequest", `{"type": "object", "required": ["method", "params"], "properties": {
		"method": {"type": "string", "const": "location/get"},
		"params": {"type": "object", "required": ["accuracy"], "properties": {"accuracy": {"type": "number", "minimum": 0}}}}}`),
	define("GetLocationResult", `{"type": "object", "required": ["latitude", "longitude"], "properties": {
		"latitude": {"type": "number", "minimum": -90, "maximum": 90}, "longitude": {"type": "number"}}}`),
	arm("InputRequest", "GetLocationRequest"), arm("InputResponse", "GetLocationResult"),
)

// newClientNotification makes a union again of what was one member.
var newClientNotification = together(
	define("ClientNotification", `{"anyOf": [{"$ref": "#/$defs/CancelledNotification"}, {"$ref": "#/$defs/IdleNotification"}]}`),
	define("IdleNotification", `{"type": "object", "required": ["jsonrpc", "method"], "properties": {
		"jsonrpc": {"type": "string", "const": "2.0"}, "method": {"type": "string", "const": "notifications/idle"},
		"params": {"$ref": "#/$defs/NotificationParams"}}}`),
)

var newServerNotification = together(
	define("QuotaNotification", `{"type": "object", "required": ["jsonrpc", "method", "params"], "properties": {
		"jsonrpc": {"type": "string", "const": "2.0"}, "method": {"type": "string", "const": "notifications/quota"},
		"params": {"type": "object", "required": ["left"], "properties": {
			"_meta": {"$ref": "#/$defs/NotificationMetaObject"}, "left": {"type": "integer"}}}}}`),
	arm("ServerNotification", "QuotaNotification"),
)

var newContent = together(
	define("VideoContent", `{"type": "object", "required": ["data", "mimeType", "type"], "properties": {
		"_meta": {"$ref": "#/$defs/MetaObject"}, "annotations": {"$ref": "#/$defs/Annotations"},
		"data": {"type": "string", "format": "byte"}, "mimeType": {"type": "string"}, "type": {"type": "string", "const": "video"}}}`),
	arm("ContentBlock", "VideoContent"),
)

// newMembers adds members of every sort to types that exist.
var newMembers = together(
	member("Tool", "version", `{"type": "string"}`),
	member("Tool", "timeoutMs", `{"type": "integer", "minimum": 0}`),
	member("Tool", "limits", `{"type": "object", "properties": {"perMinute": {"type": "integer"}, "perCall": {"type": "number"}}}`),
	member("Tool", "fallback", `{"$ref": "#/$defs/ResourceLink"}`),
	member("Resource", "etag", `{"type": "string"}`), requireMembers("Resource", "etag"),
	member("CallToolResult", "elapsedMs", `{"type": "integer"}`), requireMembers("CallToolResult", "elapsedMs"),
	member("CallToolResult", "warnings", `{"type": "array", "items": {"type": "string"}}`), requireMembers("CallToolResult", "warnings"),
	member("RequestMetaObject", "io.modelcontextprotocol/region", `{"type": "string"}`),
	member("ServerCapabilities", "agents", `{"type": "object", "properties": {"listChanged": {"type": "boolean"}}}`),
	member("CallToolRequestParams", "priority", `{"type": "string", "enum": ["low", "high"]}`),
	requireMembers("Tool", "title"),
)

var newEnumValue = together(values("LoggingLevel", "trace"), values("Role", "system"))

// newBounds bounds numbers that had no bounds.
var newBounds = together(member("ProgressNotificationParams", "progress", `{"type": "number", "minimum": 0}`),
	member("CreateMessageRequestParams", "maxTokens", `{"type": "integer", "minimum": 1}`))

// newUnion adds a union with a discriminator, and a map and a list of it.
var newUnion = together(
	define("Schedule", `{"anyOf": [{"$ref": "#/$defs/OnceSchedule"}, {"$ref": "#/$defs/CronSchedule"}]}`),
	define("OnceSchedule", `{"type": "object", "required": ["at", "kind"], "properties": {"kind": {"type": "string", "const": "once"}, "at": {"type": "string"}}}`),
	define("CronSchedule", `{"type": "object", "required": ["kind", "rule"], "properties": {"kind": {"type": "string", "const": "cron"}, "rule": {"type": "string"}}}`),
	member("Tool", "schedule", `{"$ref": "#/$defs/Schedule"}`),
	member("Tool", "schedules", `{"type": "array", "items": {"$ref": "#/$defs/Schedule"}}`),
	member("Prompt", "schedules", `{"type": "object", "additionalProperties": {"$ref": "#/$defs/Schedule"}}`),
)

// followedContent puts another content block in the place of one.
var followedContent = together(undefine("ResourceLink"), disarm("ContentBlock", "ResourceLink"), arm("ContentBlock", "LinkedResource"),
	define("LinkedResource", `{"type": "object", "required": ["name", "type", "uri"], "properties": {
		"name": {"type": "string"}, "type": {"type": "string", "const": "resource_link"}, "uri": {"type": "string"}}}`))

// removedMethod ends completion, and with it two unions' members.
var removedMethod = together(disarm("ClientRequest", "CompleteRequest"), disarm("ServerResult", "CompleteResult"),
	undefine("CompleteRequest", "CompleteRequestParams", "CompleteResult", "CompleteResultResponse", "PromptReference", "ResourceTemplateReference"))

// removedMembers ends a member, a value and a union's member.
var removedMembers = together(disarm("ContentBlock", "AudioContent"), func(defs object) {
	delete(defs["Tool"].(object)["properties"].(object), "outputSchema")
	level := defs["LoggingLevel"].(object)
	level["enum"] = level["enum"].([]any)[1:]
})

// newPagedList adds a list whose result may be cached.
var newPagedList = together(
	define("ListAgentsRequest", `{"type": "object", "required": ["id", "jsonrpc", "method", "params"], "properties": {
		"id": {"$ref": "#/$defs/RequestId"}, "jsonrpc": {"type": "string", "const": "2.0"},
		"method": {"type": "string", "const": "agents/list"}, "params": {"$ref": "#/$defs/PaginatedRequestParams"}}}`),
	define("ListAgentsResult", `{"type": "object", "required": ["agents", "cacheScope", "resultType", "ttlMs"], "properties": {
		"_meta": {"$ref": "#/$defs/ResultMetaObject"}, "agents": {"type": "array", "items": {"$ref": "#/$defs/Agent"}},
		"cacheScope": {"type": "string", "enum": ["private", "public"]}, "nextCursor": {"type": "string"},
		"resultType": {"type": "string"}, "ttlMs": {"type": "integer", "minimum": 0}}}`),
	define("ListAgentsResultResponse", `{"type": "object", "required": ["id", "jsonrpc", "result"], "properties": {
		"id": {"$ref": "#/$defs/RequestId"}, "jsonrpc": {"type": "string", "const": "2.0"}, "result": {"$ref": "#/$defs/ListAgentsResult"}}}`),
	define("Agent", `{"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "skills": {"type": "array", "items": {"type": "string"}}}}`),
	arm("ClientRequest", "ListAgentsRequest"), arm("ServerResult", "ListAgentsResult"),
)

var newErrorCode = define("QuotaExceededError", `{"type": "object", "required": ["error", "jsonrpc"], "properties": {
	"id": {"$ref": "#/$defs/RequestId"}, "jsonrpc": {"type": "string", "const": "2.0"},
	"error": {"allOf": [{"$ref": "#/$defs/Error"}, {"type": "object", "required": ["code", "data"], "properties": {
		"code": {"type": "integer", "const": -32031},
		"data": {"type": "object", "required": ["limit"], "properties": {"limit": {"type": "integer"}, "retryAfterMs": {"type": "integer"}}}}}]}}}`)

// otherDirection lets servers send what only clients did.
var otherDirection = define("ServerRequest", `{"anyOf": [{"$ref": "#/$defs/ListToolsRequest"}, {"$ref": "#/$defs/CallToolRequest"}]}`)

func clone(v any) any {
	switch v := v.(type) {
	case object:
		c := make(object)
		for name, x := range v {
			c[name] = clone(x)
		}
		return c
	case []any:
		c := make([]any, len(v))
		for i := range v {
			c[i] = clone(v[i])
		}
		return c
	}
	return v
}

// request adds a client's request without params of its own.
func request(def, method string) edit {
	return together(func(defs object) { defs[def] = clone(defs["DiscoverRequest"]) },
		member(def, "method", `{"type": "string", "const": "`+method+`"}`), arm("ClientRequest", def))
}

// newAreas adds families of methods whose files must neither replace others
// nor be left out of a build.
var newAreas = together(request("GetContentRequest", "content/get"), request("GetDocRequest", "doc/get"), request("GetErrorsRequest", "errors/get"),
	request("GetHandlersRequest", "handlers/get"), request("RunTestRequest", "unit_test/run"), request("BuildRequest", "on_plan9/build"), request("StartRequest", "start"))

// newForms adds a member of each form that has one in Go.
var newForms = together(
	define("Node", `{"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}, "all": {"type": "array", "items": {"$ref": "#/$defs/Node"}}}}`),
	define("Instrument", `{"$ref": "#/$defs/Tool"}`),
	define("Count", `{"type": "integer", "minimum": 0}`),
	define("Tools", `{"type": "array", "items": {"$ref": "#/$defs/Tool"}}`),
	define("Mood", `{"type": "string", "enum": ["good"]}`),
	define("BusyError", `{"type": "object", "required": ["error"], "properties": {"error": {"allOf": [{"$ref": "#/$defs/Error"},
		{"type": "object", "required": ["code"], "properties": {"code": {"type": "integer", "const": -32050}}}]}}}`),
	member("Tool", "node", `{"$ref": "#/$defs/Node"}`), member("Prompt", "like", `{"$ref": "#/$defs/Instrument"}`),
	member("Tool", "count", `{"$ref": "#/$defs/Count"}`), member("Tool", "counts", `{"type": "array", "items": {"$ref": "#/$defs/Count"}}`),
	member("Prompt", "tools", `{"$ref": "#/$defs/Tools"}`), member("Prompt", "mood", `{"$ref": "#/$defs/Mood"}`), requireMembers("Prompt", "mood"),
	member("Tool", "maybe", `{"type": ["string", "null"]}`), member("Tool", "surely", `{"type": ["boolean", "null"]}`), requireMembers("Tool", "surely"),
	member("Tool", "any", `{}`), member("Tool", "all", `true`), requireMembers("Tool", "any"),
	member("Tool", "matrix", `{"type": "array", "items": {"type": "array", "items": {"type": "integer"}}}`),
	member("Tool", "tables", `{"type": "array", "items": {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "number", "minimum": 3}}}}`),
	member("Tool", "roles", `{"type": "object", "additionalProperties": {"$ref": "#/$defs/Role"}}`),
	member("Tool", "flags", `{"type": "array", "items": {"type": "boolean"}}`), member("Tool", "blobs", `{"type": "array", "items": {"type": "string", "format": "byte"}}`),
	member("Tool", "open", `{"type": "object", "additionalProperties": {}}`), member("Tool", "list", `{"type": "array"}`),
	member("Tool", "answer", `{"type": ["boolean", "integer", "string"]}`), member("Tool", "answers", `{"type": "object", "additionalProperties": {"type": ["boolean", "number", "string"]}}`),
	member("Tool", "ids", `{"type": "array", "items": {"$ref": "#/$defs/RequestId"}}`),
	member("Tool", "type", `{"type": "string"}`), member("Tool", "func", `{"type": "string"}`), member("Tool", "a.b/c~d\"e", `{"type": "string"}`), member("Tool", "f`g\x01", `{"type": "string"}`),
	member("Tool", "name", `{"type": "string", "format": "uri"}`), requireMembers("Tool", "description", "annotations"),
)
