package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Client is a server as a program sees it. Every message that the server can be
// sent is a method, by way of [mcp.ServerPeer]; custom requests are sent with
// [peer.SendRequest]. It is safe for concurrent use. [Connect] makes one.
type Client struct {
	// ServerPeer sends everything with caching, and answers what the server
	// asks meanwhile. [Client.Forward] does neither.
	mcp.ServerPeer

	opts     Options
	to       Endpoint
	mux      peer.Mux // handlers of what the server sends
	kernel   *connection.Dispatcher
	declared mcp.ClientCapabilities
	cache    *cache
	tools    toolBook
	roots    rootList
	subs     subscriptions
	watchers watchers
	hearings hearings
	level    atomic.Pointer[mcp.LoggingLevel] // that a call has set last, nil where none did
	notes    sync.Mutex                       // held while a handler of changed lists runs

	values context.Context // those of Connect, for links; it does not end
	life   context.Context // of all that runs beside calls
	end    context.CancelFunc
	tasks  sync.WaitGroup // counts what runs beside calls
	done   chan struct{}  // closed when nothing is left

	mu    sync.Mutex // not held while anything is waited for
	state state
}

// state is what the client's mutex protects.
type state struct {
	live     *live
	busy     *renewal      // of the live, nil where none is under way
	stale    bool          // the live is of no use: another one is to be made
	restarts int           // in a row
	pause    time.Duration // before the last session that was opened anew for nobody's call
	over     bool          // no live will follow
	err      error         // why, nil where it was Close
}

// Connect opens a connection to a server and finds out what it speaks. It
// returns when the server is ready to be used.
//
// The context bounds the connecting only. Its values, not its end, reach the
// handlers of what the server asks outside of calls; the connection lasts until
// [Client.Close]. Where nothing comes of it, nothing is left when Connect returns: a
// command that does not end with its input is asked to terminate soon after the
// context is over, and killed if that takes longer than its Start.KillAfter.
func Connect(ctx context.Context, to Endpoint, opts *Options) (*Client, error) {
	if to == nil {
		return nil, errors.New("connect: no endpoint was given")
	}
	c := &Client{opts: opts.complete(), to: to, done: make(chan struct{})}
	c.declared = c.opts.declare()
	if err := errors.Join(context.Cause(ctx), c.opts.check(&c.declared)); err != nil {
		return nil, fmt.Errorf("connect to %q: %w", to.name(), err)
	}
	c.kernel = c.newKernel()
	c.cache = newCache(&c.opts.Cache)
	c.ServerPeer = mcp.ServerPeer{Outbound: &front{client: c}}
	c.values = context.WithoutCancel(ctx)
	c.life, c.end = context.WithCancel(c.values)
	l, err := c.establish(ctx, to, c.opts.LastRevision)
	if err != nil {
		c.end()
		return nil, fmt.Errorf("connect to %q: %w", to.name(), err)
	}
	c.mu.Lock()
	c.state.live = l
	c.mu.Unlock()
	c.begin(l)
	c.resume(ctx, l, false)
	return c, nil
}

// begin starts what goes on beside calls as long as a live does.
func (c *Client) begin(l *live) {
	c.spawn(func() { c.guard(l) }) // ends with the link
	if c.opts.KeepAlive > 0 && handshake(l.about.revision) {
		c.spawn(func() { c.keepAlive(l) }) // ends with the link or the life
	}
}

// spawn runs f beside calls, unless all is over. It must end when the life or
// the link does.
func (c *Client) spawn(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.state.over {
		c.tasks.Go(f) // when f ends is written where it is passed
	}
	return !c.state.over
}

// Close ends the connection and waits until nothing of it is left. Calls that
// wait for an answer fail. It may be called more than once, and not by a handler.
func (c *Client) Close() error {
	c.finish(nil)
	<-c.done
	return nil
}

// Done is closed when the connection is over and nothing of it is left.
func (c *Client) Done() <-chan struct{} { return c.done }

// Err tells why the connection is over: nil while it is not, and where it was
// Close that ended it.
func (c *Client) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state.err
}

// Wait waits until the connection is over and returns what [Client.Err] does.
func (c *Client) Wait() error {
	<-c.done
	return c.Err()
}

// finish ends everything, once.
func (c *Client) finish(cause error) {
	c.mu.Lock()
	first := !c.state.over
	if first {
		c.state.over, c.state.err = true, cause
	}
	l := c.state.live
	c.mu.Unlock()
	if !first {
		return
	}
	c.end()
	go func() { // ends when nothing else is left
		defer close(c.done)
		if err := l.close(); err != nil && cause == nil {
			c.opts.Logger.Debug("server did not end in order", "server", c.to.name(), "error", err)
		}
		c.tasks.Wait()
	}()
}

// current returns what there is of a connection. It waits for one that is being
// made anew, and tries once more to make one that could not be made before.
func (c *Client) current(ctx context.Context, method string) (*live, error) {
	c.mu.Lock()
	s := c.state
	c.mu.Unlock()
	switch {
	case s.over:
		return nil, &peer.ClosedError{Method: method, Cause: s.err, Unsent: true}
	case s.busy == nil && !s.stale:
		return s.live, nil
	}
	if err := c.renew(ctx, s.live); err != nil {
		return nil, fmt.Errorf("send %q: %w", method, err)
	}
	return c.now(), nil
}

// now is the live in use, or the last one there was.
func (c *Client) now() *live {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state.live
}

// Revision is the revision being spoken.
func (c *Client) Revision() wire.Revision { return c.now().about.revision }

// NoHandshake tells whether the revision being spoken has no handshake, so that
// each request stands for itself.
func (c *Client) NoHandshake() bool { return !handshake(c.Revision()) }

// ServerInfo is what the server calls itself, nil where it does not say. Nobody
// has verified it. It is not to be changed.
func (c *Client) ServerInfo() *mcp.Implementation { return c.now().about.info }

// ServerCapabilities is what the server says it can do, nil where it does not
// say. It is not to be changed.
func (c *Client) ServerCapabilities() *mcp.ServerCapabilities { return c.now().about.capabilities }

// Instructions tell a model how to use the server; empty is none.
func (c *Client) Instructions() string { return c.now().about.instructions }

// Connection is what is known about the server, and the way to it with nothing
// but the protocol's checks in front. It is another one after the connection
// has been made anew.
func (c *Client) Connection() *connection.Connection { return c.now().conn.Load() }

// Tools iterates over all tools of the server. One that does not declare tools
// among its [Client.ServerCapabilities] may answer with the error
// [mcp.CodeMethodNotFound]; so it is with prompts and resources.
func (c *Client) Tools(ctx context.Context) iter.Seq2[*mcp.Tool, error] {
	return c.ListToolsAll(ctx, nil)
}

// Prompts iterates over all prompts of the server.
func (c *Client) Prompts(ctx context.Context) iter.Seq2[*mcp.Prompt, error] {
	return c.ListPromptsAll(ctx, nil)
}

// Resources iterates over all resources that the server lists.
func (c *Client) Resources(ctx context.Context) iter.Seq2[*mcp.Resource, error] {
	return c.ListResourcesAll(ctx, nil)
}

// ResourceTemplates iterates over all resource templates of the server.
func (c *Client) ResourceTemplates(ctx context.Context) iter.Seq2[*mcp.ResourceTemplate, error] {
	return c.ListResourceTemplatesAll(ctx, nil)
}
