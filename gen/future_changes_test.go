package main

// futureChanges are the changes of the future revision, one by one.
var futureChanges = map[string]edit{
	"a client request":             newClientRequest,
	"a server request":             newServerRequest,
	"a single server request":      oneServerRequest,
	"an embedded request":          newEmbeddedRequest,
	"a client notification":        newClientNotification,
	"a server notification":        newServerNotification,
	"a content block":              newContent,
	"a replaced content block":     replacedContent,
	"members of existing types":    newMembers,
	"an enum value":                newEnumValue,
	"a union":                      newUnion,
	"a method removed":             removedMethod,
	"members and values removed":   removedMembers,
	"a paged list":                 newPagedList,
	"an error code":                newErrorCode,
	"a request in both directions": otherDirection,
	"areas named like files":       newAreas,
	"all types of members":         newForms,
	"bounds of numbers":            newBounds,
	"messages in no union":         unlistedMessages,
	"only a new date":              combine(),
}

// The changes of the future revision. None of them needs new Go code.

// newClientRequest adds a request of clients whose response may be an
// InputRequiredResult.
var newClientRequest = combine(
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
	addToUnion("ClientRequest", "DescribeToolRequest"), addToUnion("ServerResult", "DescribeToolResult"),
)

// newServerRequest adds the union of requests that servers send.
var newServerRequest = combine(approval,
	define("ServerRequest", `{"anyOf": [{"$ref": "#/$defs/RequestApprovalRequest"}, {"$ref": "#/$defs/HeartbeatRequest"}]}`),
	define("HeartbeatRequest", `{"type": "object", "required": ["id", "jsonrpc", "method"], "properties": {
		"id": {"$ref": "#/$defs/RequestId"}, "jsonrpc": {"type": "string", "const": "2.0"},
		"method": {"type": "string", "const": "heartbeat"}, "params": {"$ref": "#/$defs/RequestParams"}}}`),
)

// oneServerRequest adds the union with one member. The schemas contain such a union as
// the member itself.
var oneServerRequest = combine(approval, func(defs object) {
	defs["ServerRequest"] = clone(defs["RequestApprovalRequest"])
})

var approval = combine(
	define("RequestApprovalRequest", `{"type": "object", "required": ["id", "jsonrpc", "method", "params"], "properties": {
		"id": {"$ref": "#/$defs/RequestId"}, "jsonrpc": {"type": "string", "const": "2.0"},
		"method": {"type": "string", "const": "approval/request"},
		"params": {"type": "object", "required": ["question"], "properties": {
			"_meta": {"$ref": "#/$defs/RequestMetaObject"}, "question": {"type": "string"}, "risk": {"type": "string", "enum": ["low", "high"]}}}}}`),
	define("RequestApprovalResult", `{"type": "object", "required": ["approved", "resultType"], "properties": {
		"_meta": {"$ref": "#/$defs/ResultMetaObject"}, "resultType": {"type": "string"}, "approved": {"type": "boolean"}}}`),
)

// newEmbeddedRequest adds a request that results may contain.
var newEmbeddedRequest = combine(
	define("GetLocationRequest", `{"type": "object", "required": ["method", "params"], "properties": {
		"method": {"type": "string", "const": "location/get"},
		"params": {"type": "object", "required": ["accuracy"], "properties": {"accuracy": {"type": "number", "minimum": 0}}}}}`),
	define("GetLocationResult", `{"type": "object", "required": ["latitude", "longitude"], "properties": {
		"latitude": {"type": "number", "minimum": -90, "maximum": 90}, "longitude": {"type": "number"}}}`),
	addToUnion("InputRequest", "GetLocationRequest"), addToUnion("InputResponse", "GetLocationResult"),
)

// newClientNotification adds a second member to a union.
var newClientNotification = combine(
	define("ClientNotification", `{"anyOf": [{"$ref": "#/$defs/CancelledNotification"}, {"$ref": "#/$defs/IdleNotification"}]}`),
	define("IdleNotification", `{"type": "object", "required": ["jsonrpc", "method"], "properties": {
		"jsonrpc": {"type": "string", "const": "2.0"}, "method": {"type": "string", "const": "notifications/idle"},
		"params": {"$ref": "#/$defs/NotificationParams"}}}`),
)

var newServerNotification = combine(
	define("QuotaNotification", `{"type": "object", "required": ["jsonrpc", "method", "params"], "properties": {
		"jsonrpc": {"type": "string", "const": "2.0"}, "method": {"type": "string", "const": "notifications/quota"},
		"params": {"type": "object", "required": ["left"], "properties": {
			"_meta": {"$ref": "#/$defs/NotificationMetaObject"}, "left": {"type": "integer"}}}}}`),
	addToUnion("ServerNotification", "QuotaNotification"),
)

