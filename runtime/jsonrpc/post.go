package jsonrpc

import (
	"bytes"
	"context"

	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// TryWriter is a [Writer] that may take a message without waiting for anybody.
type TryWriter interface {
	Writer
	// TryWriteMessage writes one message, or sees to it that it is written, if
	// that takes no waiting. False is that nothing came of it.
	TryWriteMessage(data []byte) (taken bool)
}

// TryNotify implements [outbound.TryNotifier] where the Writer is a [TryWriter].
func (c *Conn) TryNotify(n peer.Notification, opts ...peer.CallOption) (taken bool) {
	return c.post(c.out, n, opts)
}

func (c *Conn) post(out Writer, n peer.Notification, opts []peer.CallOption) (taken bool) {
	w, ok := out.(TryWriter)
	if !ok || c.over() {
		return false
	}
	method := n.Method()
	buf := NewBuffer()
	defer buf.Free()
	var err error
	buf.Bytes, err = wire.AppendNotification(buf.Bytes, c.opts.frame(method, callOptions(opts).Frame), method, n)
	return err == nil && w.TryWriteMessage(buf.Bytes)
}

// TryNotify implements [outbound.TryNotifier]: it goes the way that Notify goes.
func (x *exchange) TryNotify(n peer.Notification, opts ...peer.CallOption) (taken bool) {
	if !x.gate.tryEnter() {
		return false
	}
	defer x.gate.leave()
	return x.conn.post(x.out, n, opts)
}

// TryWriteMessage implements [TryWriter]. It takes a message while nothing else is
// being written.
func (l *LineWriter) TryWriteMessage(data []byte) (taken bool) {
	if bytes.IndexByte(data, '\n') >= 0 {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.writing || l.err != nil {
		return false
	}
	l.waiting = append(append(l.waiting, data...), '\n')
	l.writing = true
	go l.rest() // ends when nothing waits; w has to be closed if it is stuck
	return true
}

// TryNotify implements [outbound.TryNotifier]: the peer's handler has a goroutine of its own. A
// report waits for the callback that it is for.
func (d *InProcessConn) TryNotify(n peer.Notification, opts ...peer.CallOption) (taken bool) {
	return n.Method() != methodProgress && !d.over() && d.Notify(context.Background(), n, opts...) == nil
}

// TryNotify implements [outbound.TryNotifier].
func (x *directExchange) TryNotify(n peer.Notification, opts ...peer.CallOption) (taken bool) {
	if !x.gate.tryEnter() {
		return false
	}
	defer x.gate.leave()
	return x.to.TryNotify(n, opts...)
}
