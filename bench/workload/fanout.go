package workload

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/mcpwright/mcp/bench/child"
	"github.com/mcpwright/mcp/bench/peer"
)

const subscribers = 1000

func fanout() []Workload {
	return []Workload{
		{"one resource update to 1,000 subscribers on pipes", Time, 0, updates(peer.Pipe)},
		{"one resource update to 1,000 subscribers in the process", Time, 0, updates(peer.Memory)},
		{"one resource update to 1,000 subscribers with a GET stream", CPU, 0, streamed},
	}
}

func updates(via peer.Via) func(context.Context, peer.Peer) (*Subject, error) {
	return func(ctx context.Context, p peer.Peer) (*Subject, error) { return fan(ctx, p, via) }
}

func fan(ctx context.Context, p peer.Peer, via peer.Via) (*Subject, error) {
	var arrived, wanted atomic.Int64
	all := make(chan struct{}, 1)
	f, err := p.Fanout(ctx, via, subscribers, func() {
		if arrived.Add(1) == wanted.Load() {
			all <- struct{}{}
		}
	})
	if err != nil {
		return nil, err
	}
	update := func() error {
		wanted.Store(arrived.Load() + subscribers)
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
	s := &Subject{
		Run:   func(n int) (Sample, error) { return measureHere(n, func() error { return repeat(n, 1, update) }) },
		Close: f.Close,
	}
	return s, waitSubscribed(ctx, &arrived, f.Notify)
}

// settle is the time between the header of the last stream and the first update. mcp-go sends the header
// shortly before it sends events on the stream, and drops those in between.
const settle = 300 * time.Millisecond

// streamed measures the server's work for subscribers that receive the update on a stream.
func streamed(_ context.Context, p peer.Peer) (*Subject, error) {
	if _, err := p.HTTP(peer.Stateful); err != nil {
		return nil, err
	}
	c, err := child.HTTP(p.Name(), peer.Stateful)
	if err != nil {
		return nil, err
	}
	o := &opener{address: c.Address, stream: true, subscribe: true}
	update := func() error {
		if _, err := o.conns[0].Do(o.call(peer.UpdateCall)); err != nil {
			return err
		}
		for i, s := range o.streams {
			if err := s.Await([]byte("notifications/resources/updated")); err != nil {
				return fmt.Errorf("no update on stream %d: %w", i, err)
			}
		}
		return nil
	}
	s := &Subject{
		Apart: true,
		Run:   func(n int) (Sample, error) { return measureChild(c, n, func() error { return repeat(n, 1, update) }) },
		Close: func() { o.close(); _ = c.Close() },
	}
	if err = o.open(subscribers); err == nil {
		time.Sleep(settle)
		err = update()
	}
	if err != nil {
		s.Close()
	}
	return s, err
}

// waitSubscribed repeats an update until all subscribers receive it, because a server may respond to a
// subscription shortly before it adds the subscriber.
func waitSubscribed(ctx context.Context, arrived *atomic.Int64, notify func(context.Context) error) error {
	for {
		before := arrived.Load()
		if err := notify(ctx); err != nil {
			return err
		}
		for wait := time.Now().Add(time.Second); arrived.Load()-before < subscribers && time.Now().Before(wait); {
			time.Sleep(time.Millisecond)
		}
		if arrived.Load()-before == subscribers {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}
