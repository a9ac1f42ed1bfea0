package wire_test

import (
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
