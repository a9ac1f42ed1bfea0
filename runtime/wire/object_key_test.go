package wire_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/wire"
)

// keys notes the names of an object's members, with a table that has some.
type keys struct{ names []string }

func (*keys) AppendJSON(b []byte, e *wire.Encoder) []byte { return e.Missing(b, "keys") }

func (k *keys) DecodeJSON(d *wire.Decoder) {
	o := d.Object(wire.NewMembers("keys", wire.Member{Name: "known", In: wire.Always}))
	for o.Next() {
		k.names = append(k.names, o.Key())
		d.Skip()
	}
	k.names = append(k.names, o.Key())
}

func TestAKeyIsTheNameOfAnyMember(t *testing.T) {
	var k keys
	require.NoError(t, wire.Decode([]byte(`{"known":1,"other":2,"\u0065scaped":3,"":4}`), nil, &k))
	require.Equal(t, []string{"known", "other", "escaped", "", ""}, k.names, "the last is after the end")
}

// extras has a table without members: all are extra.
type extras struct{ all map[string]json.RawMessage }

func (*extras) AppendJSON(b []byte, e *wire.Encoder) []byte { return e.Missing(b, "extras") }

func (x *extras) DecodeJSON(d *wire.Decoder) {
	for o := d.Object(wire.NewMembers("extras")); o.Next(); {
		x.all = o.Extra(x.all)
	}
}

func TestATableMayBeEmpty(t *testing.T) {
	var x extras
	require.NoError(t, wire.Decode([]byte(`{"a":1,"b":2}`), nil, &x))
	require.Len(t, x.all, 2)
	require.ErrorContains(t, wire.Decode([]byte(`{"a":1,"a":2}`), nil, &x), "duplicate")
}

// nest is an object with others in it.
type nest struct{ extras }

func (n *nest) DecodeJSON(d *wire.Decoder) {
	for o := d.Object(wire.NewMembers("nest", wire.Member{Name: "child", In: wire.Always})); o.Next(); {
		if o.Name == "child" {
			new(nest).DecodeJSON(d)
			continue
		}
		n.all = o.Extra(n.all)
	}
}

func TestNamesAreThoseOfOneObject(t *testing.T) {
	names := func(begin string, n int) (list string) {
		for i := range n {
			list += fmt.Sprintf(`"%s%d":1,`, begin, i)
		}
		return list
	}
	var x nest
	doc := `{` + names("a", 15) + `"child":{` + names("b", 10) + `"z":1},` + names("b", 10) + `"z":1}`
	require.NoError(t, wire.Decode([]byte(doc), nil, &x))
	require.Len(t, x.all, 26)
}
