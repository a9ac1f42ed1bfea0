package main

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/gen/internal/ir"
)

// joins are changes that one Go declaration represents, with the line in the summary and
// lines of the generated code.
var joins = map[string]struct {
	edit  edit
	join  string
	file  string
	lines []string
}{
	"any object, an object with members now": {
		member("ServerCapabilities", "completions", `{"type": "object", "properties": {"listChanged": {"type": "boolean"}}}`),
		"ServerCapabilities.completions: Only some of its values are valid in 2027-03-01.",
		"lifecycle_codec.go", []string{
			"d.Check(since20270301, checkServerCapabilitiesCompletionsSince20270301)\n\t\t\tx.Completions = wire.Map(d, ",
			"e.Check(b, atCompletions, since20270301, checkServerCapabilitiesCompletionsSince20270301)"},
	},
	"a number, an integer now": {
		combine(member("ProgressNotificationParams", "progress", `{"type": "integer"}`), member("Annotations", "priority", `{"type": "integer", "minimum": 0, "maximum": 1}`)),
		"ProgressNotification.progress: It is an integer in 2027-03-01, with all digits.",
		"lifecycle_codec.go", []string{
			"x.Extra = o.Integer(x.Extra, since20270301)\n\t\t\tx.Progress = d.Number(",
			`b = e.Integer(b, x.Progress, x.Extra["progress"], since20270301, `},
	},
	"a type or null, without null": {
		define("Task", `{"type": "object", "required": ["taskId"], "properties": {"taskId": {"type": "string"}, "ttl": {"type": "integer"}}}`),
		"Task.ttl: It may be null only in 2025-11-25.",
		"tasks_codec.go", []string{"if !d.Has(only20251125) || !d.Null() {", "if x.TTL == nil && !e.Has(only20251125) {\n\t\t\treturn e.Missing(b, \"ttl\")"},
	},
	"a reference to a string": {
		combine(define("ResultType", `{"type": "string"}`), resultTypes(`{"$ref": "#/$defs/ResultType"}`)),
		"", "tools_codec.go", []string{"x.ResultType = ResultType(d.OpenEnum(resultTypeEnum))"},
	},
	"an open enum, closed now": {
		combine(define("ResultType", `{"type": "string", "enum": ["complete", "input_required"]}`), resultTypes(`{"$ref": "#/$defs/ResultType"}`)),
		"ResultType: It is one of the values of the schema in 2027-03-01, and any string in other revisions.",
		"tools_codec.go", []string{"x.ResultType = ResultType(d.EnumIn(resultTypeEnum, since20270301))", "b = e.EnumIn(b, string(x.ResultType), resultTypeEnum, since20270301)"},
	},
	"primitive values, any JSON now": {
		member("ElicitResult", "content", `{"type": "object", "additionalProperties": {}}`),
		"ElicitResult.content: A value may be any JSON in 2027-03-01, and is a [json.RawMessage] if it has no other Go type.",
		"elicitation_codec.go", []string{"d.PrimitiveOrAny(", ", true, since20270301)", "e.PrimitiveOrAny(b, v, ", ", since20270301)"},
	},
	"a list whose limit grows": {
		func(defs object) {
			completion := defs["CompleteResult"].(object)["properties"].(object)["completion"].(object)
			completion["properties"].(object)["values"].(object)["maxItems"] = json.Number("200")
		},
		"Completion.values: Its bounds are different in 2027-03-01.",
		"completion_codec.go", []string{"if d.Needs(only20260728) {", "if e.Needs(only20260728) {", "MaxItems: 200"},
	},
	"an error code that changes": {
		code("HeaderMismatchError", "-32099"),
		"error -32020: The code is -32099 in 2027-03-01.",
		"errors.go", []string{"CodeHeaderMismatch = -32020", "Others: []peer.OtherCode{{Code: -32099, In: since20270301}}"},
	},
	"an error with data whose code becomes the code of another": {
		code("UnsupportedProtocolVersionError", "-32602"),
		"error -32022: The code is -32602 in 2027-03-01.",
		"errors.go", []string{"case -32602:\n\t\tif x := new(UnsupportedProtocolVersionError)"},
	},
	"a result that is the general Result now": {
		func(defs object) {
			delete(defs, "SubscriptionsListenResult")
			delete(defs, "SubscriptionsListenResultMetaObject")
			delete(defs, "SubscriptionsListenResultResponse")
			union := defs["ServerResult"].(object)
			union["anyOf"] = slices.DeleteFunc(union["anyOf"].([]any), func(v any) bool {
				return v.(object)["$ref"] == "#/$defs/SubscriptionsListenResult"
			})
		},
		"SubscriptionsListenResult: It has only the members of Result in 2027-03-01.",
		"subscriptions.go", []string{"type SubscriptionsListenResult struct"},
	},
	"optional params with required metadata": {
		func(defs object) {
			request := defs["ListToolsRequest"].(object)
			request["required"] = parsed(`["id", "jsonrpc", "method"]`)
		},
		"", "tools_codec.go", []string{"if len(b) == start && len(x.Extra) == 0 && e.OmitsParams() {\n\t\trequired = only20260728"},
	},
	"a constant that changes": {
		member("TextContent", "type", `{"type": "string", "const": "prose"}`),
		`TextContent: The member "type" is the constant "prose" in 2027-03-01.`,
		"common_codec.go", []string{
			"x.Extra = o.Constant(x.Extra, textContentConstantType)", "b = e.Constant(b, x.Extra, textContentConstantType)",
			"case \"text\":\n\t\tif d.Has(until20260728) {\n\t\t\tv = new(TextContent)\n\t\t}\n\tcase \"prose\":\n\t\tif d.Has(since20270301) {\n\t\t\tv = new(TextContent)",
			`List: []wire.EnumValue{{Name: ` + "`\"text\"`" + `, In: until20260728}, {Name: ` + "`\"prose\"`" + `, In: since20270301}}}, Closed: wire.Always, Required: wire.Always}`},
	},
	"a constant with a second value": {
		member("ElicitRequestFormParams", "mode", `{"type": "string", "enum": ["form", "page"]}`),
		`ElicitRequestFormParams: The member "mode" is an enum in 2027-03-01.`,
		"elicitation_codec.go", []string{`case "page":`, "if d.Has(since20270301) {\n\t\t\tv = new(ElicitRequestFormParams)"},
	},
	"a constant that becomes the constant of another alternative": {
		combine(member("TextContent", "type", `{"type": "string", "const": "image"}`), member("ImageContent", "type", `{"type": "string", "const": "text"}`)),
		`ImageContent: The member "type" is the constant "text" in 2027-03-01.`,
		"common_codec.go", []string{"case d.Has(since20270301):\n\t\t\tv = new(ImageContent)", "case d.Has(since20270301):\n\t\t\tv = new(TextContent)"},
	},
	"a constant that becomes a number": {
		combine(member("TextContent", "type", `{"type": "integer", "const": 7}`), member("ElicitRequestFormParams", "mode", `{"const": true}`)),
		`TextContent: The member "type" is the constant 7 in 2027-03-01.`,
		"common_codec.go", []string{
			`switch d.DiscriminatorOf("ContentBlock", "type", false, ` + "`7`, `\"image\"`",
			"\tcase `7`:\n\t\tv = new(TextContent)",
			"List: []wire.EnumValue{{Name: `\"text\"`, In: until20260728}, {Name: `7`, In: since20270301}}}"},
	},
	"a union by another member": {
		renamedKinds,
		`ContentBlock: Its types are distinguished in 2027-03-01 by the member "kind".`,
		"common_codec.go", []string{
			`switch d.Discriminator("ContentBlock", "kind", false) {` + "\n\tcase \"text\":\n\t\tv = new(TextContent)",
			"return wire.InRevisions(d, since20270301, decodeContentBlockUntil20260728, decodeContentBlockSince20270301)"},
	},
	"a union whose types have no constants": {
		func(defs object) {
			for _, def := range []string{"PromptReference", "ResourceTemplateReference"} {
				delete(defs[def].(object)["properties"].(object), "type")
				notRequired(def, "type")(defs)
			}
		},
		`CompletionReference: Its types are distinguished in 2027-03-01 by other members than in older revisions.`,
		"completion_codec.go", []string{"switch {\n\tcase d.Probe(\"name\"):\n\t\tv = new(PromptReference)"},
	},
	"a union whose types are distinguished by a member with another name": {
		combine(requireMembers("UntitledMultiSelectEnumSchema", "options"), notRequired("UntitledMultiSelectEnumSchema", "items"), func(defs object) {
			props := defs["UntitledMultiSelectEnumSchema"].(object)["properties"].(object)
			props["options"] = props["items"]
			delete(props, "items")
		}),
		"", "elicitation_codec.go", []string{
			"case d.Probe(\"options\"):\n\t\t\tv = new(UntitledMultiSelectEnumSchema)", "case d.Probe(\"items\", \"enum\"):\n\t\t\tv = new(UntitledMultiSelectEnumSchema)",
			"return wire.InRevisions(d, since20270301, decodeMultiSelectEnumSchemaFrom20251125to20260728, decodeMultiSelectEnumSchemaSince20270301)"},
	},
	"a union whose types are distinguished by a member that may be anything": {
		member("UntitledMultiSelectEnumSchema", "items", `{}`),
		"UntitledMultiSelectEnumSchema.items: It is raw JSON in Extra in 2027-03-01: anything.",
		"elicitation_codec.go", []string{
			"case d.Probe(\"items\", \"anyOf\"):\n\t\t\tv = new(TitledMultiSelectEnumSchema)", "case d.Probe(\"items\", \"enum\"):\n\t\t\tv = new(UntitledMultiSelectEnumSchema)"},
	},
	"null that other revisions treat as absent": {
		combine(member("ListToolsResult", "nextCursor", `{"type": ["string", "null"]}`), requireMembers("ListToolsResult", "nextCursor")),
		"ListToolsResult.nextCursor: It may be null only in 2027-03-01.",
		"tools_codec.go", []string{"case \"nextCursor\":\n\t\t\tif !d.Null() {\n\t\t\t\tx.NextCursor = new(d.String())"},
	},
	"a pattern of a member that is required now": {
		combine(member("ListToolsResult", "nextCursor", `{"type": "string", "minLength": 1}`), requireMembers("ListToolsResult", "nextCursor")),
		"ListToolsResult.nextCursor: The keywords of its schema allow fewer values in 2027-03-01.",
		"tools_codec.go", []string{"b = append(b, `\"\"`...)\n\t\t}\n\t\te.Check(b, atNextCursor, since20270301, checkListToolsResultNextCursorSince20270301)"},
	},
	"an object in place of a union of objects": {
		func(defs object) { defs["ContentBlock"] = clone(defs["TextContent"]) },
		"ContentBlock: It is always TextContent in 2027-03-01.",
		"common_codec.go", []string{
			"func decodeContentBlockSince20270301(d *wire.Decoder) ContentBlock {\n\tv := new(TextContent)\n\tv.DecodeJSON(d)",
			"case *ImageContent:\n\t\tif !e.Has(until20260728) {"},
	},
	"another object in place of a union": {
		define("ContentBlock", `{"type": "object", "required": ["type"], "properties": {"type": {"type": "string"}, "text": {"type": "string"}}}`),
		"CallToolResult.content: It is raw JSON in Extra in 2027-03-01: an array.",
		"tools.go", nil,
	},
	"a constant in the params of a message": {
		func(defs object) {
			member("CallToolRequestParams", "kind", `{"type": "string", "const": "tool"}`)(defs)
			requireMembers("CallToolRequestParams", "kind")(defs)
		},
		"", "tools_codec.go", []string{"b = append(b, `,\"kind\":\"tool\"`...)", "case \"kind\":\n\t\t\td.Const(\"tool\")"},
	},
	"an object without other members": {
		closed("Icon", "CallToolRequestParams"),
		"CallToolRequest: It has no other members in 2027-03-01.",
		"tools_codec.go", []string{"d.Check(since20270301, checkCallToolRequestSince20270301)", "e.Check(b, start, since20270301, checkCallToolRequestSince20270301)", "Closed: true"},
	},
	"a new object without members": {
		member("Tool", "nothing", `{"type": "object", "additionalProperties": false}`),
		"ToolNothing: It has no other members in 2027-03-01.",
		"tools.go", []string{"Nothing *ToolNothing"},
	},
	"names of members that are strings": {
		member("Tool", "labels", `{"type": "object", "propertyNames": {"type": "string"}, "additionalProperties": {"type": "string"}}`),
		"", "tools.go", []string{"Labels map[string]string"},
	},
	"texts beside a reference": {
		member("Tool", "badge", `{"$ref": "#/$defs/Icon", "title": "A badge", "description": "It is small.", "default": {"src": "a"}}`),
		"", "tools.go", []string{"Badge *Icon"},
	},
	"annotations": {
		combine(member("Tool", "badge", `{"$ref": "#/$defs/Icon", "$comment": "a", "examples": [{}], "deprecated": true, "x-order": 1}`),
			member("Tool", "mood", `{"$id": "mood", "type": "string", "contentMediaType": "text/html", "contentEncoding": "base64", "readOnly": true, "writeOnly": false}`)),
		"", "tools.go", []string{"Badge *Icon", "Mood string"},
	},
	"undecoded JSON that refers to an object": {
		combine(define("Arguments", `{"type": "object", "additionalProperties": {}}`), member("CallToolRequestParams", "arguments", `{"$ref": "#/$defs/Arguments"}`)),
		"", "tools_codec.go", []string{"x.Arguments = d.RawObject()"},
	},
	"an allOf of one reference": {
		member("Tool", "mood", `{"allOf": [{"$ref": "#/$defs/Role"}], "description": "It is a role."}`),
		"", "tools.go", []string{"Mood Role"},
	},
	"an allOf of strings": {
		member("Tool", "mood", `{"allOf": [{"type": "string"}, {"type": "string", "enum": ["good", "bad"]}]}`),
		"", "tools.go", []string{"Mood ToolMood"},
	},
	"several types, of which one has members": {
		member("Tool", "box", `{"type": ["null", "object"], "required": ["a"], "properties": {"a": {"type": "string"}}}`),
		"Tool.box: It must match another schema in 2027-03-01: a union.",
		"tools_codec.go", []string{`AnyOf: []*wire.Schema{&wire.Schema{Types: []string{"null"}}, &wire.Schema{`},
	},
	"a renamed definition": {
		renamedAnnotations("ToolHints"),
		"ToolAnnotations: Its name is ToolHints in some revisions.",
		"tools.go", []string{"type ToolHints = ToolAnnotations", "Annotations *ToolAnnotations"},
	},
	"a message in no union": {
		combine(request("PokeRequest", "poke"), removeFromUnion("ClientRequest", "PokeRequest")),
		"method poke: It is in no union of messages in 2027-03-01, so that neither side can send it.",
		"common.go", []string{"func (*PokeRequest) Method() string {\n\treturn MethodPoke\n}"},
	},
	"a response with two results": {
		func(defs object) {
			defs["CompleteResultResponse"].(object)["properties"].(object)["result"] = parsed(`{"anyOf": [{"$ref": "#/$defs/CompleteResult"}, {"$ref": "#/$defs/GetPromptResult"}]}`)
		},
		"method completion/complete: The result may also be GetPromptResult in 2027-03-01, which is not decoded.",
		"methods.go", nil,
	},
	"a member named like an older member": {
		member("Tool", "input_schema", `{"type": "string"}`),
		"Tool.input_schema: Its Go name is InputSchemaValue, because an older member has the name InputSchema.",
		"tools.go", []string{"InputSchemaValue string", "InputSchema json.RawMessage"},
	},
	"shared params, the params of one request now": {
		func(defs object) {
			defs["TaskAugmentedRequestParams"] = parsed(`{"type": "object", "properties": {"task": {"type": "object", "properties": {"ttl": {"type": "integer"}}}}}`)
			defs["ListRootsRequest"].(object)["properties"].(object)["params"] = parsed(`{"$ref": "#/$defs/TaskAugmentedRequestParams"}`)
		},
		"", "tasks.go", []string{"type TaskAugmentedRequestParams struct"},
	},
	"a member of an error's data named like a method of the error": {
		combine(newErrorCode, func(defs object) {
			data := defs["QuotaExceededError"].(object)["properties"].(object)["error"].(object)["allOf"].([]any)[1].(object)["properties"].(object)["data"].(object)
			data["properties"].(object)["unwrap"] = parsed(`{"type": "string"}`)
		}),
		"", "errors.go", []string{"UnwrapValue string"},
	},
	"a method that changes its name": {
		method("CallToolRequest", "tools/run"),
		"CallToolOtherRequest: Its definition in 2027-03-01 is CallToolRequest, whose method changed.",
		"tools_codec.go", []string{"wire.AppendMessageForm(b, e, MethodCallToolOther, x, wire.Always)", "func (x *CallToolOtherRequest) DecodeParams(d *wire.Decoder) {\n\to := d.Object(callToolOtherRequestMembers)",
			"if !e.Has(until20260728) {\n\t\treturn e.Lacks(b, \"CallToolRequest\")", "if !e.Has(since20270301) {\n\t\treturn e.Lacks(b, \"CallToolOtherRequest\")"},
	},
	"rules for the members of a message whose method changes": {
		combine(method("CallToolRequest", "tools/run"), method("CompleteRequest", "completion/finish")),
		"CompleteOtherRequest: Its definition in 2027-03-01 is CompleteRequest, whose method changed.",
		"completion.go", []string{"type CompleteOtherRequest struct {", "Argument CompletionArgument", "Ref CompletionReference"},
	},
	"requests that swap their methods": {
		combine(method("ListToolsRequest", "prompts/list"), method("ListPromptsRequest", "tools/list")),
		"ListPromptsRequest: Its definition in 2027-03-01 is ListToolsRequest, whose method changed.",
		"prompts_codec.go", []string{`{Name: "prompts", In: until20260728, Required: until20260728}`, `{Name: "tools", In: since20270301, Required: since20270301}`},
	},
	"requests that swap their methods, and may require input": {
		combine(method("CallToolRequest", "prompts/get"), method("GetPromptRequest", "tools/call")),
		"GetPromptResult: It is the definition CallToolResult in 2027-03-01.",
		"prompts_codec.go", []string{`{Name: "messages", In: until20260728, Required: until20260728}`, `{Name: "content", In: since20270301, Required: since20270301}`},
	},
	"a method that another message had": {
		combine(method("CallToolRequest", "prompts/get"), method("GetPromptRequest", "prompts/fetch")),
		"GetPromptOtherRequest: Its definition in 2027-03-01 is GetPromptRequest, whose method changed.",
		"prompts.go", []string{"type GetPromptOtherResult struct {", "func (*GetPromptOtherRequest) NewResult() *GetPromptOtherResult {"},
	},
	"notifications that swap their methods": {
		combine(method("ProgressNotification", "notifications/message"), method("LoggingMessageNotification", "notifications/progress")),
		"LoggingMessageNotification: Its definition in 2027-03-01 is ProgressNotification, whose method changed.",
		"logging_codec.go", []string{`{Name: "level", In: until20260728, Required: until20260728}`, `{Name: "progress", In: since20270301, Required: since20270301}`},
	},
	"the method of the only message of a union": {
		combine(method("CancelledNotification", "notifications/stopped"), method("ClientNotification", "notifications/stopped")),
		"CancelledOtherNotification: Its definition in 2027-03-01 is CancelledNotification, whose method changed.",
		"methods.go", []string{"{Name: MethodCancelledOther, Notification: true, FromClient: since20270301, FromServer: since20270301}"},
	},
	"a message with the name of a renamed one": {
		combine(renamed("ListToolsRequest", "NewListToolsRequest"), request("ListToolsRequest", "tools/other")),
		"ListToolsOtherRequest: Its definition in 2027-03-01 is ListToolsRequest, whose method changed.",
		"common.go", []string{"type NewListToolsRequest = ListToolsRequest"},
	},
	"a member named like a method": {
		member("Tool", "error", `{"type": "string"}`),
		"Tool.error: Its Go name is ErrorValue, because generated code uses Error.",
		"tools.go", []string{"ErrorValue string"},
	},
}

