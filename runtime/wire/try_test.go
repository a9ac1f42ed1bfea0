package wire_test

import (
	"testing"

	"github.com/mcpwright/mcp/runtime/wire"
	"github.com/stretchr/testify/require"
)

func TestBackReadsAValueOnceMore(t *testing.T) {
	for name, x := range map[string]struct {
		data string
		read func(d *wire.Decoder) // the first time
		back bool
	}{
		"after a success": {`{"n":1,"kind":"other"}`, (*wire.Decoder).Skip, true},
		"after a failure": {`{"n":1,"kind":"other"}`, func(d *wire.Decoder) { _ = d.String() }, true},
		"after a failure inside": {`{"n":{"m":[1]},"kind":"other"}`, func(d *wire.Decoder) {
			for o := d.Object(nil); o.Next(); {
				_ = wire.Map(d, func(d *wire.Decoder) bool { return d.Bool() })
			}
		}, true},
		"unless it is of the first kind":     {`{"n":1,"kind":"this"}`, (*wire.Decoder).Skip, false},
		"unless the kind is no string":       {`{"n":1,"kind":[]}`, (*wire.Decoder).Skip, false},
		"unless there is no kind":            {`{"n":1}`, (*wire.Decoder).Skip, false},
		"unless it is no object":             {`5`, (*wire.Decoder).Skip, false},
		"unless it is no JSON":               {`{"kind":"other","n":1,]`, (*wire.Decoder).Skip, false},
		"unless it failed before that place": {`{"kind":"other"}`, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			_ = decode(`[`+x.data+`]`, func(d *wire.Decoder) {
				_ = wire.List(d, func(d *wire.Decoder) bool {
					if x.read == nil {
						d.Fail("before")
					}
					start := d.Here()
					if x.read != nil {
						x.read(d)
					}
					failed := d.Err()
					require.Equal(t, x.back, d.Back(start, "kind", "other"))
					if !x.back {
						require.Equal(t, failed, d.Err(), "a failure stays")
						return false
					}
					require.NoError(t, d.Err())
					require.JSONEq(t, x.data, string(d.Raw()))
					return true
				})
			})
		})
	}
}
