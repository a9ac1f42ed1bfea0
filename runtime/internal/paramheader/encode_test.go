package paramheader_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/internal/paramheader"
)

func TestEncodePlainText(t *testing.T) {
	for _, text := range []string{"", "greet", "two words", "a,b;c=\"d\"", "=?base64?eA==", "?=", "=?BASE64?eA==?=", "=?utf-8?q?x?="} {
		require.Equal(t, text, paramheader.Encode(text))
		got, err := paramheader.Decode(text)
		require.NoError(t, err)
		require.Equal(t, text, got)
	}
}

func TestEncodeOtherText(t *testing.T) {
	for text, want := range map[string]string{
		" lead":        "=?base64?IGxlYWQ=?=",
		"trail ":       "=?base64?dHJhaWwg?=",
		"a\tb":         "=?base64?YQli?=",
		"Füße":         "=?base64?RsO8w59l?=",
		"x\r\nEvil: 1": "=?base64?eA0KRXZpbDogMQ==?=",
		"=?base64?x?=": "=?base64?PT9iYXNlNjQ/eD89?=",
		"=?base64?=":   "=?base64?PT9iYXNlNjQ/PQ==?=",
		"\x7f":         "=?base64?fw==?=",
	} {
		require.Equal(t, want, paramheader.Encode(text))
		got, err := paramheader.Decode(want)
		require.NoError(t, err)
		require.Equal(t, text, got)
	}
}

func TestDecodeRejectsOtherEncodings(t *testing.T) {
	for value, why := range map[string]string{
		"=?base64?SGVsbG8?=":             "base64", // no padding
		"=?base64?SGVsbG8==?=":           "base64", // too much padding
		"=?base64?SGV%bG8=?=":            "base64", // not in the alphabet
		"=?base64?SGVsbG9=?=":            "base64", // unused bits are not zero
		"=?base64?_-8=?=":                "base64", // URL alphabet
		"=?base64?/w==?=":                "UTF-8",
		"=?base64?SGVs\r\nbG8=?=":        "ASCII",
		"Füße":                           "ASCII",
		"a\tb":                           "ASCII",
		"=?base64?" + "SGVs bG8=" + "?=": "base64",
	} {
		_, err := paramheader.Decode(value)
		require.ErrorContains(t, err, why, "%q", value)
	}
}

func TestDecodeIgnoresInexactMarks(t *testing.T) {
	for _, value := range []string{"=?Base64?SGVsbG8=?=", "=?base64?SGVsbG8=", "=?base64?SGVsbG8=?", "=?base64?=", "SGVsbG8=?="} {
		got, err := paramheader.Decode(value)
		require.NoError(t, err)
		require.Equal(t, value, got)
	}
	got, err := paramheader.Decode("=?base64??=")
	require.NoError(t, err)
	require.Empty(t, got)
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{"", "x", "=?base64?SGVsbG8=?=", "=?base64?SGVsbG8?=", "=?base64?=", " x ", "é"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if text, err := paramheader.Decode(s); err == nil && s == strings.TrimSpace(s) {
			again, err := paramheader.Decode(paramheader.Encode(text))
			require.NoError(t, err)
			require.Equal(t, text, again)
		}
		if !utf8.ValidString(s) {
			return
		}
		value := paramheader.Encode(s)
		require.Equal(t, strings.TrimSpace(value), value, "the value must not have spaces at its ends")
		got, err := paramheader.Decode(value)
		require.NoError(t, err)
		require.Equal(t, s, got)
	})
}
