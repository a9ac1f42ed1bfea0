package mcpclient

import (
	"context"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/loglevel"
	"github.com/mcpwright/mcp/runtime/internal/outbound"
	"github.com/mcpwright/mcp/runtime/internal/revisions"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// OnLog calls f with the server's log messages about a call, of a level or above. The empty level
// is debug. The calls of f are in order, one at a time, and the call returns after the last of
// them. [Options].OnLog receives the messages as well.
//
//	client.With(mcpclient.OnLog(mcp.LoggingLevelInfo, show)).CallTool(ctx, req)
//
// In revisions since 2026-07-28 the request itself asks for these messages. In earlier revisions
// a server logs for the whole session, at the level of [Options].LogLevel or of the last SetLevel.
//
// Over HTTP the messages about a call are those in its response. In process they are those that
// its handler sends with its own context. On a pipe a message does not name its call: f receives
// all messages during the call, including those about other concurrent calls.
func OnLog(level mcp.LoggingLevel, f func(*mcp.LoggingMessageNotification)) peer.CallOption {
	if level == "" {
		level = mcp.LoggingLevelDebug
	}
	take := func(n peer.Notification) {
		if m, ok := n.(*mcp.LoggingMessageNotification); ok && !loglevel.Below(m.Level, level) {
			f(m)
		}
	}
	return func(o *peer.CallOptions) {
		o.OnLog = take
		o.Frame = withLogLevel(o.Frame, level)
	}
}

// withLogLevel returns a frame that adds a log level to the request. It returns f in handshake
// revisions, in which requests have none.
func withLogLevel(f *wire.Frame, level mcp.LoggingLevel) *wire.Frame {
	if f == nil || revisions.Handshake(f.Revision) {
		return f
	}
	own := *f
	own.Meta = slices.DeleteFunc(slices.Clone(f.Meta), func(e wire.Entry) bool { return e.Name == revisions.KeyLogLevel })
	own.Meta = append(own.Meta, logLevelEntry(level))
	return &own
}

// logLevelEntry sets the log level of a request. A level in the request itself takes precedence.
func logLevelEntry(level mcp.LoggingLevel) wire.Entry {
	return wire.Entry{Name: revisions.KeyLogLevel, Value: wire.AppendString(nil, string(level)), GivesWay: true}
}

// callOptions applies opts. It does not allocate if there are none.
func callOptions(opts []peer.CallOption) peer.CallOptions {
	if len(opts) == 0 {
		return peer.CallOptions{}
	}
	o := new(peer.CallOptions)
	for _, opt := range opts {
		opt(o)
	}
	return *o
}

// callLogs lists the active calls that receive log messages.
type callLogs struct {
	mu   sync.Mutex // guards list
	list []*callLog // never modified, only replaced
}

// callLogKey is the key of a callLog in the context of a call of one client.
type callLogKey struct{ *callLogs }

// collect makes a call and passes the server's log messages about it to handler.
func (t *callLogs) collect(ctx context.Context, handler func(peer.Notification), logger *slog.Logger, call func(context.Context) error) error {
	l := &callLog{handler: handler, logger: logger}
	l.changed.L = &l.mu
	var running sync.WaitGroup
	running.Go(l.run) // ends when the call has ended and all messages are handled
	defer running.Wait()
	defer l.end()
	t.add(l)
	defer t.remove(l)
	return call(context.WithValue(ctx, callLogKey{t}, l))
}

// find returns the calls that a log message is about. If the transport does not relate messages to
// calls, it returns all calls.
func (t *callLogs) find(in *peer.Inbound, related bool) []*callLog {
	t.mu.Lock()
	list := t.list
	t.mu.Unlock()
	if len(list) == 0 || !related {
		return list
	}
	if l, ok := outbound.DeliveryContext(in).Value(callLogKey{t}).(*callLog); ok {
		return []*callLog{l}
	}
	return nil
}

func (t *callLogs) add(l *callLog) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.list = append(slices.Clip(t.list), l)
}

func (t *callLogs) remove(l *callLog) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.list = slices.DeleteFunc(slices.Clone(t.list), func(x *callLog) bool { return x == l })
}

// maxCallLogs limits the log messages of one call that wait for its handler.
const maxCallLogs = 1024

// callLog is the queue of log messages about one call.
type callLog struct {
	handler func(peer.Notification)
	logger  *slog.Logger

	mu      sync.Mutex // guards the fields below
	changed sync.Cond
	waiting []peer.Notification
	ended   bool
}

// put adds a message. It does not block.
func (l *callLog) put(n peer.Notification) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.ended:
	case len(l.waiting) == maxCallLogs:
		l.logger.Warn("log message about a call dropped: queue is full", "waiting", maxCallLogs)
	default:
		l.waiting = append(l.waiting, n)
		l.changed.Signal()
	}
}

// end stops put from adding messages. Waiting messages are still handled.
func (l *callLog) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	l.changed.Signal()
}

func (l *callLog) run() {
	for n := l.next(); n != nil; n = l.next() {
		l.handle(n)
	}
}

// next waits for the next message. It returns nil at the end.
func (l *callLog) next() (n peer.Notification) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.waiting) == 0 {
		if l.ended {
			return nil
		}
		l.changed.Wait()
	}
	n, l.waiting[0] = l.waiting[0], nil
	l.waiting = l.waiting[1:]
	return n
}

func (l *callLog) handle(n peer.Notification) {
	defer func() {
		if r := recover(); r != nil {
			l.logger.Error("log handler panicked", "panic", r, "stack", string(debug.Stack()))
		}
	}()
	l.handler(n)
}
