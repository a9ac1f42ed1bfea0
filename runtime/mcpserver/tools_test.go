package mcpserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/tasks"
)

type forecastInput struct {
	City string `json:"city" jsonschema:"the city's name"`
	Days int    `json:"days,omitempty" minimum:"1" maximum:"7" default:"1"`
}

func forecast(_ context.Context, _ *mcp.ServerSession, in forecastInput) (string, error) {
	return fmt.Sprintf("%s: %d sunny days", in.City, in.Days), nil
}

func newForecaster(opts *mcpserver.Options) *mcpserver.Server {
	s := mcpserver.New(info, opts)
	mcpserver.AddTool(s, &mcp.Tool{Name: "forecast", Description: "Tells the weather."}, forecast)
	return s
}

// tool returns a server with one tool, which accepts any arguments.
func tool[Out any](opts *mcpserver.Options, def *mcp.Tool, h func(context.Context) (Out, error)) *mcpserver.Server {
	s := mcpserver.New(info, opts)
	def.Name = "t"
	mcpserver.AddTool(s, def, func(ctx context.Context, _ *mcp.ServerSession, _ any) (Out, error) { return h(ctx) })
	return s
}

func returns[Out any](out Out, err error) func(context.Context) (Out, error) {
	return func(context.Context) (Out, error) { return out, err }
}

func TestToolInEveryRevision(t *testing.T) {
	inEveryRevision(t, func(t *testing.T, revision string) {
		c := connect(t, newForecaster(nil), revision)
		list := c.call("tools/list", `{}`)["tools"].([]any)
		require.Len(t, list, 1)
		require.Equal(t, "forecast", list[0].(map[string]any)["name"])
		require.Equal(t, "Ulm: 1 sunny days", text(t, c.call("tools/call", `{"name":"forecast","arguments":{"city":"Ulm"}}`)))
		require.Equal(t, "Ulm: 3 sunny days", text(t, c.call("tools/call", `{"name":"forecast","arguments":{"city":"Ulm","days":3.0}}`)))
	})
}

func TestSchemaIsInferredFromInput(t *testing.T) {
	for _, open := range []bool{false, true} {
		c := connect(t, newForecaster(&mcpserver.Options{AllowUnknownArguments: open}), modern)
		tools := c.call("tools/list", `{}`)["tools"].([]any)
		schema, err := json.Marshal(tools[0].(map[string]any)["inputSchema"])
		require.NoError(t, err)
		closed := `"additionalProperties": false,`
		if open {
			closed = ""
		}
		require.JSONEq(t, `{
			"type": "object", `+closed+` "required": ["city"], "properties": {
				"city": {"type": "string", "description": "the city's name"},
				"days": {"type": "integer", "minimum": 1, "maximum": 7, "default": 1}
			}
		}`, string(schema))
		res := c.call("tools/call", `{"name":"forecast","arguments":{"city":"Ulm","Days":3}}`)
		require.Equal(t, open, res["isError"] == nil)
	}
}

func TestInvalidArgumentsAreExplainedToModel(t *testing.T) {
	c := connect(t, newForecaster(nil), modern)
	for arguments, says := range map[string][]string{
		`{}`:                                   {"city"},
		`null`:                                 {"city"},
		`{"city":1}`:                           {"/city", "string"},
		`{"city":"Ulm","days":8}`:              {"/days", "7"},
		`{"city":"Ulm","days":1.5}`:            {"/days", "integer"},
		`{"CITY":"Ulm","days":0}`:              {"'city'", "'CITY'", "/days"},
		`{"city":"Ulm","days":99999999999999}`: {"/days"},
	} {
		params := `{"name":"forecast","arguments":` + arguments + `}`
		if arguments == "null" {
			params = `{"name":"forecast"}`
		}
		res := c.call("tools/call", params)
		require.Equal(t, true, res["isError"], arguments)
		for _, word := range says {
			require.Contains(t, text(t, res), word)
		}
	}
}

