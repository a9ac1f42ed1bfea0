// Package client sends messages to MCP servers over HTTP: over Streamable HTTP in every
// revision, and over the transport HTTP+SSE of revision 2024-11-05.
//
// A complete program that lists the tools of a server:
//
//	package main
//
//	import (
//		"context"
//		"fmt"
//		"log"
//
//		"github.com/mcpwright/mcp/generated/mcp"
//		"github.com/mcpwright/mcp/runtime/peer"
//		"github.com/mcpwright/mcp/runtime/streamable/client"
//	)
//
//	func main() {
//		ctx := context.Background()
//		c := client.New("http://127.0.0.1:8080/mcp", nil)
//		defer c.Close()
//		res, err := peer.SendRequest(ctx, c, &mcp.InitializeRequest{
//			ProtocolVersion: mcp.Revision20251125.String(),
//			ClientInfo:      mcp.Implementation{Name: "example", Version: "1.0"},
//		})
//		if err != nil {
//			log.Fatal(err)
//		}
//		revision, ok := mcp.ParseRevision(res.ProtocolVersion)
//		if !ok {
//			log.Fatalf("unknown revision %q", res.ProtocolVersion)
//		}
//		c.SetRevision(revision)
//		if err := c.Notify(ctx, &mcp.InitializedNotification{}); err != nil {
//			log.Fatal(err)
//		}
//		list, err := peer.SendRequest(ctx, c, &mcp.ListToolsRequest{})
//		if err != nil {
//			log.Fatal(err)
//		}
//		for _, tool := range list.Tools {
//			fmt.Println(tool.Name)
//		}
//	}
//
// Package mcpclient needs less code: it negotiates the revision, validates messages and
// begins a new session after a lost one.
//
// # Sessions and streams
//
// Messages of handshake revisions belong to a session. If the stream of a response
// breaks, the client resumes it with GET, see [Backoff]. A standalone stream receives
// messages that belong to no call. Requests of stateless revisions belong to no session,
// and their streams cannot be resumed.
package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/serverurl"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable/internal/mcphttp"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Client is the client of a server over Streamable HTTP. It implements [peer.Outbound]
// and is safe for concurrent use.
//
// It supports all revisions. A request of a stateless revision is independent of other
// requests: its HTTP response contains everything that belongs to it, and closing the
// HTTP response cancels it. Messages of handshake revisions belong to the session that
// initialize begins. The client sends the id of the session with each of them, resumes
// broken streams, and cancels requests with a notification. After
// "notifications/initialized" it opens the standalone stream, on which the server sends
// messages that belong to no call.
//
// A broken stream, an invalid message or a failed request affects at most the call that
// it belongs to. The error of a call is an error of [jsonrpc.Conn], has an
// *[HTTPError], [ErrNoResponse] or [ErrSessionLost] in its chain, or is the error of
// connecting to the server. The client can be used until it is closed.
type Client struct{ core }

// New returns a client of the server at a URL. It sends nothing yet; an invalid URL is
// reported by the first call. Nil options are the defaults. The caller must close the
// client.
func New(serverURL string, opts *Options) *Client {
	c := new(Client)
	c.init(serverURL, opts, writer{c})
	return c
}

// Call implements [peer.Outbound]. A subscription has no timeout unless an option sets
// one.
func (c *Client) Call(ctx context.Context, req peer.Message, res wire.Value, opts ...peer.CallOption) error {
	if req.Method() == mcp.MethodSubscriptionsListen {
		opts = append([]peer.CallOption{peer.WithTimeout(-1)}, opts...)
	}
	return c.conn.Call(ctx, req, res, opts...)
}

// Notify implements [peer.Outbound]. It returns when the server has accepted or
// rejected the notification, so messages that are sent afterwards arrive later.
func (c *Client) Notify(ctx context.Context, n peer.Notification, opts ...peer.CallOption) error {
	return c.conn.Notify(ctx, n, opts...)
}

// SetRevision sets the negotiated revision, which later requests of the session contain
// in a header. Callers set it after the response to initialize, before they send
// anything else. A new initialize resets it.
func (c *Client) SetRevision(r wire.Revision) { c.state.setRevision(r) }

// SessionID returns the id that the server assigned to the session, or "".
func (c *Client) SessionID() string { return c.state.current(wire.Revision{}).id }

// Listening returns a channel that is closed when the server has responded for the
// first time to the request for the standalone stream, which follows
// "notifications/initialized". From then on the server can send messages on that
// stream, if it supports it. Some servers send messages of calls on it and drop those
// that they send before. With [Options].DisableStandaloneStream, the channel is always
// closed.
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

