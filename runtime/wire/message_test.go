package wire_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/wire"
)

func TestReadMessage(t *testing.T) {
	for data, want := range map[string]wire.Message{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`:                               {ID: wire.IntID(1), Method: "ping"},
		`{"method":"tools/call","params":{"name":"n"},"jsonrpc":"2.0","id":"a"}`: {ID: wire.StringID("a"), Method: "tools/call", Params: raw(`{"name":"n"}`)},
		`{"jsonrpc":"2.0","method":"note","params": {"a":[1,{}]} ,"x":{"y":1}}`:  {Method: "note", Params: raw(`{"a":[1,{}]}`)},
		`{"jsonrpc":"2.0","id":1,"result":{}}`:                                   {ID: wire.IntID(1), Result: raw(`{}`)},
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"m","x":1}}`:   {ID: wire.IntID(1), Error: &wire.ErrorObject{Code: -32000, Message: "m"}},
		`{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"m","data":[ 1 ]}}`: {
			NullID: true, Error: &wire.ErrorObject{Code: -1, Message: "m", Data: raw(`[ 1 ]`)}},
		`{"jsonrpc":"2.0","error":{"code":-1,"message":""}}`: {Error: &wire.ErrorObject{Code: -1}},
	} {
		have, err := wire.ReadMessage([]byte(data), nil)
		require.NoError(t, err, data)
		require.Equal(t, want, have, data)
	}
}