func TestHostileArgumentsAreRejected(t *testing.T) {
	c := connect(t, newForecaster(nil), modern)
	for _, arguments := range []string{
		`{"city":"` + strings.Repeat("x", 100_000) + `","days":9}`,
		`{"` + strings.Repeat("y", 100_000) + `":1}`,
		`{"city":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`,
		`{"city":"Ulm","days":1e300}`,
	} {
		res := c.call("tools/call", `{"name":"forecast","arguments":`+arguments+`}`)
		require.Equal(t, true, res["isError"])
		require.Less(t, len(text(t, res)), 2000)
	}
	require.Equal(t, "Ulm: 2 sunny days", text(t, c.call("tools/call", `{"name":"forecast","arguments":{"city":"Ulm","days":2}}`)))
}

type place struct {
	Lat  float64  `json:"lat"`
	Tags []string `json:"tags"`
}

func TestResultDependsOnType(t *testing.T) {
	whole := &mcp.CallToolResult{Content: []mcp.ContentBlock{mcp.Text("a"), mcp.Text("b")}}
	call := func(s *mcpserver.Server, revision string) (map[string]any, map[string]any) {
		c := connect(t, s, revision)
		tools := c.call("tools/list", `{}`)["tools"].([]any)
		return c.call("tools/call", `{"name":"t"}`), tools[0].(map[string]any)
	}

	res, def := call(tool(nil, &mcp.Tool{}, returns("hi", nil)), modern)
	require.Equal(t, "hi", text(t, res))
	require.NotContains(t, def, "outputSchema")
	require.NotContains(t, res, "structuredContent")

	res, _ = call(tool(nil, &mcp.Tool{}, returns(whole, nil)), modern)
	require.Len(t, res["content"], 2)

	res, _ = call(tool(nil, &mcp.Tool{}, returns(struct{}{}, nil)), modern)
	require.Empty(t, res["content"])

	res, def = call(tool(nil, &mcp.Tool{}, returns(place{Lat: 1}, nil)), "2025-06-18")
	require.JSONEq(t, `{"lat":1,"tags":null}`, text(t, res))
	require.Equal(t, map[string]any{"lat": 1.0, "tags": nil}, res["structuredContent"])
	require.Equal(t, "object", def["outputSchema"].(map[string]any)["type"])

	res, def = call(tool(nil, &mcp.Tool{}, returns([]int{1, 2}, nil)), modern)
	require.Equal(t, []any{1.0, 2.0}, res["structuredContent"])
	require.Contains(t, def, "outputSchema")

	res, def = call(tool(nil, &mcp.Tool{}, returns([]int{1, 2}, nil)), "2025-11-25")
	require.Equal(t, "[1,2]", text(t, res))
	require.NotContains(t, res, "structuredContent")
	require.NotContains(t, def, "outputSchema")

	res, def = call(tool(nil, &mcp.Tool{}, returns(any(map[string]string{"a": "<b>"}), nil)), modern)
	require.Equal(t, `{"a":"<b>"}`, text(t, res))
	require.NotContains(t, def, "outputSchema")

	res, def = call(tool(nil, &mcp.Tool{}, returns(json.RawMessage(`{"a": 1}`), nil)), modern)
	require.Equal(t, map[string]any{"a": 1.0}, res["structuredContent"])
	require.NotContains(t, def, "outputSchema", "anything at all")

	res, def = call(tool(nil, &mcp.Tool{}, returns(celsius(20), nil)), modern)
	require.Equal(t, "20 °C", res["structuredContent"])
	require.NotContains(t, def, "outputSchema", "its JSON is of its own making")

	type exact struct {
		Sums [1]big.Float `json:"sums"`
	}
	res, _ = call(tool(nil, &mcp.Tool{}, returns(exact{[1]big.Float{*big.NewFloat(5)}}, nil)), modern)
	require.Equal(t, map[string]any{"sums": []any{"5"}}, res["structuredContent"], "a pointer to it writes text")
}

// spoken is a result with a text for the model.
type spoken struct {
	Seats int `json:"seats"`
}

