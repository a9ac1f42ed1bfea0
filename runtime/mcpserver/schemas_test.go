package mcpserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/mcptest"
)

func noCall(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{}, nil
}

// rawTools returns 100 tools with 8 properties. The text makes their schemas unique.
func rawTools(text string) []*mcp.Tool {
	var tools []*mcp.Tool
	for i := range 100 {
		tools = append(tools, &mcp.Tool{Name: fmt.Sprintf("tool%d", i), InputSchema: fmt.Appendf(nil, `{"type":"object","properties":{
			"owner":{"type":"string","description":"Owner of repository %d %s"},
			"repo":{"type":"string","description":"Name of the repository"},
			"title":{"type":"string","minLength":1},
			"labels":{"type":"array","items":{"type":"string"}},
			"state":{"type":"string","enum":["open","closed","all"]},
			"page":{"type":"integer","minimum":1},
			"per_page":{"type":"integer","minimum":1,"maximum":100},
			"draft":{"type":"boolean"}},"required":["owner","repo"]}`, i, text)})
	}
	return tools
}

func register(tools []*mcp.Tool) *mcpserver.Server {
	s := mcpserver.New(info, nil)
	for _, t := range tools {
		s.AddRawTool(t, noCall)
	}
	return s
}

// raceDetector is set if the race detector is enabled. It empties pools.
var raceDetector bool

func TestRegistrationAllocatesLittle(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates")
	}
	runs, sets := 0, [][]*mcp.Tool{rawTools("a"), rawTools("b"), rawTools("c")}
	allocs := testing.AllocsPerRun(2, func() { register(sets[runs]); runs++ })
	require.LessOrEqual(t, allocs, 2000.0)
	first := register(sets[0])
	require.LessOrEqual(t, testing.AllocsPerRun(5, func() { register(sets[0]) }), 1200.0, "another server with the same tools")
	runtime.KeepAlive(first)
}

func BenchmarkRegister100RawTools(b *testing.B) {
	b.Run("first", func(b *testing.B) {
		b.ReportAllocs()
		for n := 0; b.Loop(); n++ {
			b.StopTimer()
			tools := rawTools(fmt.Sprint(n))
			b.StartTimer()
			register(tools)
		}
	})
	b.Run("again", func(b *testing.B) {
		b.ReportAllocs()
		tools := rawTools("again")
		first := register(tools)
		for b.Loop() {
			register(tools)
		}
		runtime.KeepAlive(first)
	})
}

func TestSchemaIsCompiledOnFirstCall(t *testing.T) {
	tools := rawTools("compiled once")
	s, other := register(tools), register(tools)
	c := connect(t, s, modern)
	c.call("tools/list", `{}`)
	require.False(t, mcpserver.IsCompiled(s, "tool1"))
	require.Contains(t, text(t, c.call("tools/call", `{"name":"tool1","arguments":{"owner":"a"}}`)), "repo")
	require.True(t, mcpserver.IsCompiled(s, "tool1"))
	require.True(t, mcpserver.IsCompiled(other, "tool1"), "servers share schemas")
	require.False(t, mcpserver.IsCompiled(other, "tool2"))
	require.NoError(t, other.Validate())
	require.True(t, mcpserver.IsCompiled(s, "tool2"))
}

func TestSchemaOfRemovedToolIsForgotten(t *testing.T) {
	s := mcpserver.New(info, nil)
	const schema = `{"type":"object","title":"forgotten"}`
	s.AddRawTool(&mcp.Tool{Name: "a", InputSchema: json.RawMessage(schema)}, noCall)
	runtime.GC()
	require.True(t, mcpserver.HasSchema(schema))
	s.RemoveTools("a")
	for mcpserver.HasSchema(schema) {
		runtime.GC() // the cleanup runs some time after it
	}
}

// largePatterns returns a schema that passes the check at registration, although its patterns are
// too large.
func largePatterns() json.RawMessage {
	var b strings.Builder
	b.WriteString(`{"type":"object","properties":{"p0":{}`)
	for i := range 1000 {
		fmt.Fprintf(&b, `,"q%d":{"pattern":"(?:x{10}){100}"}`, i)
	}
	return json.RawMessage(b.String() + `}}`)
}

