package jsonrpc_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
)

func TestInFlightWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		opts := &jsonrpc.Options{Handler: peer.HandlerFunc(func(context.Context, *peer.Inbound) (peer.Reply, error) {
			<-release
			return peer.Reply{Result: &mcp.EmptyResult{}}, nil
		})}
		conn := jsonrpc.New(jsonrpc.NewLineWriter(io.Discard), opts)
		client, server := jsonrpc.InProcessPair(nil, opts)
		tables := []*jsonrpc.InFlight{conn.InFlight(), server.InFlight()}
		for _, requests := range tables {
			require.NoError(t, requests.Wait(t.Context()))
		}

		conn.Deliver(t.Context(), []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`), jsonrpc.Source{})
		go client.Call(t.Context(), &mcp.PingRequest{}, &mcp.EmptyResult{}) // ends when the handler is released
		synctest.Wait()
		enough := errors.New("enough")
		ended, end := context.WithCancelCause(t.Context())
		end(enough)
		waited := make(chan error, len(tables))
		for _, requests := range tables {
			require.ErrorIs(t, requests.Wait(ended), enough)
			go func() { waited <- requests.Wait(context.Background()) }() // ends when the handlers return
		}
		synctest.Wait()
		require.Empty(t, waited)
		close(release)
		for range tables {
			require.NoError(t, <-waited)
		}
		conn.Close()
		client.Close()
	})
}
