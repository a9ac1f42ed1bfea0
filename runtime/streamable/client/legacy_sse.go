package client

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
	"github.com/mcpwright/mcp/runtime/streamable/internal/mcphttp"
	"github.com/mcpwright/mcp/runtime/streamable/internal/sse"
	"github.com/mcpwright/mcp/runtime/wire"
)

// LegacySSE is the client of a server over HTTP+SSE, the transport of revision
// 2024-11-05. The server sends all its messages on one stream, whose first event
// contains the URL for POST requests. LegacySSE implements [peer.Outbound] and is safe
// for concurrent use. It is for servers that support only handshake revisions.
//
// The stream is the session. When it ends, calls fail with a *[peer.ClosedError],
// [Options].OnSessionLost is called, and the client can only be closed.
type LegacySSE struct {
	core

	open     sync.Once     // starts the stream
	ready    chan struct{} // closed when the endpoint is known
	endpoint *url.URL
}

// NewLegacySSE returns a client of the server whose stream is at a URL. It opens the
// stream when the first message is sent. The caller must close the client. Options of
// sessions and of headers of tools have no effect, and interim responses do not restart
// timeouts.
func NewLegacySSE(serverURL string, opts *Options) *LegacySSE {
	c := &LegacySSE{ready: make(chan struct{})}
	c.init(serverURL, opts, legacyWriter{c})
	return c
}

// Call implements [peer.Outbound].
func (c *LegacySSE) Call(ctx context.Context, req peer.Message, res wire.Value, opts ...peer.CallOption) error {
	return c.conn.Call(ctx, req, res, opts...)
}

// Notify implements [peer.Outbound].
func (c *LegacySSE) Notify(ctx context.Context, n peer.Notification, opts ...peer.CallOption) error {
	return c.conn.Notify(ctx, n, opts...)
}

// SetRevision does nothing: this transport has no header with the revision.
func (c *LegacySSE) SetRevision(wire.Revision) {}

// Close ends the stream and thereby the session: calls fail, and the contexts of
// handlers are cancelled. It returns when all goroutines of the client have ended. It
// may be called more than once and always returns nil. Handlers must not call it.
func (c *LegacySSE) Close() error {
	c.close(nil) // the session ends with the stream
	return nil
}

// legacyWriter sends each message of the JSON-RPC connection in a POST request.
type legacyWriter struct{ c *LegacySSE }

// WriteMessage implements [jsonrpc.Writer].
func (w legacyWriter) WriteMessage(ctx context.Context, data []byte) error {
	return w.WriteWithInfo(ctx, jsonrpc.MessageInfo{}, data)
}

// WriteWithInfo implements [jsonrpc.InfoWriter]. It sends requests in another
// goroutine, so that the timeout of the call includes the time until the server accepts
// the request.
func (w legacyWriter) WriteWithInfo(ctx context.Context, e jsonrpc.MessageInfo, data []byte) error {
	c := w.c
	if c.urlErr != nil {
		return notWritten(c.urlErr)
	}
	c.open.Do(func() { c.state.spawn(c.read) }) // ends with the stream
	if e.Method == "" || e.ID.IsZero() {
		err := c.send(ctx, ctx, e, data)
		if e.Method == mcp.MethodInitialized {
			c.state.setInitializedErr(err)
		}
		return err
	}
	data = bytes.Clone(data)
	if !c.state.spawn(func() { // ends when the server has accepted the message, or after the timeout
		if err := c.send(callContext{c.ctx, ctx}, ctx, e, data); err != nil {
			c.conn.FailCall(e.ID, err)
		}
	}) {
		return notWritten(jsonrpc.ErrClosed)
	}
	return nil
}

// send sends a message as soon as the endpoint is known. It is not sent again after the
// context of the caller has ended.
func (c *LegacySSE) send(ctx, caller context.Context, e jsonrpc.MessageInfo, data []byte) error {
	timeout := c.opts.acceptTimeout()
	ready, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	select {
	case <-c.ready:
	case <-c.ctx.Done():
		return notWritten(jsonrpc.ErrClosed)
	case <-c.conn.Done():
		return notWritten(jsonrpc.ErrClosed)
	case <-ready.Done():
		return notWritten(fmt.Errorf("no endpoint event from the server: %w", context.Cause(ready)))
	}
	req := c.http.request(ctx, http.MethodPost, c.endpoint, e.Header, bytes.Clone(data))
	req.Header[mcphttp.HeaderAccept] = mcphttp.ValueEither
	switch e.Method {
	case "":
		return c.responseSent(e.ID, c.postResponse(req))
	case mcp.MethodCancelled: // the caller that gives up waits for it, so it is sent once
		return c.http.send(req, c.ctx, timeout)
	}
	if e.Patience > 0 {
		timeout = min(timeout, e.Patience)
	}
	return c.post(caller, req, timeout)
}

// read opens the stream and delivers its events. The session ends with the stream.
func (c *LegacySSE) read() {
	err := c.stream()
	if c.ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(c.ctx, shutdownTimeout)
	defer cancel()
	c.conn.Shutdown(ctx, err)
	if f := c.opts.OnSessionLost; f != nil {
		go f(err) // ends when the callback returns
	}
}

func (c *LegacySSE) stream() error {
	req := c.http.request(c.ctx, http.MethodGet, c.serverURL, nil, nil)
	req.Header[mcphttp.HeaderAccept] = mcphttp.ValueEvents
	deadline := retryDeadline(c.ctx, c.opts.acceptTimeout()) // until then, messages wait for the endpoint
	res, err := c.http.do(req, wire.RequestID{})
	err = c.retry(c.ctx, deadline, ifRefused, err, func() error {
		res, err = c.http.do(again(req), wire.RequestID{})
		return err
	})
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if mcphttp.MediaType(res.Header) != mcphttp.MediaEvents {
		return unexpectedType(c.serverURL, res)
	}
	events := sse.NewReader(res.Body, c.http.maxBody)
	defer events.Free()
	for {
		ev, err := events.Next()
		switch {
		case errors.Is(err, sse.ErrEventTooLong):
			c.opts.reportError(fmt.Errorf("event stream: %w: more than %d bytes", err, events.Limit()))
		case err != nil:
			return fmt.Errorf("event stream: %w", err)
		default:
			if err := c.handleEvent(ev, res); err != nil {
				return err
			}
		}
	}
}

// handleEvent handles an event of the stream.
func (c *LegacySSE) handleEvent(ev sse.Event, res *http.Response) error {
	switch ev.Name {
	case sse.Message:
		c.conn.Deliver(c.ctx, ev.Data.Bytes, jsonrpc.Source{
			Transport: peer.NewTransportContext(mcphttp.Kind, true, res.Header, ""),
			Release:   ev.Data.Release(),
		})
		return nil
	case sse.Endpoint:
		defer ev.Data.Free()
		return c.setEndpoint(string(bytes.TrimSpace(ev.Data.Bytes)), res.Request.URL)
	}
	ev.Data.Free()
	return nil
}

// setEndpoint sets the URL for POST requests. It must have the origin of the stream, so
// that no other server receives messages.
func (c *LegacySSE) setEndpoint(text string, base *url.URL) error {
	if c.endpoint != nil {
		return nil // only the first endpoint is used
	}
	ref, err := url.Parse(text)
	if err != nil {
		return fmt.Errorf("endpoint event: %q is no URL", text)
	}
	if c.endpoint = base.ResolveReference(ref); !sameOrigin(c.endpoint, c.serverURL) {
		return fmt.Errorf("endpoint event: %q has another origin than the stream", text)
	}
	close(c.ready)
	return nil
}