// widened are changes that no Go type represents. The values are raw JSON, which the schema of the
// revision validates.
var widened = map[string]struct {
	edit edit
	join string
}{
	"a type that becomes another name of a type": {
		define("PromptMessage", `{"$ref": "#/$defs/ToolAnnotations"}`),
		"PromptMessage: It is another name of ToolAnnotations in 2027-03-01.",
	},
	"requests of a client and a server that swap their methods": {
		combine(method("CallToolRequest", "sampling/createMessage"), method("CreateMessageRequest", "tools/call")),
		"CreateMessageResult: It is the definition CallToolResult in 2027-03-01.",
	},
	"an error that becomes another name of a type": {
		define("UnsupportedProtocolVersionError", `{"$ref": "#/$defs/ToolAnnotations"}`),
		"UnsupportedProtocolVersionError: It is another name of ToolAnnotations in 2027-03-01.",
	},
	"an error that becomes another object": {
		define("InvalidParamsError", `{"type": "object", "properties": {"a": {"type": "string"}}}`),
		"InvalidParamsErrorObject: It is the definition InvalidParamsError in 2027-03-01.",
	},
	"an error that becomes any JSON": {
		define("InvalidParamsError", `{}`),
		"InvalidParamsErrorValue: It is the definition InvalidParamsError in 2027-03-01.",
	},
	"an error that becomes a union": {
		define("InvalidParamsError", `{"anyOf": [{"$ref": "#/$defs/Icon"}, {"$ref": "#/$defs/Root"}]}`),
		"InvalidParamsErrorUnion: It is the definition InvalidParamsError in 2027-03-01.",
	},
	"an object that becomes an error": {
		define("Icon", `{"type": "object", "required": ["code", "message"], "properties": {"code": {"type": "integer", "const": -32099}, "message": {"type": "string"}}}`),
		"IconObject: It is the definition Icon in 2027-03-01.",
	},
	"any JSON that becomes an object": {
		member("LoggingMessageNotificationParams", "data", `{"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}}`),
		"LoggingMessageNotification.data: It is raw JSON in Extra in 2027-03-01: an object.",
	},
	"any JSON that becomes a union": {
		member("LoggingMessageNotificationParams", "data", `{"anyOf": [{"type": "string"}, {"$ref": "#/$defs/Icon"}]}`),
		"LoggingMessageNotification.data: It is raw JSON in Extra in 2027-03-01: a union.",
	},
	"an object that may be null": {
		define("Icon", `{"anyOf": [{"type": "object", "required": ["src"], "properties": {"src": {"type": "string"}}}, {"type": "null"}]}`),
		"IconUnion: A value is raw JSON. The codec validates it in members of other types in 2027-03-01.",
	},
	"a result that becomes general, although its definition remains": {
		member("CompleteResultResponse", "result", `{"$ref": "#/$defs/Result"}`),
		"CompleteResult: It has only the members of Result in 2027-03-01.",
	},
	"a result that is the result of another request now": {
		member("ListToolsResultResponse", "result", `{"$ref": "#/$defs/ListPromptsResult"}`),
		"ListToolsResult: It has only the members of ListPromptsResult in 2027-03-01.",
	},
	"undecoded JSON that is a union now": {
		member("CallToolRequestParams", "arguments", `{"anyOf": [{"type": "object"}, {"type": "array"}]}`),
		"CallToolRequest.arguments: It must match another schema in 2027-03-01: a union.",
	},
	"undecoded JSON that is a struct now": {
		member("CallToolResult", "structuredContent", `{"$ref": "#/$defs/Icon"}`),
		"CallToolResult.structuredContent: It must match another schema in 2027-03-01: Icon.",
	},
	"a value of any type that is a struct now": {
		member("LoggingMessageNotificationParams", "data", `{"$ref": "#/$defs/Icon"}`),
		"LoggingMessageNotification.data: It is raw JSON in Extra in 2027-03-01: Icon.",
	},
	"elements of a list": {
		member("Annotations", "audience", `{"type": "array", "items": {"type": "integer"}}`),
		"Annotations.audience: It is raw JSON in Extra in 2027-03-01: an array.",
	},
	"null without a required member": {
		member("ProgressNotificationParams", "total", `{"type": ["number", "null"]}`),
		"ProgressNotification.total: It is raw JSON in Extra in 2027-03-01: null or number.",
	},
	"an object in place of a union": {
		define("EnumSchema", `{"type": "object", "required": ["type"], "properties": {"type": {"type": "string", "const": "string"},
			"enum": {"type": "array", "items": {"type": "string"}}, "enumNames": {"type": "array", "items": {"type": "string"}}}}`),
		"RequestedSchema.properties: It is raw JSON in Extra in 2027-03-01: a map.",
	},
	"a map in place of an object": {
		member("ImageContent", "annotations", `{"type": "object", "additionalProperties": {"$ref": "#/$defs/Annotations"}}`),
		"ImageContent.annotations: It is raw JSON in Extra in 2027-03-01: a map.",
	},
	"any object in place of a definition": {
		member("AudioContent", "annotations", `{"type": "object"}`),
		"AudioContent.annotations: It is raw JSON in Extra in 2027-03-01: a map.",
	},
	"a map in place of an inline object": {
		member("ServerCapabilities", "tools", `{"type": "object", "additionalProperties": {"type": "string"}}`),
		"ServerCapabilities.tools: It is raw JSON in Extra in 2027-03-01: a map.",
	},
	"fewer values of an enum than at other places": {
		member("LoggingMessageNotificationParams", "level", `{"type": "string", "enum": ["error", "info"]}`),
		"LoggingMessageNotification.level: Only some of its values are valid in 2027-03-01.",
	},
	"more values of an enum at one place": {
		member("ListToolsResult", "cacheScope", `{"type": "string", "enum": ["private", "public", "shared"]}`),
		"DiscoverResult.cacheScope: Only some of its values are valid in 2027-03-01.",
	},
	"a list with fewer values of an enum": {
		combine(define("Role", `{"type": "string", "enum": ["assistant", "system", "user"]}`),
			member("Annotations", "audience", `{"type": "array", "items": {"type": "string", "enum": ["assistant", "user"]}}`)),
		"Annotations.audience: Only some of its values are valid in 2027-03-01.",
	},
	"one request in place of the embedded ones": {
		define("InputRequest", `{"$ref": "#/$defs/ElicitRequest"}`),
		"InputRequest: It is always ElicitRequest in 2027-03-01.",
	},
	"a boolean, one value now": {
		member("ToolAnnotations", "readOnlyHint", `{"type": "boolean", "const": true}`),
		"ToolAnnotations.readOnlyHint: Only some of its values are valid in 2027-03-01.",
	},
	"an integer, an enum now": {
		member("CreateMessageRequestParams", "maxTokens", `{"type": "integer", "enum": [100, 200]}`),
		"CreateMessageRequest.maxTokens: Only some of its values are valid in 2027-03-01.",
	},
	"keywords without a Go type": {
		combine(member("Tool", "name", `{"type": "string", "minLength": 1, "maxLength": 64, "pattern": "^[a-z]+$"}`),
			member("Annotations", "priority", `{"type": "number", "minimum": 0, "exclusiveMaximum": 1, "multipleOf": 0.25}`),
			member("Annotations", "audience", `{"type": "array", "items": {"$ref": "#/$defs/Role"}, "minItems": 1, "uniqueItems": true, "contains": {"const": "user"}}`)),
		"Tool.name: The keywords of its schema allow fewer values in 2027-03-01.",
	},
	"keywords of an object": {
		func(defs object) {
			maps.Copy(defs["Implementation"].(object), parsed(`{"maxProperties": 9, "propertyNames": {"maxLength": 64}, "patternProperties": {"^x-": {"type": "string"}}, "additionalProperties": {"type": "string"}}`).(object))
		},
		"Implementation: The keywords of its schema allow fewer values in 2027-03-01.",
	},
	"keywords about which members an object has": {
		func(defs object) {
			maps.Copy(defs["ToolAnnotations"].(object), parsed(`{"minProperties": 1, "if": {"properties": {"readOnlyHint": {"const": true}}, "required": ["readOnlyHint"]}, "then": {"not": {"required": ["destructiveHint"]}}}`).(object))
			maps.Copy(defs["Icon"].(object), parsed(`{"dependentRequired": {"sizes": ["mimeType"]}, "anyOf": [{"required": ["theme"]}, {"required": ["sizes"]}]}`).(object))
		},
		`ToolAnnotations: Its schema depends on which members it has in 2027-03-01. An explicit "" or false is also in Extra.`,
	},
	"keywords of a definition": {
		combine(define("Code", `{"type": "string", "minLength": 3}`), member("Tool", "codes", `{"type": "array", "items": {"$ref": "#/$defs/Code"}}`)),
		"Tool.codes: The keywords of its schema allow fewer values in 2027-03-01.",
	},
	"keywords beside a reference": {
		member("Tool", "annotations", `{"$ref": "#/$defs/ToolAnnotations", "required": ["title"], "properties": {"title": {"minLength": 1}}}`),
		"Tool.annotations: It is raw JSON in Extra in 2027-03-01: ToolAnnotations.",
	},
	"keywords of a map": {
		member("CallToolRequestParams", "arguments", `{"type": "object", "additionalProperties": {}, "minProperties": 2, "not": {"required": ["a"]}, "if": {"required": ["b"]}, "then": {"required": ["c"]}}`),
		"CallToolRequest.arguments: The keywords of its schema allow fewer values in 2027-03-01.",
	},
	"keywords of params": {
		func(defs object) { defs["CallToolRequestParams"].(object)["maxProperties"] = json.Number("20") },
		"CallToolRequest: The keywords of its schema allow fewer values in 2027-03-01.",
	},
	"one of several alternatives": {
		member("Tool", "mood", `{"oneOf": [{"$ref": "#/$defs/Icon"}, {"type": "string", "pattern": "^a"}, {"type": "string", "maxLength": 3}]}`),
		"Tool.mood: It must match another schema in 2027-03-01: a union.",
	},
	"a member that is not allowed": {
		member("Tool", "title", `false`),
		"Tool.title: It is raw JSON in Extra in 2027-03-01: anything.",
	},
	"required members that are not declared": {
		requireMembers("Tool", "nothing"),
		"Tool: The keywords of its schema allow fewer values in 2027-03-01.",
	},
	"members and a type of other members": {
		define("Implementation", `{"type": "object", "required": ["name", "version"], "properties": {"name": {"type": "string"}, "version": {"type": "string"}}, "additionalProperties": {"type": ["string", "array"]}}`),
		"Implementation: The keywords of its schema allow fewer values in 2027-03-01.",
	},
	"elements of a tuple": {
		member("Tool", "pair", `{"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": false}`),
		"Tool.pair: The keywords of its schema allow fewer values in 2027-03-01.",
	},
	"a constant of another type": {
		member("Implementation", "version", `{"const": 1.5}`),
		"Implementation.version: It is raw JSON in Extra in 2027-03-01: the constant 1.5.",
	},
	"a constant object": {
		member("Tool", "shape", `{"const": {"b": [1, null], "a": false}}`),
		`Tool.shape: It must match another schema in 2027-03-01: the constant {"a":false,"b":[1,null]}.`,
	},
	"a constant that is null": {
		member("Tool", "nothing", `{"const": null}`),
		"Tool.nothing: It must match another schema in 2027-03-01: null.",
	},
	"an enum of several types": {
		member("Tool", "level", `{"type": ["integer", "string", "null"], "enum": [1, "high", null, true]}`),
		`Tool.level: It must match another schema in 2027-03-01: one of 1, "high", null.`,
	},
	"a union of constants": {
		member("Tool", "level", `{"anyOf": [{"const": 1}, {"const": "high"}, {"enum": [2.5, true]}]}`),
		`Tool.level: It must match another schema in 2027-03-01: one of "high", 1, 2.5, true.`,
	},
	"an allOf of constants": {
		member("Tool", "level", `{"allOf": [{"enum": [1, 2, "a"]}, {"type": "number", "minimum": 2}]}`),
		`Tool.level: It must match another schema in 2027-03-01: the constant 2.`,
	},
	"objects with different numbers": {
		combine(define("Small", `{"type": "object", "required": ["size"], "properties": {"size": {"const": 1}}}`),
			define("Large", `{"type": "object", "required": ["size"], "properties": {"size": {"const": 2}, "unit": {"type": "string"}}}`),
			member("Tool", "box", `{"anyOf": [{"$ref": "#/$defs/Small"}, {"$ref": "#/$defs/Large"}]}`)),
		`Tool.box: It must match another schema in 2027-03-01: a union.`,
	},
	"an optional number with a default": {
		func(defs object) { defs["CacheableResult"].(object)["required"] = []any{"resultType", "cacheScope"} },
		"CacheableResult.ttlMs: It may be absent in 2027-03-01, and is 0 then. An explicit 0 is also in Extra.",
	},
	"a union of objects with other members": {
		combine(define("SubscriptionFilter", `{"anyOf": [{"$ref": "#/$defs/AllFilter"}, {"$ref": "#/$defs/SomeFilter"}]}`),
			define("AllFilter", `{"type": "object", "required": ["all"], "properties": {"all": {"const": true}}}`),
			define("SomeFilter", `{"type": "object", "properties": {"toolsListChanged": {"type": "boolean"}}}`)),
		"SubscriptionFilter.toolsListChanged: It is raw JSON in Extra in 2027-03-01: anything.",
	},
	"required defaults in Extra": {
		combine(member("ListToolsResult", "ttlMs", `{"type": ["integer", "null"]}`), member("ListPromptsResult", "cacheScope", `{"type": "string", "enum": ["shared", "public"]}`)),
		"ListToolsResult.ttlMs: It is raw JSON in Extra in 2027-03-01: integer or null.",
	},
	"a number that becomes an integer with other bounds": {
		member("Annotations", "priority", `{"type": "integer", "minimum": 0, "maximum": 10}`),
		"Annotations.priority: It is raw JSON in Extra in 2027-03-01: integer from 0 up to 10.",
	},
	"undecoded JSON that becomes an array": {
		member("CallToolRequestParams", "arguments", `{"type": "array"}`),
		"CallToolRequest.arguments: It must match another schema in 2027-03-01: an array.",
	},
	"undecoded JSON that may be null": {
		member("CallToolRequestParams", "arguments", `{"type": ["object", "null"]}`),
		"CallToolRequest.arguments: It must match another schema in 2027-03-01: null or object.",
	},
	"a union that replaces an object": {
		combine(define("ToolAnnotations", `{"anyOf": [{"$ref": "#/$defs/ReadAnnotations"}, {"$ref": "#/$defs/WriteAnnotations"}]}`),
			define("ReadAnnotations", `{"type": "object", "required": ["readOnlyHint"], "properties": {"readOnlyHint": {"type": "boolean"}, "title": {"type": "string"}}}`),
			define("WriteAnnotations", `{"type": "object", "required": ["destructiveHint"], "properties": {"destructiveHint": {"type": "boolean"}, "title": {"type": "string"}}}`)),
		`ToolAnnotations: It is one of several objects with fewer members in 2027-03-01. An explicit "" or false is also in Extra.`,
	},
	"a string, an enum now": {
		member("Implementation", "version", `{"type": "string", "enum": ["1", "2"]}`),
		"Implementation.version: Only some of its values are valid in 2027-03-01.",
	},
	"an enum, one constant now": {
		member("PromptMessage", "role", `{"type": "string", "const": "user"}`),
		"PromptMessage.role: Only some of its values are valid in 2027-03-01.",
	},
	"an ID, a string now": {
		member("NotificationMetaObject", "io.modelcontextprotocol/subscriptionId", `{"type": "string"}`),
		"NotificationMetaObject.io.modelcontextprotocol/subscriptionId: Only some of its values are valid in 2027-03-01.",
	},
	"overlapping parts of an allOf": {
		define("ListRootsResult", `{"allOf": [{"$ref": "#/$defs/Result"}, {"type": "object", "required": ["roots"], "properties": {"roots": {"type": "array", "items": {"$ref": "#/$defs/Root"}}, "resultType": {"type": "string"}}},
			{"type": "object", "properties": {"roots": {"type": "array", "items": {"$ref": "#/$defs/Root"}, "maxItems": 5}}}]}`),
		"",
	},
	"a definition that becomes a string": {
		define("ToolAnnotations", `{"type": "string"}`),
		`Tool.annotations: It is raw JSON in Extra in 2027-03-01: ToolAnnotations.`,
	},
	"a list that becomes a single value": {
		member("CallToolResult", "content", `{"$ref": "#/$defs/ContentBlock"}`),
		`CallToolResult.content: It is raw JSON in Extra in 2027-03-01: ContentBlock.`,
	},
	"a list whose bound changes": {
		func(defs object) {
			c := defs["CompleteResult"].(object)["properties"].(object)["completion"].(object)["properties"].(object)
			c["values"].(object)["maxItems"] = parsed("200")
		},
		`Completion.values: Its bounds are different in 2027-03-01.`,
	},
	"a map that becomes a struct": {
		member("GetPromptRequestParams", "arguments", `{"type": "object", "properties": {"a": {"type": "string"}}}`),
		`GetPromptRequest.arguments: It is raw JSON in Extra in 2027-03-01: an object.`,
	},
	"a number whose bounds change": {
		member("Annotations", "priority", `{"type": "number", "minimum": 0, "maximum": 0.5}`),
		`Annotations.priority: Its bounds are different in 2027-03-01.`,
	},
	"a required object that becomes optional": {
		func(defs object) {
			d := defs["DiscoverResult"].(object)
			d["required"] = slices.DeleteFunc(d["required"].([]any), func(v any) bool { return v == "capabilities" })
		},
		`DiscoverResult.capabilities: It is raw JSON in Extra in 2027-03-01: ServerCapabilities.`,
	},
	"a single value that becomes one or a list": {
		member("PromptMessage", "content", `{"anyOf": [{"$ref": "#/$defs/ContentBlock"}, {"type": "array", "items": {"$ref": "#/$defs/ContentBlock"}}]}`),
		`PromptMessage.content: It is raw JSON in Extra in 2027-03-01: a union.`,
	},
	"a string that becomes a list": {
		member("Tool", "title", `{"type": "array", "items": {"type": "string"}}`),
		`Tool.title: It is raw JSON in Extra in 2027-03-01: an array.`,
	},
	"a string that becomes an integer": {
		member("Tool", "description", `{"type": "integer"}`),
		`Tool.description: It is raw JSON in Extra in 2027-03-01: integer.`,
	},
	"an enum that becomes a string": {
		define("LoggingLevel", `{"type": "string"}`),
		`LoggingLevel: It is one of the values of the schema in 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25 and 2026-07-28, and any string in other revisions.`,
	},
	"an integer that becomes a number": {
		member("CreateMessageRequestParams", "maxTokens", `{"type": "number"}`),
		`CreateMessageRequest.maxTokens: It is raw JSON in Extra in 2027-03-01: number.`,
	},
	"an object that becomes a string": {
		member("Tool", "annotations", `{"type": "string"}`),
		`Tool.annotations: It is raw JSON in Extra in 2027-03-01: string.`,
	},
	"undecoded JSON that becomes a string": {
		member("CallToolResult", "structuredContent", `{"type": "string"}`),
		`CallToolResult.structuredContent: It must match another schema in 2027-03-01: string.`,
	},
	"undecoded JSON that becomes an object of strings": {
		member("CallToolRequestParams", "arguments", `{"type": "object", "additionalProperties": {"type": "string"}}`),
		`CallToolRequest.arguments: It must match another schema in 2027-03-01: a map.`,
	},
	"an inline type with the name of a definition": {
		combine(member("Tool", "kind", `{"type": "string", "enum": ["a", "b"]}`), define("ToolKind", `{"type": "object", "properties": {"a": {"type": "string"}}}`)),
		`Tool.kind: It must match another schema in 2027-03-01: an enum.`,
	},
	"two types with one name": {
		define("call_tool_result", `{"type": "object", "properties": {"a": {"type": "string"}}}`),
		`call_tool_result: Another declaration has the name CallToolResult.`,
	},
	"a union of a string and an object, by name": {
		combine(define("Mix", `{"anyOf": [{"type": "string"}, {"$ref": "#/$defs/Icon"}]}`), member("Tool", "mix", `{"$ref": "#/$defs/Mix"}`)),
		`Mix: A value is raw JSON. The codec validates it in members of other types in 2027-03-01.`,
	},
	"two errors with one code": {
		combine(newErrorCode, func(defs object) { defs["QuotaGoneError"] = clone(defs["QuotaExceededError"]) }),
		`QuotaExceededError: Its name is QuotaGoneError in some revisions.`,
	},
	"a union without a discriminator": {
		combine(define("Either", `{"anyOf": [{"$ref": "#/$defs/Left"}, {"$ref": "#/$defs/Right"}]}`),
			define("Left", `{"type": "object", "properties": {"a": {"type": "string"}}}`), define("Right", `{"type": "object", "properties": {"a": {"type": "string"}}}`)),
		`Either: A value is raw JSON. The codec validates it in members of other types in 2027-03-01.`,
	},
	"a union of enums": {
		define("Mood", `{"anyOf": [{"$ref": "#/$defs/Role"}, {"$ref": "#/$defs/LoggingLevel"}]}`),
		`Mood: A value is raw JSON. The codec validates it in members of other types in 2027-03-01.`,
	},
	"a definition that may be null": {
		combine(define("Maybe", `{"type": ["string", "null"]}`), member("Tool", "mood", `{"$ref": "#/$defs/Maybe"}`)),
		`Tool.mood: It must match another schema in 2027-03-01: Maybe.`,
	},
	"params that are a union and become a new object": {
		func(defs object) {
			defs["ElicitRequest"].(object)["properties"].(object)["params"] = parsed(`{"type": "object", "required": ["message", "fields"], "properties": {"message": {"type": "string"}, "fields": {"type": "array", "items": {"type": "string"}}}}`)
			undefine("ElicitRequestParams", "ElicitRequestFormParams", "ElicitRequestURLParams")(defs)
		},
		``,
	},
	"a type named like a generated function": {
		define("Text", `{"type": "object", "properties": {"a": {"type": "string"}}}`),
		`Text: Another declaration has the name Text.`,
	},
	"a type named like a generated type": {
		define("UnknownContentBlock", `{"type": "object", "properties": {"a": {"type": "string"}}}`),
		`UnknownContentBlock: Another declaration has the name UnknownContentBlock.`,
	},
	"another name of a type that is the name of a table": {
		define("Methods", `{"$ref": "#/$defs/ToolAnnotations"}`),
		`Methods: Another declaration has the name Methods.`,
	},
	"a request named like a method of every peer": {
		request("CallRequest", "call"),
		`CallRequest: Another declaration has the name CallRequest.`,
	},
	"a request named like another's iterator": {
		combine(newPagedList, request("ListAgentsAllRequest", "agents/all")),
		`ListAgentsAllRequest: Another declaration has the name ListAgentsAllRequest.`,
	},
	"two new types with one name": {
		combine(define("URLThing", `{"type": "object", "properties": {"a": {"type": "string"}}}`), define("UrlThing", `{"type": "object", "properties": {"b": {"type": "string"}}}`)),
		`UrlThing: Another declaration has the name URLThing.`,
	},
	"another name of a type that becomes a type": {
		define("EmptyResult", `{"type": "object", "properties": {"a": {"type": "string"}}}`),
		`EmptyResult: Another declaration has the name EmptyResult.`,
	},
	"a result that is another definition": {
		func(defs object) {
			defs["CompletionResult"] = clone(defs["CompleteResult"])
			member("CompletionResult", "hint", `{"type": "string"}`)(defs)
			defs["CompleteResultResponse"].(object)["properties"].(object)["result"] = parsed(`{"$ref": "#/$defs/CompletionResult"}`)
		},
		`CompleteResult: Its name is CompletionResult in some revisions.`,
	},
	"an error that is renamed": {
		renamed("UnsupportedProtocolVersionError", "ProtocolVersionError"),
		`UnsupportedProtocolVersionError: Its name is ProtocolVersionError in some revisions.`,
	},
	"an enum that is renamed": {
		renamed("LoggingLevel", "LogLevel"),
		`LoggingLevel: Its name is LogLevel in some revisions.`,
	},
	"a definition that becomes another name of a new one": {
		func(defs object) {
			defs["Hints"], defs["ToolAnnotations"] = defs["ToolAnnotations"], parsed(`{"$ref": "#/$defs/Hints"}`)
		},
		`ToolAnnotations: Its name is Hints in some revisions.`,
	},
	"a method whose definition is renamed": {
		combine(func(defs object) {
			defs["RunToolRequest"] = clone(defs["CallToolRequest"])
			defs["RunToolResult"] = clone(defs["CallToolResult"])
		},
			removeFromUnion("ClientRequest", "CallToolRequest"), addToUnion("ClientRequest", "RunToolRequest"), undefine("CallToolRequest")),
		`CallToolRequest: Its name is RunToolRequest in some revisions.`,
	},
	"a constant that is not a string": {
		member("Tool", "seven", `{"type": "integer", "const": 7}`),
		`Tool.seven: It must match another schema in 2027-03-01: the constant 7.`,
	},
	"a constant in place of an open enum": {
		member("CallToolResult", "resultType", `{"type": "string", "const": "complete"}`),
		"CallToolResult.resultType: Only some of its values are valid in 2027-03-01.",
	},
	"contents that may be a string": {
		member("CallToolResult", "content", `{"type": "array", "items": {"anyOf": [{"$ref": "#/$defs/ContentBlock"}, {"type": "string"}]}}`),
		"CallToolResult.content: It is raw JSON in Extra in 2027-03-01: an array.",
	},
	"recursive definitions without an object": {
		combine(define("Filter", `{"anyOf": [{"type": "string"}, {"type": "array", "items": {"$ref": "#/$defs/Filter"}}]}`), member("Tool", "filter", `{"$ref": "#/$defs/Filter"}`),
			define("Nested", `{"type": "array", "items": {"$ref": "#/$defs/Nested"}}`), member("Tool", "nested", `{"$ref": "#/$defs/Nested"}`),
			define("Nest", `{"type": "array", "items": {"type": "object", "additionalProperties": {"$ref": "#/$defs/Nest"}}}`), member("Tool", "nest", `{"$ref": "#/$defs/Nest"}`),
			define("Tree", `{"type": "object", "additionalProperties": {"$ref": "#/$defs/Forest"}}`), define("Forest", `{"type": "array", "items": {"$ref": "#/$defs/Tree"}}`), member("Prompt", "tree", `{"$ref": "#/$defs/Tree"}`)),
		"Nested: A value is raw JSON. The codec validates it in members of other types in 2027-03-01.",
	},
	"functions with one name for a member and a type": {
		combine(member("Tool", "annotations", `{"anyOf": [{"$ref": "#/$defs/ToolAnnotations"}, {"type": "null"}]}`),
			func(defs object) {
				defs["ToolAnnotations"].(object)["patternProperties"] = parsed(`{"^x-": {"type": "string"}}`)
			}),
		"Tool.annotations: It is raw JSON in Extra in 2027-03-01: a union.",
	},
	"one of two inline objects with one Go type": {
		func(defs object) {
			items := defs["TitledMultiSelectEnumSchema"].(object)["properties"].(object)["items"].(object)
			items["properties"].(object)["anyOf"].(object)["items"].(object)["required"] = []any{"title"}
		},
		"TitledMultiSelectEnumSchemaItems.anyOf: It is raw JSON in Extra in 2027-03-01: an array.",
	},
	"one of two inline objects that forbids other members": {
		member("TitledSingleSelectEnumSchema", "oneOf", `{"type": "array", "items": {"type": "object", "additionalProperties": false, "required": ["const", "title"],
			"properties": {"const": {"type": "string"}, "title": {"type": "string"}}}}`),
		"TitledSingleSelectEnumSchema.oneOf: It is raw JSON in Extra in 2027-03-01: an array.",
	},
	"a list of embedded requests": {
		define("InputRequests", `{"type": "array", "items": {"$ref": "#/$defs/InputRequest"}}`),
		"InputRequiredResult.inputRequests: It is raw JSON in Extra in 2027-03-01: InputRequests.",
	},
	"a list of bounded lists": {
		member("Tool", "mood", `{"type": "array", "items": {"type": "array", "maxItems": 2, "items": {"type": "string"}}}`),
		`Tool.mood: It must match another schema in 2027-03-01: an array.`,
	},
	"a struct that becomes a map of one type": {
		define("Icon", `{"type": "object", "additionalProperties": {"type": "string"}}`),
		`Icons.icons: It is raw JSON in Extra in 2027-03-01: an array.`,
	},
	"a union member that is renamed": {
		combine(renamed("TextContent", "PlainContent"), renamed("ImageContent", "PictureContent")),
		`TextContent: Its name is PlainContent in some revisions.`,
	},
	"a union of a single list": {
		member("Tool", "mood", `{"anyOf": [{"type": "array", "items": {"type": "string"}}]}`),
		`Tool.mood: It must match another schema in 2027-03-01: a union.`,
	},
	"a union of a string and an object": {
		member("Tool", "mood", `{"anyOf": [{"type": "string"}, {"$ref": "#/$defs/Icon"}]}`),
		`Tool.mood: It must match another schema in 2027-03-01: a union.`,
	},
	"a union that may be null": {
		member("Tool", "mood", `{"anyOf": [{"$ref": "#/$defs/ContentBlock"}, {"type": "null"}]}`),
		`Tool.mood: It must match another schema in 2027-03-01: a union.`,
	},
	"an enum that may be null": {
		member("Tool", "mood", `{"anyOf": [{"$ref": "#/$defs/Role"}, {"type": "null"}]}`),
		`Tool.mood: It must match another schema in 2027-03-01: a union.`,
	},
	"an anonymous union without a name": {
		member("Tool", "sample", `{"anyOf": [{"$ref": "#/$defs/Icon"}, {"$ref": "#/$defs/Root"}]}`),
		``,
	},
	"an integer bounded by a fraction": {
		member("Tool", "mood", `{"type": "integer", "minimum": 0.5}`),
		`Tool.mood: It must match another schema in 2027-03-01: integer from 0.5.`,
	},
	"elements that may be null": {
		member("Tool", "mood", `{"type": "array", "items": {"type": ["string", "null"]}}`),
		`Tool.mood: It must match another schema in 2027-03-01: an array.`,
	},
	"one of two types or a list of the union": {
		member("Tool", "mood", `{"anyOf": [{"$ref": "#/$defs/TextContent"}, {"$ref": "#/$defs/ImageContent"}, {"type": "array", "items": {"$ref": "#/$defs/ContentBlock"}}]}`),
		`Tool.mood: It must match another schema in 2027-03-01: a union.`,
	},
	"one value or a bounded list": {
		member("Tool", "mood", `{"anyOf": [{"$ref": "#/$defs/ContentBlock"}, {"type": "array", "maxItems": 2, "items": {"$ref": "#/$defs/ContentBlock"}}]}`),
		`Tool.mood: It must match another schema in 2027-03-01: a union.`,
	},
	"one value or a list of another union": {
		member("Tool", "mood", `{"anyOf": [{"$ref": "#/$defs/ContentBlock"}, {"type": "array", "items": {"$ref": "#/$defs/SamplingMessageContentBlock"}}]}`),
		`Tool.mood: It must match another schema in 2027-03-01: a union.`,
	},
	"scalars and a list of integers": {
		member("Tool", "mood", `{"anyOf": [{"type": ["boolean", "number", "string"]}, {"type": "array", "items": {"type": "integer"}}]}`),
		`Tool.mood: It must match another schema in 2027-03-01: a union.`,
	},
	"scalars and objects": {
		member("Tool", "mood", `{"type": ["boolean", "number", "object", "string"]}`),
		`Tool.mood: It must match another schema in 2027-03-01: boolean or number or object or string.`,
	},
	"scalars that may be null": {
		member("Tool", "mood", `{"type": ["boolean", "null", "number", "string"]}`),
		`Tool.mood: It must match another schema in 2027-03-01: boolean or null or number or string.`,
	},
	"the union or a list of one of its types": {
		member("Tool", "mood", `{"anyOf": [{"$ref": "#/$defs/ContentBlock"}, {"type": "array", "items": {"$ref": "#/$defs/TextContent"}}]}`),
		`Tool.mood: It must match another schema in 2027-03-01: a union.`,
	},
	"the union or a list of strings": {
		member("Tool", "mood", `{"anyOf": [{"$ref": "#/$defs/ContentBlock"}, {"type": "array", "items": {"type": "string"}}]}`),
		`Tool.mood: It must match another schema in 2027-03-01: a union.`,
	},
	"the union or a list of two of its types": {
		member("Tool", "mood", `{"anyOf": [{"$ref": "#/$defs/ContentBlock"}, {"type": "array", "items": {"anyOf": [{"$ref": "#/$defs/TextContent"}, {"$ref": "#/$defs/ImageContent"}]}}]}`),
		`Tool.mood: It must match another schema in 2027-03-01: a union.`,
	},
}

