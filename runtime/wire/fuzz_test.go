package wire_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/wire"
)

// stricter contains parts of the errors for JSON that encoding/json accepts.
var stricter = []string{"duplicate member", "surrogate", "invalid UTF-8", "beyond the range", "nested deeper"}

func FuzzCheck(f *testing.F) {
	for _, s := range []string{
		`{"a":[1,-2.5e3,true,false,null,"\u00e9\ud83d\ude00\n"]}`, `{"a":1,"a":2}`, `"\ud800"`, "\"\xff\"", `1e309`, ` [ ] `, `{"a":}`, `[1,]`, `01`, "\n{\r\"x\":\t1}",
		string(callJSON), string(callResultJSON),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		err := wire.Check(data, 0)
		if err == nil {
			require.True(t, json.Valid(data))
			sameAsStandard(t, data)
			return
		}
		if json.Valid(data) {
			require.Condition(t, func() bool {
				for _, s := range stricter {
					if strings.Contains(err.Error(), s) {
						return true
					}
				}
				return false
			}, "rejected without a documented reason: %v", err)
		}
		var e *wire.DecodeError
		require.ErrorAs(t, err, &e)
		require.True(t, e.Syntax)
		require.True(t, 0 <= e.Offset && e.Offset <= len(data))
	})
}

// sameAsStandard requires that every reader of raw values reads data, which Check
// accepted, as encoding/json does.
func sameAsStandard(t *testing.T, data []byte) {
	var want, have any
	require.NoError(t, json.Unmarshal(data, &want))
	compact, err := wire.Compact(data)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(compact, &have))
	require.Equal(t, want, have)
	for _, checked := range []bool{false, true} {
		var raw json.RawMessage
		require.NoError(t, wire.Decode(data, &wire.Frame{Checked: checked}, &value{decode: func(d *wire.Decoder) { raw = d.Raw() }}))
		require.False(t, bytes.ContainsAny(raw, "\n\r"))
		require.NoError(t, json.Unmarshal(raw, &have))
		require.Equal(t, want, have)
	}
	b, err := wire.Marshal(&value{append: func(b []byte, e *wire.Encoder) []byte { return e.Raw(b, data, "") }})
	require.NoError(t, err)
	require.False(t, bytes.ContainsAny(b, "\n\r"))
	require.NoError(t, json.Unmarshal(b, &have))
	require.Equal(t, want, have)
}

func FuzzString(f *testing.F) {
	for _, s := range []string{"", "plain text", "é and 😀", "a\nb\tc\"d\\e", "\xff\xfe", "\x00\x1f\x7f", strings.Repeat("x", 17) + "\xe2\x28"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		b := wire.AppendString(nil, s)
		var std, ours string
		require.NoError(t, json.Unmarshal(b, &std))
		require.NoError(t, decode(string(b), func(d *wire.Decoder) { ours = d.String() }))
		want := string([]rune(s)) // one U+FFFD for each invalid byte
		require.Equal(t, want, std)
		require.Equal(t, want, ours)

		quoted := `"` + s + `"` // s as a peer may send it
		err := decode(quoted, func(d *wire.Decoder) { ours = d.String() })
		if json.Unmarshal([]byte(quoted), &std) != nil {
			require.Error(t, err)
		} else if err == nil {
			require.Equal(t, std, ours)
			require.True(t, utf8.ValidString(ours))
		}
	})
}

func FuzzID(f *testing.F) {
	for _, s := range []string{`1`, `-0`, `"a"`, `"\u0041\n"`, `9223372036854775808`, `1.0`, `null`, `"\ud83d\ude00"`, ` 7 `} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		id, err := wire.ParseID(data)
		if err != nil {
			require.True(t, id.IsZero())
			return
		}
		require.True(t, json.Valid(data))
		text := id.AppendTo(nil)
		if _, isText := id.Text(); !isText {
			require.Equal(t, string(bytes.TrimSpace(data)), string(text), "all digits must be preserved")
		}
		if len(text) <= 128 { // control characters can be longer when written
			again, err := wire.ParseID(text)
			require.NoError(t, err)
			require.Equal(t, id, again)
		}
	})
}

func FuzzReadMessage(f *testing.F) {
	for _, s := range []string{
		string(callJSON), `{"method":"a","params":{},"jsonrpc":"2.0","id":"x"}`, `{"jsonrpc":"2.0","id":1,"result":` + string(callResultJSON) + `}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"m","data":[]}}`, `{"jsonrpc":"2.0","method":5,"id":1}`, `[]`,
		`{"params":{"name":"n","_meta":{"progressToken":1}},"id":1,"method":"m","jsonrpc":"2.0"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := wire.ReadMessage(data, nil)
		var params CallToolRequest
		_, intoErr := wire.ReadMessageInto(data, nil, func(*wire.Message) wire.Params { return &params })
		if err != nil {
			require.Error(t, intoErr)
			require.Nil(t, m.Params)
			return
		}
		require.NoError(t, wire.Check(data, 0))
		checked := &wire.Frame{Checked: true}
		if m.Params != nil {
			var x CallToolRequest
			require.Equal(t, intoErr == nil, wire.DecodeParams(m.Params, checked, &x) == nil)
			require.Equal(t, wire.DecodeParams(m.Params, nil, &x) == nil, wire.DecodeParams(m.Params, checked, &x) == nil)
			if intoErr == nil {
				roundTrip(t, &value{
					append: params.AppendParams,
					decode: func(d *wire.Decoder) { new(CallToolRequest).DecodeParams(d) },
				})
			}
		}
		if m.Result != nil {
			var result CallToolResult
			err := wire.Decode(m.Result, checked, &result)
			require.Equal(t, wire.Decode(m.Result, nil, new(CallToolResult)) == nil, err == nil)
			if err == nil {
				roundTrip(t, &result)
			}
		}
	})
}

// roundTrip writes the value v, which was read, and reads it again.
func roundTrip(t *testing.T, v wire.Value) {
	b, err := wire.Marshal(v)
	require.NoError(t, err)
	if err := wire.Decode(b, nil, v); err != nil {
		require.ErrorContains(t, err, "longer than", string(b)) // the input had a shorter escape
	}
}
