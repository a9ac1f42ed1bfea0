package load

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestProseGoesMembersCalledDescriptionStay(t *testing.T) {
	official := `{
	"description": "words",
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$defs": {"Tool": {"type": "object", "description": "words",
      "required": ["description"],
      "properties": {
        "next": {"$ref": "#/$defs/Tool", "description": "words"},
        "description": {"type": "string", "description": "words"}}}}}`
	ours, err := Transcribe("x.json", []byte(official))
	require.NoError(t, err)
	require.Equal(t, small, string(ours))
}

func TestTranscriptionKeepsWhatIsWritten(t *testing.T) {
	official := newFile(`{"A": {"anyOf": [
		{"minimum": 1.0, "type": "number"}, {"const": "<a> & \u00e9"}, {"type": "object", "properties": {}}, {"enum": ["b", "a"]}]}}`)
	ours, err := Transcribe("x.json", official)
	require.NoError(t, err)
	text := string(ours)
	require.Contains(t, text, `"minimum": 1.0,`, "numbers as written")
	require.Contains(t, text, `"const": "<a> & é"`, "no HTML escapes")
	require.Contains(t, text, `"properties": {}`, "empty is not absent")
	require.Regexp(t, `(?s)"b",\s+"a"`, text, "arrays in their order")
	require.NotContains(t, text, "\r")
}

func TestTranscribeRefusesWhatTheCompilerWould(t *testing.T) {
	_, err := Transcribe("x.json", newFile(`{"A": {"description": "x", "oneOf": []}}`))
	require.EqualError(t, err, `x.json#/$defs/A/oneOf: unknown keyword "oneOf"; the compiler does not obey it, so teach it to gen first`)
}