// closed forbids other members than the declared ones in definitions.
func closed(definitions ...string) edit {
	return func(defs object) {
		for _, name := range definitions {
			defs[name].(object)["additionalProperties"] = false
		}
	}
}

// code sets the code of an error.
func code(definition, code string) edit {
	return func(defs object) {
		part := defs[definition].(object)["properties"].(object)["error"].(object)["allOf"].([]any)[1].(object)
		part["properties"].(object)["code"] = parsed(`{"type": "integer", "const": ` + code + `}`)
	}
}

// method sets the method of a message.
func method(definition, name string) edit {
	return member(definition, "method", `{"type": "string", "const": "`+name+`"}`)
}

// resultTypes sets the schema of the type of all results.
func resultTypes(schema string) edit {
	return func(defs object) {
		for _, d := range defs {
			properties, _ := d.(object)["properties"].(object)
			if properties["resultType"] != nil {
				properties["resultType"] = parsed(schema)
			}
		}
	}
}

// renamedKinds renames the constant member of all types of content.
func renamedKinds(defs object) {
	for _, def := range []string{"TextContent", "ImageContent", "AudioContent", "ResourceLink", "EmbeddedResource", "ToolUseContent", "ToolResultContent"} {
		properties := defs[def].(object)["properties"].(object)
		properties["kind"] = properties["type"]
		delete(properties, "type")
		combine(notRequired(def, "type"), alsoRequired(def, "kind"))(defs)
	}
}

