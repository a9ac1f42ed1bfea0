package mcp

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/wire"
)

// everyID puts a value in the place of each id and each token of a rich
// document of each subject in turn.
func everyID(t *testing.T, value any, visit func(s *subject, text []byte, pointer string)) {
	t.Helper()
	count := 0
	for _, s := range covered() {
		whole := s.shape.most(deepest + 1)
		shapes := s.shape.shapesOf(whole)
		for _, p := range places(&whole) {
			if original := *p.at; shapes[p.pointer].isID() {
				p.store(value)
				visit(s, render(whole, sorted), p.pointer)
				p.store(original)
				count++
			}
		}
	}
	require.Greater(t, count, 20)
}

func TestIDsThatAreNoStringsOrPlainIntegersAreRefused(t *testing.T) {
	long := literal(`"` + strings.Repeat("x", 127) + `"`)
	for _, id := range []literal{"1.5", "1e0", "1.0", "-1E2", "true", "false", "null", "{}", "[]", "[1]", long, literal(strings.Repeat("1", 129))} {
		everyID(t, id, func(s *subject, text []byte, at string) {
			_, err := s.decode(text)
			var failure *wire.DecodeError
			require.True(t, errors.As(err, &failure), "%v: %s", s, text)
			require.Equal(t, at, failure.Pointer, "%v: %v", s, err)
			require.False(t, failure.Syntax, "%v: %v", s, err)
		})
	}
}

func TestIDsKeepEveryDigit(t *testing.T) {
	for _, id := range []string{"9007199254740993", "9223372036854775808", "-9223372036854775809", "-0", strings.Repeat("8", 128)} {
		everyID(t, json.Number(id), func(s *subject, text []byte, at string) {
			requireRoundTrip(t, s, text)
		})
	}
	for _, id := range []string{"", "1", "null", "é\x00", strings.Repeat("x", 126)} {
		everyID(t, id, func(s *subject, text []byte, at string) {
			requireRoundTrip(t, s, text)
		})
	}
}

func TestUnsetIDsAreNotWritten(t *testing.T) {
	for _, x := range []struct {
		value   wire.Value
		pointer string
	}{
		{new(CancelledNotification), "/params/requestId"},
		{new(ProgressNotification), "/params/progressToken"},
		{new(SubscriptionsListenResultMeta), "/io.modelcontextprotocol~1subscriptionId"},
		{new(SubscriptionsListenResult), "/_meta/io.modelcontextprotocol~1subscriptionId"},
	} {
		_, err := wire.Append(nil, &wire.Frame{Revision: Revision20260728}, x.value)
		var failure *wire.EncodeError
		require.True(t, errors.As(err, &failure), "%T", x.value)
		require.Equal(t, x.pointer, failure.Pointer, "%T", x.value)
		require.ErrorContains(t, err, "required and not set")
	}
}

// TestOneRevisionCancelsWithoutAnID is for 2025-11-25, where tasks are
// cancelled by other means.
func TestOneRevisionCancelsWithoutAnID(t *testing.T) {
	out, err := wire.AppendParams(nil, &wire.Frame{Revision: Revision20251125}, new(CancelledNotification))
	require.NoError(t, err)
	require.Equal(t, `{}`, string(out))
}
