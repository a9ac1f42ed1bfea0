package main

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// joins are changes that one Go declaration represents, with the line in the summary and
// lines of the generated code.
var joins = map[string]struct {
	edit  edit
	join  string
	file  string
	lines []string
}{
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
	"a renamed definition": {
		renamedAnnotations("ToolHints"),
		"ToolAnnotations: Its name is ToolHints in some revisions.",
		"tools.go", []string{"type ToolHints = ToolAnnotations", "Annotations *ToolAnnotations"},
	},
	"a response with two results": {
		func(defs object) {
			defs["CompleteResultResponse"].(object)["properties"].(object)["result"] = parsed(`{"anyOf": [{"$ref": "#/$defs/CompleteResult"}, {"$ref": "#/$defs/GetPromptResult"}]}`)
		},
		"method completion/complete: The result may also be GetPromptResult in 2027-03-01, which is not decoded.",
		"methods.go", nil,
	},
	"a member named like an older member": {
		member("Tool", "input_schema", `{"type": "string"}`), "", "tools.go", []string{"InputSchemaValue string", "InputSchema json.RawMessage"},
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
	"a member named like a method": {
		member("Tool", "error", `{"type": "string"}`), "", "tools.go", []string{"ErrorValue string"},
	},
}

// code sets the code of an error.
func code(definition, code string) edit {
	return func(defs object) {
		part := defs[definition].(object)["properties"].(object)["error"].(object)["allOf"].([]any)[1].(object)
		part["properties"].(object)["code"] = parsed(`{"type": "integer", "const": ` + code + `}`)
	}
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

func TestJoinsAreRefused(t *testing.T) {
	for name, x := range map[string]struct {
		edit edit
		want string
	}{
		"elements of a list":             {member("Annotations", "audience", `{"type": "array", "items": {"type": "integer"}}`), "write a Raw rule"},
		"an enum in one place only":      {combine(define("ResultType", `{"type": "string", "enum": ["complete"]}`), member("CallToolResult", "resultType", `{"$ref": "#/$defs/ResultType"}`)), "any string in another"},
		"null without a required member": {member("ProgressNotificationParams", "total", `{"type": ["number", "null"]}`), "write a Raw rule"},
		"an object in place of a union": {define("EnumSchema", `{"type": "object", "required": ["type"], "properties": {"type": {"type": "string", "const": "string"},
			"enum": {"type": "array", "items": {"type": "string"}}, "enumNames": {"type": "array", "items": {"type": "string"}}}}`), "write a Widen rule for 2027-03-01"},
		"an optional number with a default": {func(defs object) { defs["CacheableResult"].(object)["required"] = []any{"resultType", "cacheScope"} }, "cannot represent both 0 and absence"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := futureModel(t, x.edit)
			require.ErrorContains(t, err, x.want)
		})
	}
}
