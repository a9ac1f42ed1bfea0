package serverurl

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseAndRedact(t *testing.T) {
	for text, want := range map[string]struct{ redacted, err string }{
		"https://example.com/mcp":                  {"https://example.com/mcp", ""},
		"http://u:secret@example.com/mcp?k=secret": {"http://example.com/mcp", ""},
		"localhost:8080/mcp":                       {"localhost:8080/mcp", "no scheme"},
		"127.0.0.1:8080/mcp":                       {"127.0.0.1:8080/mcp", "no scheme"},
		"u:secret@example.com/mcp":                 {"example.com/mcp", "no scheme"},
		"/mcp":                                     {"/mcp", "no scheme"},
		"":                                         {"", "no scheme"},
		"ftp://example.com/mcp":                    {"ftp://example.com/mcp", `scheme "ftp"`},
		"ftp://u:secret@example.com/mcp":           {"ftp://example.com/mcp", `scheme "ftp"`},
		"http:///mcp":                              {"http:///mcp", "no host"},
		"http://u:secret@host:x/mcp":               {"invalid URL", "is invalid"},
		"http://u:secret/x@host/mcp":               {"invalid URL", "is invalid"},
		"http://u:secret@\x00/secret":              {"invalid URL", "is invalid"},
	} {
		u, err := Parse(text)
		if want.err == "" {
			require.NoError(t, err, text)
			require.Equal(t, want.redacted, Redact(u))
		} else {
			require.ErrorContains(t, err, want.err, text)
			require.NotContains(t, err.Error(), "secret", text)
		}
		require.Equal(t, want.redacted, RedactText(text), text)
	}
}