func TestReadMessageRejectsInvalidMessages(t *testing.T) {
	one := wire.IntID(1)
	for _, x := range []struct {
		data, want string
		syntax     bool
		id         wire.RequestID
	}{
		{`{"jsonrpc":"2.0","id":1,"method":"a"`, `decode /method: unexpected end at byte 36`, true, one},
		{`{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":1,"x":2}}`, `decode /params/x: duplicate member "x" at byte 56`, true, one},
		{`{"jsonrpc":"2.0","id":1,"method":"a"}{}`, `decode: unexpected data after the value at byte 37`, true, one},
		{`{"jsonrpc":"1.0","id":1,"method":"a"}`, `decode /jsonrpc: want "2.0", have "1.0"`, false, one},
		{`{"id":1,"method":"a"}`, `decode: missing member "jsonrpc"`, false, one},
		{`{"jsonrpc":"2.0","params":[],"method":"a","id":1}`, `decode /params: want an object, have an array`, false, one},
		{`{"jsonrpc":"2.0","params":null,"method":"a","id":1}`, `decode /params: want an object, have null`, false, one},
		{`{"jsonrpc":"2.0","method":5,"id":"x"}`, `decode /method: want a string, have a number`, false, wire.StringID("x")},
		{`{"jsonrpc":"2.0","method":5,"id":1`, `decode /id: unexpected end at byte 34`, true, wire.RequestID{}},
		{`{"jsonrpc":"2.0","id":1.5,"method":"a"}`, `decode /id: want a string or an integer, have 1.5`, false, wire.RequestID{}},
		{`{"jsonrpc":"2.0","id":true,"method":"a"}`, `decode /id: want a string or an integer, have a boolean`, false, wire.RequestID{}},
		{`{"jsonrpc":"2.0","id":null,"method":"a"}`, `decode: request id must not be null`, false, wire.RequestID{}},
		{`{"jsonrpc":"2.0","id":1,"method":""}`, `decode: method name is empty`, false, one},
		{`{"jsonrpc":"2.0","id":1}`, `decode: message must have exactly one of method, result and error`, false, one},
		{`{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"m"}}`, `decode: message must have exactly one of method, result and error`, false, one},
		{`{"jsonrpc":"2.0","id":1,"method":"a","result":{}}`, `decode: message has both a method and a result or error`, false, one},
		{`{"jsonrpc":"2.0","id":1,"result":{},"params":{}}`, `decode: response must not have params`, false, one},
		{`{"jsonrpc":"2.0","result":{}}`, `decode: response with a result must have an id`, false, wire.RequestID{}},
		{`{"jsonrpc":"2.0","id":null,"result":{}}`, `decode: response with a result must have an id`, false, wire.RequestID{}},
		{`{"jsonrpc":"2.0","id":1,"result":5}`, `decode /result: want an object, have a number`, false, one},
		{`{"jsonrpc":"2.0","id":1,"error":null}`, `decode /error: want an object, have null`, false, one},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":1}}`, `decode /error: missing member "message"`, false, one},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":1.5,"message":""}}`, `decode /error/code: want an integer, have 1.5`, false, one},
		{`{"jsonrpc":"2.0","id":1,"id":1,"method":"a"}`, `decode /id: duplicate member "id" at byte 28`, true, one},
		{`{"jsonrpc":"2.0","id":1,"method":"a","x":1,"\u0078":2}`, `decode /x: duplicate member "x" at byte 51`, true, one},
		{`[{"jsonrpc":"2.0","id":1,"method":"a"}]`, `decode: want an object, have an array`, false, wire.RequestID{}},
		{``, `decode: unexpected end at byte 0`, true, wire.RequestID{}},
		{`{"jsonrpc":"2.0","method":5,"\u0069d":1}`, `decode /method: want a string, have a number`, false, one},
	} {
		m, err := wire.ReadMessage([]byte(x.data), nil)
		require.EqualError(t, err, x.want, x.data)
		var e *wire.DecodeError
		require.ErrorAs(t, err, &e)
		require.Equal(t, x.syntax, e.Syntax, x.data)
		require.Equal(t, x.id, m.ID, x.data)
		require.Nil(t, m.Params)
		require.Nil(t, m.Result)
	}
}

func TestReadMessageInto(t *testing.T) {
	for _, data := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"call","params":{"name":"n","arguments":{"a": 1}}}`,
		`{"id":1,"method":"call","params":{"name":"n","arguments":{"a": 1}},"jsonrpc":"2.0"}`,
		`{"method":"call","params":{"name":"n","arguments":{"a":` + "\n" + `1}},"jsonrpc":"2.0","id":1}`,
		`{"u":0,"params":{"name":"n","arguments":{"a": 1}},"v":0,"id":1,"jsonrpc":"2.0","method":"call"}`,
		`{"jsonrpc":"2.0","id":1,"params":{"name":"n","arguments":{"a": 1}},"method":"call"}`,
	} {
		var x CallToolRequest
		calls := 0
		m, err := wire.ReadMessageInto([]byte(data), frame(rev2025), func(m *wire.Message) wire.Params {
			calls++
			require.Equal(t, "call", m.Method)
			require.Equal(t, wire.IntID(1), m.ID)
			return &x
		})
		require.NoError(t, err, data)
		require.Equal(t, 1, calls)
		require.Equal(t, wire.IntID(1), m.ID)
		require.Equal(t, "call", m.Method)
		require.Same(t, &x, m.Into)
		require.Contains(t, data, string(m.Params), "Params must remain the bytes of the input")
		require.Equal(t, CallToolRequest{Name: "n", Arguments: raw(`{"a": 1}`)}, x, data)

		m, err = wire.ReadMessageInto([]byte(data), nil, func(*wire.Message) wire.Params { return nil })
		require.NoError(t, err)
		require.NotNil(t, m.Params)
		require.Nil(t, m.Into, "open returned nil")

		bad := strings.Replace(data, `"name":"n"`, `"name":5`, 1)
		m, err = wire.ReadMessageInto([]byte(bad), nil, func(*wire.Message) wire.Params { return new(CallToolRequest) })
		require.EqualError(t, err, `decode /params/name: want a string, have a number`)
		require.Equal(t, wire.IntID(1), m.ID)
		require.NotNil(t, m.Into, "Into must be set even if decoding fails")
	}
	_, err := wire.ReadMessageInto([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`), nil, func(*wire.Message) wire.Params {
		t.Error("open called for a message without params")
		return nil
	})
	require.NoError(t, err)
}

func TestMessageErrorsPrecedeParamsErrors(t *testing.T) {
	for data, want := range map[string]string{
		`{"id":1,"method":"a","params":{"name":7}}`:                                      `decode: missing member "jsonrpc"`,
		`{"id":1,"method":"a","params":{"name":7},"jsonrpc":"1.0"}`:                      `decode /jsonrpc: want "2.0", have "1.0"`,
		`{"jsonrpc":"2.0","id":1,"method":"a","params":{"name":7},"result":{"name":""}}`: `decode: message has both a method and a result or error`,
		`{"jsonrpc":"2.0","id":1,"method":"a","params":{"name":7}}`:                      `decode /params/name: want a string, have a number`,
	} {
		m, err := wire.ReadMessageInto([]byte(data), nil, func(*wire.Message) wire.Params { return new(CallToolRequest) })
		require.EqualError(t, err, want, data)
		require.Equal(t, wire.IntID(1), m.ID)
	}
}

func TestReadInvalidResponse(t *testing.T) {
	for data, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"result":{"content":7}`:                                  `decode /result: unexpected end at byte 46`,
		`{"jsonrpc":"2.0","id":1,"result":{"content":7},"error":{"code":1,"message":""}}`: `decode: message must have exactly one of method, result and error`,
	} {
		m, err := wire.ReadMessage([]byte(data), nil)
		require.ErrorContains(t, err, want, data)
		require.Equal(t, wire.Message{ID: wire.IntID(1)}, m)
	}
}

