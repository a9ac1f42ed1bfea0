package main

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/gen/internal/emit"
	"github.com/mcpwright/mcp/gen/internal/ir"
	"github.com/mcpwright/mcp/gen/internal/load"
)

// A mergeError is an edit that no rule merges, and substrings of the error: where,
// what, and which rule to write.
type mergeError struct {
	edit edit
	want []string
}

// changedForms are definitions and members with another type than in earlier
// revisions.
var changedForms = map[string]mergeError{
	"a string that becomes an integer": {
		member("Tool", "description", `{"type": "integer"}`),
		[]string{"2027-03-01#/$defs/Tool/properties/description", "2026-07-28#/$defs/Tool/properties/description is string", "is integer", "Raw rule"},
	},
	"an object that becomes a string": {
		member("Tool", "annotations", `{"type": "string"}`),
		[]string{"2027-03-01#/$defs/Tool/properties/annotations", "2026-07-28#/$defs/Tool/properties/annotations is ToolAnnotations", "is string", "Raw rule"},
	},
	"a definition that becomes a string": {
		define("ToolAnnotations", `{"type": "string"}`),
		[]string{"2027-03-01#/$defs/ToolAnnotations", "2026-07-28", "rule"},
	},
	"a constant that changes": {
		member("TextContent", "type", `{"type": "string", "const": "prose"}`),
		[]string{"2027-03-01#/$defs/TextContent/properties/type", "2026-07-28#/$defs/TextContent/properties/type", `"text"`, `"prose"`, "its own definition"},
	},
	"a list whose bound changes": {
		func(defs object) {
			c := defs["CompleteResult"].(object)["properties"].(object)["completion"].(object)["properties"].(object)
			c["values"].(object)["maxItems"] = parsed("200")
		},
		[]string{"2027-03-01#/$defs/CompleteResult/properties/completion/properties/values", "2026-07-28#/$defs/CompleteResult", "bound"},
	},
	"a number whose bounds change": {
		member("Annotations", "priority", `{"type": "number", "minimum": 0, "maximum": 0.5}`),
		[]string{"2027-03-01#/$defs/Annotations/properties/priority is number from 0 up to 0.5", "2026-07-28#/$defs/Annotations/properties/priority is number from 0 up to 1", "bound"},
	},
	"a required object that becomes optional": {
		func(defs object) {
			d := defs["DiscoverResult"].(object)
			d["required"] = slices.DeleteFunc(d["required"].([]any), func(v any) bool { return v == "capabilities" })
		},
		[]string{futureRevision, "2026-07-28", "#/$defs/DiscoverResult", "DiscoverResult.capabilities", "ServerCapabilities to *ServerCapabilities", "Change rule"},
	},
	"undecoded JSON that becomes an object of strings": {
		member("CallToolRequestParams", "arguments", `{"type": "object", "additionalProperties": {"type": "string"}}`),
		[]string{"2027-03-01#/$defs/CallToolRequestParams/properties/arguments", "2026-07-28#/$defs/CallToolRequestParams/properties/arguments", "undecoded JSON"},
	},
	"undecoded JSON that becomes a string": {
		member("CallToolResult", "structuredContent", `{"type": "string"}`),
		[]string{"2027-03-01#/$defs/CallToolResult/properties/structuredContent is string", "2026-07-28#/$defs/CallToolResult/properties/structuredContent is anything", "undecoded JSON"},
	},
	"a string that becomes a list": {
		member("Tool", "title", `{"type": "array", "items": {"type": "string"}}`),
		[]string{"2027-03-01#/$defs/Tool/properties/title is an array", "2026-07-28#/$defs/Tool/properties/title is string", "rule"},
	},
	"a list that becomes a single value": {
		member("CallToolResult", "content", `{"$ref": "#/$defs/ContentBlock"}`),
		[]string{"2027-03-01#/$defs/CallToolResult/properties/content is ContentBlock", "2026-07-28#/$defs/CallToolResult/properties/content is an array", "Raw rule"},
	},
	"a single value that becomes one or a list": {
		member("PromptMessage", "content", `{"anyOf": [{"$ref": "#/$defs/ContentBlock"}, {"type": "array", "items": {"$ref": "#/$defs/ContentBlock"}}]}`),
		[]string{futureRevision, "2026-07-28", "#/$defs/PromptMessage", "from ContentBlock to []ContentBlock", `Change rule for "PromptMessage.content"`},
	},
	"an integer that becomes a number": {
		member("CreateMessageRequestParams", "maxTokens", `{"type": "number"}`),
		[]string{futureRevision, "2026-07-28", "/properties/maxTokens", "is number", "Raw rule"},
	},
	"a map that becomes a struct": {
		member("GetPromptRequestParams", "arguments", `{"type": "object", "properties": {"a": {"type": "string"}}}`),
		[]string{futureRevision, "2026-07-28", "#/$defs/GetPromptRequest", `Change rule for "GetPromptRequest.arguments"`},
	},
	"an enum that becomes a string": {
		define("LoggingLevel", `{"type": "string"}`),
		[]string{"2027-03-01#/$defs/LoggingLevel is string", "2026-07-28#/$defs/LoggingLevel is an enum", `Open rule for "LoggingLevel"`},
	},
	"a _meta that is not an object": {
		member("CallToolResult", "_meta", `{"type": "string"}`),
		[]string{"2027-03-01#/$defs/CallToolResult/properties/_meta is string", "2026-07-28#/$defs/CallToolResult/properties/_meta"},
	},
	"a _meta of another type": {
		combine(define("OtherMeta", `{"type": "object", "properties": {"z": {"type": "string"}}}`), member("CallToolResult", "_meta", `{"$ref": "#/$defs/OtherMeta"}`)),
		[]string{futureRevision, "2026-07-28", "#/$defs/CallToolResult", "from *ResultMeta to *OtherMeta", `Change rule for "CallToolResult._meta"`},
	},
}

