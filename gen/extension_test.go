package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/gen/internal/extension"
	"github.com/mcpwright/mcp/gen/internal/load"
	"github.com/mcpwright/mcp/generated/apps"
	"github.com/mcpwright/mcp/generated/skills"
	"github.com/mcpwright/mcp/generated/tasks"
	"github.com/mcpwright/mcp/runtime/wire"
)

// protocolOf returns the protocol that extensions refer to.
func protocolOf(t *testing.T) *extension.Protocol {
	t.Helper()
	p, err := embeddedProtocol()
	require.NoError(t, err)
	return p
}

// weather is a schema as a user would write it.
const weather = `{
	"$schema": "https://json-schema.org/draft/2020-12/schema",
	"$defs": {
		"WeatherCapability": {"type": "object", "description": "The settings.", "properties": {"units": {"$ref": "#/$defs/Units"}}},
		"Units": {"type": "string", "enum": ["metric", "imperial"]},
		"GetForecastRequest": {"type": "object", "required": ["method", "params"], "properties": {
			"method": {"type": "string", "const": "weather/forecast"},
			"params": {"type": "object", "required": ["city"], "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1, "maximum": 14}}}
		}},
		"GetForecastResult": {"allOf": [{"$ref": "#/$defs/Result"}, {"type": "object", "required": ["days"], "properties": {
			"days": {"type": "array", "items": {"$ref": "#/$defs/Day"}}, "source": {"$ref": "#/$defs/ResourceLink"}, "content": {"type": "array", "items": {"$ref": "#/$defs/ContentBlock"}}
		}}]},
		"Day": {"type": "object", "required": ["date", "sky"], "properties": {
			"date": {"type": "string"}, "sky": {"oneOf": [{"const": "clear"}, {"const": "cloudy"}]}, "wind": {"anyOf": [{"type": "number"}, {"type": "null"}]},
			"note": {"anyOf": [{"$ref": "#/$defs/TextContent"}, {"$ref": "#/$defs/ImageContent"}]}
		}},
		"StormNotification": {"type": "object", "required": ["method", "params"], "properties": {
			"method": {"type": "string", "const": "notifications/weather/storm"},
			"params": {"type": "object", "required": ["city"], "properties": {"city": {"type": "string", "description": "is the place of the storm."}}}
		}},
		"PlaceMeta": {"type": "object", "properties": {"latitude": {"type": "number"}}}
	}
}`

// compiled compiles the schema of an extension and returns the files.
func compiled(t *testing.T, text string, flags ...string) (map[string][]byte, string, error) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "weather.json")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	out := filepath.Join(dir, "weather")
	var summary strings.Builder
	err := run(append([]string{"extension", "-schema", file, "-name", "com.example/weather", "-out", out}, flags...), &summary)
	files := make(map[string][]byte)
	names, _ := filepath.Glob(filepath.Join(out, "*.go"))
	for _, name := range names {
		src, err := os.ReadFile(name)
		require.NoError(t, err)
		files[filepath.Base(name)] = src
	}
	return files, summary.String(), err
}

