package ir

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGoName(t *testing.T) {
	for name, want := range map[string]string{
		"inputSchema":            "InputSchema",
		"uri":                    "URI",
		"uriTemplate":            "URITemplate",
		"mimeType":               "MIMEType",
		"requestId":              "RequestID",
		"ttlMs":                  "TTLMs",
		"URLElicitationRequired": "URLElicitationRequired",
		"JSONRPCRequest":         "JSONRPCRequest",
		"_meta":                  "Meta",
		"list_changed":           "ListChanged",
		"append_json":            "AppendJSON",
		"input_required":         "InputRequired",
		"date-time":              "DateTime",
		"Owner.member":           "OwnerMember",
		"io.example/logLevel":    "LogLevel",
		"$schema":                "Schema",
		"utf8Text":               "Utf8Text",
		"":                       "",
	} {
		require.Equal(t, want, goName(name), "%q", name)
	}
}

func TestGoNameKeepsGoNames(t *testing.T) {
	for _, name := range []string{"InputSchema", "URITemplate", "MIMEType", "RequestID", "JSONObject", "ElicitRequestURLParams", "CallTool"} {
		require.Equal(t, name, goName(name))
	}
}
