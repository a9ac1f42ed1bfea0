package mcp

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/wire"
)

// asking lists the results of the methods that may ask for input.
func asking() (list []*subject) {
	for _, s := range subjects() {
		if s.shape.mayAsk() {
			list = append(list, s)
		}
	}
	return list
}

func TestResultsThatMayAskAreThoseOfTheTable(t *testing.T) {
	rounds := 0
	for _, m := range Methods {
		for _, r := range revisions() {
			if m.MultiRoundTrip.Has(r) {
				rounds++
			}
		}
	}
	require.Len(t, asking(), rounds)
}

func TestQuestionsComeInPlaceOfAResult(t *testing.T) {
	question := subjectFor(Revision20260728, "InputRequiredResult")
	for _, doc := range question.documents() {
		if field(doc, "resultType") != string(ResultTypeInputRequired) {
			doc = clone(doc)
			doc.(map[string]any)["resultType"] = string(ResultTypeInputRequired)
		}
		for _, s := range asking() {
			for _, order := range []ordering{sorted, reversed} {
				text := render(doc, order)
				_, err := s.decode(text)
				var asked *InputRequiredError
				require.True(t, errors.As(err, &asked), "%s: %v", text, err)
				out, err := question.encode(asked.Result)
				require.NoError(t, err)
				require.Empty(t, question.shape.differs(doc, parse(out), ""), "%s came back as %s", text, out)
			}
		}
	}
}

// TestQuestionsNeedNotFitTheResult has what other SDKs write beside a question.
func TestQuestionsNeedNotFitTheResult(t *testing.T) {
	const text = `{"content":null,"contents":null,"messages":null,"isError":5,"resultType":"input_required","requestState":"s"}`
	for _, s := range asking() {
		_, err := s.decode([]byte(text))
		var asked *InputRequiredError
		require.True(t, errors.As(err, &asked), "%v", err)
		require.Equal(t, "s", *asked.Result.RequestState)
	}
}

func TestBadQuestionsAreNoQuestions(t *testing.T) {
	for _, text := range []string{
		`{"resultType":"input_required","inputRequests":5}`,
		`{"inputRequests":{"a":{"method":"roots/list"},"a":{"method":"roots/list"}},"resultType":"input_required"}`,
		`{"resultType":"input_required","requestState":null}`,
		`{"resultType":"input_required"`,
		`{"resultType":"input_required","resultType":"complete"}`,
		`{"resultType":"input_required"} x`,
		`{"resultType":"input_required"}{}`,
	} {
		for _, s := range asking() {
			_, err := s.decode([]byte(text))
			requireNoQuestion(t, err, text)
		}
	}
}

func requireNoQuestion(t *testing.T, err error, text string) {
	t.Helper()
	var asked *InputRequiredError
	require.Error(t, err, text)
	require.False(t, errors.As(err, &asked), "%s: %v", text, err)
}

// TestQuestionsInBadMessagesAreNoQuestions spoils what is around a question.
func TestQuestionsInBadMessagesAreNoQuestions(t *testing.T) {
	const good = `{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required"}}`
	read := func(text string) error {
		m, err := wire.ReadMessage([]byte(text), nil)
		if err != nil {
			return err
		}
		return wire.Decode(m.Result, &wire.Frame{Revision: Revision20260728, Checked: true}, new(CallToolResult))
	}
	var asked *InputRequiredError
	require.True(t, errors.As(read(good), &asked))
	for _, text := range []string{
		good[:len(good)-1], good + "x", good + "{}",
		`{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required"},"id":2}`,
		`{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required"},"error":{"code":1,"message":"no"}}`,
		`{"id":1,"result":{"resultType":"input_required"}}`,
		`{"id":1,"result":{"resultType":"input_required"},"jsonrpc":"1.0"}`,
		`{"result":{"resultType":"input_required"},"id":1,"jsonrpc":"1.0"}`,
	} {
		requireNoQuestion(t, read(text), text)
	}
}