func TestExtensionOfUser(t *testing.T) {
	files, summary, err := compiled(t, weather, "-server", "WeatherCapability", "-meta", "com.example/place=PlaceMeta", "-name-member", "weather/forecast=city")
	require.NoError(t, err)
	require.Equal(t, "com.example/weather: 9 types, 2 methods\n", summary)
	c := newChecker(t)
	c.mustCheck(t, printed(t, modelOf(t, 5)))
	require.NoError(t, c.check("weather", files))
	require.NoError(t, c.check("use", map[string][]byte{"use.go": []byte(`package use

import (
	"context"

	"weather"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
)

func run(ctx context.Context, out peer.Outbound, mux *peer.Mux, capabilities *mcp.ServerCapabilities, meta mcp.Meta) error {
	res, err := peer.SendRequest(ctx, out, &weather.GetForecastRequest{City: "Bern", Days: new(int64)})
	if err != nil {
		return err
	}
	var note weather.DayNote = res.Days[0].Note
	_ = []any{note.(*mcp.TextContent), *res.Days[0].Wind, res.Days[0].Sky == weather.DaySkyClear, res.Source.URI, []mcp.ContentBlock(res.Content)}
	weather.HandleGetForecast(mux, func(context.Context, *weather.GetForecastRequest) (*weather.GetForecastResult, error) { return nil, nil })
	var _ peer.Extension = (*weather.GetForecastRequest)(nil)
	var _ peer.Named = (*weather.GetForecastRequest)(nil)
	if settings, ok := weather.ServerSettings(capabilities); ok {
		_ = settings.Units == weather.UnitsMetric
	}
	if place, ok := weather.PlaceMetaOf(meta); ok {
		return weather.SetPlaceMeta(&meta, place)
	}
	if place, ok := weather.PlaceMetaOf(res.Meta); ok {
		return weather.SetPlaceMeta(res.Meta, place)
	}
	return peer.SendNotification(ctx, out, &weather.StormNotification{City: "Bern"})
}
`)}))
	require.Contains(t, string(files["types.go"]), "// WeatherCapability: The settings.\n")
	require.Contains(t, string(files["types.go"]), "// City is the place of the storm.\n")
	require.Contains(t, string(files["extension.go"]), `const Name = "com.example/weather"`)
}

