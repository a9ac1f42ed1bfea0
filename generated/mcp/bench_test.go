package mcp

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/wire"
)

// The plain types are the same data for encoding/json.
type (
	plainResponse[T any] struct {
		JSONRPC string `json:"jsonrpc"`
		ID      int64  `json:"id"`
		Result  T      `json:"result"`
	}
	plainRequest[T any] struct {
		JSONRPC string `json:"jsonrpc"`
		ID      int64  `json:"id"`
		Method  string `json:"method"`
		Params  T      `json:"params"`
	}
	plainContent struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	plainCallResult struct {
		Content []plainContent `json:"content"`
		IsError bool           `json:"isError,omitzero"`
	}
	plainCall struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments,omitzero"`
	}
	plainAnnotations struct {
		ReadOnlyHint bool   `json:"readOnlyHint,omitzero"`
		Title        string `json:"title,omitzero"`
	}
	plainTool struct {
		Name        string            `json:"name"`
		InputSchema json.RawMessage   `json:"inputSchema"`
		Annotations *plainAnnotations `json:"annotations,omitzero"`
		Description string            `json:"description,omitzero"`
	}
	plainTools struct {
		Tools []plainTool `json:"tools"`
	}
	plainMessage struct {
		Content plainContent `json:"content"`
		Role    string       `json:"role"`
	}
	plainSampling struct {
		MaxTokens     int64          `json:"maxTokens"`
		Messages      []plainMessage `json:"messages"`
		StopSequences []string       `json:"stopSequences,omitzero"`
		SystemPrompt  string         `json:"systemPrompt,omitzero"`
		Temperature   *float64       `json:"temperature,omitzero"`
	}
)

// A workload is a message to measure: its text, and the values of this package and of
// encoding/json that it is decoded into.
type workload struct {
	name  string
	text  string
	value func() wire.Value // a request, or a result
	plain func() any
}

var workloads = []workload{
	{"CallResult", response(`{"content":[{"type":"text","text":"Hello, gopher! (3)"}]}`),
		func() wire.Value { return new(CallToolResult) }, func() any { return new(plainResponse[plainCallResult]) }},
	{"CallRequest", request(MethodCallTool, `{"name":"greet","arguments":{"name":"gopher","count":3}}`),
		func() wire.Value { return new(CallToolRequest) }, func() any { return new(plainRequest[plainCall]) }},
	{"Tools100", response(hundredTools()),
		func() wire.Value { return new(ListToolsResult) }, func() any { return new(plainResponse[plainTools]) }},
	{"Sampling20", request(MethodCreateMessage, twentyMessages()),
		func() wire.Value { return new(CreateMessageRequest) }, func() any { return new(plainRequest[plainSampling]) }},
	{"Text1MiB", response(`{"content":[{"type":"text","text":` + string(wire.AppendString(nil, mebibyte())) + `}]}`),
		func() wire.Value { return new(CallToolResult) }, func() any { return new(plainResponse[plainCallResult]) }},
}

func response(result string) string { return `{"jsonrpc":"2.0","id":1,"result":` + result + `}` }

