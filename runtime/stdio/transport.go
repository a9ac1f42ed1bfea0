package stdio

import (
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpwright/mcp/runtime/peer"
)

// Kind is the value that Kind returns for the transport contexts of this package.
const Kind = "stdio"

// TransportContext is the transport context of an inbound message. Handlers access it
// with a type assertion:
//
//	if t, ok := session.Transport().(*stdio.TransportContext); ok && t.Process() != nil {
//		log.Printf("from the child with process id %d", t.Process().PID())
//	}
type TransportContext struct {
	peer.TransportContext
	process    *Process
	notifyOnly *TransportContext
}

func newTransport(p *Process) *TransportContext {
	only := &TransportContext{TransportContext: peer.NewTransportContext(Kind, false, nil, ""), process: p}
	only.notifyOnly = only
	return &TransportContext{peer.NewTransportContext(Kind, true, nil, ""), p, only}
}

// NotifyOnly returns the same context, except that no requests can be sent. Handlers
// receive it in revisions without requests to the client.
func (t *TransportContext) NotifyOnly() peer.TransportContext { return t.notifyOnly }

// Process returns the child that sent the message. It returns nil in a server,
// because a server did not start its client.
func (t *TransportContext) Process() *Process { return t.process }

// output writes to w and reports its first failure on a channel. No write should
// follow a failure, because the failed write may have sent a part of a message.
type output struct {
	w      io.Writer
	once   sync.Once
	failed chan struct{} // closed at the first failure, after err is set
	err    error
}

func newOutput(w io.Writer) *output { return &output{w: w, failed: make(chan struct{})} }

// Write implements [io.Writer].
func (o *output) Write(b []byte) (int, error) {
	n, err := o.w.Write(b)
	if err != nil {
		o.once.Do(func() {
			o.err = err
			close(o.failed)
		})
	}
	return n, err
}

// reason returns why writing failed, or nil if the reader closed the pipe.
func (o *output) reason() error {
	if isClosedPipe(o.err) {
		return nil
	}
	return o.err
}

// sent and received are writers that call an Observe function.
type (
	sent     func(sent bool, b []byte)
	received func(sent bool, b []byte)
)

// observed returns a reader that passes what it has read to f.
func observed(in io.Reader, f func(sent bool, b []byte)) io.Reader {
	tee := io.TeeReader(in, received(f))
	if _, ok := in.(interface{ HoldsThread() }); ok {
		return threadHolder{tee}
	}
	return tee
}

// threadHolder is a reader that blocks a thread, see [jsonrpc.Conn.ReadLines].
type threadHolder struct{ io.Reader }

// HoldsThread marks the reader.
func (threadHolder) HoldsThread() {}

// Write implements [io.Writer].
func (f sent) Write(b []byte) (int, error) {
	f(true, b)
	return len(b), nil
}

// Write implements [io.Writer].
func (f received) Write(b []byte) (int, error) {
	f(false, b)
	return len(b), nil
}

// input reads from r until end is closed.
type input struct {
	r    io.Reader
	end  <-chan struct{}
	size atomic.Int64 // number of bytes read
}

// Read implements [io.Reader].
func (in *input) Read(b []byte) (int, error) {
	if closed(in.end) {
		return 0, io.EOF
	}
	n, err := in.r.Read(b)
	in.size.Add(int64(n))
	return n, err
}

// waitFor waits until c is closed, at most for d. It reports whether c is closed.
func waitFor(c <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c:
		return true
	case <-timer.C:
		return closed(c)
	}
}

// closed reports whether c is closed.
func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
