package wiretrace

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestRecordedLine compares the line of an event with its encoding by encoding/json.
func TestRecordedLine(t *testing.T) {
	at := time.Date(2026, 7, 28, 10, 0, 0, 120, time.FixedZone("", 3600))
	for name, e := range map[string]*Event{
		"empty": {},
		"request": {N: 7, Time: at, Connection: 2, From: "client", Kind: Request, Method: "tools/call", ID: json.RawMessage(`"a<b"`), Revision: "2025-11-25",
			Size: 1 << 40, Masked: true, Message: json.RawMessage(`{"id":"a<b","text":"\u00e9 é"}`)},
		"response": {N: 8, Time: at, From: "server", Kind: Error, ID: json.RawMessage("1.50"), RespondsTo: 7, LatencyMS: 0.0625,
			Violations: []Violation{{"/result/x", `expected "a"`}}, Message: json.RawMessage(`{}`)},
		"http": {N: 9, Time: at.UTC(), From: "server", Kind: HTTP, HTTP: &HTTPDetails{Exchange: 3, Method: "GET", Path: "/mcp?a=b&c", Status: 404, Type: "text/html"}, Text: "a & b"},
		"text": {From: "server", Kind: Text, Clipped: true, Text: "\"quoted\" \\ <tag> \x00\u2028\xff 語\n"},
		"odd":  {From: "a\nb", Kind: "\x7f", Method: `a"b\c`, Revision: "é"},
	} {
		t.Run(name, func(t *testing.T) {
			line := e.AppendJSON([]byte("before"))
			want, err := json.Marshal(e)
			require.NoError(t, err)
			require.Equal(t, "before", string(line[:6]))
			require.Equal(t, byte('\n'), line[len(line)-1])
			require.NotContains(t, string(line[6:len(line)-1]), "\n")
			require.JSONEq(t, string(want), string(line[6:]))
			if e.Message == nil {
				require.Equal(t, string(want)+"\n", string(line[6:]), "the same order and escapes")
			}
		})
	}
	lines := (&Event{ID: json.RawMessage("1"), Message: json.RawMessage("{\n\"a\":\r\n1}")}).AppendJSON(nil)
	require.Contains(t, string(lines), `"message":{"a":1}`)
}
