package workload

import (
	"context"
	"sync/atomic"

	"github.com/mcpwright/mcp/bench/peer"
)

const subscribers = 1000

func fanout() []Workload {
	return []Workload{{"one resource update to 1,000 subscribers", Time, 0, updates}}
}

func updates(ctx context.Context, p peer.Peer) (*Subject, error) {
	var arrived atomic.Int64
	all := make(chan struct{}, 1)
	f, err := p.Fanout(ctx, subscribers, func() {
		if arrived.Add(1)%subscribers == 0 {
			all <- struct{}{}
		}
	})
	if err != nil {
		return nil, err
	}
	update := func() error {
		if err := f.Notify(ctx); err != nil {
			return err
		}
		select {
		case <-all:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return &Subject{
		Run:   func(n int) (Sample, error) { return here(n, func() error { return times(n, 1, update) }) },
		Close: f.Close,
	}, nil
}
