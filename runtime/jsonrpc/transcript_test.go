package jsonrpc_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
)

// TestTranscripts plays files with messages: ">" is a message from the peer, "<" a message that the
// connection sends before the next message from the peer, "#" a comment, and "!" an option.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.jsonl")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".jsonl"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			bubble(t, func(t *testing.T) { play(t, string(data)) })
		})
	}
}

func play(t *testing.T, transcript string) {
	opts := &jsonrpc.Options{Handler: scene, MaxInFlight: 4, MaxMessage: 4096}
	opts.OnError = func(error) {}
	var c *jsonrpc.Conn
	var r *recorder
	var sent string
	var want []string
	check := func() {
		if c != nil {
			require.Equal(t, want, r.take(), "after %s", sent)
			want = nil
		}
	}
	for line := range strings.Lines(transcript) {
		line = strings.TrimSpace(line)
		mark, rest, _ := strings.Cut(line, " ")
		switch mark {
		case "!":
			switch rest {
			case "batches":
				opts.Batches = func() bool { return true }
			case "client":
				opts.Client = true
			default:
				require.Fail(t, "unknown option", rest)
			}
		case ">":
			check()
			if c == nil {
				c, r = newConn(t, opts)
			}
			sent = rest
			deliver(c, rest)
		case "<":
			want = append(want, rest)
		case "", "#":
		default:
			require.Fail(t, "unknown mark", line)
		}
	}
	check()
}

// scene is the handler of the transcripts.
var scene = handlers{
	"initialize": func(context.Context, *peer.Inbound) (peer.Reply, error) { return result(`{"ready":true}`) },
	"echo": func(_ context.Context, in *peer.Inbound) (peer.Reply, error) {
		return peer.Reply{Result: &raw{append([]byte(nil), in.Params...)}}, nil
	},
	"wait": untilDone,
	"refuse": func(context.Context, *peer.Inbound) (peer.Reply, error) {
		return peer.Reply{}, &peer.Error{Code: 7, Message: "No", Data: []byte(`{"why":"because"}`)}
	},
	"refuse/badly": func(context.Context, *peer.Inbound) (peer.Reply, error) {
		return peer.Reply{}, &peer.Error{Code: 7, Message: "No", Data: []byte(`{`)}
	},
	"fail": func(context.Context, *peer.Inbound) (peer.Reply, error) {
		return peer.Reply{}, errors.New("the password is secret")
	},
	"panic":   func(context.Context, *peer.Inbound) (peer.Reply, error) { panic("the password is secret") },
	"nothing": func(context.Context, *peer.Inbound) (peer.Reply, error) { return peer.Reply{}, nil },
	"invalid": func(context.Context, *peer.Inbound) (peer.Reply, error) { return result(`{"a":1,"a":2}`) },
	"report": func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
		for _, done := range []float64{1, 2, 2, 1.5, 3} {
			if err := in.Back.Progress(ctx, peer.Progress{Progress: done, Message: "so far"}); err != nil {
				return peer.Reply{}, err
			}
		}
		return result(`{}`)
	},
}
