package streamable

import (
	"context"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Client is the client's end of Streamable HTTP, and the [peer.Outbound] that
// leads to the server. It is safe for concurrent use.
//
// It carries both eras. A request written for a revision without a handshake
// travels alone: its response brings its answer and what goes with it, and
// giving up means to close that. Everything else belongs to the session that
// initialize begins: its id is sent along, broken streams are taken up again, a
// request is taken back by a notification, and after
// "notifications/initialized" a stream of its own brings what belongs to no
// call.
//
// Trouble stays where it comes up: a broken stream, a bad message, a failed
// request cost at most the call that they belong to. Its error is one of those
// of [jsonrpc.Conn], or has an *[HTTPError], [ErrNoResponse] or [ErrSessionLost]
// in its chain, or the error of a server that cannot be reached. A client lives
// until it is closed.
type Client struct{ clientCore }

// NewClient returns a client of the server at a URL. Nothing is sent yet; a URL
// that is none is an error of the first call. The client is to be closed.
func NewClient(serverURL string, opts *ClientOptions) *Client {
	c := new(Client)
	c.begin(serverURL, opts, clientWriter{c})
	return c
}

// Call implements [peer.Outbound]. A subscription waits without a timeout,
// unless it has one of its own.
func (c *Client) Call(ctx context.Context, req peer.Message, res wire.Value, opts ...peer.CallOption) error {
	if req.Method() == mcp.MethodSubscriptionsListen {
		opts = append([]peer.CallOption{peer.WithTimeout(-1)}, opts...)
	}
	return c.conn.Call(ctx, req, res, opts...)
}

// Notify implements [peer.Outbound]. It returns when the server has accepted
// the notification, or did not, so that what is sent afterwards comes later.
func (c *Client) Notify(ctx context.Context, n peer.Notification, opts ...peer.CallOption) error {
	return c.conn.Notify(ctx, n, opts...)
}

// SetRevision tells which revision was negotiated. From then on the requests of the
// session name it. It is for whoever has read the answer to initialize, before
// anything else is sent. A new initialize makes it void.
func (c *Client) SetRevision(r wire.Revision) { c.state.settle(r) }

// SessionID is the id that the server gave the session, empty where it gave
// none.
func (c *Client) SessionID() string { return c.state.view(wire.Revision{}).id }

// Listening is closed when the server has first answered the session's request
// for the stream that belongs to no call, which follows
// "notifications/initialized": from then on it can reach this client, if it wants
// to at all. Some servers send there what belongs to a call, and into the void
// before. With DisableStandaloneStream it is closed from the beginning.
func (c *Client) Listening() <-chan struct{} {
	if c.opts.DisableStandaloneStream {
		return closedChannel
	}
	return c.state.listening()
}

var closedChannel = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// Close ends the session, if there is one, and everything under way: calls fail
// and handlers' contexts end. It waits until nothing is left. It may be called
// more than once, always returns nil, and must not be called by a handler.
func (c *Client) Close() error {
	c.close(c.endSession)
	return nil
}
