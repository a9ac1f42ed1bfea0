package jsonrpc_test

import (
	"context"
	"fmt"

	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// reverse is a request of the program's own: a method, the type of its result,
// and how its params are written and read.
type reverse struct{ words string }

var wordsMembers = wire.NewMembers("words", wire.Member{Name: "words", In: wire.Always, Required: wire.Always})

func (*reverse) Method() string       { return "example.com/reverse" }
func (*reverse) NewResult() *reversed { return new(reversed) }

func (r *reverse) AppendParams(b []byte, e *wire.Encoder) []byte {
	start := len(b)
	b = append(b, `,"words":`...) // each member begins with a comma; CloseObject makes the first a brace
	b = wire.AppendString(b, r.words)
	return wire.CloseObject(b, start)
}

func (r *reverse) DecodeParams(d *wire.Decoder) {
	for o := d.Object(wordsMembers); o.Next(); {
		if o.Name == "" { // a member that is not in the list
			d.Skip()
			continue
		}
		r.words = d.String()
	}
}

// reversed is its result.
type reversed struct{ words string }

func (r *reversed) AppendJSON(b []byte, e *wire.Encoder) []byte {
	start := len(b)
	b = append(b, `,"words":`...)
	b = wire.AppendString(b, r.words)
	return wire.CloseObject(b, start)
}

func (r *reversed) DecodeJSON(d *wire.Decoder) {
	for o := d.Object(wordsMembers); o.Next(); {
		if o.Name == "" {
			d.Skip()
			continue
		}
		r.words = d.String()
	}
}

// A request type of one's own travels like the others.
func ExampleConn_Call() {
	client, server := jsonrpc.InProcessPair(nil, &jsonrpc.Options{
		Strict: true, // as over a wire
		Handler: peer.HandlerFunc(func(_ context.Context, in *peer.Inbound) (peer.Reply, error) {
			var req reverse
			if err := in.Decode(nil, &req); err != nil {
				return peer.Reply{}, err
			}
			var back string
			for _, r := range req.words {
				back = string(r) + back
			}
			return peer.Reply{Result: &reversed{back}}, nil
		}),
	})
	defer server.Close()

	res, err := peer.SendRequest(context.Background(), client, &reverse{"gopher"})
	fmt.Println(res.words, err)
	// Output: rehpog <nil>
}