func TestExtensionErrors(t *testing.T) {
	with := func(old, now string) string { return strings.Replace(weather, old, now, 1) }
	for name, test := range map[string]struct{ schema, want string }{
		"truncated":             {weather[:len(weather)/2], "the document ends too early"},
		"not a schema":          {`[1]`, "has its definitions in $defs, and has none"},
		"no definitions":        {`{"$defs": {}}`, "has its definitions in $defs, and has none"},
		"twice":                 {`{"$defs": {"A": {}, "A": {}}}`, "#/$defs/A: line 1: duplicate key"},
		"too large":             {`{"$defs": {"A": {"description": "` + strings.Repeat("x", 17<<20) + `"}}}`, "the limit of 16777216"},
		"unknown reference":     {with("#/$defs/Units", "#/$defs/Unit"), `#/$defs/WeatherCapability/properties/units/$ref: $ref "#/$defs/Unit" has no definition "Unit"`},
		"endless recursion":     {with(`"Units": {"type": "string", "enum": ["metric", "imperial"]}`, `"Units": {"$ref": "#/$defs/Units"}`), "Units"},
		"endless list":          {with(`"Units": {"type": "string", "enum": ["metric", "imperial"]}`, `"Units": {"type": "array", "items": {"$ref": "#/$defs/Units"}}`), "contains itself"},
		"unsupported keyword":   {with(`"enum": ["metric", "imperial"]`, `"$dynamicRef": "a"`), `#/$defs/Units/$dynamicRef: unsupported keyword "$dynamicRef"`},
		"another Tool":          {with(`"Units":`, `"Tool": {"type": "object", "properties": {"blade": {"type": "string"}}}, "Units":`), "#/$defs/Tool: the protocol has a different definition of this name"},
		"name of a message":     {with("StormNotification", "Storm"), "#/$defs/Storm: the name of a message ends with Request or Notification"},
		"no message in a union": {with(`"Units":`, `"ClientRequest": {"$ref": "#/$defs/Day"}, "Units":`), `#/$defs/ClientRequest: "Day" is not a message of the schema`},
		"two types":             {with(`{"anyOf": [{"type": "number"}, {"type": "null"}]}`, contradiction), `the member "a" is number here, but string at `},
		"two types in params":   {with(`"city": {"type": "string"}`, `"city": `+contradiction), `ir.Edit{In: "weather.json", At: "/$defs/GetForecastRequest/properties/params/properties/city", JSON: "{}"`},
		"another file":          {with("#/$defs/Units", "https://example.com/a.json#/$defs/Units"), "must have the form #/$defs/<name>"},
		"place in an error":     {with(`{"anyOf": [{"type": "number"}, {"type": "null"}]}`, contradiction), "weather.json#/$defs/Day/properties/wind/allOf/0/properties/a in another part"},
		"another dialect":       {with("draft/2020-12", "draft-04"), `#/$schema: the dialect "http`},
		"no dialect":            {with(`"https://json-schema.org/draft/2020-12/schema"`, "null"), "#/$schema: the dialect null is not supported"},
		"an empty union":        {with(`"oneOf": [{"const": "clear"}, {"const": "cloudy"}]`, `"anyOf": []`), "#/$defs/Day/properties/sky/anyOf: anyOf must be an array with at least one schema"},
		"one name in Go":        {with(`"Units":`, `"Units<>": {"type": "string"}, "Units":`), `#/$defs/Units<>: another definition has the name "Units" in Go`},
		"a name inside another": {with(`"description": "The settings."`, `"$defs": {"Day": {"type": "string"}}`), `#/$defs/WeatherCapability/$defs/Day: another definition has the name "Day" in Go`},
		"under both keywords":   {with(`"$defs":`, `"definitions": {"Day": {"type": "string"}}, "$defs":`), "#/definitions/Day: $defs has a definition of this name, too"},
		"a path to itself":      {with(`{"$ref": "#/$defs/Units"}`, `{"$ref": "#/$defs/WeatherCapability/properties/units"}`), `$ref "#/$defs/WeatherCapability/properties/units" must have the form`},
		"too many definitions":  {with(`"Units":`, definitions(1001, "{}")+`"Units":`), "weather.json#/$defs: has 1008 definitions, more than the limit of 1000"},
		"too many alternatives": {with(`"Units":`, definitions(40, `{"anyOf": [{"$ref": "#/$defs/A%[2]d"}, {"$ref": "#/$defs/A%[2]d"}]}`)+`"A41": {}, "Units":`), "#/$defs/A1: references and alternatives lead to more than 1000 schemas here"},
		"a long chain":          {with(`"Units":`, definitions(200, `{"$ref": "#/$defs/A%[2]d"}`)+`"A201": {}, "Units":`), "or are nested deeper than 128"},
		"too many values":       {with(`["metric", "imperial"]`, "["+strings.Repeat(`"a", `, 10_000)+`"b"]`), "#/$defs/Units/enum: enum has 10001 values, more than the limit of 10000"},
		"method of protocol":    {with("weather/forecast", "tools/call"), `"tools/call" is defined by both`},
	} {
		t.Run(name, func(t *testing.T) {
			files, _, err := compiled(t, test.schema, "-server", "WeatherCapability")
			require.ErrorContains(t, err, test.want)
			require.Empty(t, files)
		})
	}
	for want, flags := range map[string][]string{
		`there is no definition "Nothing"`:         {"-server", "Nothing"},
		"settings and values in _meta are objects": {"-client", "Units"},
		`"place" is not a key and a definition`:    {"-meta", "place"},
		`"forecast" is not a method and a member`:  {"-name-member", "forecast"},
		"flag provided but not defined":            {"-unknown"},
		"an extension has a schema and a name":     {"-schema", ""},
		"read schema: open missing.json: no such":  {"-schema", "missing.json"},
		"is missing": {"-check"},
	} {
		files, _, err := compiled(t, weather, flags...)
		require.ErrorContains(t, err, want)
		require.Empty(t, files)
	}
}

// contradiction is a schema with two types for one member.
const contradiction = `{"allOf": [{"type": "object", "properties": {"a": {"type": "string"}}}, {"type": "object", "properties": {"a": {"type": "number"}}}]}`

// definitions returns n definitions from a format, whose arguments are the number of the definition and the next one.
func definitions(n int, format string) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, `"A%d": `+strings.ReplaceAll(format, "%[2]d", strconv.Itoa(i+1))+", ", i)
	}
	return b.String()
}

func TestOwnDefinitionsOfExtension(t *testing.T) {
	text := strings.Replace(weather, `"Units":`, `"Tool": {"type": "object", "properties": {"handle": {"type": "string"}}},
		"CallToolRequest": {"type": "object", "required": ["method"], "properties": {"method": {"const": "tools/call"}, "params": {"type": "object", "properties": {"tool": {"$ref": "#/$defs/Tool"}}}}},
		"CallToolResult": {"type": "object", "properties": {"tool": {"$ref": "#/$defs/Tool"}}}, "Units":`, 1)
	files, _, err := compiled(t, text, "-own")
	require.NoError(t, err)
	c := newChecker(t)
	c.mustCheck(t, printed(t, modelOf(t, 5)))
	require.NoError(t, c.check("weather", files))
	require.Contains(t, string(files["types.go"]), "Handle string")
}

