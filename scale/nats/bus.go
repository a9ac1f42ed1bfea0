package nats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/mcpwright/mcp/runtime/mcpserver"
)

const (
	busEvents = 10_000           // that the stream stores at most
	busAge    = 10 * time.Minute // after which an event is removed
	busDelay  = time.Second      // before a subscription is repeated that failed
)

// Bus is a [mcpserver.Bus] in a JetStream stream. A server that was disconnected receives the events
// that it missed. If they are gone, it receives an event that reports a gap. It is safe for concurrent use.
type Bus struct {
	engine  *Engine
	stream  jetstream.Stream
	subject string
}

// NewBus creates the stream of a bus unless it exists. URIs of resources are readable in NATS.
func (e *Engine) NewBus(ctx context.Context) (b *Bus, err error) {
	o := &e.opts
	b = &Bus{engine: e, subject: o.Name + ".bus"}
	b.stream, err = e.createStream(ctx, &jetstream.StreamConfig{
		Name: o.Name + "-bus", Description: "changes for subscribers", Subjects: []string{b.subject}, Replicas: o.Copies,
		MaxMsgs: busEvents, MaxAge: busAge, AllowDirect: true,
	})
	if err != nil {
		return nil, err
	}
	return b, nil
}

// busEvent is the content of a message.
type busEvent struct {
	Method string `json:"method"`
	URI    string `json:"uri,omitempty"`
}

// Publish implements [mcpserver.Bus]. When it returns, the servers have stored the event.
func (b *Bus) Publish(ctx context.Context, e mcpserver.Event) error {
	data, err := json.Marshal(busEvent{e.Method, e.URI})
	if err != nil {
		return err
	}
	if _, err := b.engine.js.Publish(ctx, b.subject, data); err != nil {
		return fmt.Errorf("nats: publish event: %w", err)
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
	var last uint64 // the sequence of the last event
	for known := false; ctx.Err() == nil; {
		info, err := b.stream.Info(ctx)
		if err == nil {
			if end := info.State.LastSeq; !known || end < last { // events before the first subscription are not delivered
				last, known = end, true
				f(mcpserver.Event{Lost: true})
			}
			err = b.consume(ctx, &last, f)
		}
		if ctx.Err() != nil {
			return
		}
		b.engine.opts.Logger.WarnContext(ctx, "nats: subscription to events interrupted", "error", err)
		select {
		case <-time.After(busDelay):
		case <-ctx.Done():
		}
	}
}

// consume passes the events after the last one to f, until ctx ends or an error occurs.
func (b *Bus) consume(ctx context.Context, last *uint64, f func(mcpserver.Event)) error {
	consumer, err := b.stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: *last + 1,
	})
	if err != nil {
		return err
	}
	messages, err := consumer.Messages(jetstream.PullHeartbeat(busDelay), jetstream.PullExpiry(10*busDelay))
	if err != nil {
		return err
	}
	defer messages.Stop()
	defer context.AfterFunc(ctx, messages.Stop)()
	for {
		m, err := messages.Next()
		if errors.Is(err, jetstream.ErrNoHeartbeat) { // the consumer begins again after the last event
			continue
		}
		if err != nil {
			return err
		}
		meta, err := m.Metadata()
		if err != nil {
			return err
		}
		var e busEvent
		if err := json.Unmarshal(m.Data(), &e); err != nil || meta.Sequence.Stream != *last+1 {
			f(mcpserver.Event{Lost: true})
		}
		*last = meta.Sequence.Stream
		f(mcpserver.Event{Method: e.Method, URI: e.URI})
	}
}
