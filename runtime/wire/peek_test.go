package wire_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/wire"
)

func TestPeek(t *testing.T) {
	for _, x := range []struct {
		data, value string
		kind        byte
	}{
		{`{"type":"text"}`, "text", '"'},
		{` { "a" : [{"type":"x"},"}"] , "type" : "text" } `, "text", '"'},
		{`{"t\u0079pe":"te\u0078t"}`, "text", '"'},
		{`{"type":5}`, "", '0'},
		{`{"type":{}}`, "", '{'},
		{`{"Type":"text"}`, "", 0},
		{`{}`, "", 0},
		{`[]`, "", 0},
		{`{"a":{"type":"no"}}`, "", 0},
	} {
		require.NoError(t, decode(x.data, func(d *wire.Decoder) {
			value, kind := d.Peek("type")
			require.Equal(t, x.value, value, x.data)
			require.Equal(t, x.kind, kind, x.data)
			d.Skip()
		}))
	}
	for _, data := range []string{``, `{`, `{"`, `{"a`, `{"a"`, `{"a":`, `{"a":{`, `{"a":1`, `{"a":1,`, `{"a":1 "type":"x"}`, `{"type":`, `{"type":"x`, `{"type":"\x"}`, `{,}`} {
		require.Error(t, decode(data, func(d *wire.Decoder) { d.Peek("type"); d.Probe("a", "b"); d.Skip() }), data)
	}
}

func TestProbe(t *testing.T) {
	require.NoError(t, decode(`{"x":1,"a":{"b":{"c":null}}}`, func(d *wire.Decoder) {
		require.True(t, d.Probe())
		require.True(t, d.Probe("a"))
		require.True(t, d.Probe("a", "b", "c"))
		require.False(t, d.Probe("a", "c"))
		require.False(t, d.Probe("x", "y"))
		d.Skip()
	}))
}

// node is a union type. At every level the member that distinguishes it is the last
// one.
type node struct{ kids []*node }

func decodeNode(d *wire.Decoder) *node {
	if kind, _ := d.Peek("type"); kind != "node" {
		d.Fail("want a node, have %q", kind)
	}
	x := new(node)
	for o := d.Object(nil); o.Next(); {
		if d.Kind() == '[' {
			x.kids = wire.List(d, decodeNode)
		} else {
			d.Skip()
		}
	}
	return x
}

// Ten times the levels must take much less than a hundred times the time.
func TestNestedPeekIsLinear(t *testing.T) {
	nested := func(levels int) func() {
		filler := `"pad":"` + strings.Repeat("x", 1000) + `",`
		whole := strings.Repeat(`{`+filler+`"kids":[`, levels) + strings.Repeat(`],"type":"node"}`, levels)
		broken := []string{whole[:len(whole)-1], strings.ReplaceAll(whole, `],"type":"node"}`, ``)}
		f := &wire.Frame{MaxDepth: 3 * levels}
		return func() {
			for _, data := range broken {
				_ = wire.Decode([]byte(data), f, &value{decode: func(d *wire.Decoder) { decodeNode(d) }})
			}
			require.NoError(t, wire.Decode([]byte(whole), f, &value{decode: func(d *wire.Decoder) { decodeNode(d) }}))
		}
	}
	requireLinear(t, "levels", 50, nested(300), nested(3000))
}

func TestPeekDoesNotAllocate(t *testing.T) {
	document := []byte(`{"arguments":{"a":[` + strings.Repeat(`{"b":1},`, 100) + `0]},"_meta":{"c":{}},"name":"greet"}`)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if name, kind := wire.Peek(document, "name"); name != "greet" || kind != '"' {
			t.Fatal(name, kind)
		}
		if _, kind := wire.Peek(document, "none"); kind != 0 {
			t.Fatal(kind)
		}
	}))
}
