package streamable_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable"
	"github.com/mcpwright/mcp/runtime/wire"
)

// ownNote is a notification that the protocol does not know.
type ownNote struct{}

func (*ownNote) Method() string                                { return "acme/note" }
func (*ownNote) IsNotification()                               {}
func (*ownNote) AppendParams(b []byte, _ *wire.Encoder) []byte { return append(b, "{}"...) }
func (*ownNote) DecodeParams(d *wire.Decoder)                  { d.Skip() }

func TestNotificationsOutsideSessionsAreWorkLikeAnyOther(t *testing.T) {
	for revision, stateless := range map[string]bool{"2026-07-28": false, "2025-11-25": true} {
		t.Run(revision, func(t *testing.T) {
			const room, sent = 2, 10
			called, ended := make(chan struct{}, sent), make(chan error, sent)
			o := kernelOptions(nil)
			peer.HandleNotification(o.Mux, func(ctx context.Context, _ *ownNote) error {
				called <- struct{}{}
				<-ctx.Done()
				ended <- context.Cause(ctx)
				return nil
			})
			e := serveKernel(t, connection.NewDispatcher(o), &streamable.Options{MaxInFlight: room, Stateless: stateless})
			note := func() int { return e.post(`{"jsonrpc":"2.0","method":"acme/note"}`, version+revision).status }
			statuses := make(chan int, sent)
			for range sent {
				go func() { statuses <- note() }() // ends with the handler, at the latest when that is shut down
			}
			for range sent - room {
				require.Equal(t, http.StatusServiceUnavailable, within(t, statuses, "refusal"))
			}
			for range room {
				within(t, called, "call")
			}

			patience, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			require.ErrorIs(t, e.handler.Shutdown(patience), context.DeadlineExceeded, "something had to be cancelled")
			for range room {
				require.Equal(t, streamable.ErrClosing, within(t, ended, "end"))
				require.Equal(t, http.StatusAccepted, within(t, statuses, "status"))
			}
			require.Equal(t, http.StatusServiceUnavailable, note())
		})
	}
}