// protocolTasks are definitions of tasks in the protocol, with names and methods of the extension.
var protocolTasks = combine(
	define("Task", `{"type": "object", "required": ["taskId"], "properties": {"taskId": {"type": "string"}, "owner": {"type": "string"}}}`),
	define("TaskStatus", `{"type": "string", "enum": ["new", "old"]}`),
	request("GetTaskRequest", "tasks/get"),
	define("GetTaskResult", `{"allOf": [{"$ref": "#/$defs/Result"}, {"type": "object", "required": ["task"], "properties": {"task": {"$ref": "#/$defs/Task"}}}]}`),
	define("GetTaskResultResponse", `{"type": "object", "required": ["id", "jsonrpc", "result"], "properties": {"id": {"$ref": "#/$defs/RequestId"}, "jsonrpc": {"type": "string", "const": "2.0"},
		"result": {"$ref": "#/$defs/GetTaskResult"}}}`),
	member("Tool", "task", `{"$ref": "#/$defs/Task"}`),
)

func TestExtensionKeepsItsDefinitions(t *testing.T) {
	for name, test := range map[string]struct {
		edit   edit
		notice bool
	}{
		"the protocol defines tasks":        {protocolTasks, false},
		"the protocol has no input request": {combine(undefine("InputResponses"), withoutMembers("inputResponses")), true},
	} {
		t.Run(name, func(t *testing.T) {
			j := importFuture(t, test.edit)
			j.extensions, j.docs = "../schema/extensions", "../schema/docs.txt"
			summary, files := compile(t, j)
			require.Equal(t, test.notice, strings.Contains(summary, "io.modelcontextprotocol/tasks: 20 types, 4 methods\n  compiled with 2026-07-28"), summary)
			c := newChecker(t)
			c.mustCheck(t, files)
			for _, config := range extensions {
				dir := filepath.Join(filepath.Dir(j.out), config.Package)
				made := make(map[string][]byte)
				for file, text := range contents(t, dir) {
					made[file] = []byte(text)
				}
				require.NoError(t, c.check(config.Package, made))
				for file, text := range contents(t, "../generated/"+config.Package) {
					if config.Package == "tasks" && made[file] != nil {
						require.Equal(t, text, string(made[file]), "the package is the same as without the revision")
					}
				}
			}
		})
	}
}

// withoutMembers removes members from all definitions.
func withoutMembers(names ...string) edit {
	return func(defs object) {
		for _, d := range defs {
			properties, _ := d.(object)["properties"].(object)
			for _, name := range names {
				delete(properties, name)
			}
		}
	}
}

func TestDirectionOfExtensionMessages(t *testing.T) {
	text := strings.Replace(weather, `"Units":`, `"ServerRequest": {"anyOf": [{"$ref": "#/$defs/GetForecastRequest"}]}, "ClientNotification": {"$ref": "#/$defs/StormNotification"}, "Units":`, 1)
	files, _, err := compiled(t, text)
	require.NoError(t, err)
	require.NotContains(t, string(files["types.go"]), "ServerRequest")
	require.Contains(t, string(files["types.go"]), "func (*StormNotification) IsNotification() {}")
}

// TestOfficialExtensions compares the schemas of extensions in this repository with the official
// files.
func TestOfficialExtensions(t *testing.T) {
	const official = "../../shared/spec/extensions"
	if _, err := os.Stat(official); err != nil {
		t.Skip("no official schemas in ../shared/spec/extensions")
	}
	p := protocolOf(t)
	for _, c := range extensions {
		file := filepath.Join(official, c.Package+".json")
		raw, err := os.ReadFile(file)
		if err != nil {
			continue // an extension without an official schema
		}
		c.Schema, c.Inlined = file, true
		x, err := extension.Read(raw, &c, p)
		require.NoError(t, err)
		ours, err := os.ReadFile(filepath.Join("../schema/extensions", c.Package+".json"))
		require.NoError(t, err)
		y, err := extension.Read(ours, &extension.Config{Schema: "ours"}, p)
		require.NoError(t, err)
		require.JSONEq(t, string(x.Bytes()), string(y.Bytes()), c.Package)
	}
}

