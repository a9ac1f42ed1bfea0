package wire_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/wire"
)

func TestDecodeTool(t *testing.T) {
	data := `{"name":"greet","x":[1, 2],"inputSchema":{"type":"object"},"te\u0078t":0,"title":"Greet",` +
		`"icons":[{"src":"a","sizes":["1x1","2x2"]},{"src":"b"}],"Name":1,"name\u0000":2}`
	var x Tool
	require.NoError(t, wire.Decode([]byte(data), frame(rev2025), &x))
	require.Equal(t, Tool{
		Name:        "greet",
		Title:       "Greet",
		InputSchema: json.RawMessage(`{"type":"object"}`),
		Icons:       []Icon{{Src: "a", Sizes: []string{"1x1", "2x2"}}, {Src: "b"}},
		Extra: map[string]json.RawMessage{
			"x": json.RawMessage(`[1, 2]`), "text": json.RawMessage(`0`),
			"Name": json.RawMessage(`1`), "name\x00": json.RawMessage(`2`),
		},
	}, x)
}

func TestMembersInAnyOrderAndSpelling(t *testing.T) {
	for _, data := range []string{
		`{"inputSchema":{},"name":"a"}`, `{"title":"t","inputSchema":{},"name":"a"}`, `{"n\u0061me":"a","inputSchema":{}}`,
		" {\n\"name\" : \"a\" ,\t\"inputSchema\" : { } } ",
	} {
		var x Tool
		require.NoError(t, wire.Unmarshal([]byte(data), &x), data)
		require.Equal(t, "a", x.Name)
	}
}

func TestMembersOfOtherRevisionsAreExtra(t *testing.T) {
	data := []byte(`{"name":"a","inputSchema":{},"title":7}`)
	var x Tool
	require.NoError(t, wire.Decode(data, frame(rev2024), &x))
	require.Equal(t, map[string]json.RawMessage{"title": json.RawMessage("7")}, x.Extra)
	require.EqualError(t, wire.Decode(data, frame(rev2025), &x), `decode /title: want a string, have a number`)

	twice := []byte(`{"name":"a","inputSchema":{},"title":7,"title":8}`)
	require.ErrorContains(t, wire.Decode(twice, frame(rev2024), &x), `decode /title: duplicate member "title"`)
}

func TestRequiredMembersByRevision(t *testing.T) {
	data := []byte(`{"tools":[]}`)
	require.NoError(t, wire.Decode(data, frame(rev2025), new(ListToolsResult)))
	require.NoError(t, wire.Decode(data, nil, new(ListToolsResult)))
	require.EqualError(t, wire.Decode(data, frame(rev2026), new(ListToolsResult)), `decode: missing member "ttlMs"`)
	require.EqualError(t, wire.Decode([]byte(`{"tools":[{"title":"t"}]}`), nil, new(ListToolsResult)),
		`decode /tools/0: missing members "name", "inputSchema"`)
}

func TestDecodeErrors(t *testing.T) {
	for _, x := range []struct {
		data, want string
		syntax     bool
	}{
		{`{"content":[{"type":"text","text":7}]}`, `decode /content/0/text: want a string, have a number`, false},
		{`{"content":[{"type":"text"}]}`, `decode /content/0: missing member "text"`, false},
		{`{"content":[{"text":"a","type":"text","text":"b"}]}`, `decode /content/0/text: duplicate member "text" at byte 44`, true},
		{`{"content":[{"text":"a","type":"text","type":"text"}]}`, `decode /content/0/type: duplicate member "type" at byte 44`, true},
		{`{"content":{}}`, `decode /content: want an array, have an object`, false},
		{`{"content":[],"isError":null}`, `decode /isError: want a boolean, have null`, false},
		{`{"content":[5]}`, `decode /content/0: want an object, have a number`, false},
		{`[]`, `decode: want an object, have an array`, false},
		{`x`, `decode: unexpected 'x' at byte 0`, true},
		{``, `decode: unexpected end at byte 0`, true},
		{`{"content":[]} x`, `decode: unexpected data after the value at byte 15`, true},
		{`{"content":[],"isError":tru}`, `decode /isError: unexpected 't' at byte 24`, true},
		{`{"content":5,"b":tru}`, `decode /b: unexpected 't' at byte 17`, true}, // the syntax error takes precedence
		{`{"content":[],"a/b":{"~":[1,{"x":1,"x":2}]}}`, `decode /a~1b/~0/1/x: duplicate member "x" at byte 38`, true},
		{`{"content":[],"q":1,"q":2}`, `decode /q: duplicate member "q" at byte 23`, true},
		{`{"content":[{"type":"text","text":"a","annotations":{"audience":["user","me"]}}]}`, `decode /content/0/annotations/audience/1: Role has no value "me"`, false},
		{`{"content":[{"type":"text","text":"a","annotations":{"priority":1.5}}]}`, `decode /content/0/annotations/priority: want a number from 0 to 1, have 1.5`, false},
		{`{"content":[{"type":"text","text":"a","annotations":{"size":-1}}]}`, `decode /content/0/annotations/size: want at least 0, have -1`, false},
		{`{"content":[{"type":"text","text":"a","annotations":{"size":1.5}}]}`, `decode /content/0/annotations/size: want an integer, have 1.5`, false},
		{`{"content":[{"type":"audio","data":"a"}]}`, `decode /content/0/data: invalid base64`, false},
	} {
		err := wire.Decode([]byte(x.data), nil, new(CallToolResult))
		require.EqualError(t, err, x.want, x.data)
		var e *wire.DecodeError
		require.ErrorAs(t, err, &e)
		require.Equal(t, x.syntax, e.Syntax, x.data)
	}
}

