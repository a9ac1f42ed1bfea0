package wire_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/wire"
)

// keyReader records the names of an object's members. Its table has one of them.
type keyReader struct{ names []string }

func (*keyReader) AppendJSON(b []byte, e *wire.Encoder) []byte { return e.Missing(b, "keys") }

func (k *keyReader) DecodeJSON(d *wire.Decoder) {
	o := d.Object(wire.NewMembers("keys", wire.Member{Name: "known", In: wire.Always}))
	for o.Next() {
		k.names = append(k.names, o.Key())
		d.Skip()
	}
	k.names = append(k.names, o.Key())
}

func TestKeyReturnsNameOfAnyMember(t *testing.T) {
	var k keyReader
	require.NoError(t, wire.Decode([]byte(`{"known":1,"other":2,"\u0065scaped":3,"":4}`), nil, &k))
	require.Equal(t, []string{"known", "other", "escaped", "", ""}, k.names, "the last key is read after the last member")
}

// extras has a table without members, so all members are extra.
type extras struct{ all map[string]json.RawMessage }

func (*extras) AppendJSON(b []byte, e *wire.Encoder) []byte { return e.Missing(b, "extras") }

func (x *extras) DecodeJSON(d *wire.Decoder) {
	for o := d.Object(wire.NewMembers("extras")); o.Next(); {
		x.all = o.Extra(x.all)
	}
}

func TestObjectWithEmptyTable(t *testing.T) {
	var x extras
	require.NoError(t, wire.Decode([]byte(`{"a":1,"b":2}`), nil, &x))
	require.Len(t, x.all, 2)
	require.ErrorContains(t, wire.Decode([]byte(`{"a":1,"a":2}`), nil, &x), "duplicate")
}

// nestedObject is an object with objects in it.
type nestedObject struct{ extras }

func (n *nestedObject) DecodeJSON(d *wire.Decoder) {
	for o := d.Object(wire.NewMembers("nest", wire.Member{Name: "child", In: wire.Always})); o.Next(); {
		if o.Name == "child" {
			new(nestedObject).DecodeJSON(d)
			continue
		}
		n.all = o.Extra(n.all)
	}
}

func TestNestedObjectsHaveSeparateNames(t *testing.T) {
	names := func(begin string, n int) (list string) {
		for i := range n {
			list += fmt.Sprintf(`"%s%d":1,`, begin, i)
		}
		return list
	}
	var x nestedObject
	doc := `{` + names("a", 15) + `"child":{` + names("b", 10) + `"z":1},` + names("b", 10) + `"z":1}`
	require.NoError(t, wire.Decode([]byte(doc), nil, &x))
	require.Len(t, x.all, 26)
}

// manyMembers is an object with many members, each named by a letter.
type manyMembers struct {
	wire.ReadOnly
	names []string
}

const alphabet = "abcdefghijklmnopqrst"

var manyMembersTable = func() *wire.Members {
	var list []wire.Member
	for _, c := range alphabet {
		list = append(list, wire.Member{Name: string(c), In: wire.Always})
	}
	return wire.NewMembers("letters", list...)
}()

func (l *manyMembers) DecodeJSON(d *wire.Decoder) {
	for o := d.Object(manyMembersTable); o.Next(); {
		l.names = append(l.names, o.Name)
		d.Skip()
	}
}

func TestMembersInRandomOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		doc, want := []byte{'{'}, []string(nil)
		for i, at := range random.Perm(len(alphabet))[:1+random.IntN(len(alphabet))] {
			if i > 0 {
				doc = append(doc, ',')
			}
			want = append(want, alphabet[at:at+1])
			doc = append(strconv.AppendQuote(doc, want[i]), ":0"...)
		}
		var l manyMembers
		require.NoError(t, wire.Decode(append(doc, '}'), nil, &l), string(doc))
		require.Equal(t, want, l.names)
		doc = append(strconv.AppendQuote(append(doc, ','), want[0]), ":0}"...)
		require.ErrorContains(t, wire.Decode(doc, nil, new(manyMembers)), "duplicate member")
	}
}

func TestTables(t *testing.T) {
	require.Panics(t, func() { wire.NewMembers("x", wire.Member{Name: "a"}, wire.Member{Name: "a"}) })
	require.Panics(t, func() { wire.NewMembers("x", wire.Member{Name: "a", In: 1, Required: 2}) })
	require.Panics(t, func() { wire.NewMembers("x", make([]wire.Member, 65)...) })
}