func TestValidateFindsWhatRegistrationDoesNot(t *testing.T) {
	s := mcpserver.New(info, nil)
	s.AddRawTool(&mcp.Tool{Name: "good"}, noCall)
	require.NoError(t, s.Validate())
	s.AddRawTool(&mcp.Tool{Name: "in", InputSchema: largePatterns()}, noCall)
	s.AddRawTool(&mcp.Tool{Name: "out", OutputSchema: largePatterns()}, noCall)
	err := s.Validate()
	var invalid *mcpserver.RegistrationError
	require.ErrorAs(t, err, &invalid)
	require.Equal(t, mcpserver.Item{Kind: mcpserver.KindTool, Name: "in"}, invalid.Item)
	require.ErrorContains(t, err, `tool "in": input schema: `)
	require.ErrorContains(t, err, `tool "out": output schema: `)

	c := connect(t, s, modern)
	require.Contains(t, text(t, c.call("tools/call", `{"name":"in"}`)), "Internal error", "the cause is logged")
	failures := &failedTB{TB: t}
	func() {
		defer func() { require.Equal(t, failures, recover()) }()
		mcptest.Connect(failures, s, mcp.Revision20260728)
	}()
	require.Contains(t, failures.message, `mcptest: validate the server: `)
}

// failedTB records a failure and panics with itself, so that the test continues.
type failedTB struct {
	testing.TB
	message string
}

func (f *failedTB) Fatalf(format string, args ...any) {
	f.message = fmt.Sprintf(format, args...)
	panic(f)
}

func TestUnresolvedReferenceIsFoundAtRegistration(t *testing.T) {
	s := mcpserver.New(info, nil)
	schema := json.RawMessage(`{"type":"object","properties":{"a":{"$ref":"#/$defs/none"}}}`)
	require.ErrorContains(t, s.TryAddRawTool(&mcp.Tool{Name: "a", InputSchema: schema}, noCall), "not found")
	require.ErrorContains(t, s.TryAddRawTool(&mcp.Tool{Name: "a", OutputSchema: schema}, noCall), "not found")
}

func TestSchemasOfTypesAreInferredOnce(t *testing.T) {
	add := func(opts *mcpserver.Options) *mcpserver.Server { return newForecaster(opts) }
	first := add(nil)
	empty := testing.AllocsPerRun(5, func() { mcpserver.New(info, nil) })
	require.Less(t, testing.AllocsPerRun(5, func() { add(nil) }), empty+25)
	require.NotEqual(t, schemaOf(t, first), schemaOf(t, add(&mcpserver.Options{AllowUnknownArguments: true})))
	require.Equal(t, schemaOf(t, first), schemaOf(t, add(nil)))
}

// schemaOf returns the input schema of the first tool.
func schemaOf(t *testing.T, s *mcpserver.Server) string {
	tools := connect(t, s, modern).call("tools/list", `{}`)["tools"].([]any)
	return fmt.Sprint(tools[0].(map[string]any)["inputSchema"])
}

func TestCachedPageFollowsRegistrations(t *testing.T) {
	inEveryRevision(t, func(t *testing.T, revision string) {
		s := register(rawTools("listed " + revision))
		c := connect(t, s, revision)
		require.Len(t, listed(c, "tools/list", "tools", "name"), 100)
		require.Equal(t, listed(c, "tools/list", "tools", "name"), listed(c, "tools/list", "tools", "name"))
		s.RemoveTools("tool7")
		require.NotContains(t, listed(c, "tools/list", "tools", "name"), "tool7")
		s.AddRawTool(&mcp.Tool{Name: "tool7", Title: "new"}, noCall)
		require.Contains(t, listed(c, "tools/list", "tools", "name"), "tool7")
		s.AddRawTool(&mcp.Tool{Name: "tool7", Description: "newer"}, noCall)
		require.Contains(t, fmt.Sprint(c.call("tools/list", `{}`)), "newer", "replaced")
	})
}

// pageInput has arguments that models often send as strings.
type pageInput struct {
	Page   int      `json:"page" minimum:"1"`
	Labels []string `json:"labels,omitempty"`
	Draft  bool     `json:"draft,omitempty"`
}

func echoArguments(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return mcp.TextResult(string(req.Arguments)), nil
}