func request(method, params string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`
}

// read decodes the message as a connection does: a request in one pass, a response in two
// passes, of which the caller makes the second.
func (w workload) read(f *wire.Frame, text []byte) (v wire.Value, err error) {
	v = w.value()
	if p, ok := v.(message); ok {
		_, err = wire.ReadMessageInto(text, f, func(*wire.Message) wire.Params { return p })
		return v, err
	}
	m, err := wire.ReadMessage(text, f)
	if err != nil {
		return nil, err
	}
	return v, wire.Decode(m.Result, &wire.Frame{Revision: f.Revision, Checked: true}, v)
}

// append encodes the message.
func (w workload) append(b []byte, f *wire.Frame, v wire.Value) ([]byte, error) {
	if p, ok := v.(message); ok {
		return wire.AppendRequest(b, f, wire.IntID(1), p.Method(), p)
	}
	return wire.AppendResult(b, f, wire.IntID(1), v)
}

func hundredTools() string {
	var list []string
	for i := range 100 {
		schema := fmt.Sprintf(`{"type":"object","properties":{"query":{"type":"string","description":"The search query number %d","minLength":1},"limit":{"type":"integer","minimum":1,"maximum":100,"default":10},"filters":{"type":"object","properties":{"lang":{"type":"string","enum":["en","de","fr"]},"since":{"type":"string","format":"date-time"}}},"tags":{"type":"array","items":{"type":"string"}}},"required":["query"]}`, i)
		list = append(list, fmt.Sprintf(`{"name":"tool_%03d","description":"Tool number %d searches the corpus and returns the best matching passages with their sources.","inputSchema":%s,"annotations":{"readOnlyHint":true,"title":"T"}}`, i, i, schema))
	}
	return `{"tools":[` + strings.Join(list, ",") + `]}`
}

func twentyMessages() string {
	var list []string
	for i := range 20 {
		role := []string{"user", "assistant"}[i%2]
		list = append(list, fmt.Sprintf(`{"role":%q,"content":{"type":"text","text":"Message %d: please summarise the attached document in three sentences, and say \"unknown\" where unsure."}}`, role, i))
	}
	return `{"messages":[` + strings.Join(list, ",") + `],"systemPrompt":"You are terse.","temperature":0.5,"maxTokens":1000,"stopSequences":["END"]}`
}

// mebibyte returns text similar to source code: mostly ASCII, with line feeds, quotes and
// a few other letters.
func mebibyte() string {
	const unit = "func (s *Server) handle(ctx context.Context) error {\n\treturn s.send(ctx, \"résumé\", 42) // ok\n}\n"
	return strings.Repeat(unit, (1<<20)/len(unit)+1)[:1<<20-1] + "\n"
}

func BenchmarkEncode(b *testing.B) {
	frame := &wire.Frame{Revision: Revision20251125, Checked: true}
	for _, w := range workloads {
		v, err := w.read(frame, []byte(w.text))
		require.NoError(b, err)
		plain := w.plain()
		require.NoError(b, json.Unmarshal([]byte(w.text), plain))
		buf := make([]byte, 0, 2*len(w.text))
		measure(b, w, "wire", func() error { _, err := w.append(buf[:0], frame, v); return err })
		measure(b, w, "encoding-json", func() error { _, err := json.Marshal(plain); return err })
	}
}

func BenchmarkDecode(b *testing.B) {
	frame := &wire.Frame{Revision: Revision20251125}
	for _, w := range workloads {
		text := []byte(w.text)
		measure(b, w, "wire", func() error { _, err := w.read(frame, text); return err })
		measure(b, w, "encoding-json", func() error { return json.Unmarshal(text, w.plain()) })
	}
}

// BenchmarkDecodeLongText measures how long it takes to find out whether a long result
// requires input, depending on the position of resultType.
func BenchmarkDecodeLongText(b *testing.B) {
	content := `"content":[{"type":"text","text":` + string(wire.AppendString(nil, mebibyte())) + `}]`
	for _, c := range []struct {
		name, result string
		revision     wire.Revision
	}{
		{"2025-11-25", `{` + content + `}`, Revision20251125},
		{"first", `{"resultType":"complete",` + content + `}`, Revision20260728},
		{"last", `{` + content + `,"resultType":"complete"}`, Revision20260728},
	} {
		w := workload{name: c.name, text: response(c.result), value: func() wire.Value { return new(CallToolResult) }}
		frame, text := &wire.Frame{Revision: c.revision}, []byte(w.text)
		measure(b, w, "wire", func() error { _, err := w.read(frame, text); return err })
	}
}

func measure(b *testing.B, w workload, codec string, do func() error) {
	b.Run(w.name+"/"+codec, func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(w.text)))
		for b.Loop() {
			if err := do(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// TestWorkloadsAreEquivalent checks that both codecs read and write the same data.
func TestWorkloadsAreEquivalent(t *testing.T) {
	frame := &wire.Frame{Revision: Revision20251125}
	for _, w := range workloads {
		v, err := w.read(frame, []byte(w.text))
		require.NoError(t, err)
		ours, err := w.append(nil, frame, v)
		require.NoError(t, err)
		require.JSONEq(t, w.text, string(ours))

		p := w.plain()
		require.NoError(t, json.Unmarshal([]byte(w.text), p))
		plain, err := json.Marshal(p)
		require.NoError(t, err)
		require.JSONEq(t, w.text, string(plain))
	}
}

// raceDetector reports whether the tests run with the race detector.
var raceDetector bool

// TestAllocations checks allocations, which are the same on all machines. Each call of
// read has one more allocation than its budget, which the function itself makes.
func TestAllocations(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector empties pools at random, so allocations cannot be counted")
	}
	budget := map[string]float64{"CallResult": 5, "CallRequest": 5, "Tools100": 520, "Sampling20": 80, "Text1MiB": 5}
	frame := &wire.Frame{Revision: Revision20251125, Checked: true}
	for _, w := range workloads {
		text := []byte(w.text)
		v, err := w.read(frame, text)
		require.NoError(t, err)
		read := fewestAllocs(func() { _, _ = w.read(frame, text) })
		require.LessOrEqual(t, read, budget[w.name]+1, "decode %s", w.name)
		buf := make([]byte, 0, 2*len(text))
		write := fewestAllocs(func() { _, _ = w.append(buf[:0], frame, v) })
		require.Zero(t, write, "encode %s", w.name)
	}
	var res *CallToolResult
	require.LessOrEqual(t, fewestAllocs(func() { res = TextResult("Hello") }), 1.0, "TextResult")
	require.Equal(t, &CallToolResult{Content: []ContentBlock{&TextContent{Text: "Hello"}}}, res)
}

// fewestAllocs returns the smallest of several counts, because a garbage collection that
// empties the pools increases a count.
func fewestAllocs(do func()) float64 {
	fewest := math.Inf(1)
	for range 10 {
		fewest = min(fewest, testing.AllocsPerRun(5, do))
	}
	return fewest
}
