package main

import (
	"fmt"
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
	"a _meta that is not an object": {
		member("CallToolResult", "_meta", `{"type": "string"}`),
		[]string{"2027-03-01#/$defs/CallToolResult/properties/_meta is string", "2026-07-28#/$defs/CallToolResult/properties/_meta"},
	},
	"any JSON that becomes a string": {
		define("JSONValue", `{"type": "string"}`),
		[]string{"2027-03-01#/$defs/JSONValue is string", "change its Types rule"},
	},
	"any JSON without lists": {
		define("JSONValue", `{"anyOf": [{"$ref": "#/$defs/JSONObject"}, {"type": ["string", "number", "boolean", "null"]}]}`),
		[]string{"2027-03-01#/$defs/JSONValue is a union", "change its Types rule"},
	},
	"any object that becomes an object with members": {
		define("JSONObject", `{"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}}`),
		[]string{"2027-03-01#/$defs/JSONObject is an object", "change its Types rule"},
	},
	"a _meta with objects only": {
		define("MetaObject", `{"type": "object", "additionalProperties": {"$ref": "#/$defs/JSONObject"}}`),
		[]string{"2027-03-01#/$defs/MetaObject is a map", "change its Types rule"},
	},
	"data of an error that becomes a list": {
		func(defs object) {
			parts := defs["UnsupportedProtocolVersionError"].(object)["properties"].(object)["error"].(object)["allOf"].([]any)
			parts[1].(object)["properties"].(object)["data"] = parsed(`{"type": "array", "items": {"type": "string"}}`)
		},
		[]string{"2027-03-01#/$defs/UnsupportedProtocolVersionError/properties/error/allOf/1/properties/data", "is an array here, but an object in 2026-07-28"},
	},
	"a result that becomes a union of definitions": {
		combine(func(defs object) { defs["CallToolContent"] = defs["CallToolResult"] }, define("CallToolResult", `{"anyOf": [{"$ref": "#/$defs/CallToolContent"}, {"$ref": "#/$defs/CallToolTask"}]}`),
			define("CallToolTask", `{"type": "object", "required": ["resultType", "task"], "properties": {"resultType": {"type": "string"}, "task": {"type": "string"}}}`)),
		[]string{"2027-03-01#/$defs/CallToolResult", `the result of "tools/call" is not an object with members`},
	},
	"params that are a union and become another object": {
		func(defs object) {
			defs["ElicitRequest"].(object)["properties"].(object)["params"] = parsed(`{"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}}`)
			delete(defs, "ElicitRequestParams")
		},
		[]string{"2027-03-01#/$defs/ElicitRequest/properties/params", `"ElicitRequestParams" is a union in another revision, and 0 of its members match this object`},
	},
	"a result type that is an object": {
		resultTypes(`{"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}`),
		[]string{"2027-03-01#/$defs/CallToolResult/properties/resultType is an object", "2026-07-28#/$defs/CallToolResult/properties/resultType"},
	},
	"the values of the type of one result": {
		combine(define("ResultType", `{"type": "string", "enum": ["complete"]}`), member("CallToolResult", "resultType", `{"$ref": "#/$defs/ResultType"}`)),
		[]string{"2027-03-01#/$defs/ResultType is ", "one revision has an enum in one place and any string in another"},
	},
	"a _meta of another type": {
		combine(define("OtherMeta", `{"type": "object", "properties": {"z": {"type": "string"}}}`), member("CallToolResult", "_meta", `{"$ref": "#/$defs/OtherMeta"}`)),
		[]string{futureRevision, "2026-07-28", "#/$defs/CallToolResult", "from *ResultMeta to *OtherMeta", `Change rule for "CallToolResult._meta"`},
	},
}

