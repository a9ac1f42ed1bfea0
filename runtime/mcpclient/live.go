package mcpclient

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// live is one link to the server and the connection over it, from dialling to
// the end of the link. A client has one at a time.
type live struct {
	client *Client
	to     Endpoint
	link   Conn
	conn   atomic.Pointer[connection.Connection] // nil until something is to be sent
	about  about                                 // set before the client has the live
	begun  time.Time
	lost   chan struct{}         // closed when the server has ended the session
	cause  atomic.Pointer[error] // why this end gave the link up
	calls  atomic.Int64          // under way, with retired added when no more may begin
	idle   chan struct{}         // closed when retired and without calls
	once   sync.Once             // closes it
}

// retired is more than there will ever be calls.
const retired = -1 << 40

// enter begins a call. It returns false where none may begin any more.
func (l *live) enter() bool {
	if l.calls.Add(1) > 0 {
		return true
	}
	l.leave()
	return false
}

// leave ends a call.
func (l *live) leave() {
	if l.calls.Add(-1) == retired {
		l.once.Do(func() { close(l.idle) })
	}
}

// retire lets no more calls begin, and ends the link when those under way have
// ended or the client's life does.
func (l *live) retire() {
	if l.calls.Add(retired) == retired {
		l.once.Do(func() { close(l.idle) })
	}
	wait := func() {
		select {
		case <-l.idle:
		case <-l.client.life.Done():
		}
		l.close()
	}
	if !l.client.spawn(wait) { // ends with the calls or the life
		l.close()
	}
}

// about is what a server says about itself when it is met.
type about struct {
	revision     wire.Revision
	info         *mcp.Implementation     // nil where it does not say
	capabilities *mcp.ServerCapabilities // nil where it does not say
	instructions string
}

// dial opens a link to an endpoint.
func (c *Client) dial(to Endpoint) (*live, error) {
	l := &live{client: c, to: to, begun: time.Now(), lost: make(chan struct{}), idle: make(chan struct{})}
	lose := sync.OnceFunc(func() { close(l.lost) })
	var err error
	l.link, err = to.dial(c.values, &wiring{
		toolHeaders: c.toolHeaders,
		lost:        func(error) { lose() },
		gap:         func() { c.miss(l) },
		dispatch: jsonrpc.Options{
			Handler:                l,
			Frame:                  l.frame,
			Logger:                 c.opts.Logger,
			Timeout:                c.opts.Timeout,
			MaxTimeout:             c.opts.MaxTimeout,
			MaxMessage:             c.opts.MaxMessage,
			MaxInFlight:            c.opts.MaxInFlight,
			MaxQueuedNotifications: c.opts.MaxQueuedNotifications,
			Client:                 true,
			Batches:                l.batches,
			InterceptNotification:  l.intercept,
			OnError: func(err error) {
				c.opts.Logger.Warn("trouble beside the calls", "server", to.name(), "error", err)
			},
		},
	})
	return l, err
}

// speak makes a connection that speaks a revision the one in use.
func (l *live) speak(r wire.Revision) *connection.Connection {
	opts := connection.Options{
		Client:      true,
		VersionHint: r.String(),
		Strict:      l.client.opts.Strict,
		Outgoing:    l.client.opts.Outgoing,
		Logger:      l.client.opts.Logger,
	}
	if in, ok := l.link.(interface{ inFlight() connection.InFlight }); ok {
		opts.InFlight = in.inFlight()
	}
	if !handshake(r) {
		opts.Meta = l.client.envelope(r)
	}
	conn := connection.New(l.link, &opts)
	conn.SetRevision(r)
	conn.State().SetClient(&l.client.opts.Info, &l.client.declared)
	l.conn.Store(conn)
	return conn
}

// know records what the server says about itself.
func (l *live) know(a about) {
	l.about = a
	conn := l.conn.Load()
	conn.State().SetServerCapabilities(a.capabilities)
	conn.State().SetInitialized()
}

// Handle implements [peer.Handler] for what the server sends.
func (l *live) Handle(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
	conn := l.conn.Load()
	if conn == nil {
		return peer.Reply{}, errors.New("message from a server that was not spoken to")
	}
	return l.client.kernel.Serve(ctx, conn, in)
}

func (l *live) frame(method string) *wire.Frame {
	if conn := l.conn.Load(); conn != nil {
		return conn.Frame(method)
	}
	return nil
}

func (l *live) batches() bool {
	conn := l.conn.Load()
	return conn != nil && conn.Batches()
}

// close ends the link and tears the connection down.
func (l *live) close() error {
	err := l.link.Close()
	if conn := l.conn.Load(); conn != nil {
		conn.Close(context.Background())
	}
	return err
}

// drop closes what nobody has come to use, without patience once ctx is over.
func (l *live) drop(ctx context.Context) {
	if link, ok := l.link.(lingering); ok {
		link.closeWithin(ctx)
	}
	l.close()
}

// giveUp ends the link because of something that this end found.
func (l *live) giveUp(cause error) {
	l.cause.Store(&cause)
	l.link.Close()
}

// respeak goes on in another revision of the same era.
func (l *live) respeak(r wire.Revision) {
	state := l.speak(r).State()
	state.SetServerCapabilities(l.about.capabilities)
	state.SetInitialized()
}

// reason is why the link has ended, once it has.
func (l *live) reason() error {
	if cause := l.cause.Load(); cause != nil {
		return *cause
	}
	if w, ok := l.link.(waiter); ok {
		return w.Wait()
	}
	return errHungUp
}

func (l *live) over() bool {
	select {
	case <-l.link.Done():
		return true
	default:
		return false
	}
}

// mirrors tells whether calls repeat arguments of tools in headers.
func (l *live) mirrors() bool {
	m, ok := l.link.(interface{ mirrors() bool })
	return ok && m.mirrors() && !handshake(l.conn.Load().State().Revision())
}