func (s *spoken) ModelText() string { return fmt.Sprint(s.Seats, " seats are left") }

func TestResultWithModelText(t *testing.T) {
	for name, s := range map[string]*mcpserver.Server{
		"value":   tool(nil, &mcp.Tool{}, returns(spoken{2}, nil)),
		"pointer": tool(nil, &mcp.Tool{}, returns(&spoken{2}, nil)),
		"any":     tool(nil, &mcp.Tool{}, returns(any(&spoken{2}), nil)),
	} {
		t.Run(name, func(t *testing.T) {
			res := connect(t, s, modern).call("tools/call", `{"name":"t"}`)
			require.Equal(t, "2 seats are left", text(t, res))
			require.Equal(t, map[string]any{"seats": 2.0}, res["structuredContent"])
		})
	}
	none := tool(nil, &mcp.Tool{}, returns[*spoken](nil, nil))
	require.Equal(t, true, connect(t, none, modern).call("tools/call", `{"name":"t"}`)["isError"], "nobody is asked for a text")
}

func TestResultThatViolatesSchemaIsToolError(t *testing.T) {
	var log bytes.Buffer
	opts := &mcpserver.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}
	strict := json.RawMessage(`{"type":"object","required":["x"]}`)
	for name, s := range map[string]*mcpserver.Server{
		"structured": tool(opts, &mcp.Tool{OutputSchema: strict}, returns(place{}, nil)),
		"whole":      tool(opts, &mcp.Tool{OutputSchema: strict}, returns(&mcp.CallToolResult{}, nil)),
		"none":       tool(opts, &mcp.Tool{}, returns[*mcp.CallToolResult](nil, nil)),
		"nil":        tool(opts, &mcp.Tool{}, returns[*place](nil, nil)),
		"nil number": tool(opts, &mcp.Tool{}, returns[*big.Int](nil, nil)),
		"nil map":    tool(opts, &mcp.Tool{}, returns[map[string]int](nil, nil)),
		"nil below":  tool(opts, &mcp.Tool{}, returns(new(map[string]int), nil)),
		"unwritable": tool(opts, &mcp.Tool{}, returns(any(make(chan int)), nil)),
	} {
		t.Run(name, func(t *testing.T) {
			log.Reset()
			res := connect(t, s, modern).call("tools/call", `{"name":"t"}`)
			require.Equal(t, true, res["isError"])
			require.Contains(t, log.String(), "tool failed")
		})
	}
	failed := tool(opts, &mcp.Tool{OutputSchema: strict}, returns(mcp.ErrorResult("no"), nil))
	require.Equal(t, "no", text(t, connect(t, failed, modern).call("tools/call", `{"name":"t"}`)))
}

// explained is an error with a text for the model.
type explained struct{}

func (explained) Error() string     { return "secret" }
func (explained) ModelText() string { return "try later" }

func TestErrorTexts(t *testing.T) {
	var log bytes.Buffer
	opts := &mcpserver.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}
	call := func(err error) message {
		return connect(t, tool(opts, &mcp.Tool{}, returns("", err)), modern).ask("tools/call", `{"name":"t"}`)
	}
	result := func(m message) map[string]any {
		require.Nil(t, m.Error)
		var res map[string]any
		require.NoError(t, json.Unmarshal(m.Result, &res))
		require.Equal(t, true, res["isError"])
		return res
	}
	cause := errors.New("file of 7 lines")
	require.Equal(t, "no such day: file of 7 lines", text(t, result(call(mcpserver.Errorf("no such day: %w", cause)))))
	require.ErrorIs(t, mcpserver.Errorf("no: %w", cause), cause)
	require.Equal(t, "try later", text(t, result(call(fmt.Errorf("outer: %w", explained{})))))
	require.Empty(t, log.String())

	res := result(call(errors.New("password is hunter2")))
	require.NotContains(t, text(t, res), "hunter2")
	require.Contains(t, log.String(), "hunter2")
	_, after, _ := strings.Cut(log.String(), "id=")
	id, _, _ := strings.Cut(after, " ")
	require.Contains(t, text(t, res), id)

	m := call(fmt.Errorf("wrapped: %w", &peer.Error{Code: 7, Message: "seven"}))
	require.Equal(t, int64(7), m.Error.Code)
	require.Equal(t, "seven", m.Error.Message)

	m = call(mcpserver.NotFound("a:b"))
	require.Equal(t, int64(mcp.CodeInvalidParams), m.Error.Code)
	require.JSONEq(t, `{"uri":"a:b"}`, string(m.Error.Data))
}

