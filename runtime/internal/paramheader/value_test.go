package paramheader_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/internal/paramheader"
)

var params = []paramheader.Param{
	{Header: "Text", Path: []string{"text"}, Type: "string"},
	{Header: "Count", Path: []string{"in", "count"}, Type: "integer"},
	{Header: "On", Path: []string{"in", "on"}, Type: "boolean"},
}

func TestArgumentsBecomeHeaders(t *testing.T) {
	for arguments, want := range map[string]string{
		``:   "",
		`{}`: "",
		`{"text":"x","in":{"count":42,"on":true}}`: "Text=x Count=42 On=true",
		`{"in":{"on":false,"count":-0},"text":""}`: "Text= Count=0 On=false",
		`{"text":null,"in":null}`:                  "",
		`{"text":"é","in":{}}`:                     "Text==?base64?w6k=?=",
		`{"te\u0078t":"a\u0062"}`:                  "Text=ab",
		`{"in":{"count":42.0}}`:                    "Count=42",
		`{"in":{"count":-1e3}}`:                    "Count=-1000",
		`{"in":{"count":9007199254740991}}`:        "Count=9007199254740991",
		`{"in":[{"count":1}],"text":"7"}`:          "Text=7",
		`{"in":"x","other":{"count":1}}`:           "",
		`{"text":7}`:                               "Text=7",
	} {
		var raw json.RawMessage
		if arguments != "" {
			raw = json.RawMessage(arguments)
		}
		headers, err := paramheader.Values(params, raw)
		require.NoError(t, err, arguments)
		var got []string
		sent := make(http.Header)
		for _, h := range headers {
			got = append(got, strings.TrimPrefix(h.Name, paramheader.Prefix)+"="+h.Value)
			sent.Add(h.Name, h.Value)
		}
		require.Equal(t, want, strings.Join(got, " "), arguments)
		require.NoError(t, paramheader.Check(params, raw, sent), "what is sent is accepted: %s", arguments)
	}
}

func TestWhatNoHeaderCanRepeatIsRefusedAtBothEnds(t *testing.T) {
	for _, arguments := range []string{
		`{"text":{}}`, `{"text":[1]}`, `{"in":{"count":1.5}}`, `{"in":{"count":9007199254740992}}`,
		`{"in":{"count":123456789012345678901234567890}}`, `{"in":{"count":-9007199254740993}}`,
	} {
		_, err := paramheader.Values(params, json.RawMessage(arguments))
		require.ErrorContains(t, err, "a header", arguments)
		require.ErrorContains(t, paramheader.Check(params, json.RawMessage(arguments), nil), "a header", arguments)
	}
	_, err := paramheader.Values(params, json.RawMessage(`{"text":"a","text":"b"}`))
	require.ErrorContains(t, err, "duplicate")
	require.ErrorContains(t, paramheader.Check(params, json.RawMessage(`{`), nil), "arguments")
}

func TestHeadersRepeatTheArguments(t *testing.T) {
	for _, c := range []struct{ arguments, header, want string }{
		{`{"text":"x"}`, "Mcp-Param-Text: x", ""},
		{`{"text":"x"}`, "mcp-param-TEXT:  \tx ", ""},
		{`{"text":"Hello"}`, "Mcp-Param-Text: =?base64?SGVsbG8=?=", ""},
		{`{"text":"=?base64?SGVsbG8="}`, "Mcp-Param-Text: =?base64?SGVsbG8=", ""},
		{`{"text":"SGVsbG8=?="}`, "Mcp-Param-Text: SGVsbG8=?=", ""},
		{`{"in":{"count":42}}`, "Mcp-Param-Count: 42.0", ""},
		{`{"in":{"count":42.0}}`, "Mcp-Param-Count: 42", ""},
		{`{"in":{"count":42}}`, "Mcp-Param-Count: 4.2e1", ""},
		{`{"in":{"on":true}}`, "Mcp-Param-On: true", ""},
		{`{}`, "Mcp-Param-Unknown: 1", ""},
		{`{"text":""}`, "Mcp-Param-Text:", ""},

		{`{"text":"x"}`, "", "missing"},
		{`{"text":""}`, "", "missing"},
		{`{"in":{"count":0}}`, "", "missing"},
		{`{"in":{"on":false}}`, "", "missing"},
		{`{"text":"x"}`, "Mcp-Param-Text: y", "does not repeat"},
		{`{"text":"x"}`, "Mcp-Param-Text: X", "does not repeat"},
		{`{"in":{"on":true}}`, "Mcp-Param-On: True", "does not repeat"},
		{`{"in":{"count":42}}`, "Mcp-Param-Count: 42.5", "does not repeat"},
		{`{"in":{"count":42}}`, "Mcp-Param-Count: 0x2a", "does not repeat"},
		{`{"in":{"count":42}}`, "Mcp-Param-Count: +42", "does not repeat"},
		{`{"in":{"count":9007199254740991}}`, "Mcp-Param-Count: 9007199254740990.6", "does not repeat"},
		{`{"text":"42"}`, "Mcp-Param-Text: 42.0", "does not repeat"},
		{`{"text":"Hello"}`, "Mcp-Param-Text: =?base64?SGVsbG8?=", "base64"},
		{`{"text":"x"}`, "Mcp-Param-Text: x\nMcp-Param-Text: x", "twice"},
		{`{}`, "Mcp-Param-Text: x", "not there"},
		{`{"text":null}`, "Mcp-Param-Text: null", "not there"},
		{`{}`, "Mcp-Param-Text: x\nMcp-Param-Text: x", "twice"},
	} {
		header := make(http.Header)
		for line := range strings.Lines(c.header) {
			name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
			header.Add(strings.TrimSuffix(name, ":"), value)
		}
		err := paramheader.Check(params, json.RawMessage(c.arguments), header)
		if c.want == "" {
			require.NoError(t, err, "%s %s", c.arguments, c.header)
		} else {
			require.ErrorContains(t, err, c.want, "%s %s", c.arguments, c.header)
		}
	}
}
