package mcpclient

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/revisions"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// serverConn is one connection to the server, from dialling to its end. A client uses one at a time.
type serverConn struct {
	opts       *Options
	dispatcher *connection.Dispatcher
	endpoint   Endpoint
	transport  Conn
	conn       atomic.Pointer[connection.Connection] // nil before the first request
	server     serverDescription                     // set before the client uses the connection
	opened     time.Time
	lost       chan struct{}         // closed when the server has ended the session
	cause      atomic.Pointer[error] // why this client ended the connection, or nil
	calls      atomic.Int64          // active calls, plus draining if no more may begin
	idle       chan struct{}         // closed when draining without active calls
	closeIdle  sync.Once
}

// serverDescription is the server's description of itself.
type serverDescription struct {
	revision     wire.Revision
	info         *mcp.Implementation     // nil if the server did not send it
	capabilities *mcp.ServerCapabilities // nil if the server did not send them
	instructions string
}

// useRevision creates the connection for a revision and makes it the current one.
func (sc *serverConn) useRevision(r wire.Revision) *connection.Connection {
	opts := connection.Options{
		Client:          true,
		DefaultRevision: r,
		Strict:          sc.opts.Strict,
		Outgoing:        sc.opts.Outgoing,
		Logger:          sc.opts.Logger,
	}
	if t, ok := sc.transport.(inFlighter); ok {
		opts.InFlight = t.inFlight()
	}
	if !revisions.Handshake(r) {
		opts.Meta = sc.opts.metadata(r)
	}
	conn := connection.New(sc.transport, &opts)
	conn.SetRevision(r)
	conn.State().SetClient(&sc.opts.Info, &sc.opts.Capabilities)
	sc.conn.Store(conn)
	return conn
}

// setServer stores the server's description of itself.
func (sc *serverConn) setServer(d serverDescription) {
	sc.server = d
	state := sc.conn.Load().State()
	state.SetServerCapabilities(d.capabilities)
	state.SetInitialized()
}

// changeRevision continues in another revision of the same kind.
func (sc *serverConn) changeRevision(r wire.Revision) {
	state := sc.useRevision(r).State()
	state.SetServerCapabilities(sc.server.capabilities)
	state.SetInitialized()
}

// Handle implements [peer.Handler] for the server's messages.
func (sc *serverConn) Handle(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
	conn := sc.conn.Load()
	if conn == nil {
		return peer.Reply{}, errors.New("message received before the first request")
	}
	return sc.dispatcher.Serve(ctx, conn, in)
}

func (sc *serverConn) frame(method string) *wire.Frame {
	if conn := sc.conn.Load(); conn != nil {
		return conn.Frame(method)
	}
	return nil
}

func (sc *serverConn) batches() bool {
	conn := sc.conn.Load()
	return conn != nil && conn.Batches()
}

// sendsToolHeaders reports whether calls repeat arguments of tools in HTTP headers.
func (sc *serverConn) sendsToolHeaders() bool {
	_, ok := sc.transport.(toolHeaderSender)
	return ok && !revisions.Handshake(sc.conn.Load().State().Revision())
}

// relatesToCalls reports whether the transport relates messages to calls.
func (sc *serverConn) relatesToCalls() bool {
	_, ok := sc.transport.(callRelater)
	return ok
}

// draining is added to the number of active calls. There are never that many.
const draining = -1 << 40

// beginCall counts a call. It returns false if no more calls may begin.
func (sc *serverConn) beginCall() bool {
	if sc.calls.Add(1) > 0 {
		return true
	}
	sc.endCall()
	return false
}

func (sc *serverConn) endCall() {
	if sc.calls.Add(-1) == draining {
		sc.closeIdle.Do(func() { close(sc.idle) })
	}
}

// drain stops beginCall from beginning calls. It returns a channel that is closed when the active
// calls have ended.
func (sc *serverConn) drain() <-chan struct{} {
	if sc.calls.Add(draining) == draining {
		sc.closeIdle.Do(func() { close(sc.idle) })
	}
	return sc.idle
}

// close ends the connection.
func (sc *serverConn) close() error {
	err := sc.transport.Close()
	if conn := sc.conn.Load(); conn != nil {
		conn.Close(context.Background())
	}
	return err
}

// closeWithin closes a connection that the client has not used. A child process has no time to exit
// after the end of ctx.
func (sc *serverConn) closeWithin(ctx context.Context) {
	if t, ok := sc.transport.(contextCloser); ok {
		t.closeWithin(ctx)
	}
	sc.close()
}

// fail ends the connection because of an error that this client has detected.
func (sc *serverConn) fail(cause error) {
	sc.cause.Store(&cause)
	sc.transport.Close()
}

// err returns why the connection has ended.
func (sc *serverConn) err() error {
	if cause := sc.cause.Load(); cause != nil {
		return *cause
	}
	if t, ok := sc.transport.(errorWaiter); ok {
		return t.Wait()
	}
	return errServerClosed
}

// ended reports whether the connection has ended.
func (sc *serverConn) ended() bool {
	select {
	case <-sc.transport.Done():
		return true
	default:
		return false
	}
}
