package mcpclient

import (
	"context"
	"errors"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/revisions"
	"github.com/mcpwright/mcp/runtime/internal/sessiontasks"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Client is a client of one server. [Connect] returns one. It has a method for each message that
// can be sent to a server, by [mcp.ServerPeer]; [peer.SendRequest] sends custom requests. It is
// safe for concurrent use.
type Client struct {
	// An update of a resource uses these fields of each client, so they are next to each other.
	watched        watchedResources
	handlesUpdates bool // handlers or middleware receive updates of resources
	cache          cache

	// ServerPeer sends requests, caches results and handles input requests of the server.
	// [Client.Forward] does not cache and does not handle input requests.
	mcp.ServerPeer

	opts        Options
	endpoint    Endpoint
	dispatcher  *connection.Dispatcher
	mux         peer.Mux // handlers of the server's messages
	tools       toolTable
	ownTasks    *sessiontasks.Table // nil if the client runs no tasks
	taskReports taskReports
	roots       rootList
	subs        subscriptions
	callLogs    callLogs
	logLevel    atomic.Pointer[mcp.LoggingLevel] // of the last SetLevel call, or nil
	handling    sync.Mutex                       // held while a handler of list changes runs

	values context.Context // has the values of Connect's context and never ends
	life   context.Context // ends with the client
	end    context.CancelFunc
	tasks  sync.WaitGroup // counts background goroutines
	done   chan struct{}  // closed when all goroutines have ended

	mu    sync.Mutex // guards state; not held during I/O
	state state
}

// state is guarded by the client's mutex.
type state struct {
	conn         *serverConn
	reconnecting *reconnection // replaces conn, or nil
	stale        bool          // conn is unusable and must be replaced
	restarts     int           // in a row
	backoff      time.Duration // before the last reconnect in the background
	closed       bool
	err          error // why the client is closed; nil after Close
}

// reconnection is the replacement of a connection by a new one.
type reconnection struct {
	done chan struct{} // closed when err is set
	err  error
}

// Close ends the connection and waits until all goroutines have ended. Active calls fail. It may be
// called more than once, but not by a handler.
func (c *Client) Close() error {
	c.finish(nil)
	<-c.done
	return nil
}

// Done is closed when the connection has ended for good and all goroutines have ended.
func (c *Client) Done() <-chan struct{} { return c.done }

// Err returns why the connection has ended for good. It returns nil before that, and after Close.
func (c *Client) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state.err
}

// Wait waits until the connection has ended for good and returns [Client.Err].
func (c *Client) Wait() error {
	<-c.done
	return c.Err()
}

// Revision returns the revision in use.
func (c *Client) Revision() wire.Revision { return c.current().server.revision }

// NoHandshake reports whether the revision in use is stateless.
func (c *Client) NoHandshake() bool { return !revisions.Handshake(c.Revision()) }

// ServerInfo returns the server's unverified name and version, or nil if the server did not send
// them. The caller must not change the value.
func (c *Client) ServerInfo() *mcp.Implementation { return c.current().server.info }

// ServerCapabilities returns the capabilities that the server has declared, or nil. The caller must
// not change the value.
func (c *Client) ServerCapabilities() *mcp.ServerCapabilities { return c.current().server.capabilities }

// Instructions returns the server's instructions for a model, or the empty string.
func (c *Client) Instructions() string { return c.current().server.instructions }

// Connection returns the current connection. It sends messages with the checks of the protocol
// only. After a reconnect there is another connection.
func (c *Client) Connection() *connection.Connection { return c.current().conn.Load() }

// Tools iterates over all tools of the server. If the server does not declare tools in its
// [Client.ServerCapabilities], it may respond with the error [mcp.CodeMethodNotFound]. The same
// applies to prompts and resources.
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

// ResourceTemplates iterates over all resource templates of the server. There are none if the
// server declares resources and responds with the error [mcp.CodeMethodNotFound], as some servers
// without templates do.
func (c *Client) ResourceTemplates(ctx context.Context) iter.Seq2[*mcp.ResourceTemplate, error] {
	return func(yield func(*mcp.ResourceTemplate, error) bool) {
		for t, err := range c.ListResourceTemplatesAll(ctx, nil) {
			if err != nil && c.hasNoTemplates(err) || !yield(t, err) {
				return
			}
		}
	}
}

// hasNoTemplates reports whether an error means that the server has resources but no templates.
func (c *Client) hasNoTemplates(err error) bool {
	e, ok := errors.AsType[*peer.Error](err)
	caps := c.ServerCapabilities()
	return ok && e.Code == mcp.CodeMethodNotFound && caps != nil && caps.Resources != nil
}

// current returns the connection in use, or the last one.
func (c *Client) current() *serverConn {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state.conn
}

func (c *Client) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state.closed
}

// spawn runs f in the background. It returns false if the client is closed. The function must end
// when the client's life or the connection ends.
func (c *Client) spawn(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.state.closed {
		c.tasks.Go(f) // each caller documents when f ends
	}
	return !c.state.closed
}

// finish closes the client, once. Nil is the cause of Close.
func (c *Client) finish(cause error) {
	c.mu.Lock()
	first := !c.state.closed
	if first {
		c.state.closed, c.state.err = true, cause
	}
	sc := c.state.conn
	c.mu.Unlock()
	if !first {
		return
	}
	c.end()
	go func() { // ends after all other goroutines
		defer close(c.done)
		if err := sc.close(); err != nil && cause == nil {
			c.opts.Logger.Debug("connection not closed cleanly", "server", c.endpoint.name(), "error", err)
		}
		c.cache.close()
		c.tools.close()
		c.endOwnTasks()
		c.tasks.Wait()
	}()
}

// logRefused logs an error of a request that is not part of a call of the program.
func (c *Client) logRefused(ctx context.Context, method string, err error) {
	if err != nil {
		c.opts.Logger.WarnContext(ctx, "server refused request", "server", c.endpoint.name(), "method", method, "error", err)
	}
}
