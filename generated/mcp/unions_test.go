package mcp

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/wire"
)

// TestUnionsKeepWhatOtherRevisionsHave reads, in each revision, the documents
// that the same union has in others.
func TestUnionsKeepWhatOtherRevisionsHave(t *testing.T) {
	kept := 0
	for _, s := range subjects() {
		arms := unionOf(s.shape)
		name := discriminator(arms)
		if name == "" {
			continue
		}
		for _, file := range schemas() {
			other := subjectFor(file.revision, s.definition)
			if other == nil {
				continue
			}
			for _, arm := range unionOf(other.shape) {
				doc := arm.least().(map[string]any)
				if candidates, _ := candidatesFor(arms, doc); candidates == nil {
					requireUnknown(t, s, doc)
					kept++
				}
			}
		}
	}
	t.Logf("%d kept", kept)
	require.NotZero(t, kept)
}

// requireUnknown checks that a document is kept as it is.
func requireUnknown(t *testing.T, s *subject, doc any) {
	t.Helper()
	text := render(doc, reversed)
	v, err := s.decode(text)
	require.NoError(t, err, "%v: %s", s, text)
	held := reflect.ValueOf(v).Elem().FieldByName("v").Elem()
	require.Contains(t, held.Type().String(), "Unknown", "%v: %s", s, text)
	out, err := s.encode(v)
	require.NoError(t, err, "%v: %s", s, text)
	require.Equal(t, string(text), string(out), s)
}

func TestUnionsRefuseOtherKindsOfJSON(t *testing.T) {
	for _, s := range subjects() {
		if !strings.HasPrefix(fmt.Sprintf("%T", s.fresh()), "*mcp.box[") || discriminator(unionOf(s.shape)) == "" {
			continue
		}
		for _, text := range []string{`null`, `5`, `"text"`, `[]`, `true`, `{}`, `{"type":5,"method":5,"mode":5}`} {
			_, err := s.decode([]byte(text))
			require.Error(t, err, "%v: %s", s, text)
		}
	}
}

func TestTheFirstRevisionsOfElicitationHaveNoModes(t *testing.T) {
	x := new(ElicitRequest)
	doc := []byte(`{"message":"m","requestedSchema":{"type":"object","properties":{}},"mode":"url"}`)
	require.NoError(t, wire.DecodeParams(doc, &wire.Frame{Revision: Revision20250618}, x))
	form, ok := x.Params.(*ElicitRequestFormParams)
	require.True(t, ok)
	require.Equal(t, `"url"`, string(form.Extra["mode"]))
}