func TestPanicIsInternalError(t *testing.T) {
	var log bytes.Buffer
	s := tool(&mcpserver.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, &mcp.Tool{}, func(context.Context) (string, error) {
		panic("hunter2")
	})
	m := connect(t, s, modern).refused("tools/call", `{"name":"t"}`, mcp.CodeInternal)
	require.NotContains(t, m.Error.Message, "hunter2")
	require.Contains(t, log.String(), "hunter2")
	require.Contains(t, log.String(), "tools_test.go")
}

func TestToolThatCannotAskExplainsWhy(t *testing.T) {
	ask := func(ctx context.Context) (string, error) {
		_, err := mcp.SessionFromContext(ctx).ListRoots(ctx)
		return "", err
	}
	res := connect(t, tool(nil, &mcp.Tool{}, ask), "2025-06-18").call("tools/call", `{"name":"t"}`)
	require.Equal(t, true, res["isError"])
	require.Contains(t, text(t, res), "roots")
	elicit := func(ctx context.Context) (string, error) {
		_, err := mcpserver.Elicit[struct{ Name string }](ctx, mcp.SessionFromContext(ctx), "Who?")
		return "", err
	}
	res = connect(t, tool(nil, &mcp.Tool{}, elicit), "2025-03-26").call("tools/call", `{"name":"t"}`)
	require.Equal(t, true, res["isError"])
	require.Contains(t, text(t, res), `sends "elicitation/create" requests to the client, which protocol revision 2025-03-26 does not support`)

	m := connect(t, tool(nil, &mcp.Tool{}, ask), modern).refused("tools/call", `{"name":"t"}`, mcp.CodeMissingRequiredClientCapability)
	require.JSONEq(t, `{"requiredCapabilities":{"roots":{}}}`, string(m.Error.Data))
}

func TestUnknownToolIsError(t *testing.T) {
	c := connect(t, newForecaster(nil), modern)
	m := c.refused("tools/call", `{"name":"nope"}`, mcp.CodeInvalidParams)
	require.Contains(t, m.Error.Message, `"nope"`)
	m = c.refused("tools/call", `{"name":"`+strings.Repeat("x", 100_000)+`"}`, mcp.CodeInvalidParams)
	require.Less(t, len(m.Error.Message), 300)
}

func TestServerWithoutToolsHasNoToolMethods(t *testing.T) {
	inEveryRevision(t, func(t *testing.T, revision string) {
		c := connect(t, mcpserver.New(info, nil), revision)
		for _, method := range []string{"tools/list", "prompts/list", "resources/list", "resources/templates/list"} {
			c.refused(method, `{}`, mcp.CodeMethodNotFound)
		}
		c.refused("tools/call", `{"name":"x"}`, mcp.CodeMethodNotFound)
		c.refused("prompts/get", `{"name":"x"}`, mcp.CodeMethodNotFound)
		c.refused("resources/read", `{"uri":"a:b"}`, mcp.CodeMethodNotFound)
		c.refused("completion/complete", `{"ref":{"type":"ref/prompt","name":"x"},"argument":{"name":"a","value":""}}`, mcp.CodeMethodNotFound)
	})
}

