package validate

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// toolSchema returns the schema of a tool with 8 parameters.
func toolSchema(i int) json.RawMessage {
	return fmt.Appendf(nil, `{"type":"object","properties":{
		"owner":{"type":"string","description":"Owner of repository %d"},
		"repo":{"type":"string","description":"Name of the repository"},
		"title":{"type":"string","description":"Title of the issue","minLength":1},
		"labels":{"type":"array","items":{"type":"string"},"description":"Labels of the issue"},
		"state":{"type":"string","enum":["open","closed","all"],"description":"State of the issues"},
		"page":{"type":"integer","minimum":1,"description":"Page of the results"},
		"per_page":{"type":"integer","minimum":1,"maximum":100,"description":"Results in a page"},
		"draft":{"type":"boolean","description":"Whether the issue is a draft"}},
		"required":["owner","repo","title"],"additionalProperties":false}`, i)
}

// arguments are valid arguments for toolSchema.
var arguments = json.RawMessage(`{"owner":"mcpwright","repo":"mcp","title":"A title of an issue","labels":["bug","help wanted"],"state":"open","page":2,"per_page":50,"draft":false}`)

// wrongArguments are arguments with two problems.
var wrongArguments = json.RawMessage(`{"owner":"mcpwright","repo":5,"title":"A title of an issue","labels":["bug","help wanted"],"state":"open","page":0}`)

func BenchmarkCompileTool(b *testing.B) {
	schemas := make([]json.RawMessage, 100)
	for i := range schemas {
		schemas[i] = toolSchema(i)
	}
	b.Run("ours", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			_, err := Compile(schemas[i%100])
			require.NoError(b, err)
		}
	})
	b.Run("check", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			_, err := Check(schemas[i%100])
			require.NoError(b, err)
		}
	})
	b.Run("reference", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			_, err := compileReference(schemas[i%100], "")
			require.NoError(b, err)
		}
	})
}

func BenchmarkCompileLarge(b *testing.B) {
	for name, text := range map[string]json.RawMessage{
		"99999properties":  wideSchema(99_999),
		"100000properties": wideSchema(100_000),
		"20000references":  chainedSchema(20_000),
		"500properties":    wideSchema(500),
		"500references":    chainedSchema(500),
	} {
		b.Run("ours/"+name, func(b *testing.B) {
			for b.Loop() {
				_, _ = Compile(text)
			}
		})
		if strings.HasPrefix(name, "500") {
			b.Run("reference/"+name, func(b *testing.B) {
				for b.Loop() {
					_, _ = compileReference(text, "")
				}
			})
		}
	}
}

func BenchmarkValidate(b *testing.B) {
	for name, doc := range map[string]json.RawMessage{
		"valid":   arguments,
		"invalid": wrongArguments,
		"long":    json.RawMessage(`{"owner":"a","repo":"b","title":"c","labels":` + list(`"a label"`, 10_000) + `}`),
	} {
		b.Run("ours/"+name, func(b *testing.B) {
			s, err := Compile(toolSchema(0))
			require.NoError(b, err)
			b.ReportAllocs()
			b.SetBytes(int64(len(doc)))
			for b.Loop() {
				_ = s.Validate(doc)
			}
		})
		b.Run("reference/"+name, func(b *testing.B) {
			s, err := compileReference(toolSchema(0), "")
			require.NoError(b, err)
			b.ReportAllocs()
			b.SetBytes(int64(len(doc)))
			for b.Loop() {
				_ = s.validate(doc)
			}
		})
	}
}

// raceDetector reports whether the race detector is on. It drops values from pools at random.
var raceDetector bool

func TestFewAllocations(t *testing.T) {
	if testing.CoverMode() != "" || raceDetector {
		t.Skip("coverage and the race detector add allocations")
	}
	text := toolSchema(0)
	s, err := Compile(text)
	require.NoError(t, err)
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() { _, _ = Compile(text) }), 20.0)
	require.Zero(t, testing.AllocsPerRun(100, func() { _ = s.Validate(arguments) }))
}
