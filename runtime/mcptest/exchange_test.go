package mcptest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEventReader(t *testing.T) {
	for stream, want := range map[string][]string{
		"data: a\n\ndata: b\n\n":                                             {"a", "b"},
		"data:a\r\n\r\ndata:  b\r\rdata: c\n\r\n":                            {"a", " b", "c"},
		"\ufeffdata: a\ndata: b\ndata\n\n":                                   {"a\nb\n"},
		": nothing\nid: 1\nretry: 5\n\ndata:\n\n":                            nil,
		"event: message\ndata: a\n\nevent: endpoint\ndata: b\n\ndata: c\n\n": {"a", "c"},
		"data: half": nil,
		"\ufeff\ufeffdata: a\n\n\ufeffdata: b\n\n": nil,
	} {
		for size := range len(stream) + 1 {
			var got []string
			e := eventReader{message: func(data []byte) { got = append(got, string(data)) }}
			_, _ = e.Write([]byte(stream[:size]))
			_, _ = e.Write([]byte(stream[size:]))
			require.Equal(t, want, got, "%q cut at %d", stream, size)
		}
	}
}