// clashingNames are names that are already in use.
var clashingNames = map[string]mergeError{
	"two types with one name": {
		define("call_tool_result", `{"type": "object", "properties": {"a": {"type": "string"}}}`),
		[]string{"2027-03-01#/$defs/call_tool_result", `"CallToolResult"`, "Names rule"},
	},
	"a type named like a generated function": {
		define("Text", `{"type": "object", "properties": {"a": {"type": "string"}}}`),
		[]string{"2027-03-01#/$defs/Text", `"Text"`, "Names rule"},
	},
	"a type named like a generated type": {
		define("UnknownContentBlock", `{"type": "object", "properties": {"a": {"type": "string"}}}`),
		[]string{"2027-03-01#/$defs/UnknownContentBlock", "Names rule"},
	},
	"a type named like a table": {
		define("Methods", `{"type": "object", "properties": {"a": {"type": "string"}}}`),
		[]string{"2027-03-01#/$defs/Methods", "Names rule"},
	},
	"a request named like a method of every peer": {
		combine(func(defs object) { defs["CallRequest"] = clone(defs["DiscoverRequest"]) }, member("CallRequest", "method", `{"type": "string", "const": "call"}`), addToUnion("ClientRequest", "CallRequest")),
		[]string{"2027-03-01#/$defs/CallRequest", `"call"`, `"Call"`, "Names rule"},
	},
	"an inline type with the name of a definition": {
		combine(member("Tool", "kind", `{"type": "string", "enum": ["a", "b"]}`), define("ToolKind", `{"type": "object", "properties": {"a": {"type": "string"}}}`)),
		[]string{"2027-03-01#/$defs/Tool/properties/kind", `"ToolKind"`, "rule"},
	},
	"two values with one name": {
		member("Tool", "mood", `{"type": "string", "enum": ["a b", "a-b"]}`),
		[]string{"2027-03-01#/$defs/Tool/properties/mood", `"a b"`, `"a-b"`, `Members rule for "ToolMood=a-b"`},
	},
	"a value without a name": {
		member("Tool", "mood", `{"type": "string", "enum": ["", "x"]}`),
		[]string{"2027-03-01#/$defs/Tool/properties/mood", `Members rule for "ToolMood="`},
	},
	"a member without a Go name": {
		member("Tool", "2nd", `{"type": "string"}`),
		[]string{"2027-03-01#/$defs/Tool/properties/2nd", `Members rule for "Tool.2nd"`},
	},
	"a member whose Go name is not exported": {
		member("Tool", "名", `{"type": "string"}`),
		[]string{"2027-03-01#/$defs/Tool/properties/名", `Members rule for "Tool.名"`},
	},
	"a request named like another's iterator": {
		combine(newPagedList, request("ListAgentsAllRequest", "agents/all")),
		[]string{`"ServerPeer.ListAgentsAll"`, "Names rule"},
	},
}

