package redis

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/rueidis"

	"github.com/mcpwright/mcp/runtime/mcpserver"
)

const (
	busAge   = 10 * time.Minute // after the last event, the stream is removed
	busBlock = 5 * time.Second  // of a request for the next events
	busDelay = time.Second      // before a request for events is repeated that failed
)

// publishScript adds an event. It contains the number of the event before, so that readers notice a gap. The
// numbers are those of appendScript.
var publishScript = rueidis.NewLuaScript(next + `
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
local id = last and last[1] or '0-0'
redis.call('XADD', KEYS[1], 'MAXLEN', 10000, next(string.match(id, '^%d+')) .. '-0', 'method', ARGV[1], 'uri', ARGV[2], 'before', id)
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1`)

// Bus is a [mcpserver.Bus] in a stream of Redis. A server that was disconnected receives the events that it missed.
// If they are gone, it receives an event that reports a gap. It is safe for concurrent use.
type Bus struct {
	client rueidis.Client
	key    string
	logger *slog.Logger
}

// NewBus returns a bus. URIs of resources are readable in Redis. Each subscription needs a connection.
func (e *Engine) NewBus() *Bus { return &Bus{e.client, e.prefix + "bus", e.logger} }

// Publish implements [mcpserver.Bus]. When it returns, the server has the event.
func (b *Bus) Publish(ctx context.Context, e mcpserver.Event) error {
	age := fmt.Sprint(busAge.Milliseconds())
	if err := publishScript.Exec(ctx, b.client, []string{b.key}, []string{e.Method, e.URI, age}).Error(); err != nil {
		return fmt.Errorf("redis: publish event: %w", err)
	}
	return nil
}

// Subscribe implements [mcpserver.Bus].
func (b *Bus) Subscribe(f func(mcpserver.Event)) (cancel func()) {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { // ends with cancel
		defer close(done)
		b.follow(ctx, f)
	}()
	return func() {
		stop()
		<-done
	}
}

// follow passes events to f until ctx ends.
func (b *Bus) follow(ctx context.Context, f func(mcpserver.Event)) {
	last := "" // the id of the last event; "" if it is unknown
	for ctx.Err() == nil {
		var err error
		if last == "" {
			if last, err = b.end(ctx); err == nil {
				f(mcpserver.Event{Lost: true}) // events before the first subscription are not delivered
			}
		} else {
			last, err = b.read(ctx, last, f)
		}
		if err == nil || ctx.Err() != nil {
			continue
		}
		b.logger.WarnContext(ctx, "redis: subscription to events interrupted", "error", err)
		select {
		case <-time.After(busDelay):
		case <-ctx.Done():
		}
	}
}

// end returns the id of the last event.
func (b *Bus) end(ctx context.Context) (string, error) {
	list, err := b.client.Do(ctx, b.client.B().Xrevrange().Key(b.key).End("+").Start("-").Count(1).Build()).AsXRange()
	switch {
	case err != nil:
		return "", err
	case len(list) == 0:
		return "0-0", nil
	}
	return list[0].ID, nil
}

// read waits for events after the last one, and passes them to f. It returns the id of the last one.
func (b *Bus) read(ctx context.Context, last string, f func(mcpserver.Event)) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*busBlock)
	defer cancel()
	read := b.client.B().Xread().Count(100).Block(busBlock.Milliseconds()).Streams().Key(b.key).Id(last).Build()
	streams, err := b.client.Do(ctx, read).AsXRead()
	if rueidis.IsRedisNil(err) {
		return last, nil // there are none
	}
	for _, entry := range streams[b.key] {
		if entry.FieldValues["before"] != last {
			f(mcpserver.Event{Lost: true})
		}
		last = entry.ID
		f(mcpserver.Event{Method: entry.FieldValues["method"], URI: entry.FieldValues["uri"]})
	}
	return last, err
}