// Close ends the session and everything in flight: calls fail, and the contexts of
// handlers are cancelled. It returns when all goroutines of the client have ended. It
// may be called more than once and always returns nil. Handlers must not call it.
func (c *Client) Close() error {
	c.close(c.endSession)
	return nil
}

// core is the part that the clients of both transports share.
type core struct {
	opts      Options
	serverURL *url.URL
	urlErr    error // why the URL is invalid, or nil
	http      *httpClient
	conn      *jsonrpc.Conn
	state     sessionState

	ctx    context.Context // cancelled when the client is closed
	cancel context.CancelFunc
	once   sync.Once
	done   chan struct{} // closed when all goroutines have ended
}

// init initializes a client that writes its messages to w.
func (c *core) init(serverURL string, opts *Options, w jsonrpc.Writer) {
	c.opts, c.done = opts.complete(), make(chan struct{})
	c.serverURL, c.urlErr = serverurl.Parse(serverURL)
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.http = newHTTPClient(&c.opts)
	c.state.calls = make(map[wire.RequestID]*call)
	c.conn = jsonrpc.New(w, &c.opts.JSONRPC)
}

// Conn returns the JSON-RPC connection of the client.
func (c *core) Conn() *jsonrpc.Conn { return c.conn }

// InitializedErr returns the error of sending the last "notifications/initialized" of
// the session. It is nil if the server accepted the notification.
func (c *core) InitializedErr() error { return c.state.initializedErr() }

// Done returns a channel that is closed when the client is closed and all its
// goroutines have ended.
func (c *core) Done() <-chan struct{} { return c.done }

const (
	// shutdownTimeout limits how long handlers may continue after the client is closed.
	shutdownTimeout = 5 * time.Second
	// deleteTimeout limits the request that ends the session.
	deleteTimeout = 2 * time.Second
)

// close ends everything in flight and waits for all goroutines. It calls endSession for
// a session that has not ended.
func (c *core) close(endSession func(sessionInfo)) {
	c.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
		defer cancel()
		c.conn.Shutdown(ctx, nil)
		session, alive := c.state.close()
		c.cancel()
		if alive {
			endSession(session)
		}
		c.state.tasks.Wait()
		c.conn.Shutdown(ctx, nil) // fails calls that waited for the server
		c.http.close()
		close(c.done)
	})
	<-c.done
}

// sessionError adds [ErrSessionLost] to err if err means that the server does not have
// the session any more.
func (c *Client) sessionError(err error, session sessionInfo) error {
	e, ok := errors.AsType[*HTTPError](err)
	if !ok || e.Status != http.StatusNotFound || session.id == "" {
		return err
	}
	if e.Err = ErrSessionLost; c.state.setLost(session.id) {
		if f := c.opts.OnSessionLost; f != nil {
			go f(e) // ends when the callback returns
		}
	}
	return err
}

// do sends a request that belongs to a session.
func (c *Client) do(req *http.Request, session sessionInfo, id wire.RequestID) (*http.Response, error) {
	res, err := c.http.do(req, id)
	return res, c.sessionError(err, session)
}

// beginSession ends the previous session, if there is one.
func (c *Client) beginSession() {
	if old, alive := c.state.reset(); alive {
		c.state.spawn(func() { c.endSession(old) }) // ends after deleteTimeout at the latest
	}
}

// endSession asks the server to end a session. Servers may not support that.
func (c *Client) endSession(s sessionInfo) {
	req := c.http.request(context.Background(), http.MethodDelete, c.serverURL, nil, nil)
	s.setHeaders(req.Header)
	err := c.http.send(req, context.Background(), deleteTimeout)
	if e, ok := errors.AsType[*HTTPError](err); ok && (e.Status == http.StatusMethodNotAllowed || e.Status == http.StatusNotFound) {
		return
	}
	if err != nil {
		c.opts.JSONRPC.Logger.Debug("could not end the session on the server", "error", err)
	}
}

// adoptSession uses the id of the new session in the header of the response to
// initialize.
func (c *Client) adoptSession(h http.Header) error {
	id := h.Get(mcphttp.HeaderSession)
	for i := range len(id) {
		if id[i] <= ' ' || id[i] > '~' {
			return fmt.Errorf("session id %q contains an invalid character", id)
		}
	}
	if id != "" {
		c.state.setID(id)
	}
	return nil
}