func TestRawToolKeepsSchema(t *testing.T) {
	s := mcpserver.New(info, nil)
	schema := `{"$schema": "https://json-schema.org/draft/2020-12/schema", "x-own": 1.0, "type": "object", "if": {}, "properties": {"n": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "integer"}}}`
	def := &mcp.Tool{Name: "raw", InputSchema: json.RawMessage(schema), OutputSchema: json.RawMessage(`{"type":"object"}`)}
	s.AddRawTool(def, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{StructuredContent: req.Arguments}, nil
	})
	c := connect(t, s, modern)
	c.start("tools/list", `{}`)
	line, err := c.lines.ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, strings.NewReplacer(": ", ":", ", ", ",").Replace(schema))
	require.Equal(t, map[string]any{"n": 1.0}, c.call("tools/call", `{"name":"raw","arguments":{"n":1.0}}`)["structuredContent"])
	require.Equal(t, true, c.call("tools/call", `{"name":"raw","arguments":{"n":"1"}}`)["isError"])
}

func TestGoexitInToolIsInternalError(t *testing.T) {
	inEveryRevision(t, func(t *testing.T, revision string) {
		s := newForecaster(nil)
		mcpserver.AddTool(s, &mcp.Tool{Name: "ends"}, func(ctx context.Context, _ *mcp.ServerSession, _ any) (string, error) {
			return mcpserver.Once(ctx, "step", func(context.Context, string) (string, error) {
				runtime.Goexit()
				return "", nil
			})
		})
		c := connect(t, s, revision)
		for range 2 {
			c.refused("tools/call", `{"name":"ends"}`, mcp.CodeInternal)
		}
		require.Equal(t, "Ulm: 1 sunny days", text(t, c.call("tools/call", `{"name":"forecast","arguments":{"city":"Ulm"}}`)))
	})
}

func TestExpensiveArgumentsAreRejected(t *testing.T) {
	s := mcpserver.New(info, nil)
	schema := `{"type":"object","properties":{"list":{"items":{"allOf":[` + strings.Repeat(`{"type":"string"},`, 99) + `{"minLength":1}]}}}}`
	s.AddRawTool(&mcp.Tool{Name: "raw", InputSchema: json.RawMessage(schema)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.TextResult("ok"), nil
		})
	c := connect(t, s, modern)
	result := c.call("tools/call", `{"name":"raw","arguments":{"list":[`+strings.Repeat(`"b",`, 400_000)+`"b"]}}`)
	require.Equal(t, true, result["isError"])
	require.Contains(t, fmt.Sprint(result["content"]), "validation would take too long")
	require.Nil(t, c.call("tools/call", `{"name":"raw","arguments":{"list":["a"]}}`)["isError"])
}

// Other SDKs accept these schemas.
func TestInputSchemaGetsTypeObject(t *testing.T) {
	for given, sent := range map[string]string{
		`{}`:                              `{"type":"object"}`,
		`true`:                            `{"type":"object"}`,
		`{"required":["a"]}`:              `{"type":"object","required":["a"]}`,
		`{"type":["null","object"]}`:      `{"type":"object"}`,
		`{"Type":"object","title":"A B"}`: `{"Type":"object","title":"A B","type":"object"}`,
	} {
		s := mcpserver.New(info, nil)
		s.AddRawTool(&mcp.Tool{Name: "x", InputSchema: json.RawMessage(given)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.TextResult("called"), nil
		})
		c := connect(t, s, modern)
		tools := c.call("tools/list", `{}`)["tools"].([]any)
		require.JSONEq(t, sent, string(must(json.Marshal(tools[0].(map[string]any)["inputSchema"]))), given)
		require.Equal(t, "called", text(t, c.call("tools/call", `{"name":"x","arguments":{"a":1}}`)))
		require.NoError(t, s.Validate())
	}
}

