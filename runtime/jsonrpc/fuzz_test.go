package jsonrpc_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// FuzzDeliver delivers any bytes. The connection must write only valid JSON, release the bytes
// once, and handle the next request.
func FuzzDeliver(f *testing.F) {
	files, err := filepath.Glob("testdata/*.jsonl")
	require.NoError(f, err)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(f, err)
		for line := range strings.Lines(string(data)) {
			if message, ok := strings.CutPrefix(line, "> "); ok {
				f.Add([]byte(strings.TrimSpace(message)))
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r := new(recorder)
		quick := peer.HandlerFunc(func(_ context.Context, in *peer.Inbound) (peer.Reply, error) {
			_ = in.Decode(nil, &raw{})
			return result(`{}`)
		})
		c := jsonrpc.New(r, &jsonrpc.Options{
			Handler: quick, Logger: slog.New(slog.DiscardHandler), Batches: func() bool { return true },
			Inline: func(string) bool { return true }, Timeout: time.Minute,
		})
		released := 0
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = c.Call(context.Background(), &pingRequest, &raw{})
		}()
		c.Deliver(context.Background(), bytes.Clone(data), jsonrpc.Source{Release: func() { released++ }})
		c.Deliver(context.Background(), []byte(`{"jsonrpc":"2.0","id":"still here","method":"x"}`), jsonrpc.Source{})
		require.NoError(t, c.Close())
		<-done
		require.Equal(t, 1, released)
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, line := range r.lines {
			require.NoError(t, wire.Check([]byte(line), 0), line)
		}
		require.Contains(t, strings.Join(r.lines, "\n"), `{"jsonrpc":"2.0","id":"still here","result":{}}`)
	})
}
