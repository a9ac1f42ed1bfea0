package wire_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/wire"
)

func TestRevision(t *testing.T) {
	require.Equal(t, "2025-06-18", rev2025.String())
	require.Equal(t, 1, rev2025.Index())
	require.Equal(t, "all revisions", wire.Revision{}.String())
	require.Equal(t, -1, wire.Revision{}.Index())
	require.Equal(t, rev2025, wire.NewRevision(1, "2025-06-18"))
	require.True(t, wire.Window(1<<63).Has(wire.NewRevision(63, "last")))
	require.Panics(t, func() { wire.NewRevision(64, "x") })
	require.Panics(t, func() { wire.NewRevision(-1, "x") })
	require.Panics(t, func() { wire.NewRevision(0, "") })
}

func TestHasAndNeeds(t *testing.T) {
	type fact struct{ has, needs bool }
	windows := []wire.Window{always, since2025, until2025, 0}
	for revision, want := range map[wire.Revision][]fact{
		rev2024: {{true, true}, {false, false}, {true, true}, {false, false}},
		rev2026: {{true, true}, {true, true}, {false, false}, {false, false}},
		{}:      {{true, true}, {true, false}, {true, false}, {false, false}},
	} {
		for i, w := range windows {
			require.Equal(t, want[i].has, w.Has(revision))
			_, err := wire.Append(nil, frame(revision), &value{append: func(b []byte, e *wire.Encoder) []byte {
				require.Equal(t, want[i], fact{e.Has(w), e.Needs(w)})
				require.Equal(t, revision, e.Revision())
				return b
			}})
			require.NoError(t, err)
			require.NoError(t, wire.Decode([]byte("0"), frame(revision), &value{decode: func(d *wire.Decoder) {
				require.Equal(t, want[i], fact{d.Has(w), d.Needs(w)})
				require.Equal(t, revision, d.Revision())
				d.Skip()
			}}))
		}
	}
}