func TestParamsCanBeDecodedAsChecked(t *testing.T) {
	m, err := wire.ReadMessage(callJSON, nil)
	require.NoError(t, err)
	var x CallToolRequest
	require.NoError(t, wire.DecodeParams(m.Params, &wire.Frame{Checked: true}, &x))
	require.Equal(t, CallToolRequest{Name: "greet", Arguments: raw(`{"name":"Ada","times":3}`)}, x)
}

func TestAppendMessages(t *testing.T) {
	f := frame(rev2025)
	withMeta := &wire.Frame{Revision: rev2025, Meta: []wire.Entry{{Name: "progressToken", Value: raw("3")}}}
	must := func(b []byte, err error) string {
		require.NoError(t, err)
		require.NoError(t, wire.Check(b, 0))
		return string(b)
	}
	require.Equal(t, `{"jsonrpc":"2.0","id":1,"method":"a/b","params":{}}`, must(wire.AppendRequest(nil, f, wire.IntID(1), "a/b", &Empty{})))
	require.Equal(t, `{"jsonrpc":"2.0","id":1,"method":"a","params":{}}`, must(wire.AppendRequest(nil, f, wire.IntID(1), "a", nil)))
	require.Equal(t, `{"jsonrpc":"2.0","id":"x","method":"a","params":{"_meta":{"progressToken":3}}}`, must(wire.AppendRequest(nil, withMeta, wire.StringID("x"), "a", nil)))
	require.Equal(t, `{"jsonrpc":"2.0","id":1,"method":"a","params":{"name":"n","_meta":{"progressToken":3}}}`, must(wire.AppendRequest(nil, withMeta, wire.IntID(1), "a", &CallToolRequest{Name: "n"})))
	require.Equal(t, `{"jsonrpc":"2.0","method":"a\"b"}`, must(wire.AppendNotification(nil, f, `a"b`, &Empty{})))
	require.Equal(t, `{"jsonrpc":"2.0","method":"a"}`, must(wire.AppendNotification(nil, f, "a", nil)))
	require.Equal(t, `{"jsonrpc":"2.0","method":"a","params":{"_meta":{"progressToken":3}}}`, must(wire.AppendNotification(nil, withMeta, "a", &Empty{})))
	require.Equal(t, `{"jsonrpc":"2.0","id":1,"result":{"content":[],"_meta":{"progressToken":3}}}`, must(wire.AppendResult(nil, withMeta, wire.IntID(1), &CallToolResult{})))
	require.Equal(t, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}`, must(wire.AppendError(nil, wire.RequestID{}, &wire.ErrorObject{Code: -32700, Message: "m"})))
	require.Equal(t, `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m","data":{"a":1}}}`, must(wire.AppendError(nil, wire.IntID(1), &wire.ErrorObject{Code: 1, Message: "m", Data: raw(`{"a":1}`)})))
}

// customType is a type that is not generated and writes any text.
type customType string

func (o customType) AppendParams(b []byte, _ *wire.Encoder) []byte { return append(b, o...) }

func (o customType) DecodeParams(d *wire.Decoder) { d.Skip() }

func (o customType) AppendJSON(b []byte, _ *wire.Encoder) []byte { return append(b, o...) }

