package streamable

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// LegacySSEClient is the client's end of HTTP+SSE, the transport of revision
// 2024-11-05: one stream brings all that the server says, and tells where to
// POST to. It is a [peer.Outbound] that leads to the server, safe for concurrent
// use, and meant for servers that know nothing newer than a handshake.
//
// The stream is the session. When it breaks, that is over: calls fail with a
// *[peer.ClosedError], OnLost of the options is told, and all that is left is
// to close the client.
type LegacySSEClient struct {
	clientCore

	open     sync.Once     // for the stream
	ready    chan struct{} // closed when the endpoint is known
	endpoint *url.URL
}

// NewLegacySSEClient returns a client of the server whose stream is at a URL.
// The stream is opened when something is to be sent. The client is to be
// closed. Of the options, those about sessions and headers of tools mean
// nothing, and no interim response begins a wait anew.
func NewLegacySSEClient(serverURL string, opts *ClientOptions) *LegacySSEClient {
	c := &LegacySSEClient{ready: make(chan struct{})}
	c.begin(serverURL, opts, legacyWriter{c})
	return c
}

// Call implements [peer.Outbound].
func (c *LegacySSEClient) Call(ctx context.Context, req peer.Message, res wire.Value, opts ...peer.CallOption) error {
	return c.conn.Call(ctx, req, res, opts...)
}

// Notify implements [peer.Outbound].
func (c *LegacySSEClient) Notify(ctx context.Context, n peer.Notification, opts ...peer.CallOption) error {
	return c.conn.Notify(ctx, n, opts...)
}

// SetRevision does nothing: on this transport no header names the revision.
func (c *LegacySSEClient) SetRevision(wire.Revision) {}

// Close ends the stream and with it the session: calls fail and handlers'
// contexts end. It waits until nothing is left. It may be called more than once,
// always returns nil, and must not be called by a handler.
func (c *LegacySSEClient) Close() error {
	c.close(nil) // there is no other session than the stream
	return nil
}

// legacyWriter makes a POST of each message of the dispatcher.
type legacyWriter struct{ c *LegacySSEClient }

// WriteMessage implements [jsonrpc.Writer].
func (w legacyWriter) WriteMessage(ctx context.Context, data []byte) error {
	return w.WriteWithInfo(ctx, jsonrpc.MessageInfo{}, data)
}

// WriteWithInfo implements [jsonrpc.InfoWriter]. A request is written in
// another goroutine, since its caller's patience is not to begin when the server
// has accepted it.
func (w legacyWriter) WriteWithInfo(ctx context.Context, e jsonrpc.MessageInfo, data []byte) error {
	c := w.c
	if c.bad != nil {
		return notWritten(c.bad)
	}
	c.open.Do(func() { c.state.spawn(c.read) }) // ends with the stream
	if e.Method == "" || e.ID.IsZero() {
		err := c.post(ctx, e, data)
		if e.Method == mcp.MethodInitialized {
			c.state.told(err)
		}
		return err
	}
	data = bytes.Clone(data)
	ctx = clientScope{c.life, ctx}
	if !c.state.spawn(func() { // ends when the server has accepted the message, or the patience with it
		if err := c.post(ctx, e, data); err != nil {
			c.conn.FailCall(e.ID, err)
		}
	}) {
		return notWritten(jsonrpc.ErrClosed)
	}
	return nil
}

// post writes a message, as soon as it is known where to.
func (c *LegacySSEClient) post(ctx context.Context, e jsonrpc.MessageInfo, data []byte) error {
	ctx, cancel := context.WithTimeout(ctx, c.opts.oneWay())
	defer cancel()
	select {
	case <-c.ready:
	case <-c.life.Done():
		return notWritten(jsonrpc.ErrClosed)
	case <-c.conn.Done():
		return notWritten(jsonrpc.ErrClosed)
	case <-ctx.Done():
		return notWritten(fmt.Errorf("the server has not said where to post to: %w", context.Cause(ctx)))
	}
	req := c.http.request(ctx, http.MethodPost, c.endpoint, e.Header, bytes.Clone(data))
	req.Header[headerAccept] = valueEitherKind
	return c.http.tell(req, c.life, c.opts.oneWay())
}

// read opens the stream and delivers what it brings. Its end is that of the
// session.
func (c *LegacySSEClient) read() {
	err := c.stream()
	if c.life.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(c.life, clientGoodbye)
	defer cancel()
	c.conn.Shutdown(ctx, err)
	if f := c.opts.OnSessionLost; f != nil {
		go f(err) // ends when the callback does
	}
}

func (c *LegacySSEClient) stream() error {
	req := c.http.request(c.life, http.MethodGet, c.to, nil, nil)
	req.Header[headerAccept] = valueEvents
	res, err := c.http.do(req, wire.RequestID{})
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if kind := res.Header.Get(headerContentType); mediaType(res.Header) != mediaEvents {
		return fmt.Errorf("GET %q: content type %q", display(c.to), kind)
	}
	events := readEvents(res.Body, c.http.most)
	defer events.free()
	for {
		ev, err := events.next()
		switch {
		case errors.Is(err, errEventTooLong):
			c.opts.report(fmt.Errorf("stream of the server: %w: more than %d bytes", err, events.most))
		case err != nil:
			return fmt.Errorf("stream of the server: %w", err)
		default:
			if err := c.event(ev, res); err != nil {
				return err
			}
		}
	}
}

// event takes an event of the stream.
func (c *LegacySSEClient) event(ev event, res *http.Response) error {
	switch ev.name {
	case eventMessage:
		c.conn.Deliver(c.life, ev.data.Bytes, jsonrpc.Source{
			Transport: peer.NewTransportContext(Kind, true, res.Header, ""),
			Release:   ev.data.Release(),
		})
		return nil
	case eventEndpoint:
		defer ev.data.Free()
		return c.setEndpoint(string(bytes.TrimSpace(ev.data.Bytes)), res.Request.URL)
	}
	ev.data.Free()
	return nil
}

// setEndpoint takes the place to post to, which is at the origin of the stream:
// nobody else gets to see what is posted.
func (c *LegacySSEClient) setEndpoint(text string, base *url.URL) error {
	if c.endpoint != nil {
		return nil // the first one counts
	}
	ref, err := url.Parse(text)
	if err != nil {
		return fmt.Errorf("the server says to post to %q, which is no URL", text)
	}
	if c.endpoint = base.ResolveReference(ref); !sameOrigin(c.endpoint, c.to) {
		return fmt.Errorf("the server says to post to %q, which is not of its origin", text)
	}
	close(c.ready)
	return nil
}