// brokenMessages are messages, results and errors that cannot be sent or
// distinguished.
var brokenMessages = map[string]mergeError{
	"a method that changes its name": {
		member("CallToolRequest", "method", `{"type": "string", "const": "tools/run"}`),
		[]string{"2027-03-01#/$defs/CallToolRequest/properties/method", "2026-07-28", `"tools/call"`, `"tools/run"`, "its own definition"},
	},
	"a method without a name": {
		request("MuteRequest", ""),
		[]string{"2027-03-01#/$defs/MuteRequest/properties/method", "is empty"},
	},
	"a message in no union of messages": {
		define("LostNotification", `{"type": "object", "required": ["method"], "properties": {"method": {"type": "string", "const": "notifications/lost"}}}`),
		[]string{"2027-03-01#/$defs/LostNotification", "neither side can send it", "Framing rule"},
	},
	"a method defined twice": {
		combine(newServerNotification, func(defs object) { defs["AgainNotification"] = clone(defs["QuotaNotification"]) }, addToUnion("ServerNotification", "AgainNotification")),
		[]string{"2027-03-01#/$defs/AgainNotification", `"notifications/quota"`, `"AgainNotification"`, `"QuotaNotification"`},
	},
	"a method whose definition is renamed": {
		combine(func(defs object) {
			defs["RunToolRequest"] = clone(defs["CallToolRequest"])
			defs["RunToolResult"] = clone(defs["CallToolResult"])
		},
			removeFromUnion("ClientRequest", "CallToolRequest"), addToUnion("ClientRequest", "RunToolRequest"), undefine("CallToolRequest")),
		[]string{"2027-03-01#/$defs/RunToolRequest", "2024-11-05", `"tools/call"`, `"CallToolRequest"`, "Renamed rule"},
	},
	"a result that changes its type": {
		func(defs object) {
			response := defs["ListToolsResultResponse"].(object)["properties"].(object)
			response["result"] = parsed(`{"$ref": "#/$defs/ListPromptsResult"}`)
		},
		[]string{"2027-03-01#/$defs/ListToolsRequest", "2024-11-05", "Renamed rule", `"tools/list"`, `"ListToolsResult"`, `"ListPromptsResult"`},
	},
	"an error without data whose code becomes the code of another": {
		code("HeaderMismatchError", "-32602"),
		[]string{"2026-07-28#/$defs/HeaderMismatchError", "-32602", `"HeaderMismatchError"`, `"InvalidParamsError"`},
	},
	"two errors with one code": {
		combine(newErrorCode, func(defs object) { defs["QuotaGoneError"] = clone(defs["QuotaExceededError"]) }),
		[]string{"2027-03-01#/$defs/QuotaGoneError", "-32031", `"QuotaGoneError"`, `"QuotaExceededError"`, "Renamed rule"},
	},
	"a result that is not an object": {
		combine(request("PlainRequest", "plain"), define("PlainResult", `{"anyOf": [{"$ref": "#/$defs/CallToolResult"}, {"$ref": "#/$defs/ListToolsResult"}]}`)),
		[]string{"2027-03-01#/$defs/PlainResult", `the result of "plain" is not an object`},
	},
	"a member of a message other than params": {
		member("ProgressNotification", "seq", `{"type": "integer"}`),
		[]string{"2027-03-01#/$defs/ProgressNotification/properties/seq", `"seq" of a message, only params`},
	},
	"params that are a map of one type": {
		member("ProgressNotification", "params", `{"type": "object", "additionalProperties": {"type": "string"}}`),
		[]string{"2027-03-01#/$defs/ProgressNotification/properties/params", "map of one type"},
	},
	"a param named like the method": {
		member("CallToolRequestParams", "method", `{"type": "string"}`),
		[]string{"2027-03-01#/$defs/CallToolRequestParams/properties/method", `"tools/call"`},
	},
	"a page with two lists": {
		combine(newPagedList, member("ListAgentsResult", "more", `{"type": "array", "items": {"type": "string"}}`)),
		[]string{"2027-03-01#/$defs/ListAgentsResult", `"agents/list"`, "has two lists"},
	},
}