func (o customType) DecodeJSON(d *wire.Decoder) { d.Skip() }

func TestFrameMembersAreAddedToCustomTypes(t *testing.T) {
	f := &wire.Frame{Meta: []wire.Entry{{Name: "k", Value: raw("1")}}, Also: []wire.Entry{{Name: "type", Value: raw(`"x"`)}}}
	for _, x := range []struct{ own, params, result string }{
		{`{}`, `{"_meta":{"k":1}}`, `{"_meta":{"k":1},"type":"x"}`},
		{`{"a":1}`, `{"a":1,"_meta":{"k":1}}`, `{"a":1,"_meta":{"k":1},"type":"x"}`},
		{`{"a":{"_meta":1,"type":2}}`, `{"a":{"_meta":1,"type":2},"_meta":{"k":1}}`, `{"a":{"_meta":1,"type":2},"_meta":{"k":1},"type":"x"}`},
		{`{"_meta":{},"type":"y"}`, `{"_meta":{"k":1},"type":"y"}`, `{"_meta":{},"type":"y"}`},
		{`{"\u005fmeta":{"a":2, "k":{}}, "b":[]}`, `{"\u005fmeta":{"a":2,"k":1}, "b":[]}`, `{"\u005fmeta":{"a":2, "k":{}}, "b":[],"type":"x"}`},
	} {
		b, err := wire.AppendParams(nil, f, customType(x.own))
		require.NoError(t, err)
		require.Equal(t, x.params, string(b))
		b, err = wire.AppendRequest(nil, f, wire.IntID(1), "a", customType(x.own))
		require.NoError(t, err)
		require.Equal(t, `{"jsonrpc":"2.0","id":1,"method":"a","params":`+x.params+`}`, string(b))
		b, err = wire.AppendResult(nil, f, wire.IntID(1), customType(x.own))
		require.NoError(t, err)
		require.Equal(t, `{"jsonrpc":"2.0","id":1,"result":`+x.result+`}`, string(b))
		b, err = wire.AppendResult(nil, nil, wire.IntID(1), customType(x.own))
		require.NoError(t, err)
		require.Equal(t, `{"jsonrpc":"2.0","id":1,"result":`+x.own+`}`, string(b))
		b, err = wire.AppendParams(nil, nil, customType(x.own))
		require.NoError(t, err)
		require.Equal(t, x.own, string(b))
	}
	for _, no := range []string{`[]`, `""`, ``, `{`, `{"_meta":1}`, `{"_meta":{`} {
		b, err := wire.AppendParams(nil, f, customType(no))
		require.NoError(t, err)
		require.Equal(t, no, string(b), "nothing can be added unless the value is an object")
	}
	f.Meta[0].GivesWay = true
	b, err := wire.AppendParams(nil, f, customType(`{"_meta":{"k":2}}`))
	require.NoError(t, err)
	require.Equal(t, `{"_meta":{"k":2}}`, string(b))
}

// failingType is a type that is not generated. Writing it fails and returns nil.
type failingType struct{}

func (v failingType) AppendParams(b []byte, e *wire.Encoder) []byte { return v.AppendJSON(b, e) }

func (v failingType) DecodeParams(d *wire.Decoder) { d.Skip() }

func (v failingType) DecodeJSON(d *wire.Decoder) { d.Skip() }

func (v failingType) AppendJSON(b []byte, e *wire.Encoder) []byte {
	e.Fail(b, "cannot be written")
	return nil
}

func TestFrameMembersAreNotAddedAfterFailure(t *testing.T) {
	given := []byte("given")
	full := &wire.Frame{Meta: []wire.Entry{{Name: "k", Value: raw("1")}}, Also: []wire.Entry{{Name: "type", Value: raw(`"x"`)}}}
	for _, f := range []*wire.Frame{nil, full, {Also: full.Also}} {
		for at, write := range map[string]func() ([]byte, error){
			"":         func() ([]byte, error) { return wire.AppendParams(given, f, failingType{}) },
			" /params": func() ([]byte, error) { return wire.AppendNotification(given, f, "a", failingType{}) },
			" /result": func() ([]byte, error) { return wire.AppendResult(given, f, wire.IntID(1), failingType{}) },
		} {
			b, err := write()
			require.EqualError(t, err, "encode"+at+": cannot be written")
			require.Equal(t, given, b)
		}
		_, err := wire.AppendRequest(given, f, wire.IntID(1), "a", failingType{})
		require.EqualError(t, err, "encode /params: cannot be written")
	}
}