// extensionValues has functions that return a new value, for definitions that are not messages.
var extensionValues = map[string]map[string]func() wire.Value{
	"tasks": {
		"GetTaskResult":    func() wire.Value { return new(tasks.GetTaskResult) },
		"CreateTaskResult": func() wire.Value { return new(tasks.CreateTaskResult) },
		"CancelTaskResult": func() wire.Value { return new(tasks.CancelTaskResult) },
		"UpdateTaskResult": func() wire.Value { return new(tasks.UpdateTaskResult) },
		"Task":             func() wire.Value { return new(tasks.Task) },
		"WorkingTask":      func() wire.Value { return new(tasks.WorkingTask) },
		"CompletedTask":    func() wire.Value { return new(tasks.CompletedTask) },
		"FailedTask":       func() wire.Value { return new(tasks.FailedTask) },
	},
	"apps": {
		"McpUiToolMeta":                 func() wire.Value { return new(apps.ToolMeta) },
		"McpUiResourceMeta":             func() wire.Value { return new(apps.ResourceMeta) },
		"McpUiResourceCsp":              func() wire.Value { return new(apps.ResourceCSP) },
		"McpUiClientCapabilities":       func() wire.Value { return new(apps.ClientCapabilities) },
		"McpUiHostStyles":               func() wire.Value { return new(apps.HostStyles) },
		"McpUiHostContext":              func() wire.Value { return new(apps.HostContext) },
		"McpUiHostCapabilities":         func() wire.Value { return new(apps.HostCapabilities) },
		"McpUiInitializeResult":         func() wire.Value { return new(apps.InitializeResult) },
		"McpUiRequestDisplayModeResult": func() wire.Value { return new(apps.RequestDisplayModeResult) },
	},
	"skills": {
		"SkillFrontmatter": func() wire.Value { return new(skills.SkillFrontmatter) },
		"SkillResource":    func() wire.Value { return new(skills.SkillResource) },
		"SkillsCapability": func() wire.Value { return new(skills.SkillsCapability) },
	},
}

// TestExtensionCodecsAgreeWithSchemas decodes documents, and compares the outcome with a schema
// validator. Valid documents must also be encoded as they were.
func TestExtensionCodecsAgreeWithSchemas(t *testing.T) {
	p := protocolOf(t)
	for _, c := range extensions {
		file := filepath.Join("../schema/extensions", c.Package+".json")
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		c.Schema = file
		x, err := extension.Read(raw, &c, p)
		require.NoError(t, err)
		defs := parsed(string(x.Bytes())).(object)["$defs"].(object)
		all, err := new(load.Edits).WithDefinitions(file, p.File, defs, c.Own)
		require.NoError(t, err)
		for def, make := range extensionValues[c.Package] {
			valid, invalid := 0, 0
			for _, doc := range documents(defs, object{"$ref": "#/$defs/" + def}) {
				text, err := json.Marshal(doc)
				require.NoError(t, err)
				v, err := all.Validator(def)
				require.NoError(t, err)
				if o, ok := doc.(object); ok && o["resultType"] == nil && c.Package == "tasks" && strings.HasSuffix(def, "Result") {
					continue // the codec takes an absent type as complete
				}
				if o, ok := doc.(object); ok && o["taskId"] != nil && (!isDuration(o, "ttlMs") || !isDuration(o, "pollIntervalMs")) {
					continue // the codec ignores invalid durations
				}
				if o, ok := doc.(object); ok && o["uri"] == "x" {
					continue // the codec does not check formats
				}
				value := make()
				err = wire.Unmarshal(text, value)
				require.Equal(t, v.Validate(doc) == nil, err == nil, "%s %s: %v, %v", def, text, v.Validate(doc), err)
				if err != nil {
					invalid++
					continue
				}
				valid++
				again, err := wire.Marshal(value)
				require.NoError(t, err)
				require.JSONEq(t, string(text), string(again))
			}
			require.NotZero(t, valid, def)
			require.NotZero(t, invalid, def)
		}
	}
}

