package wire_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/wire"
)

func raw(s string) json.RawMessage { return json.RawMessage(s) }

func TestFrameMeta(t *testing.T) {
	token := []wire.Entry{{Name: "progressToken", Value: raw("9")}, {Name: "x", Value: raw(`"y"`)}}
	giving := []wire.Entry{token[0], token[1], {Name: "y", Value: raw("5")}}
	giving[0].GivesWay, giving[1].GivesWay = true, true
	own := &Meta{
		ProgressToken: wire.IntToken(1),
		ClientInfo:    &Icon{Src: "s", Extra: map[string]json.RawMessage{"x": raw("1"), "progressToken": raw("2")}},
		Extra:         map[string]json.RawMessage{"x": raw("3"), "z": raw("4")},
	}
	for _, x := range []struct {
		name string
		meta *Meta
		f    wire.Frame
		want string
	}{
		{"none", nil, wire.Frame{Revision: rev2025}, `{"name":"n"}`},
		{"own", &Meta{}, wire.Frame{Revision: rev2025}, `{"name":"n","_meta":{}}`},
		{"own, without members in the revision", &Meta{Version: "v"}, wire.Frame{Revision: rev2025}, `{"name":"n"}`},
		{"own, with members of the frame", &Meta{Version: "v"}, wire.Frame{Revision: rev2025, Meta: token}, `{"name":"n","_meta":{"progressToken":9,"x":"y"}}`},
		{"frame only", nil, wire.Frame{Revision: rev2025, Meta: token}, `{"name":"n","_meta":{"progressToken":9,"x":"y"}}`},
		{"merged", own, wire.Frame{Revision: rev2025, Meta: token}, `{"name":"n","_meta":{"clientInfo":{"src":"s","progressToken":2,"x":1},"z":4,"progressToken":9,"x":"y"}}`},
		{"not merged", own, wire.Frame{Revision: rev2025}, `{"name":"n","_meta":{"progressToken":1,"clientInfo":{"src":"s","progressToken":2,"x":1},"x":3,"z":4}}`},
		{"required", nil, wire.Frame{Revision: rev2026}, `{"name":"n","_meta":{"version":""}}`},
		{"required, from the frame", nil, wire.Frame{Revision: rev2026, Meta: []wire.Entry{{Name: "version", Value: raw(`"v"`)}}}, `{"name":"n","_meta":{"version":"v"}}`},
		{"giving way", own, wire.Frame{Revision: rev2025, Meta: giving}, `{"name":"n","_meta":{"progressToken":1,"clientInfo":{"src":"s","progressToken":2,"x":1},"x":3,"z":4,"y":5}}`},
		{"giving way to absent members", &Meta{ClientInfo: own.ClientInfo}, wire.Frame{Revision: rev2025, Meta: giving}, `{"name":"n","_meta":{"clientInfo":{"src":"s","progressToken":2,"x":1},"progressToken":9,"x":"y","y":5}}`},
		{"giving way without a meta", nil, wire.Frame{Revision: rev2025, Meta: giving}, `{"name":"n","_meta":{"progressToken":9,"x":"y","y":5}}`},
	} {
		b, err := wire.AppendParams(nil, &x.f, &CallToolRequest{Name: "n", Meta: x.meta})
		require.NoError(t, err, x.name)
		require.Equal(t, x.want, string(b), x.name)
	}
}

func TestFrameMetaAppliesToTopValueOnly(t *testing.T) {
	f := &wire.Frame{Revision: rev2025, Meta: []wire.Entry{{Name: "k", Value: raw("1")}}}
	inner := &CallToolRequest{Name: "n", Meta: &Meta{ProgressToken: wire.StringToken("t")}}
	b, err := wire.Append(nil, f, &value{append: func(b []byte, e *wire.Encoder) []byte {
		return wire.AppendMessageForm(b, e, "tools/call", inner, 0)
	}})
	require.NoError(t, err)
	require.Equal(t, `{"method":"tools/call","params":{"name":"n","_meta":{"progressToken":"t"}}}`, string(b))

	b, err = wire.AppendParams(nil, f, inner) // now it is the top value
	require.NoError(t, err)
	require.Equal(t, `{"name":"n","_meta":{"progressToken":"t","k":1}}`, string(b))
}

func TestFrameMetaErrors(t *testing.T) {
	for want, meta := range map[string][]wire.Entry{
		`encode /_meta/k for 2025-06-18: unexpected 't'`:                   {{Name: "k", Value: raw("tru")}},
		`encode /_meta/k for 2025-06-18: required value is not set`:        {{Name: "k"}},
		`encode /_meta/k for 2025-06-18: duplicate name "k" in Frame.Meta`: {{Name: "k", Value: raw("1")}, {Name: "k", Value: raw("2")}},
	} {
		_, err := wire.AppendParams(nil, &wire.Frame{Revision: rev2025, Meta: meta}, &CallToolRequest{Name: "n"})
		require.EqualError(t, err, want)
	}
}

func TestFrameMetaDoesNotChangeValue(t *testing.T) {
	x := &CallToolRequest{Name: "n", Meta: &Meta{Extra: map[string]json.RawMessage{"k": raw("0")}}}
	f := &wire.Frame{Revision: rev2025, Meta: []wire.Entry{{Name: "k", Value: raw("1")}}}
	_, err := wire.AppendParams(nil, f, x)
	require.NoError(t, err)
	require.Equal(t, raw("0"), x.Meta.Extra["k"])
	require.Len(t, x.Meta.Extra, 1)
}

func TestCheckedEntry(t *testing.T) {
	entry := wire.Entry{Name: "x", Value: raw(`{"a":1}`)}
	want, err := wire.Append(nil, &wire.Frame{Revision: rev2025, Meta: []wire.Entry{entry}}, callResult)
	require.NoError(t, err)
	entry.Checked = true
	got, err := wire.Append(nil, &wire.Frame{Revision: rev2025, Meta: []wire.Entry{entry}}, callResult)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}