// Other SDKs accept an empty name too.
func TestNamesMayBeEmpty(t *testing.T) {
	var log strings.Builder
	s := mcpserver.New(info, &mcpserver.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	mcpserver.AddTool(s, &mcp.Tool{}, func(context.Context, *mcp.ServerSession, any) (string, error) { return "called", nil })
	s.AddRawPrompt(&mcp.Prompt{Arguments: []mcp.PromptArgument{{Name: "x"}, {Name: "x"}, {}}}, noPrompt)
	s.AddResource(&mcp.Resource{}, noRead)
	require.Equal(t, 3, strings.Count(log.String(), "some clients reject"))
	c := connect(t, s, modern)
	require.Equal(t, "called", text(t, c.call("tools/call", `{"name":""}`)))
	require.Equal(t, []string{""}, listed(c, "prompts/list", "prompts", "name"))
	require.Equal(t, []string{""}, listed(c, "resources/list", "resources", "uri"))
}

func TestInvalidToolsPanic(t *testing.T) {
	s := mcpserver.New(info, nil)
	h := func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, nil }
	for name, def := range map[string]mcp.Tool{
		"no object":        {Name: "x", InputSchema: json.RawMessage(`{"type":"array"}`)},
		"no objects":       {Name: "x", InputSchema: json.RawMessage(`{"type":["array","null"]}`)},
		"nothing":          {Name: "x", InputSchema: json.RawMessage(`false`)},
		"no schema":        {Name: "x", InputSchema: json.RawMessage(`{"type":"object","properties":1}`)},
		"no JSON":          {Name: "x", InputSchema: json.RawMessage(`{"type":"object"`)},
		"outside":          {Name: "x", InputSchema: json.RawMessage(`{"type":"object","$ref":"https://example.com/x"}`)},
		"bad output":       {Name: "x", OutputSchema: json.RawMessage(`{"type":"thing"}`)},
		"bad header":       {Name: "x", InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"a b"}}}`)},
		"bad metadata":     {Name: "x", Meta: map[string]json.RawMessage{"a": json.RawMessage(`{`)}},
		"a doubled member": {Name: "x", InputSchema: json.RawMessage(`{"type":"object","type":"object"}`)},
	} {
		t.Run(name, func(t *testing.T) {
			err := s.TryAddRawTool(&def, h)
			require.ErrorContains(t, err, fmt.Sprintf("mcpserver: tool %q: ", def.Name))
			require.Panics(t, func() {
				mcpserver.AddTool(s, &def, func(context.Context, *mcp.ServerSession, map[string]any) (any, error) { return nil, nil })
			})
		})
	}
	err := s.TryAddRawTool(&mcp.Tool{Name: "x", InputSchema: json.RawMessage(`{"type":"object","type":"object"}`)}, h)
	require.ErrorContains(t, err, "duplicate", "the cause, and not what follows from it")
	require.PanicsWithError(t, `mcpserver: tool "x": handler is nil`, func() { s.AddRawTool(&mcp.Tool{Name: "x"}, nil) })
	require.Panics(t, func() { mcpserver.AddTool[any, any](s, &mcp.Tool{Name: "x"}, nil) })
	require.PanicsWithError(t, `mcpserver: tool "x": result type must be *mcp.CallToolResult`, func() {
		mcpserver.AddTool(s, &mcp.Tool{Name: "x"}, func(context.Context, *mcp.ServerSession, any) (mcp.CallToolResult, error) {
			return mcp.CallToolResult{}, nil
		})
	})
	require.Panics(t, func() {
		mcpserver.AddTool(s, &mcp.Tool{Name: "x"}, func(context.Context, *mcp.ServerSession, chan int) (string, error) { return "", nil })
	})
	require.Panics(t, func() {
		mcpserver.AddTool(s, &mcp.Tool{Name: "x"}, func(context.Context, *mcp.ServerSession, int) (string, error) { return "", nil })
	})
	require.Panics(t, func() {
		mcpserver.AddTool(s, &mcp.Tool{Name: "x"}, func(context.Context, *mcp.ServerSession, any) (chan int, error) { return nil, nil })
	})
}

func TestToolMayHaveAnyName(t *testing.T) {
	for name, suits := range map[string]bool{
		"a": true, "A.b-c_9": true, strings.Repeat("x", 128): true,
		"files/read": false, "read file": false, "größe": false, "two\nlines": false, strings.Repeat("x", 129): false,
	} {
		var log strings.Builder
		s := mcpserver.New(info, &mcpserver.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		s.AddRawTool(&mcp.Tool{Name: name}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.TextResult(req.Name), nil
		})
		require.Equal(t, !suits, strings.Contains(log.String(), "some clients reject the name"), name)
		c := connect(t, s, modern)
		require.Equal(t, []string{name}, listed(c, "tools/list", "tools", "name"))
		require.Equal(t, name, text(t, c.call("tools/call", fmt.Sprintf(`{"name":%s}`, must(json.Marshal(name))))))

		log.Reset()
		mcpserver.AddTool(s, &mcp.Tool{Name: name}, func(context.Context, *mcp.ServerSession, any) (string, error) { return "", nil })
		require.Equal(t, !suits, strings.Contains(log.String(), "some clients reject the name"), name)
	}
}

type tree struct {
	Children []tree `json:"children"`
}

func TestTypeOfArgumentsMustBeObject(t *testing.T) {
	s := mcpserver.New(info, nil)
	require.EqualError(t, panicked(func() {
		mcpserver.AddTool(s, &mcp.Tool{Name: "t"}, func(context.Context, *mcp.ServerSession, []string) (string, error) { return "", nil })
	}), `mcpserver: tool "t": cannot infer an InputSchema from []string: the arguments of a tool are an object, use a struct`)
}

func TestRecursiveTypeNeedsSchemas(t *testing.T) {
	s := mcpserver.New(info, nil)
	def := mcp.Tool{Name: "t"}
	add := func() {
		mcpserver.AddTool(s, &def, func(_ context.Context, _ *mcp.ServerSession, in tree) (tree, error) { return in, nil })
	}
	require.ErrorContains(t, panicked(add), "cannot infer an InputSchema")
	def.InputSchema = json.RawMessage(`{"type":"object","properties":{"children":{"type":"array","items":{"$ref":"#"}}}}`)
	require.ErrorContains(t, panicked(add), "cannot infer an OutputSchema")
	def.OutputSchema = def.InputSchema
	require.NoError(t, panicked(add))
}

type celsius float64

func (celsius) MarshalJSON() ([]byte, error) { return []byte(`"20 °C"`), nil }

func TestTypeSchemas(t *testing.T) {
	opts := &mcpserver.Options{TypeSchemas: map[reflect.Type]json.RawMessage{
		reflect.TypeFor[celsius](): json.RawMessage(`{"type":"string","pattern":"°C$"}`),
	}}
	type weather struct {
		Temperature celsius `json:"temperature"`
	}
	c := connect(t, tool(opts, &mcp.Tool{}, returns(weather{20}, nil)), modern)
	require.Equal(t, map[string]any{"temperature": "20 °C"}, c.call("tools/call", `{"name":"t"}`)["structuredContent"])
	def := c.call("tools/list", `{}`)["tools"].([]any)[0].(map[string]any)
	property := def["outputSchema"].(map[string]any)["properties"].(map[string]any)["temperature"]
	require.Equal(t, map[string]any{"type": "string", "pattern": "°C$"}, property)
}

// shade is a type with few values.
type shade string

func TestTagDoesNotChangeSchemaOfType(t *testing.T) {
	opts := &mcpserver.Options{TypeSchemas: map[reflect.Type]json.RawMessage{
		reflect.TypeFor[shade](): json.RawMessage(`{"type":"string","enum":["red","green","blue"]}`),
	}}
	s := mcpserver.New(info, opts)
	mcpserver.AddTool(s, &mcp.Tool{Name: "t"}, func(context.Context, *mcp.ServerSession, struct {
		A shade   `json:"a" enum:"red"`
		B shade   `json:"b" enum:"blue"`
		C shade   `json:"c"`
		D []shade `json:"d" enum:"green,blue"`
	}) (string, error) {
		return "", nil
	})
	def := connect(t, s, modern).call("tools/list", `{}`)["tools"].([]any)[0].(map[string]any)
	text, err := json.Marshal(def["inputSchema"].(map[string]any)["properties"])
	require.NoError(t, err)
	require.JSONEq(t, `{"a":{"type":"string","enum":["red"]},"b":{"type":"string","enum":["blue"]},
		"c":{"type":"string","enum":["red","green","blue"]},"d":{"type":"array","items":{"type":"string","enum":["green","blue"]}}}`, string(text))
}

func TestCancelledCallsLeaveNothingBehind(t *testing.T) {
	s := tool(nil, &mcp.Tool{}, func(ctx context.Context) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	})
	c := connect(t, s, modern)
	for range 10_000 {
		id := c.start("tools/call", `{"name":"t"}`)
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id))
	}
	require.NotEmpty(t, c.call("tools/list", `{}`)["tools"])
}

func TestToolsChangeDuringCalls(t *testing.T) {
	s := newForecaster(nil)
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() { // ends with the calls of the test
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			name := fmt.Sprintf("t%d", i%50)
			mcpserver.AddTool(s, &mcp.Tool{Name: name}, forecast)
			if i%3 == 0 {
				s.RemoveTools(name, "nobody")
			}
		}
	}()
	c := connect(t, s, modern)
	deadline := time.Now().Add(200 * time.Millisecond)
	for time.Now().Before(deadline) {
		names := listed(c, "tools/list", "tools", "name")
		require.Contains(t, names, "forecast")
		require.IsIncreasing(t, names)
		require.Contains(t, text(t, c.call("tools/call", `{"name":"forecast","arguments":{"city":"Ulm"}}`)), "Ulm")
	}
	close(stop)
	<-done
}

// listed returns the names on all pages of a list.
func listed(c *client, method, member, key string) (names []string) {
	params := `{}`
	for {
		res := c.call(method, params)
		for _, x := range res[member].([]any) {
			names = append(names, x.(map[string]any)[key].(string))
		}
		next, more := res["nextCursor"].(string)
		if !more {
			return names
		}
		params = fmt.Sprintf(`{"cursor":%q}`, next)
	}
}

func TestTaskSupportIsListedForTaskClients(t *testing.T) {
	declared := mcp.ServerCapabilities{Tasks: &mcp.ServerTasksCapability{}}
	none := (*tasks.Options)(nil)
	for _, opts := range []*mcpserver.Options{{}, {Tasks: none}, {Tasks: &tasks.Options{}}, {Capabilities: declared}} {
		listed := opts.Tasks != nil && opts.Tasks != none || opts.Capabilities.Tasks != nil
		s := mcpserver.New(info, opts)
		tool := &mcp.Tool{Name: "job", Execution: &mcp.ToolExecution{TaskSupport: mcp.TaskSupportRequired}}
		mcpserver.AddTool(s, tool, func(context.Context, *mcp.ServerSession, struct{}) (string, error) { return "", nil })
		for revision, want := range map[string]bool{"2025-11-25": listed, modern: false} {
			tool := connect(t, s, revision).call("tools/list", `{}`)["tools"].([]any)[0].(map[string]any)
			require.Equal(t, want, tool["execution"] != nil, "%s %v", revision, tool)
		}
	}
}

func TestTasksAreDeclared(t *testing.T) {
	s := mcpserver.New(info, &mcpserver.Options{
		Tasks: &tasks.Options{}, Extensions: map[string]json.RawMessage{"com.example/x": nil},
	})
	own, all := map[string]any{"com.example/x": map[string]any{}}, map[string]any{"com.example/x": map[string]any{}, tasks.Name: map[string]any{}}
	discovered := connect(t, s, modern).call("server/discover", `{}`)
	require.Equal(t, map[string]any{"extensions": all}, discovered["capabilities"])
	begun := dial(t, s, "2025-11-25").call("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`)
	require.Equal(t, map[string]any{"extensions": own}, begun["capabilities"])
}

func TestTaskNotificationsRequireExtension(t *testing.T) {
	s := mcpserver.New(info, &mcpserver.Options{Tasks: &tasks.Options{}})
	connect(t, s, modern).refused("subscriptions/listen", `{"notifications":{"taskIds":["a"]}}`, mcp.CodeMissingRequiredClientCapability)
}