func TestAppendMessageErrors(t *testing.T) {
	given := []byte("given")
	b, err := wire.AppendRequest(given, nil, wire.RequestID{}, "a", nil)
	require.EqualError(t, err, `encode /id: request id is required and not set`)
	require.Equal(t, "given", string(b))
	_, err = wire.AppendRequest(nil, nil, wire.IntID(1), "a", &CallToolRequest{Arguments: raw(`{"x":tru}`)})
	require.EqualError(t, err, `encode /params/arguments/x: unexpected 't'`)
	_, err = wire.AppendResult(nil, frame(rev2024), wire.IntID(1), &CallToolResult{Content: []Content{&AudioContent{}}})
	require.EqualError(t, err, `encode /result/content/0 for 2024-11-05: revision has no content type "audio"`)
	b, err = wire.AppendError(given, wire.IntID(1), &wire.ErrorObject{Data: raw(`x`)})
	require.EqualError(t, err, `encode /error/data: unexpected 'x'`)
	require.Equal(t, "given", string(b))
}

func TestMessageForm(t *testing.T) {
	write := func(p wire.Params, required wire.Window) string {
		s, err := encode(func(b []byte, e *wire.Encoder) []byte { return wire.AppendMessageForm(b, e, "tools/call", p, required) })
		require.NoError(t, err)
		return s
	}
	require.Equal(t, `{"method":"tools/call"}`, write(&Empty{}, 0))
	require.Equal(t, `{"method":"tools/call","params":{}}`, write(&Empty{}, always))
	require.Equal(t, `{"method":"tools/call","params":{"name":"n"}}`, write(&CallToolRequest{Name: "n"}, 0))

	read := func(data string, required wire.Window) (x CallToolRequest, err error) {
		err = decode(data, func(d *wire.Decoder) { wire.DecodeMessageForm(d, "tools/call", &x, required) })
		return x, err
	}
	for _, data := range []string{
		`{"method":"tools/call","params":{"name":"n"}}`,
		`{"jsonrpc":"2.0","id":[],"params":{"name":"n"},"method":"tools/call"}`,
	} {
		x, err := read(data, always)
		require.NoError(t, err)
		require.Equal(t, "n", x.Name)
	}
	_, err := read(`{"method":"tools/call"}`, 0)
	require.NoError(t, err)
	for data, want := range map[string]string{
		`{"method":"tools/call"}`:                 `decode: missing member "params"`,
		`{"params":{"name":"n"}}`:                 `decode: missing member "method"`,
		`{"method":"other"}`:                      `decode /method: want "tools/call", have "other"`,
		`{"method":"tools/call","params":{}}`:     `decode /params: missing member "name"`,
		`{"method":"tools/call","x":1,"x":1}`:     `decode /x: duplicate member "x" at byte 32`,
		`{"method":"tools/call","params":{"name"`: `decode /params/name: unexpected end at byte 39`,
	} {
		_, err := read(data, always)
		require.EqualError(t, err, want, data)
	}
}

func TestValuesDoNotAliasInput(t *testing.T) {
	data := []byte(`{"jsonrpc":"2.0","id":"abc","method":"call","params":{"name":"n","arguments":{"a":1},"x":"y","_meta":{"progressToken":"t"}}}`)
	var x CallToolRequest
	m, err := wire.ReadMessageInto(data, nil, func(*wire.Message) wire.Params { return &x })
	require.NoError(t, err)
	for i := range data {
		data[i] = '?'
	}
	require.Equal(t, wire.StringID("abc"), m.ID)
	require.Equal(t, "call", m.Method)
	require.Equal(t, CallToolRequest{
		Name: "n", Arguments: raw(`{"a":1}`), Meta: &Meta{ProgressToken: wire.StringToken("t")},
		Extra: map[string]json.RawMessage{"x": raw(`"y"`)},
	}, x)
}