// renamedAnnotations renames ToolAnnotations and the reference to it.
func renamedAnnotations(name string) edit {
	return func(defs object) {
		defs[name] = defs["ToolAnnotations"]
		delete(defs, "ToolAnnotations")
		defs["Tool"].(object)["properties"].(object)["annotations"] = parsed(`{"$ref": "#/$defs/` + name + `"}`)
	}
}

func TestJoins(t *testing.T) {
	for name, x := range joins {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := futureModel(t, x.edit)
			require.NoError(t, err)
			var lines []string
			for _, j := range p.Joins {
				lines = append(lines, j.String())
			}
			if x.join != "" {
				require.Contains(t, lines, x.join)
			}
			file := string(printed(t, p)[x.file])
			for _, line := range x.lines {
				require.Contains(t, file, line)
			}
		})
	}
}

func TestWidened(t *testing.T) {
	for name, x := range widened {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			skipMost(t)
			p, files := futureCode(t, x.edit)
			newChecker(t).mustCheck(t, files)
			var lines []string
			for _, j := range p.Joins {
				lines = append(lines, j.String())
			}
			if x.join != "" {
				require.Contains(t, lines, x.join)
			}
		})
	}
}

// TestEveryJoinHasCase compiles the case of each kind of join.
func TestEveryJoinHasCase(t *testing.T) {
	for kind, x := range ir.Joins {
		e := joins[x.Case].edit
		if e == nil {
			e = widened[x.Case].edit
		}
		require.NotNil(t, e, "no case has the name %q", x.Case)
		p, err := futureModel(t, e)
		require.NoError(t, err)
		has := slices.ContainsFunc(p.Joins, func(j ir.Join) bool { return j.Kind == ir.JoinKind(kind) })
		require.Equal(t, x.Sentence != "", has, "%s: the joins are %v", x.Case, p.Joins)
	}
}
