package jsonrpc_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
)

// What is refused without an answer would hang at its sender until that loses
// patience.
func TestEveryRequestOverTheLimitIsToldSo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, r := newConn(t, &jsonrpc.Options{Handler: handlers{"wait": untilDone}})
		const asked = 5000
		for id := range asked {
			deliver(c, request(id, "wait"))
		}
		require.Len(t, r.take(), asked-256)
	})
}

// An answer may have been read before its writer is back to say that it is written.
func TestAPeerWithinTheLimitIsNotRefused(t *testing.T) {
	for _, window := range []int{1, 4, 256} {
		t.Run(fmt.Sprint(window), func(t *testing.T) {
			l := newLine(t, &jsonrpc.Options{MaxInFlight: window, Handler: handlers{"quick": quick}})
			const asked = 20_000
			for id := range asked + window {
				if id >= window {
					require.NotContains(t, l.hear(), "error")
				}
				if id < asked {
					l.say(request(id, "quick"))
				}
			}
		})
	}
}

// Their answers would pile up.
func TestRequestsOfAPeerThatReadsNothingAreRefusedInTheEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		handled, read := 0, make(chan struct{})
		var mu sync.Mutex
		c, r := newConn(t, &jsonrpc.Options{Handler: handlers{"quick": func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
			mu.Lock()
			defer mu.Unlock()
			handled++
			return quick(ctx, in)
		}}})
		r.hook = func(context.Context, string) error { <-read; return nil }
		const asked = 5000
		for id := range asked {
			deliver(c, request(id, "quick"))
			synctest.Wait()
		}
		require.Equal(t, 1024, handled)
		close(read)
		require.Len(t, r.take(), asked, "an answer or a refusal for each")
	})
}

func TestRefusalsDoNotDependOnTheLengthOfMessages(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, r := newConn(t, &jsonrpc.Options{MaxMessage: 200, MaxInFlight: 1, Handler: handlers{"wait": untilDone}})
		for id := range 100 {
			deliver(c, request(id, "wait"))
		}
		require.Len(t, r.take(), 99)
	})
}
