package mcpclient

import (
	"context"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/eras"
	"github.com/mcpwright/mcp/runtime/internal/outbound"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// OnLog hands f the server's log messages about a call, from a level up; the
// empty level is debug. They come in order, one at a time, and never after the
// call has returned, which waits for f. [Options].OnLog takes them as well.
//
//	client.With(mcpclient.OnLog(mcp.LoggingLevelInfo, show)).CallTool(ctx, req)
//
// Since 2026-07-28 the request itself asks for these messages. Before, a server
// logs for the session as a whole, at the level that [Options].LogLevel or a
// SetLevel has asked for.
//
// Over HTTP the messages about a call are those in the response to it, in process
// those that its handler sends with its own context. On a pipe nothing tells
// which call a message is about: there f gets all that come while the call is
// under way, where there are several also those about others.
func OnLog(level mcp.LoggingLevel, f func(*mcp.LoggingMessageNotification)) peer.CallOption {
	if level == "" {
		level = mcp.LoggingLevelDebug
	}
	take := func(n peer.Notification) {
		if m, ok := n.(*mcp.LoggingMessageNotification); ok && !connection.Below(m.Level, level) {
			f(m)
		}
	}
	return func(o *peer.CallOptions) {
		o.OnLog = take
		o.Frame = withLevel(o.Frame, level)
	}
}

// withLevel adds to a frame that the request asks for logs, in revisions in
// which requests do.
func withLevel(f *wire.Frame, level mcp.LoggingLevel) *wire.Frame {
	if f == nil || handshake(f.Revision) {
		return f
	}
	own := *f
	own.Meta = slices.DeleteFunc(slices.Clone(f.Meta), func(e wire.Entry) bool { return e.Name == eras.KeyLogLevel })
	own.Meta = append(own.Meta, levelEntry(level))
	return &own
}

// levelEntry asks for logs. A request that asks for itself knows better.
func levelEntry(level mcp.LoggingLevel) wire.Entry {
	return wire.Entry{Name: eras.KeyLogLevel, Value: wire.AppendString(nil, string(level)), GivesWay: true}
}

// hearKey is where the context of a call of a client has its hearing.
type hearKey struct{ *Client }

// hear makes a call, and hands what the server logs about it to take.
func (c *Client) hear(ctx context.Context, take func(peer.Notification), call func(context.Context) error) error {
	h := &hearing{take: take, log: c.opts.Logger}
	h.changed.L = &h.mu
	var taking sync.WaitGroup
	taking.Go(h.run) // ends when the call is over and all has been taken
	defer taking.Wait()
	defer h.end()
	c.hearings.add(h)
	defer c.hearings.remove(h)
	return call(context.WithValue(ctx, hearKey{c}, h))
}

// overhear passes a log message on to the calls that it is about, as far as one
// can tell.
func (l *live) overhear(in *peer.Inbound) {
	about := l.client.hearings.all()
	if len(about) == 0 {
		return
	}
	if _, tells := l.link.(relating); tells {
		h, ok := outbound.DeliveryContext(in).Value(hearKey{l.client}).(*hearing)
		if !ok {
			return
		}
		about = []*hearing{h}
	}
	if n := read[mcp.LoggingMessageNotification](l, in); n != nil {
		for _, h := range about {
			h.put(n)
		}
	}
}

// mostLogs is how many log messages wait for a callback that takes its time.
const mostLogs = 1024

// hearing is the log messages about one call, on their way to its callback.
type hearing struct {
	take func(peer.Notification)
	log  *slog.Logger

	mu      sync.Mutex // guards what follows
	changed sync.Cond
	waiting []peer.Notification
	over    bool
}

// put adds a message. It never blocks.
func (h *hearing) put(n peer.Notification) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.over:
	case len(h.waiting) == mostLogs:
		h.log.Warn("log message about a call dropped: too many are waiting", "waiting", mostLogs)
	default:
		h.waiting = append(h.waiting, n)
		h.changed.Signal()
	}
}

// end lets nothing more be added. What waits is still taken.
func (h *hearing) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over = true
	h.changed.Signal()
}

func (h *hearing) run() {
	for n := h.next(); n != nil; n = h.next() {
		h.handle(n)
	}
}

// next waits for a message. It is nil at the end.
func (h *hearing) next() (n peer.Notification) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(h.waiting) == 0 {
		if h.over {
			return nil
		}
		h.changed.Wait()
	}
	n, h.waiting[0] = h.waiting[0], nil
	h.waiting = h.waiting[1:]
	return n
}

func (h *hearing) handle(n peer.Notification) {
	defer func() {
		if r := recover(); r != nil {
			h.log.Error("log callback panicked", "panic", r, "stack", string(debug.Stack()))
		}
	}()
	h.take(n)
}

// hearings is the calls under way that take log messages.
type hearings struct {
	mu   sync.Mutex // guards list
	list []*hearing // replaced, never changed
}

func (t *hearings) add(h *hearing) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.list = append(slices.Clip(t.list), h)
}

func (t *hearings) remove(h *hearing) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.list = slices.DeleteFunc(slices.Clone(t.list), func(x *hearing) bool { return x == h })
}

func (t *hearings) all() []*hearing {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.list
}
