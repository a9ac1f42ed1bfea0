package jsonrpc

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/mcpwright/mcp/runtime/wire"
)

// mostBatched is how many messages a batch may have.
const mostBatched = 100

// batch collects the answers to the requests of one batch. A nil batch collects
// nothing.
type batch struct {
	done func([]byte) // called with all answers, nil if there are none

	mu   sync.Mutex
	left int // answers to come
	out  []byte
}

// add adds an answer, nil for a request that gets none. What follows the last
// one is left to another goroutine.
func (b *batch) add(answer []byte) {
	if b == nil {
		return
	}
	b.mu.Lock()
	if len(answer) > 0 {
		b.out = append(append(b.out, separator(b.out)), answer...)
	}
	b.left--
	last := b.left == 0
	b.mu.Unlock()
	if !last {
		return
	}
	if b.out != nil {
		b.out = append(b.out, ']')
	}
	b.done(b.out)
}

func separator(out []byte) byte {
	if out == nil {
		return '['
	}
	return ','
}

// batch takes several messages at once. None of them is initialize.
func (c *Conn) batch(ctx context.Context, p parcel, o *Source) {
	list, err := c.unpack(p.data)
	p.free()
	if err != nil {
		c.unreadable(&inbound{err: err}, o, nil)
		return
	}
	b := &batch{left: 1, done: func(answers []byte) {
		if answers != nil {
			c.later(reply{buf: &Buffer{Bytes: answers}, out: o.Back})
		}
	}}
	for i := range list {
		if list[i].isAnswered() {
			b.left++
		}
	}
	for i := range list {
		in := &list[i]
		if in.err == nil && in.m.Method == methodInitialize && !in.m.ID.IsZero() {
			c.refuse(in.m.ID, errBatched, o, b)
			continue
		}
		c.route(ctx, in, o, b)
	}
	b.add(nil)
}

// isAnswered tells whether a message adds to the answers of its batch.
func (in *inbound) isAnswered() bool {
	if in.err == nil {
		return in.m.Method != "" && !in.m.ID.IsZero()
	}
	k := kindOf(in)
	return !k.isAnswer() && !k.isNotification()
}

// unpack reads the messages of a batch, each with bytes of its own.
func (c *Conn) unpack(data []byte) ([]inbound, error) {
	if c.opts.Batches == nil || !c.opts.Batches() {
		if err := wire.Check(data, 0); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("several messages at once are not accepted")
	}
	var raw rawList
	if err := wire.Decode(data, nil, &raw); err != nil {
		return nil, err
	}
	if len(raw) == 0 {
		return nil, fmt.Errorf("a batch has at least one message")
	}
	list := make([]inbound, len(raw))
	for i := range raw {
		list[i].parcel.data = raw[i]
		list[i].m, list[i].err = wire.ReadMessage(raw[i], nil)
	}
	return list, nil
}

// rawList is the messages of a batch.
type rawList []json.RawMessage

// AppendJSON makes it a [wire.Value]. It is never written.
func (l *rawList) AppendJSON(b []byte, _ *wire.Encoder) []byte { return append(b, "[]"...) }

// DecodeJSON reads a list that is not too long.
func (l *rawList) DecodeJSON(d *wire.Decoder) {
	n := 0
	*l = wire.List(d, func(d *wire.Decoder) json.RawMessage {
		if n++; n > mostBatched {
			d.MaxItems(n, mostBatched)
			return nil
		}
		return d.Raw()
	})
}