// pager returns a server with a typed tool and a raw tool with the same arguments.
func pager(opts *mcpserver.Options) *mcpserver.Server {
	s := mcpserver.New(info, opts)
	mcpserver.AddTool(s, &mcp.Tool{Name: "typed"}, func(_ context.Context, _ *mcp.ServerSession, in pageInput) (string, error) {
		return fmt.Sprint(in), nil
	})
	s.AddRawTool(&mcp.Tool{Name: "raw", InputSchema: json.RawMessage(`{"type":"object","properties":{"page":{"type":"integer"}}}`)}, echoArguments)
	return s
}

func TestLenientValidationPassesCoercedArguments(t *testing.T) {
	inEveryRevision(t, func(t *testing.T, revision string) {
		c := connect(t, pager(&mcpserver.Options{Validation: mcpserver.ValidateLenient}), revision)
		require.Equal(t, "{2 [bug] true}", text(t, c.call("tools/call", `{"name":"typed","arguments":{"page":"2","labels":"bug","draft":"true"}}`)))
		require.Equal(t, `{"page":2}`, text(t, c.call("tools/call", `{"name":"raw","arguments":{"page":"2"}}`)))
		require.Equal(t, `{"page":2,"x":1}`, text(t, c.call("tools/call", `{"name":"raw","arguments":{"page":2, "x":1}}`)), "unchanged")
		for _, name := range []string{"typed", "raw"} {
			require.Contains(t, text(t, c.call("tools/call", `{"name":"`+name+`","arguments":{"page":"two"}}`)), "/page: expected integer, but got string")
		}
		require.Contains(t, text(t, c.call("tools/call", `{"name":"typed","arguments":{"page":"0"}}`)), "/page")
	})
}

func TestValidationOfSingleTools(t *testing.T) {
	for _, how := range []mcpserver.Validation{mcpserver.ValidateStrict, mcpserver.ValidateOff} {
		c := connect(t, pager(&mcpserver.Options{
			Validation: how, ToolValidation: map[string]mcpserver.Validation{"raw": mcpserver.ValidateLenient},
		}), modern)
		require.Contains(t, text(t, c.call("tools/call", `{"name":"typed","arguments":{"page":"2"}}`)), "/page: expected integer, but got string")
		require.Equal(t, `{"page":2}`, text(t, c.call("tools/call", `{"name":"raw","arguments":{"page":"2"}}`)))
	}
	c := connect(t, pager(&mcpserver.Options{ToolValidation: map[string]mcpserver.Validation{"raw": mcpserver.ValidateOff}}), modern)
	require.Equal(t, `{"page":"two"}`, text(t, c.call("tools/call", `{"name":"raw","arguments":{"page":"two"}}`)))
}

// Nothing is validated against the schema of a raw tool with ValidateOff, so it may be one that
// cannot be compiled. The protocol requires an object with "type": "object".
func TestInvalidSchemaThatIsUnused(t *testing.T) {
	off := &mcpserver.Options{ToolValidation: map[string]mcpserver.Validation{"off": mcpserver.ValidateOff}}
	add := func(s *mcpserver.Server, name, schema string) error {
		return s.TryAddRawTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(schema)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.TextResult("called"), nil
		})
	}
	for _, schema := range []string{
		`{"type":"object","properties":{"a":{"pattern":"(?!x)"}}}`,
		`{"type":"object","properties":{"a":{"$ref":"https://example.com/schema.json"}}}`,
		`{"type":"object","properties":null,"required":null}`,
		`{"$ref":"#/definitions/none","type":"object"}`,
		`{"type":["object","null"],"required":null}`,
	} {
		t.Run(schema, func(t *testing.T) {
			var logged bytes.Buffer
			own := *off
			own.Logger = slog.New(slog.NewTextHandler(&logged, nil))
			s := mcpserver.New(info, &own)
			require.ErrorContains(t, add(s, "strict", schema), "input schema", "also if another tool uses the schema")
			require.NoError(t, add(s, "off", schema))
			require.ErrorContains(t, add(s, "strict", schema), "input schema", "also if another tool uses the schema")
			require.Contains(t, logged.String(), "some clients reject the schema of a tool")
			require.Error(t, s.Validate())
			require.Equal(t, "called", text(t, connect(t, s, modern).call("tools/call", `{"name":"off","arguments":{"a":"b"}}`)))
		})
	}
	s := mcpserver.New(info, off)
	for _, schema := range []string{``, `null`, `[]`, `{`, `{"type":"string"}`, `{"type":"object"}{}`, `{"type":"array","required":null}`} {
		require.ErrorContains(t, add(s, "off", schema), "input schema", schema)
	}
}
