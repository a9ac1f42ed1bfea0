package connection_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/peer"
)

// matchingHeader returns the headers for minimalParams in a tools/list request.
func matchingHeader() http.Header {
	return header("MCP-Protocol-Version", "2026-07-28", "mcp-method", " tools/list ")
}

func TestReadMetadata(t *testing.T) {
	lacks := func(what string) string { return "Invalid params: " + what }
	noObject := lacks(`"_meta" is not an object with ` + version + ` and ` + caps)
	for _, c := range []struct {
		method, params string
		header         http.Header
		code           int64
		message        string
	}{
		// The required members.
		{"tools/list", minimalParams, nil, 0, ""},
		{"tools/list", minimalParams, matchingHeader(), 0, ""},
		{"tools/list", ``, nil, mcp.CodeInvalidParams, noObject},
		{"tools/list", `{}`, nil, mcp.CodeInvalidParams, noObject},
		{"tools/list", `{"_meta":null}`, nil, mcp.CodeInvalidParams, noObject},
		{"tools/list", `{"_meta":[]}`, nil, mcp.CodeInvalidParams, noObject},
		{"tools/list", `{"_meta":"x"}`, nil, mcp.CodeInvalidParams, noObject},
		{"tools/list", `{"_meta":{}}`, nil, mcp.CodeInvalidParams, lacks(`"_meta" lacks ` + version + ` and ` + caps)},
		{"tools/list", `{"_meta":{` + version + `:"2026-07-28"}}`, nil, mcp.CodeInvalidParams, lacks(`"_meta" lacks ` + caps)},
		{"tools/list", `{"_meta":{` + caps + `:{}}}`, nil, mcp.CodeInvalidParams, lacks(`"_meta" lacks ` + version)},
		{"tools/list", `{"_meta":{"IO.modelcontextprotocol/protocolVersion":"2026-07-28",` + caps + `:{}}}`, nil, mcp.CodeInvalidParams, lacks(`"_meta" lacks ` + version)},
		{"tools/list", `{"_meta":{` + version + `:"2026-07-28",` + caps + `:null}}`, nil, 0, ""},
		{"tools/list", `{"_meta":{"io.modelcontextprotocol\/protocolVersio\u006e":"2026-07-28",` + caps + `:{}}}`, nil, 0, ""},

		{"tools/call", `{"_meta":{` + version + `:"2026-07-28",` + caps + `:{}},"arguments":{},"name":"x"}`, nil, 0, ""},
		{"tools/list", `{"_meta":{"io.modelcontextprotocol/logLevel":[1],` + version + `:"2026-07-28",` + caps + `:{}}}`, nil, 0, ""},
		{"tools/list", `{"_meta":{"a":[{}],` + version + `:"2026-07-28",` + caps + `:{}}}`, nil, 0, ""},

		// The metadata is checked before the headers.
		{"tools/list", `{}`, header(), mcp.CodeInvalidParams, noObject},

		// The headers repeat the body.
		{"tools/list", minimalParams, header(), mcp.CodeHeaderMismatch, "Header mismatch: header Mcp-Protocol-Version is missing"},
		{"tools/list", minimalParams, header("MCP-Protocol-Version", "2025-11-25", "Mcp-Method", "tools/list"), mcp.CodeHeaderMismatch, "Header mismatch: header Mcp-Protocol-Version does not repeat the version of the body"},
		{"tools/list", minimalParams, header("MCP-Protocol-Version", "2026-07-28"), mcp.CodeHeaderMismatch, "Header mismatch: header Mcp-Method is missing"},
		{"tools/list", minimalParams, header("MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call"), mcp.CodeHeaderMismatch, "Header mismatch: header Mcp-Method does not repeat the method of the body"},
		{"tools/list", minimalParams, header("MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/list", "Mcp-Method", "tools/list"), mcp.CodeHeaderMismatch, "Header mismatch: header Mcp-Method occurs more than once"},

		// The headers are checked before the revision.
		{"tools/list", `{"_meta":{` + version + `:"2027-01-01",` + caps + `:{}}}`, matchingHeader(), mcp.CodeHeaderMismatch, "Header mismatch: header Mcp-Protocol-Version does not repeat the version of the body"},
		{"tools/list", `{"_meta":{` + version + `:"2027-01-01",` + caps + `:{}}}`, header("MCP-Protocol-Version", "2027-01-01", "Mcp-Method", "tools/list"), mcp.CodeUnsupportedProtocolVersion, "Unsupported protocol version"},

		// The revision is a string.
		{"tools/list", `{"_meta":{` + version + `:1,` + caps + `:{}}}`, matchingHeader(), mcp.CodeHeaderMismatch, "Header mismatch: header Mcp-Protocol-Version does not repeat the version of the body"},
		{"tools/list", `{"_meta":{` + version + `:1,` + caps + `:{}}}`, nil, mcp.CodeInvalidParams, lacks(version + ` is not a string`)},
		{"tools/list", `{"_meta":{` + version + `:null,` + caps + `:{}}}`, nil, mcp.CodeInvalidParams, lacks(version + ` is not a string`)},

		// The revision is a served stateless revision.
		{"tools/list", `{"_meta":{` + version + `:"2027-01-01",` + caps + `:{}}}`, nil, mcp.CodeUnsupportedProtocolVersion, "Unsupported protocol version"},
		{"tools/list", `{"_meta":{` + version + `:"2025-11-25",` + caps + `:{}}}`, nil, mcp.CodeUnsupportedProtocolVersion, "Unsupported protocol version"},

		// The method is not checked.
		{"no/such", minimalParams, nil, 0, ""},
		{"no/such", minimalParams, header("MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "no/such"), 0, ""},
	} {
		var params json.RawMessage
		if c.params != "" {
			params = json.RawMessage(c.params)
		}
		got, err := connection.ReadMetadata(c.method, params, c.header, served)
		if c.code == 0 {
			require.NoError(t, err, c.params)
			require.Equal(t, mcp.Revision20260728, got.Revision)
			continue
		}
		e := peer.AsError(err)
		require.NotNil(t, e, "%v", err)
		require.Equal(t, c.code, e.Code, "%s: %v", c.params, err)
		require.Equal(t, c.message, e.Message)
	}
}

func TestReadMetadataUnsupportedRevision(t *testing.T) {
	_, err := connection.ReadMetadata("x", json.RawMessage(`{"_meta":{`+version+`:"2027-01-01",`+caps+`:{}}}`), nil, served)
	require.JSONEq(t, `{"requested":"2027-01-01","supported":["2025-11-25","2026-07-28"]}`, string(peer.AsError(err).Data))
}

func TestReadMetadataNameHeader(t *testing.T) {
	metadata := `"_meta":{` + version + `:"2026-07-28",` + caps + `:{}}}`
	encoded := func(text string) string { return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(text)) + "?=" }
	for _, c := range []struct {
		method, params string
		values         []string
		ok             bool
	}{
		{"tools/call", `{"name":"greet",`, []string{"greet"}, true},
		{"tools/call", `{"name":"greet",`, nil, false},
		{"tools/call", `{"name":"greet",`, []string{"Greet"}, false},
		{"tools/call", `{"name":"greet",`, []string{"greet", "greet"}, false},
		{"tools/call", `{"name":"grüß",`, []string{encoded("grüß")}, true},
		{"tools/call", `{"name":"grüß",`, []string{encoded("grüß")[:12]}, false},
		{"tools/call", `{"name":"gr\u00fc\u00df",`, []string{encoded("grüß")}, true},
		{"tools/call", `{"name":"=?base64?x?=",`, []string{encoded("=?base64?x?=")}, true},
		{"tools/call", `{"name":"=?BASE64?eA==?=",`, []string{"=?BASE64?eA==?="}, true},
		{"tools/call", `{"name":"x",`, []string{"=?base64?eB==?="}, false},
		{"tools/call", `{"name":"x",`, []string{"=?base64?eA?="}, false},
		{"tools/call", `{"name":"x",`, []string{"=?base64?/w==?="}, false},
		{"tools/call", `{"name":"",`, []string{encoded("")}, true},
		{"tools/call", `{"name":"",`, []string{""}, true},
		{"tools/call", `{`, nil, true},
		{"tools/call", `{"name":3,`, nil, true},
		{"tools/list", `{"name":"x",`, nil, true},
		{"resources/read", `{"uri":"a:b",`, []string{"a:b"}, true},
		{"resources/read", `{"uri":"a:b","name":"c",`, []string{"c"}, false},
		{"prompts/get", `{"name":"p",`, []string{"p"}, true},
	} {
		h := header("MCP-Protocol-Version", "2026-07-28", "Mcp-Method", c.method)
		for _, v := range c.values {
			h.Add("Mcp-Name", v)
		}
		_, err := connection.ReadMetadata(c.method, json.RawMessage(c.params+metadata), h, served)
		if c.ok {
			require.NoError(t, err, "%s %v", c.params, c.values)
			continue
		}
		require.EqualValues(t, mcp.CodeHeaderMismatch, peer.AsError(err).Code, "%s %v", c.params, c.values)
	}
}

func TestMetadataSender(t *testing.T) {
	got, err := connection.ReadMetadata("x", json.RawMessage(`{"_meta":{`+info+`:{"name":"c","version":"1"},`+
		`"io.modelcontextprotocol/logLevel":"info",`+caps+`:{"roots":{},"new":1},`+version+`:"2026-07-28"}}`), nil, served)
	require.NoError(t, err)
	info, caps := got.Sender()
	require.Equal(t, "c", info.Name)
	require.NotNil(t, caps.Roots)
	require.Equal(t, mcp.LoggingLevelInfo, got.LogLevel)
}

func TestMetadataIgnoresInvalidMembers(t *testing.T) {
	for _, bad := range []string{`null`, `1`, `[]`, `"x"`, `{"name":1,"roots":1}`} {
		got, err := connection.ReadMetadata("x", json.RawMessage(`{"_meta":{`+info+`:`+bad+`,`+caps+`:`+bad+`,`+
			`"io.modelcontextprotocol/logLevel":`+bad+`,`+version+`:"2026-07-28"}}`), nil, served)
		require.NoError(t, err, bad)
		info, caps := got.Sender()
		require.Nil(t, info, bad)
		require.Nil(t, caps, bad)
		require.Empty(t, got.LogLevel, bad)
	}
}

func TestMetadataReadsValidMembersNextToInvalidOnes(t *testing.T) {
	got, err := connection.ReadMetadata("x", json.RawMessage(`{"_meta":{"io.modelcontextprotocol/logLevel":7,`+info+`:[{"name":1}],`+
		caps+`:{"roots":{}},`+version+`:"2026-07-28"}}`), nil, served)
	require.NoError(t, err)
	info, caps := got.Sender()
	require.Nil(t, info)
	require.NotNil(t, caps.Roots)
}
