package mcpclient_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/internal/leaks"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// word is a message of a program's own that knows nothing of what a revision has
// in each request and each result.
type word struct{ text string }

func (*word) Method() string   { return "acme/word" }
func (*word) NewResult() *word { return new(word) }

func (w *word) AppendParams(b []byte, e *wire.Encoder) []byte { return w.AppendJSON(b, e) }
func (w *word) DecodeParams(d *wire.Decoder)                  { w.DecodeJSON(d) }

func (w *word) AppendJSON(b []byte, _ *wire.Encoder) []byte {
	return append(wire.AppendString(append(b, `{"word":`...), w.text), '}')
}

func (w *word) DecodeJSON(d *wire.Decoder) {
	text, _ := d.Peek("word")
	w.text = strings.Clone(text)
	d.Skip()
}

// pages is such a message made of one of the protocol's.
type pages struct{ mcp.ListToolsRequest }

func (*pages) Method() string { return "acme/pages" }

func TestAMethodOfOnesOwnIsServedInEachRevisionOverEachWay(t *testing.T) {
	leaks.Check(t)
	kit := newKit(nil)
	mcpserver.Handle(kit, func(ctx context.Context, req *word) (*word, error) {
		err := mcp.SessionFrom(ctx).ReportProgress(ctx, peer.Progress{Done: 1})
		return &word{"back: " + req.text}, err
	})
	mcpserver.Handle(kit, func(ctx context.Context, _ *pages) (*mcp.ListToolsResult, error) {
		s := mcp.SessionFrom(ctx)
		require.True(t, s.CheckClientCapability(&mcp.ClientCapabilities{Sampling: new(mcp.SamplingCapability)}))
		return &mcp.ListToolsResult{}, s.ReportProgress(ctx, peer.Progress{Done: 1})
	})
	for _, r := range mcp.Revisions {
		for _, w := range kitWays(t, kit) {
			if w.name == "command" || w.old && !r.Handshake {
				continue
			}
			t.Run(r.Revision.String()+" "+w.name, func(t *testing.T) {
				c := connect(t, w.to, ada(mcpclient.Options{Revision: r.Revision}))
				steps := 0
				count := peer.OnProgress(func(peer.Progress) { steps++ })
				res, err := peer.SendRequest(t.Context(), c, &word{"forth"}, count)
				require.NoError(t, err)
				require.Equal(t, "back: forth", res.text)
				_, err = peer.SendRequest(t.Context(), c, &pages{}, count)
				require.NoError(t, err)
				require.Equal(t, 2, steps)
			})
		}
	}
}