// unsupportedTypes are schemas without a Go type.
var unsupportedTypes = map[string]mergeError{
	"an anonymous union without a name": {
		member("Tool", "sample", `{"anyOf": [{"$ref": "#/$defs/Icon"}, {"$ref": "#/$defs/Root"}]}`),
		[]string{"2027-03-01#/$defs/Tool/properties/sample", `"Tool.sample"`, "Names rule"},
	},
	"a union without a discriminator": {
		combine(define("Either", `{"anyOf": [{"$ref": "#/$defs/Left"}, {"$ref": "#/$defs/Right"}]}`),
			define("Left", `{"type": "object", "properties": {"a": {"type": "string"}}}`), define("Right", `{"type": "object", "properties": {"a": {"type": "string"}}}`)),
		[]string{"2027-03-01#/$defs/Either", "Left and Right cannot be distinguished", "constant member"},
	},
	"a union member that is renamed": {
		combine(renamed("TextContent", "PlainContent"), renamed("ImageContent", "PictureContent")),
		[]string{"2027-03-01#/$defs/ContentBlock", "PlainContent and TextContent cannot be distinguished: no revision has both", "Renamed rule"},
	},
	"more than 64 members": {
		func(defs object) {
			for i := range 60 {
				member("Tool", fmt.Sprintf("member%d", i), `{"type": "string"}`)(defs)
			}
		},
		[]string{"2027-03-01#/$defs/Tool", "members exceed the limit of 64"},
	},
	"a union of a string and an object": {
		member("Tool", "mood", `{"anyOf": [{"type": "string"}, {"$ref": "#/$defs/Icon"}]}`),
		[]string{"2027-03-01#/$defs/Tool/properties/mood", "several kinds of value", "Raw rule"},
	},
	"a union that may be null": {
		member("Tool", "mood", `{"anyOf": [{"$ref": "#/$defs/ContentBlock"}, {"type": "null"}]}`),
		[]string{"2027-03-01#/$defs/Tool/properties/mood", "several kinds of value", "Raw rule"},
	},
	"elements that may be null": {
		member("Tool", "mood", `{"type": "array", "items": {"type": ["string", "null"]}}`),
		[]string{"2027-03-01#/$defs/Tool/properties/mood/items", "may be null", "Raw rule"},
	},
	"a constant that is not a string": {
		member("Tool", "seven", `{"type": "integer", "const": 7}`),
		[]string{"2027-03-01#/$defs/Tool/properties/seven", "the constant 7", "Raw rule"},
	},
	"a union of enums": {
		define("Mood", `{"anyOf": [{"$ref": "#/$defs/Role"}, {"$ref": "#/$defs/LoggingLevel"}]}`),
		[]string{"2027-03-01#/$defs/Mood", `"Role" is not an object`},
	},
	"an integer bounded by a fraction": {
		member("Tool", "mood", `{"type": "integer", "minimum": 0.5}`),
		[]string{"2027-03-01#/$defs/Tool/properties/mood is integer from 0.5", "Raw rule"},
	},
	"a list of bounded lists": {
		member("Tool", "mood", `{"type": "array", "items": {"type": "array", "maxItems": 2, "items": {"type": "string"}}}`),
		[]string{"2027-03-01#/$defs/Tool/properties/mood/items", "bounded list", "Raw rule"},
	},
	"a list that contains itself": {
		define("Nest", `{"type": "array", "items": {"type": "object", "additionalProperties": {"$ref": "#/$defs/Nest"}}}`),
		[]string{"2027-03-01#/$defs/Nest", "contains itself", "Types rule"},
	},
	"a type of the runtime that changes": {
		define("RequestId", `{"type": "string"}`),
		[]string{"2027-03-01#/$defs/RequestId is string", "Types rule"},
	},
	"a type of the runtime that becomes an object": {
		define("ProgressToken", `{"type": "object", "properties": {"a": {"type": "string"}}}`),
		[]string{"2027-03-01#/$defs/ProgressToken is an object", "Types rule"},
	},
	"a struct that becomes a map of one type": {
		define("Icon", `{"type": "object", "additionalProperties": {"type": "string"}}`),
		[]string{"2027-03-01#/$defs/Icon is a map", "its own definition"},
	},
	"a definition that may be null": {
		combine(define("Maybe", `{"type": ["string", "null"]}`), member("Tool", "mood", `{"$ref": "#/$defs/Maybe"}`)),
		[]string{"2027-03-01#/$defs/Maybe", "may be null", "Raw rule"},
	},
	"scalars that may be null": {
		member("Tool", "mood", `{"type": ["boolean", "null", "number", "string"]}`),
		[]string{"2027-03-01#/$defs/Tool/properties/mood", "several kinds of value", "Raw rule"},
	},
	"scalars and objects": {
		member("Tool", "mood", `{"type": ["boolean", "number", "object", "string"]}`),
		[]string{"2027-03-01#/$defs/Tool/properties/mood", "several kinds of value", "Raw rule"},
	},
	"scalars and a list of integers": {
		member("Tool", "mood", `{"anyOf": [{"type": ["boolean", "number", "string"]}, {"type": "array", "items": {"type": "integer"}}]}`),
		[]string{"2027-03-01#/$defs/Tool/properties/mood", "several kinds of value", "Raw rule"},
	},
	"one value or a bounded list": {
		member("Tool", "mood", `{"anyOf": [{"$ref": "#/$defs/ContentBlock"}, {"type": "array", "maxItems": 2, "items": {"$ref": "#/$defs/ContentBlock"}}]}`),
		[]string{"2027-03-01#/$defs/Tool/properties/mood", "bounded list", "Raw rule"},
	},
	"one value or a list of another union": {
		member("Tool", "mood", `{"anyOf": [{"$ref": "#/$defs/ContentBlock"}, {"type": "array", "items": {"$ref": "#/$defs/SamplingMessageContentBlock"}}]}`),
		[]string{"2027-03-01#/$defs/Tool/properties/mood", "SamplingMessageContentBlock", "Renamed rule"},
	},
	"one of two types or a list of the union": {
		member("Tool", "mood", `{"anyOf": [{"$ref": "#/$defs/TextContent"}, {"$ref": "#/$defs/ImageContent"}, {"type": "array", "items": {"$ref": "#/$defs/ContentBlock"}}]}`),
		[]string{"2027-03-01#/$defs/Tool/properties/mood", "2027-03-01#/$defs/ContentBlock", "different members", "Raw rule"},
	},
	"the union or a list of two of its types": {
		member("Tool", "mood", `{"anyOf": [{"$ref": "#/$defs/ContentBlock"}, {"type": "array", "items": {"anyOf": [{"$ref": "#/$defs/TextContent"}, {"$ref": "#/$defs/ImageContent"}]}}]}`),
		[]string{"2027-03-01#/$defs/Tool/properties/mood/anyOf/1/items", "2027-03-01#/$defs/ContentBlock", "different members", "Raw rule"},
	},
	"the union or a list of one of its types": {
		member("Tool", "mood", `{"anyOf": [{"$ref": "#/$defs/ContentBlock"}, {"type": "array", "items": {"$ref": "#/$defs/TextContent"}}]}`),
		[]string{"2027-03-01#/$defs/Tool/properties/mood/anyOf/1/items", "2027-03-01#/$defs/ContentBlock", "different members", "Raw rule"},
	},
	"the union or a list of strings": {
		member("Tool", "mood", `{"anyOf": [{"$ref": "#/$defs/ContentBlock"}, {"type": "array", "items": {"type": "string"}}]}`),
		[]string{"2027-03-01#/$defs/Tool/properties/mood/anyOf/1/items", `"ContentBlock" is a union`},
	},
	"a union of a single list": {
		member("Tool", "mood", `{"anyOf": [{"type": "array", "items": {"type": "string"}}]}`),
		[]string{"2027-03-01#/$defs/Tool/properties/mood", "several kinds of value", "Raw rule"},
	},
	"a constant that is a fraction": {
		member("Tool", "half", `{"type": "number", "const": 0.5}`),
		[]string{"2027-03-01#/$defs/Tool/properties/half/const", "the constant 0.5"},
	},
	"parts of an allOf with different types": {
		define("Folded", `{"allOf": [{"$ref": "#/$defs/Icon"}, {"type": "object", "properties": {"src": {"type": "integer"}}}]}`),
		[]string{"2027-03-01#/$defs/Folded/allOf/1/properties/src", `"src" is integer here, but string`},
	},
	"an allOf with a map of one type": {
		define("Folded", `{"allOf": [{"$ref": "#/$defs/Icon"}, {"type": "object", "additionalProperties": {"type": "string"}}]}`),
		[]string{"2027-03-01#/$defs/Folded/allOf/1", "map of one type"},
	},
	"a type that contains itself": {
		combine(define("NodeA", `{"type": "object", "required": ["next"], "properties": {"next": {"$ref": "#/$defs/NodeB"}}}`),
			define("NodeB", `{"type": "object", "required": ["next"], "properties": {"next": {"$ref": "#/$defs/NodeA"}}}`)),
		[]string{"2027-03-01#/$defs/NodeA", "no value is finite", "optional"},
	},
}

