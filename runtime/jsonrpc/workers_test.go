package jsonrpc_test

import (
	"context"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
)

// All of them wait in their handlers for the last one to come.
func TestNoRequestWaitsForTheHandlerOfAnother(t *testing.T) {
	for _, most := range []int{1, 2, 200} {
		bubble(t, func(t *testing.T) {
			var all sync.WaitGroup
			c, r := newConn(t, &jsonrpc.Options{Handler: handlers{"meet": func(context.Context, *peer.Inbound) (peer.Reply, error) {
				all.Done()
				all.Wait()
				return peer.Reply{Result: &mcp.EmptyResult{}}, nil
			}}})
			for round := range 3 { // later ones find workers that rest
				all.Add(most)
				for id := range most {
					deliver(c, request(1000*round+id, "meet"))
				}
				all.Wait()
				require.Len(t, r.take(), most)
			}
		})
	}
}

// A handler that ends its goroutine takes nobody along who waits.
func TestAWorkerThatEndsLeavesTheOthersTheirRequests(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // so that all wait when the first is handled
	bubble(t, func(t *testing.T) {
		c, r := newConn(t, &jsonrpc.Options{Handler: handlers{"exit": func(context.Context, *peer.Inbound) (peer.Reply, error) {
			runtime.Goexit()
			return peer.Reply{Result: &mcp.EmptyResult{}}, nil
		}}})
		const asked = 100
		for id := range asked {
			deliver(c, request(id, "exit"))
		}
		require.Len(t, r.take(), asked)
	})
}

// What waits when the connection closes is answered like everything else.
func TestRequestsThatWaitForAWorkerAreAnsweredWhenTheConnectionCloses(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	bubble(t, func(t *testing.T) {
		c, r := newConn(t, &jsonrpc.Options{Handler: handlers{"wait": untilDone}})
		const asked = 100
		for id := range asked {
			deliver(c, request(id, "wait"))
		}
		require.NoError(t, c.Close())
		require.Len(t, r.take(), asked)
	})
}
