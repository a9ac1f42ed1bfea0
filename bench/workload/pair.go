package workload

import (
	"context"
	"fmt"

	"github.com/mcpwright/mcp/bench/peer"
)

// pairs measures the client and the server of an SDK together.
func pairs() []Workload {
	return []Workload{
		{"client and server over a pipe, one call at a time", Time, 0, pair(peer.Pipe, 1, greet)},
		{"client and server over a pipe, 64 calls in flight", Time, 0, pair(peer.Pipe, 64, greet)},
		{"client and server in one process", Time, 0, pair(peer.Memory, 1, greet)},
		{"question to the user inside a call, over a pipe", Time, 0, pair(peer.Pipe, 1, ask)},
	}
}

func pair(via peer.Via, parallel int, call func(context.Context, peer.Pair) error) func(context.Context, peer.Peer) (*Subject, error) {
	return func(ctx context.Context, p peer.Peer) (*Subject, error) {
		two, err := p.Pair(ctx, via)
		if err != nil {
			return nil, err
		}
		return &Subject{
			Run: func(n int) (Sample, error) {
				return measureHere(n, func() error { return repeat(n, parallel, func() error { return call(ctx, two) }) })
			},
			Close: func() { _ = two.Close() },
		}, nil
	}
}

func greet(ctx context.Context, p peer.Pair) error {
	return want(peer.GreetText)(p.Greet(ctx, "gopher", 3))
}

func ask(ctx context.Context, p peer.Pair) error { return want("Hello, gopher")(p.Ask(ctx)) }

func want(text string) func(string, error) error {
	return func(got string, err error) error {
		if err == nil && got != text {
			err = fmt.Errorf("got %q, want %q", got, text)
		}
		return err
	}
}