func TestMergeErrors(t *testing.T) {
	for _, table := range []map[string]mergeError{changedForms, clashingNames, brokenMessages, unsupportedTypes} {
		for name, r := range table {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				skipMost(t)
				p, err := futureModel(t, r.edit)
				if err == nil { // only the emitter reports it
					_, err = emit.Files(p)
				}
				require.Error(t, err)
				for _, want := range r.want {
					require.Contains(t, err.Error(), want)
				}
			})
		}
	}
}

// small is a set of schemas with one method.
var small = combine(func(defs object) { clear(defs) },
	define("MoodRequest", `{"type": "object", "required": ["method", "params"], "properties": {"method": {"type": "string", "const": "acme/mood"},
		"params": {"type": "object", "properties": {"of": {"type": "string"}}}}}`),
	define("MoodResult", `{"type": "object", "required": ["mood"], "properties": {"mood": {"type": "string"}}}`),
	define("ClientRequest", `{"anyOf": [{"$ref": "#/$defs/MoodRequest"}]}`))

func TestSchemasWithoutRequiredDefinitions(t *testing.T) {
	own := func(edits ...edit) error {
		files := sources([]*load.File{futureFile(t, edits...)})
		p, err := ir.Build(files, &rules, noDocs(t))
		if err == nil {
			_, err = emit.Files(p)
		}
		return err
	}
	require.EqualError(t, own(small), `merge: 2027-03-01#/$defs/MoodRequest: a rule requires "RequestMetaObject" here, but no schema defines it`)
	require.EqualError(t, own(small, define("RequestMetaObject", `{"type": "object", "properties": {"trace": {"type": "string"}}}`)),
		`print session_core.go: no schema defines "Implementation"`)
}
