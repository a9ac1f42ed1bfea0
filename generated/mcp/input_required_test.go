package mcp

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/wire"
)

// inputSubjects returns the results of the methods that may require input.
func inputSubjects() (list []*subject) {
	for _, s := range subjects() {
		if s.shape.mayRequireInput() {
			list = append(list, s)
		}
	}
	return list
}

func TestInputRequiredMatchesMethodTable(t *testing.T) {
	count := 0
	for _, m := range Methods {
		for _, r := range revisions() {
			if m.MultiRoundTrip.Has(r) {
				count++
			}
		}
	}
	require.Len(t, inputSubjects(), count)
}

func TestDecodeReturnsInputRequiredError(t *testing.T) {
	for _, s := range inputSubjects() {
		input := subjectFor(s.file.revision, "InputRequiredResult")
		for _, doc := range input.documents() {
			if field(doc, "resultType") != string(ResultTypeInputRequired) {
				doc = clone(doc)
				doc.(map[string]any)["resultType"] = string(ResultTypeInputRequired)
			}
			for _, order := range []ordering{sorted, reversed} {
				text := render(doc, order)
				_, err := s.decode(text)
				var inputErr *InputRequiredError
				require.True(t, errors.As(err, &inputErr), "%s: %v", text, err)
				out, err := input.encode(inputErr.Result)
				require.NoError(t, err)
				require.Empty(t, input.shape.differs(doc, parse(out), ""), "%s was encoded as %s", text, out)
			}
		}
	}
}

// TestInputRequiredIgnoresOtherMembers tests additional members as other SDKs write them.
func TestInputRequiredIgnoresOtherMembers(t *testing.T) {
	const text = `{"content":null,"contents":null,"messages":null,"isError":5,"resultType":"input_required","requestState":"s"}`
	for _, s := range inputSubjects() {
		_, err := s.decode([]byte(text))
		var inputErr *InputRequiredError
		require.True(t, errors.As(err, &inputErr), "%v", err)
		require.Equal(t, "s", *inputErr.Result.RequestState)
	}
}

func TestInvalidInputRequiredResults(t *testing.T) {
	for _, text := range []string{
		`{"resultType":"input_required","inputRequests":5}`,
		`{"inputRequests":{"a":{"method":"roots/list"},"a":{"method":"roots/list"}},"resultType":"input_required"}`,
		`{"resultType":"input_required","requestState":null}`,
		`{"resultType":"input_required"`,
		`{"resultType":"input_required","resultType":"complete"}`,
		`{"resultType":"input_required"} x`,
		`{"resultType":"input_required"}{}`,
	} {
		for _, s := range inputSubjects() {
			_, err := s.decode([]byte(text))
			requireNoInputError(t, err, text)
		}
	}
}

func requireNoInputError(t *testing.T, err error, text string) {
	t.Helper()
	var inputErr *InputRequiredError
	require.Error(t, err, text)
	require.False(t, errors.As(err, &inputErr), "%s: %v", text, err)
}

// TestInputRequiredInInvalidMessages decodes a valid InputRequiredResult in invalid
// messages.
func TestInputRequiredInInvalidMessages(t *testing.T) {
	const valid = `{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required"}}`
	read := func(text string) error {
		m, err := wire.ReadMessage([]byte(text), nil)
		if err != nil {
			return err
		}
		return wire.Decode(m.Result, &wire.Frame{Revision: Revision20260728, Checked: true}, new(CallToolResult))
	}
	var inputErr *InputRequiredError
	require.True(t, errors.As(read(valid), &inputErr))
	for _, text := range []string{
		valid[:len(valid)-1], valid + "x", valid + "{}",
		`{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required"},"id":2}`,
		`{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required"},"error":{"code":1,"message":"no"}}`,
		`{"id":1,"result":{"resultType":"input_required"}}`,
		`{"id":1,"result":{"resultType":"input_required"},"jsonrpc":"1.0"}`,
		`{"result":{"resultType":"input_required"},"id":1,"jsonrpc":"1.0"}`,
	} {
		requireNoInputError(t, read(text), text)
	}
}