func TestEnumByRevision(t *testing.T) {
	data := []byte(`{"audience":["\u0063ritic"]}`)
	require.NoError(t, wire.Decode(data, frame(rev2026), new(Annotations)))
	require.EqualError(t, wire.Decode(data, frame(rev2025), new(Annotations)), `decode /audience/0: revision has no Role "critic"`)
}

func TestDecodeCheckedInvalidJSON(t *testing.T) {
	for _, data := range []string{``, `{`, `{"content"`, `{"content":`, `{"x":[`, `{"x":"`, `{"x":"\`, `{"x":}`, `{"x":,}`, `{"x":]}`, `{"x":1`, "{\"x\":\"\n"} {
		err := wire.Decode([]byte(data), &wire.Frame{Checked: true}, new(CallToolResult))
		require.Error(t, err, data)
	}
}

func TestDecoderStopsAfterFailure(t *testing.T) {
	cause := errors.New("cause")
	err := decode(`{"a":[1,2,3]}`, func(d *wire.Decoder) {
		for o := d.Object(nil); o.Next(); {
			d.FailWith(nil)
			require.NoError(t, d.Err())
			d.FailWith(fmt.Errorf("first: %w", cause))
			d.Fail("second %d", 2)
			require.ErrorIs(t, d.Err(), cause)
			require.Empty(t, d.String())
			require.False(t, d.Bool())
			require.False(t, d.Null())
			require.Zero(t, d.Int(0, 9))
			require.Zero(t, d.Number(0, 9))
			require.Nil(t, d.Bytes())
			require.Nil(t, d.Raw())
			require.Nil(t, d.RawObject())
			require.True(t, d.ID().IsZero())
			require.True(t, d.Token().IsZero())
			require.Empty(t, d.Enum(roles))
			require.Zero(t, d.Kind())
			require.False(t, d.Probe("a"))
			require.Empty(t, d.Strings())
			require.Empty(t, wire.Map(d, (*wire.Decoder).String))
			require.Empty(t, wire.OrderedMap(d, func(*wire.Decoder, string, *int) {}))
			require.Empty(t, wire.Structs[Icon](d))
			require.NotNil(t, wire.New[Icon](d))
			require.Nil(t, o.Extra(nil))
			require.False(t, d.Try((*wire.Decoder).Skip))
			d.Const("x")
			d.Skip()
			d.MaxItems(2, 1)
		}
	})
	require.EqualError(t, err, `decode /a: first: cause`)
	require.ErrorIs(t, err, cause)
}

func TestFailPointsAtLastValue(t *testing.T) {
	type reader func(d *wire.Decoder)
	skip := (*wire.Decoder).Skip
	for _, x := range []struct {
		data    string
		read    reader
		pointer string
	}{
		{`{"a":[1,2]}`, func(d *wire.Decoder) {
			d.MaxItems(len(wire.List(d, func(d *wire.Decoder) int64 { return d.Int(0, 9) })), 1)
		}, "/a"},
		{`{"a":[1,2],"b":3}`, func(d *wire.Decoder) { skip(d); d.Fail("no") }, "/a"},
		{`{"a" : 5 , "b":3}`, func(d *wire.Decoder) { skip(d); d.Fail("no") }, "/a"},
		{`{"a":{"b":[{"c":1}]}}`, func(d *wire.Decoder) { d.Fail("no") }, "/a"},
		{`{"a":{"b":1,"c":2}}`, func(d *wire.Decoder) { skip(d); d.Fail("no") }, "/a"},
		{`{"":1}`, func(d *wire.Decoder) { d.Fail("no") }, "/"},
		{`{"\u00e9~/":1}`, func(d *wire.Decoder) { d.Fail("no") }, "/é~0~1"},
	} {
		err := decode(x.data, func(d *wire.Decoder) {
			for o := d.Object(nil); o.Next(); {
				x.read(d)
			}
		})
		var e *wire.DecodeError
		require.ErrorAs(t, err, &e, x.data)
		require.Equal(t, x.pointer, e.Pointer, x.data)
	}
}

func TestTry(t *testing.T) {
	iconOrRaw := func(d *wire.Decoder) any {
		var icon Icon
		if d.Try(icon.DecodeJSON) {
			return icon
		}
		return d.Raw()
	}
	var have []any
	data := `[ {"x":{"y":[1]},"src":7,"z":{"z":1}}, {"src":"s"}, "rest"]`
	require.NoError(t, decode(data, func(d *wire.Decoder) { have = wire.List(d, iconOrRaw) }))
	require.Equal(t, []any{raw(`{"x":{"y":[1]},"src":7,"z":{"z":1}}`), Icon{Src: "s"}, raw(`"rest"`)}, have)

	err := decode(`[{"src":"a","src":"b"}]`, func(d *wire.Decoder) { wire.List(d, iconOrRaw) })
	require.EqualError(t, err, `decode /0/src: duplicate member "src" at byte 17`)
}

func TestBack(t *testing.T) {
	for name, x := range map[string]struct {
		data string
		read func(d *wire.Decoder) // reads the value for the first time; nil fails before it
		back bool
	}{
		"after a success": {`{"n":1,"kind":"other"}`, (*wire.Decoder).Skip, true},
		"after a failure": {`{"n":1,"kind":"other"}`, func(d *wire.Decoder) { _ = d.String() }, true},
		"after a failure inside": {`{"n":{"m":[1]},"kind":"other"}`, func(d *wire.Decoder) {
			for o := d.Object(nil); o.Next(); {
				_ = wire.Map(d, func(d *wire.Decoder) bool { return d.Bool() })
			}
		}, true},
		"not if the kind is another one":    {`{"n":1,"kind":"this"}`, (*wire.Decoder).Skip, false},
		"not if the kind is not a string":   {`{"n":1,"kind":[]}`, (*wire.Decoder).Skip, false},
		"not if the kind is missing":        {`{"n":1}`, (*wire.Decoder).Skip, false},
		"not if the value is not an object": {`5`, (*wire.Decoder).Skip, false},
		"not if the document is not JSON":   {`{"kind":"other","n":1,]`, (*wire.Decoder).Skip, false},
		"not if the decoder failed before":  {`{"kind":"other"}`, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			_ = decode(`[`+x.data+`]`, func(d *wire.Decoder) {
				_ = wire.List(d, func(d *wire.Decoder) bool {
					if x.read == nil {
						d.Fail("before")
					}
					start := d.Here()
					if x.read != nil {
						x.read(d)
					}
					failed := d.Err()
					require.Equal(t, x.back, d.Back(start, "kind", "other"))
					if !x.back {
						require.Equal(t, failed, d.Err(), "the failure must remain")
						return false
					}
					require.NoError(t, d.Err())
					require.JSONEq(t, x.data, string(d.Raw()))
					return true
				})
			})
		})
	}
}

func TestPooledDecodersHaveNoState(t *testing.T) {
	for range 100 {
		require.Error(t, wire.Unmarshal([]byte(`{"a":{"a":1,"a":1}}`), new(Tool)))
		require.NoError(t, wire.Unmarshal([]byte(`{"name":"a","inputSchema":{"a":1}}`), new(Tool)))
	}
}

func TestFailWrapsError(t *testing.T) {
	err := decode(`1`, func(d *wire.Decoder) { d.Fail("read: %w", io.ErrUnexpectedEOF) })
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.EqualError(t, err, "decode: read: unexpected EOF")
}