// clashingNames are names that are already in use.
var clashingNames = map[string]mergeError{
	"metadata that becomes another name of a type": {
		define("NotificationMetaObject", `{"$ref": "#/$defs/RequestMetaObject"}`),
		[]string{"2027-03-01#/$defs/NotificationMetaObject", `another name of "RequestMetaObject"`, "a part of messages"},
	},
	"the result of another request that may ask for input": {
		member("ListToolsResultResponse", "result", `{"anyOf": [{"$ref": "#/$defs/ReadResourceResult"}, {"$ref": "#/$defs/InputRequiredResult"}]}`),
		[]string{"2027-03-01#/$defs/ListToolsRequest", `the result of "tools/list" changed`},
	},
	"a result that becomes another name of a result": {
		define("ListToolsResult", `{"$ref": "#/$defs/ListPromptsResult"}`),
		[]string{"2027-03-01#/$defs/ListToolsResult", `another name of "ListPromptsResult"`, "a part of messages"},
	},
	"metadata that may be null": {
		define("NotificationMetaObject", `{"anyOf": [{"type": "object", "properties": {"a": {"type": "string"}}}, {"type": "null"}]}`),
		[]string{"2027-03-01#/$defs/NotificationMetaObject"},
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
}

// brokenMessages are messages, results and errors that cannot be sent or
// distinguished.
var brokenMessages = map[string]mergeError{
	"a method that becomes the method of another message": {
		method("CallToolRequest", "tools/list"),
		[]string{"2027-03-01#/$defs/CallToolRequest", `"tools/list"`, `"CallToolRequest"`, `"ListToolsRequest"`},
	},
	"a method that is different in a union of one message": {
		method("CancelledNotification", "notifications/stopped"),
		[]string{"2027-03-01#/$defs/ClientNotification", `the union of messages "ClientNotification" lists no message`},
	},
	"a notification with the method of a request": {
		method("ProgressNotification", "tools/list"),
		[]string{"2027-03-01#/$defs/ProgressNotification", `"tools/list"`, `"ProgressNotification"`, `"ListToolsRequest"`},
	},
	"a notification that gets an id": {
		combine(func(defs object) {
			defs["LoggingMessageNotification"].(object)["properties"].(object)["id"] = parsed(`{"$ref": "#/$defs/RequestId"}`)
		}, alsoRequired("LoggingMessageNotification", "id")),
		[]string{"2027-03-01#/$defs/LoggingMessageNotification", `the notification "notifications/message" has an id here`},
	},
	"a request that loses its id": {
		combine(func(defs object) { delete(defs["CompleteRequest"].(object)["properties"].(object), "id") }, notRequired("CompleteRequest", "id")),
		[]string{"2027-03-01#/$defs/CompleteRequest", `the request "completion/complete" has no id here`},
	},
	"a method without a name": {
		request("MuteRequest", ""),
		[]string{"2027-03-01#/$defs/MuteRequest/properties/method", "is empty"},
	},
	"a message in a value": {
		member("Tool", "call", `{"$ref": "#/$defs/CallToolRequest"}`),
		[]string{"2027-03-01#/$defs/Tool/properties/call", "a message cannot be a part of another value"},
	},
	"a message in a union of values": {
		member("Tool", "call", `{"type": "array", "items": {"anyOf": [{"$ref": "#/$defs/CallToolRequest"}, {"type": "string"}]}}`),
		[]string{"2027-03-01#/$defs/Tool/properties/call/items", "a message cannot be a part of another value"},
	},
	"a method defined twice": {
		combine(newServerNotification, func(defs object) { defs["AgainNotification"] = clone(defs["QuotaNotification"]) }, addToUnion("ServerNotification", "AgainNotification")),
		[]string{"2027-03-01#/$defs/AgainNotification", `"notifications/quota"`, `"AgainNotification"`, `"QuotaNotification"`},
	},
	"an error without data whose code becomes the code of another": {
		code("HeaderMismatchError", "-32602"),
		[]string{"2026-07-28#/$defs/HeaderMismatchError", "-32602", `"HeaderMismatchError"`, `"InvalidParamsError"`},
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
	"more than 64 members": {
		func(defs object) {
			for i := range 60 {
				member("Tool", fmt.Sprintf("member%d", i), `{"type": "string"}`)(defs)
			}
		},
		[]string{"2027-03-01#/$defs/Tool", "members exceed the limit of 64"},
	},
	"a type of the runtime that changes": {
		define("RequestId", `{"type": "string"}`),
		[]string{"2027-03-01#/$defs/RequestId is string", "Types rule"},
	},
	"a type of the runtime that becomes an object": {
		define("ProgressToken", `{"type": "object", "properties": {"a": {"type": "string"}}}`),
		[]string{"2027-03-01#/$defs/ProgressToken is an object", "Types rule"},
	},
	"a constant that its type forbids": {
		member("Tool", "half", `{"type": "integer", "const": 0.5}`),
		[]string{"2027-03-01#/$defs/Tool/properties/half/const", "no value of the const has the type integer"},
	},
	"a part of an allOf that forbids other members": {
		define("Folded", `{"allOf": [{"$ref": "#/$defs/Icon"}, {"type": "object", "properties": {"src": {"type": "string"}}, "additionalProperties": false}]}`),
		[]string{"2027-03-01#/$defs/Folded/allOf/1", "cannot forbid the members of other parts"},
	},
	"a message without other members": {
		closed("CallToolRequest"), []string{"2027-03-01#/$defs/CallToolRequest", "the codec ignores its other members"},
	},
	"a response without other members": {
		closed("CallToolResultResponse"), []string{"2027-03-01#/$defs/CallToolResultResponse", "the codec ignores its other members"},
	},
	"metadata without other members": {
		closed("RequestMetaObject"), []string{"2027-03-01#/$defs/RequestMetaObject", "the runtime writes other members"},
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