// isDuration reports whether a member is an integer or, if its schema allows it, null.
func isDuration(o object, name string) bool {
	v, has := o[name]
	n, ok := v.(float64)
	return ok && n == math.Trunc(n) || name == "ttlMs" && has && v == nil || name == "pollIntervalMs" && !has
}

// documents returns documents for a schema: valid ones, and ones that differ from a valid one in one
// member.
func documents(defs, s object) []any {
	var list []any
	for _, base := range samples(defs, s) {
		o, ok := base.(object)
		if list = append(list, base); !ok {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(o)) {
			without := maps.Clone(o)
			delete(without, name)
			list = append(list, without)
			for _, v := range []any{nil, true, 1.5, "x", []any{1.0}, object{"x": 1.0}, object{"x": "y"}, object{"--font-mono": "y"}} {
				other := maps.Clone(o)
				other[name] = v
				list = append(list, other)
			}
		}
	}
	return append(list, nil, "x", 1.0, []any{})
}

// samples returns valid documents for a schema: one with all members, and one for each alternative.
func samples(defs, s object) []any {
	if ref, ok := s["$ref"].(string); ok {
		def, _ := defs[strings.TrimPrefix(ref, "#/$defs/")].(object)
		return samples(defs, def) // a definition of the protocol is any object
	}
	alternatives := func(key string) (list []object) {
		for _, v := range asList(s[key]) {
			list = append(list, v.(object))
		}
		return list
	}
	switch typ := fmt.Sprint(s["type"]); {
	case s["const"] != nil:
		return []any{s["const"]}
	case s["enum"] != nil:
		return asList(s["enum"])
	case s["anyOf"] != nil:
		var list []any
		for _, a := range alternatives("anyOf") {
			list = append(list, samples(defs, a)...)
		}
		return list
	case s["allOf"] != nil:
		list := []any{object{}}
		for _, part := range alternatives("allOf") {
			var next []any
			for _, have := range list {
				for _, more := range samples(defs, part) {
					both := maps.Clone(have.(object))
					maps.Copy(both, more.(object))
					next = append(next, both)
				}
			}
			list = next
		}
		return list
	case s["pattern"] == "^sha256:[0-9a-f]{64}$":
		return []any{"sha256:" + strings.Repeat("0", 64)}
	case s["format"] == "uri":
		return []any{"text:"}
	case typ == "string":
		return []any{"text"}
	case typ == "boolean":
		return []any{true}
	case strings.Contains(typ, "null"):
		return []any{3.0, nil}
	case typ == "integer", typ == "number":
		return []any{3.0}
	case typ == "array":
		return []any{samples(defs, s["items"].(object))}
	}
	o := object{}
	for name, p := range asObject(s["properties"]) {
		if ref, _ := p.(object)["$ref"].(string); ref != "" && defs[strings.TrimPrefix(ref, "#/$defs/")] == nil && !slices.Contains(asList(s["required"]), any(name)) {
			continue // a definition of the protocol
		}
		if v := samples(defs, p.(object)); len(v) > 0 {
			o[name] = v[0]
		}
	}
	if info, ok := o["hostInfo"]; ok && info != nil {
		o["hostInfo"] = object{"name": "host", "version": "1"}
	}
	if _, ok := o["error"]; ok {
		o["error"] = object{"code": 1.0, "message": "text"}
	}
	return []any{o}
}

func asList(v any) []any { list, _ := v.([]any); return list }

func asObject(v any) object { o, _ := v.(object); return o }

func TestRewriteKeepsDescriptions(t *testing.T) {
	dir := t.TempDir()
	file, out := filepath.Join(dir, "weather.json"), filepath.Join(dir, "rewritten.json")
	require.NoError(t, os.WriteFile(file, []byte(weather), 0o644))
	rewrite := func() string {
		require.NoError(t, run([]string{"extension", "-schema", file, "-name", "x", "-rewrite", out}, io.Discard))
		text, err := os.ReadFile(out)
		require.NoError(t, err)
		return string(text)
	}
	first := rewrite()
	require.NotContains(t, first, "The settings.")
	own := strings.Replace(first, `"PlaceMeta": {`, `"PlaceMeta": {`+"\n"+`      "description": "is a place.",`, 1)
	require.NoError(t, os.WriteFile(out, []byte(own), 0o644))
	require.Contains(t, rewrite(), `"description": "is a place."`)
}