var newContent = combine(
	define("VideoContent", `{"type": "object", "required": ["data", "mimeType", "type"], "properties": {
		"_meta": {"$ref": "#/$defs/MetaObject"}, "annotations": {"$ref": "#/$defs/Annotations"},
		"data": {"type": "string", "format": "byte"}, "mimeType": {"type": "string"}, "type": {"type": "string", "const": "video"}}}`),
	addToUnion("ContentBlock", "VideoContent"),
)

// newMembers adds members of several types to existing types.
var newMembers = combine(
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

var newEnumValue = combine(values("LoggingLevel", "trace"), values("Role", "system"))

// newBounds adds bounds to numbers.
var newBounds = combine(member("ProgressNotificationParams", "progress", `{"type": "number", "minimum": 0}`),
	member("CreateMessageRequestParams", "maxTokens", `{"type": "integer", "minimum": 1}`))

// newUnion adds a union with a discriminator, and a map and a list of its values.
var newUnion = combine(
	define("Schedule", `{"anyOf": [{"$ref": "#/$defs/OnceSchedule"}, {"$ref": "#/$defs/CronSchedule"}]}`),
	define("OnceSchedule", `{"type": "object", "required": ["at", "kind"], "properties": {"kind": {"type": "string", "const": "once"}, "at": {"type": "string"}}}`),
	define("CronSchedule", `{"type": "object", "required": ["kind", "rule"], "properties": {"kind": {"type": "string", "const": "cron"}, "rule": {"type": "string"}}}`),
	member("Tool", "schedule", `{"$ref": "#/$defs/Schedule"}`),
	member("Tool", "schedules", `{"type": "array", "items": {"$ref": "#/$defs/Schedule"}}`),
	member("Prompt", "schedules", `{"type": "object", "additionalProperties": {"$ref": "#/$defs/Schedule"}}`),
)

// replacedContent replaces a content block.
var replacedContent = combine(undefine("ResourceLink"), removeFromUnion("ContentBlock", "ResourceLink"), addToUnion("ContentBlock", "LinkedResource"),
	define("LinkedResource", `{"type": "object", "required": ["name", "type", "uri"], "properties": {
		"name": {"type": "string"}, "type": {"type": "string", "const": "resource_link"}, "uri": {"type": "string"}}}`))

// removedMethod removes the method completion/complete and members of two unions.
var removedMethod = combine(removeFromUnion("ClientRequest", "CompleteRequest"), removeFromUnion("ServerResult", "CompleteResult"),
	undefine("CompleteRequest", "CompleteRequestParams", "CompleteResult", "CompleteResultResponse", "PromptReference", "ResourceTemplateReference"))

// removedMembers removes a member, a value and a member of a union.
var removedMembers = combine(removeFromUnion("ContentBlock", "AudioContent"), func(defs object) {
	delete(defs["Tool"].(object)["properties"].(object), "outputSchema")
	level := defs["LoggingLevel"].(object)
	level["enum"] = level["enum"].([]any)[1:]
})

// newPagedList adds a paged list whose result may be cached.
var newPagedList = combine(
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
	addToUnion("ClientRequest", "ListAgentsRequest"), addToUnion("ServerResult", "ListAgentsResult"),
)

var newErrorCode = define("QuotaExceededError", `{"type": "object", "required": ["error", "jsonrpc"], "properties": {
	"id": {"$ref": "#/$defs/RequestId"}, "jsonrpc": {"type": "string", "const": "2.0"},
	"error": {"allOf": [{"$ref": "#/$defs/Error"}, {"type": "object", "required": ["code", "data"], "properties": {
		"code": {"type": "integer", "const": -32031},
		"data": {"type": "object", "required": ["limit"], "properties": {"limit": {"type": "integer"}, "retryAfterMs": {"type": "integer"}}}}}]}}}`)

// otherDirection adds requests of clients to the requests of servers.
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

// request adds a request of clients without params of its own.
func request(def, method string) edit {
	return combine(func(defs object) { defs[def] = clone(defs["DiscoverRequest"]) },
		member(def, "method", `{"type": "string", "const": "`+method+`"}`), addToUnion("ClientRequest", def))
}

// unlistedMessages removes a message from its union, and a whole union of messages.
var unlistedMessages = combine(removeFromUnion("ClientRequest", "ListResourceTemplatesRequest"), undefine("ServerNotification"))

// newAreas adds methods whose files must not replace other files and must not be
// excluded from a build by their names.
var newAreas = combine(request("GetContentRequest", "content/get"), request("GetDocRequest", "doc/get"), request("GetErrorsRequest", "errors/get"),
	request("GetHandlersRequest", "handlers/get"), request("RunTestRequest", "unit_test/run"), request("BuildRequest", "on_plan9/build"), request("StartRequest", "start"))

// newForms adds a member of each type that has a Go type.
var newForms = combine(
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
