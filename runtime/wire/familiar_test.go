package wire_test

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/wire"
)

// textValue is a string.
type textValue struct {
	wire.ReadOnly
	text string
}

func (v *textValue) DecodeJSON(d *wire.Decoder) { v.text = d.String() }

// What was read before may be given out again, but only for the same text.
func TestStringsAreWhatTheDocumentSays(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var texts []string
	read := map[int]string{}
	for i := range 3000 {
		text := make([]byte, random.IntN(40))
		for j := range text {
			text[j] = "abc/"[random.IntN(4)]
		}
		var v textValue
		doc := strconv.AppendQuote(nil, string(text))
		require.NoError(t, wire.Decode(doc, nil, &v))
		clear(doc) // what was read does not lie in the document
		texts, read[i] = append(texts, string(text)), v.text
	}
	for i, text := range texts {
		require.Equal(t, text, read[i])
	}
}

// letters is an object of many members, each the name of one.
type letters struct {
	wire.ReadOnly
	names []string
}

const alphabet = "abcdefghijklmnopqrst"

var lettersMembers = func() *wire.Members {
	var list []wire.Member
	for _, c := range alphabet {
		list = append(list, wire.Member{Name: string(c), In: wire.Always})
	}
	return wire.NewMembers("letters", list...)
}()

func (l *letters) DecodeJSON(d *wire.Decoder) {
	for o := d.Object(lettersMembers); o.Next(); {
		l.names = append(l.names, o.Name)
		d.Skip()
	}
}

func TestTheOrderOfMembersDoesNotMatter(t *testing.T) {
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
		var l letters
		require.NoError(t, wire.Decode(append(doc, '}'), nil, &l), string(doc))
		require.Equal(t, want, l.names)
		doc = append(strconv.AppendQuote(append(doc, ','), want[0]), ":0}"...)
		require.ErrorContains(t, wire.Decode(doc, nil, new(letters)), "duplicate member")
	}
}

func TestKindOfADocument(t *testing.T) {
	for doc, kind := range map[string]byte{
		" \t\r\n[": '[', "{}": '{', `"`: '"', "-1": '0', "7": '0', "true": 't', "false": 'f', "null": 'n',
		"": 0, " ": 0, "x[": 0, "\v[": 0, "\xef\xbb\xbf[": 0,
	} {
		require.Equal(t, kind, wire.Kind([]byte(doc)), doc)
	}
}