func TestNoticesOfExtensions(t *testing.T) {
	for member, want := range map[string]string{
		`{"type": "object", "properties": {"a": {"type": "string"}, "b": false}}`:                            `the schema forbids the member "b", and the codec keeps it in Extra`,
		`{"type": "object", "required": ["a"], "additionalProperties": {"anyOf": [{"type": "string"}, {}]}}`: "the values may be undefined, so that no member is required",
		`{"anyOf": [{"type": "string"}, {}]}`:                                                                "a second alternative that allows anything is ignored",
	} {
		text := strings.Replace(weather, `{"$ref": "#/$defs/Units"}`, member, 1)
		require.NotEqual(t, weather, text)
		_, summary, err := compiled(t, text)
		require.NoError(t, err)
		require.Regexp(t, `(?m)^  #/\$defs/WeatherCapability/properties/units.*: `+regexp.QuoteMeta(want)+"$", summary)
	}
}

func TestRepeatedDefinitionIgnoresKeywords(t *testing.T) {
	text := strings.Replace(weather, `"Units":`, `"Annotations": {"type": "object", "minProperties": 1, "properties": {"priority": {"type": "number", "exclusiveMaximum": 1}}}, "Units":`, 1)
	_, summary, err := compiled(t, text)
	require.NoError(t, err)
	for _, key := range []string{"exclusiveMaximum", "minProperties"} {
		require.Contains(t, summary, "  #/$defs/Annotations: "+key+` is not checked, because the definition "Annotations" of the protocol replaces the schema`+"\n")
	}
}

// TestRestrictionsOfExtension compiles a schema with keywords that no Go type has, and with an object that
// has the members of at least one alternative.
func TestRestrictionsOfExtension(t *testing.T) {
	for member, want := range map[string]string{
		`{"type": "string", "pattern": "^a"}`:                                                                                                            "d.Check(wire.Always, checkWeatherCapabilityUnits)",
		`{"type": "object", "properties": {"a": {"type": "string"}}, "required": ["b"]}`:                                                                 `Required: true`,
		`{"type": "string", "oneOf": [{"minLength": 3}, {"pattern": "^a"}]}`:                                                                             `OneOf: []*wire.Schema{`,
		`{"type": "object", "propertyNames": {"enum": ["a"]}, "additionalProperties": {}}`:                                                               `Names: &wire.Schema{`,
		`{"type": "array", "items": {"type": "string"}, "prefixItems": [{"$ref": "#/$defs/Units"}]}`:                                                     `d.Enum(unitsEnum)`,
		`{"allOf": [{"type": "object"}, {"anyOf": [` + needs("height", "number") + needs("title", "string") + `]}]}`:                                     `if !(x.Height != nil) && !(x.Title != "" || wire.IsZeroIn(x.Extra, "title", ` + "`\"\"`)) {",
		`{"allOf": [{"type": "object"}, {"anyOf": [` + needs("height", "number") + `{"type": "object", "properties": {"width": {"type": "number"}}}]}]}`: "Width *float64",
	} {
		text := strings.Replace(weather, `{"$ref": "#/$defs/Units"}`, strings.ReplaceAll(member, "},]", "}]"), 1)
		require.NotEqual(t, weather, text)
		files, summary, err := compiled(t, text)
		require.NoError(t, err, member)
		require.NotContains(t, summary, "not checked")
		require.Contains(t, string(files["codec.go"])+string(files["types.go"]), want)
		c := newChecker(t)
		c.mustCheck(t, printed(t, modelOf(t, 5)))
		require.NoError(t, c.check("weather", files), member)
	}
}

// needs returns an object that requires a member, as an element of a list.
func needs(member, typ string) string {
	return fmt.Sprintf(`{"type": "object", "required": [%q], "properties": {%[1]q: {"type": %q}}},`, member, typ)
}
