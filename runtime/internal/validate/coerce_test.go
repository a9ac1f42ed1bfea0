package validate

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCoerce(t *testing.T) {
	s := compiled(t, `{"type":"object","properties":{
		"page":{"type":"integer","minimum":1},"ratio":{"type":"number"},"draft":{"type":"boolean"},"either":{"type":["integer","null"]},
		"labels":{"type":"array","items":{"type":"string"}},"ids":{"type":"array","items":{"type":"integer"}},
		"point":{"$ref":"#/$defs/point"},"points":{"type":"array","items":{"$ref":"#/$defs/point"}},
		"any":{"anyOf":[{"type":"integer"},{"type":"null"}]},"text":{"type":"string"}},
		"additionalProperties":{"type":"boolean"},"$defs":{"point":{"type":"object","properties":{"x":{"type":"number"}}}}}`)
	for doc, want := range map[string]string{
		`{ "page": "2" }`:                            `{"page":2}`,
		`{"ratio":"-1.5e3","draft":"true"}`:          `{"ratio":-1.5e3,"draft":true}`,
		`{"ratio":"12345678901234567890.123456789"}`: `{"ratio":12345678901234567890.123456789}`,
		`{"either":"7","labels":"bug"}`:              `{"either":7,"labels":["bug"]}`,
		`{"ids":"1"}`:                                `{"ids":[1]}`,
		`{"ids":["1",2],"text":"2"}`:                 `{"ids":[1,2],"text":"2"}`,
		`{"point":{"x":"1"},"points":{"x":"2"}}`:     `{"point":{"x":1},"points":[{"x":2}]}`,
		`{"any":"3","other":"false"}`:                `{"any":3,"other":false}`,
		`{"page": 2 , "text":"\u0041"}`:              `{"page": 2 , "text":"\u0041"}`,
		`{"page":"2","text":"\u0041\n"}`:             `{"page":2,"text":"\u0041\n"}`,
	} {
		got, err := s.Coerce(json.RawMessage(doc))
		require.NoError(t, err, doc)
		require.Equal(t, want, string(got))
	}
	for _, doc := range []string{
		`{"page":"2 "}`, `{"page":" 2"}`, `{"page":""}`, `{"page":"+2"}`, `{"page":"0x2"}`, `{"page":"2.5"}`, `{"page":"0"}`, `{"page":true}`,
		`{"page":"two"}`, `{"draft":"True"}`, `{"draft":"1"}`, `{"draft":1}`, `{"labels":null}`, `{"labels":1}`, `{"text":2}`, `{"point":"1"}`,
		`{"page":"1e999999999999"}`, `{"page":["2"]}`, `"2"`, `{`,
	} {
		got, err := s.Coerce(json.RawMessage(doc))
		require.Nil(t, got, doc)
		want := s.Validate(json.RawMessage(doc))
		require.Error(t, want, doc)
		require.Equal(t, want, err, "the error is about the document of the caller")
	}
}

// A list in a list in a list could be made of a value without end.
func TestCoerceEnds(t *testing.T) {
	s := compiled(t, `{"type":"array","items":{"$ref":"#"}}`)
	_, err := s.Coerce(json.RawMessage(`1`))
	require.EqualError(t, err, s.Validate(json.RawMessage(`1`)).Error())
	doc := `[` + strings.Repeat(`"1",`, 10_000) + `"1"]`
	got, err := compiled(t, `{"items":{"type":"integer"}}`).Coerce(json.RawMessage(doc))
	require.Nil(t, got, "a document with more problems than the limit is refused")
	require.Error(t, err)
}

// Coerce accepts at least the documents that are valid, unchanged, and returns only valid ones.
func FuzzCoerce(f *testing.F) {
	s, err := Compile(json.RawMessage(`{"type":["array","object"],"properties":{"a":{"type":["integer","boolean"]}},"items":{"type":"array","items":{"type":"number"}}}`))
	require.NoError(f, err)
	for _, doc := range []string{`{"a":"1"}`, `[1,"2"]`, `1`, `[[["3"]]]`, `{"a":["true"]}`} {
		f.Add(doc)
	}
	f.Fuzz(func(t *testing.T, doc string) {
		got, err := s.Coerce(json.RawMessage(doc))
		if s.Validate(json.RawMessage(doc)) == nil {
			require.Equal(t, doc, string(got))
		}
		if err == nil {
			require.NoError(t, s.Validate(got))
		}
	})
}
