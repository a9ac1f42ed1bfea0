package wire_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/wire"
)

func TestIDsPreserveAllDigits(t *testing.T) {
	for _, text := range []string{
		`0`, `7`, `-7`, `-0`, `9007199254740993`, `9223372036854775807`, `-9223372036854775808`,
		`9223372036854775808`, `-9223372036854775809`, `18446744073709551616`, strings.Repeat("9", 128),
		`""`, `"7"`, `"a\"b"`, `"é"`, `"` + strings.Repeat("x", 126) + `"`,
	} {
		id, err := wire.ParseID([]byte(text))
		require.NoError(t, err, text)
		require.False(t, id.IsZero())
		require.Equal(t, text, string(id.AppendTo(nil)))
		again, err := wire.ParseID([]byte(" " + text + "\n"))
		require.NoError(t, err)
		require.True(t, id == again, "equal texts must be equal ids")
		require.Equal(t, id, id.Token().ID())

		stored, err := json.Marshal(map[string]any{"id": id, "token": id.Token()})
		require.NoError(t, err)
		var back struct {
			ID    wire.RequestID
			Token wire.ProgressToken
		}
		require.NoError(t, json.Unmarshal(stored, &back))
		require.Equal(t, id, back.ID)
		require.Equal(t, id.Token(), back.Token)
	}
}

func TestParseIDRejectsInvalidIDs(t *testing.T) {
	for _, text := range []string{
		``, `1.5`, `1e0`, `1E2`, `true`, `null`, `{}`, `[]`, `01`, `+1`, `1 2`, `"a`, `"\ud800"`, `1e309`,
		strings.Repeat("9", 129), `"` + strings.Repeat("x", 127) + `"`,
	} {
		id, err := wire.ParseID([]byte(text))
		require.Error(t, err, text)
		require.True(t, id.IsZero())
	}
}

func TestIDKinds(t *testing.T) {
	require.NotEqual(t, wire.IntID(1), wire.StringID("1"))
	require.NotEqual(t, wire.RequestID{}, wire.StringID(""))
	require.NotEqual(t, wire.RequestID{}, wire.IntID(0))

	n, ok := wire.IntID(math.MinInt64).Int64()
	require.True(t, ok)
	require.Equal(t, int64(math.MinInt64), n)
	_, ok = wire.StringID("1").Int64()
	require.False(t, ok)
	s, ok := wire.StringToken("1").Text()
	require.True(t, ok)
	require.Equal(t, "1", s)
	_, ok = wire.IntToken(1).Text()
	require.False(t, ok)

	parsed, err := wire.ParseID([]byte(`"\u0031"`))
	require.NoError(t, err)
	require.Equal(t, wire.StringID("1"), parsed, "escapes must not matter")
	parsed, err = wire.ParseID([]byte(`12`))
	require.NoError(t, err)
	require.Equal(t, wire.IntID(12), parsed)
	require.Equal(t, wire.IntToken(12), parsed.Token())

	require.Equal(t, `7`, wire.IntID(7).String())
	require.Equal(t, `"7"`, wire.StringID("7").String())
	require.Equal(t, `none`, wire.RequestID{}.String())
	require.Equal(t, `none`, wire.ProgressToken{}.String())
	n, ok = wire.IntToken(5).Int64()
	require.True(t, ok)
	require.Equal(t, int64(5), n)
	require.Equal(t, "9223372036854775808", parse(t, "9223372036854775808").String())
}

func TestZeroIDInJSON(t *testing.T) {
	b, err := json.Marshal(wire.RequestID{})
	require.NoError(t, err)
	require.Equal(t, "null", string(b))
	id := wire.IntID(5)
	require.NoError(t, id.UnmarshalJSON([]byte("null")))
	require.True(t, id.IsZero())
	require.Error(t, id.UnmarshalJSON([]byte("1.5")))
}

func TestSmallIDsDoNotAllocate(t *testing.T) {
	data, m := []byte(`1234567890123456789`), map[wire.RequestID]int{wire.IntID(1234567890123456789): 7}
	buf := make([]byte, 0, 64)
	if raceEnabled {
		t.Skip("with the race detector, pools drop values at random")
	}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		id, err := wire.ParseID(data)
		if err != nil || m[id] != 7 {
			panic("not found")
		}
		buf = id.AppendTo(buf[:0])
	}))
}

func parse(t *testing.T, text string) wire.RequestID {
	id, err := wire.ParseID([]byte(text))
	require.NoError(t, err)
	return id
}
