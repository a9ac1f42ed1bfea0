package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/paramheader"
	"github.com/mcpwright/mcp/runtime/internal/revisions"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/streamable/internal/mcphttp"
	"github.com/mcpwright/mcp/runtime/wire"
)

// writer sends each message of the JSON-RPC connection in a POST request.
type writer struct{ c *Client }

// WriteMessage implements [jsonrpc.Writer]. It sends responses to batches.
func (w writer) WriteMessage(ctx context.Context, data []byte) error {
	return w.WriteWithInfo(ctx, jsonrpc.MessageInfo{}, data)
}

// WriteWithInfo implements [jsonrpc.InfoWriter]. It sends requests in another
// goroutine, because the HTTP response begins only with the response to the request, or
// with a message before that.
func (w writer) WriteWithInfo(ctx context.Context, e jsonrpc.MessageInfo, data []byte) error {
	c := w.c
	if c.urlErr != nil {
		return notWritten(c.urlErr)
	}
	if e.Method == mcp.MethodInitialize {
		c.beginSession()
	}
	session := c.state.current(e.Revision)
	if e.Revision.Index() < 0 || e.Method == "" {
		e.Revision = session.revision
	}
	stateless := e.Method != mcp.MethodInitialize && e.Revision.Index() >= 0 && !revisions.Handshake(e.Revision)
	if stateless {
		session = sessionInfo{}
	}
	switch {
	case e.Method == mcp.MethodCancelled:
		c.cancelCall(ctx, e, session, stateless, data)
		return nil
	case e.Method == "" && stateless:
		return notWritten(errNoResponses)
	case e.Method != "" && !e.ID.IsZero():
		return c.start(ctx, e, session, stateless, data)
	}
	req, err := c.newPost(ctx, e, session, stateless, data)
	if err != nil {
		return notWritten(err)
	}
	if e.Method == "" {
		return c.responseSent(e.ID, c.sessionError(c.postResponse(req), session))
	}
	err = c.sessionError(c.post(ctx, req, c.opts.acceptTimeout()), session)
	if e.Method == mcp.MethodInitialized {
		if c.state.setInitializedErr(err); err == nil {
			c.listen(session)
		}
	}
	return err
}

var errNoResponses = errors.New("servers of stateless revisions send no requests that could have a response")

// newPost returns the POST request for a message.
func (c *Client) newPost(ctx context.Context, e jsonrpc.MessageInfo, session sessionInfo, stateless bool, data []byte) (*http.Request, error) {
	// The body is a copy, because the HTTP client may read it after it has returned.
	req := c.http.request(ctx, http.MethodPost, c.serverURL, e.Header, bytes.Clone(data))
	req.Header[mcphttp.HeaderAccept] = mcphttp.ValueEither
	switch {
	case stateless:
		return req, c.setStatelessHeaders(req.Header, e, data)
	case e.Method != mcp.MethodInitialize:
		session.setHeaders(req.Header)
	}
	return req, nil
}

// start sends a request in its own goroutine.
func (c *Client) start(ctx context.Context, e jsonrpc.MessageInfo, session sessionInfo, stateless bool, data []byte) error {
	x := &call{
		client: c, id: e.ID, method: e.Method, header: e.Header, session: session, stateless: stateless,
		handlerCtx: callContext{c.ctx, ctx}, deadline: retryDeadline(ctx, e.Patience),
	}
	x.ctx, x.cancel = context.WithCancel(x.handlerCtx)
	req, err := c.newPost(x.traced(), e, session, stateless, data)
	if err != nil {
		x.cancel()
		return notWritten(err)
	}
	if before := c.state.addCall(x); before != nil {
		before.cancel()
	}
	if !c.state.spawn(func() { x.run(req) }) { // ends with the response, or when x is cancelled
		c.state.removeCall(x)
		x.cancel()
		return notWritten(jsonrpc.ErrClosed)
	}
	return nil
}

// cancelTimeout limits the time for the server to accept a cancellation.
const cancelTimeout = 5 * time.Second

// cancelCall cancels a request. It closes the HTTP response of a stateless request, and
// sends a notification for a request of a session without waiting for it.
func (c *Client) cancelCall(ctx context.Context, e jsonrpc.MessageInfo, session sessionInfo, stateless bool, data []byte) {
	var b messageBody
	b.read(data)
	x := c.state.findCall(b.cancelledID)
	if x != nil {
		stateless, session, e.Header = x.stateless, x.session, x.header
		c.state.removeCall(x)
		c.conn.FailCall(x.id, context.Canceled) // no effect if the caller has returned already
	}
	if stateless {
		if x != nil {
			x.cancel()
		}
		return
	}
	data = bytes.Clone(data)
	ctx = callContext{c.ctx, ctx}
	c.state.spawn(func() { // ends when the server has accepted the notification, or after cancelTimeout
		if x != nil {
			defer x.cancel()
		}
		req, err := c.newPost(ctx, e, session, stateless, data)
		if err == nil {
			err = c.post(ctx, req, cancelTimeout)
		}
		if err != nil {
			c.opts.JSONRPC.Logger.Debug("could not send the cancellation of a request", "id", b.cancelledID, "error", c.sessionError(err, session))
		}
	})
}

// setStatelessHeaders sets the headers of stateless revisions, which repeat values of
// the body.
func (c *Client) setStatelessHeaders(h http.Header, e jsonrpc.MessageInfo, data []byte) error {
	h[mcphttp.HeaderVersion] = []string{e.Revision.String()}
	h[mcphttp.HeaderMethod] = []string{e.Method}
	b := messageBody{name: e.Name, tools: e.Method == mcp.MethodCallTool && c.opts.ToolHeaders != nil}
	if info := mcp.MethodByName(e.Method); info != nil && (b.tools || b.name == "") {
		b.nameMember = info.NameMember
	}
	if b.named = b.name != ""; b.nameMember != "" {
		b.read(data)
	}
	if b.named {
		h[mcphttp.HeaderName] = []string{paramheader.Encode(b.name)}
	}
	if !b.tools {
		return nil
	}
	params, err := c.opts.ToolHeaders(b.name, b.arguments)
	if err != nil {
		return fmt.Errorf("headers for the call of tool %q: %w", b.name, err)
	}
	for name, values := range params {
		h[http.CanonicalHeaderKey(name)] = values
	}
	return nil
}

// messageBody contains the values of an outgoing message that are repeated in headers,
// and the id in a cancellation.
type messageBody struct {
	wire.ReadOnly
	nameMember string // the member of the params that contains name
	tools      bool   // read the arguments, too

	name        string
	named       bool
	arguments   json.RawMessage
	cancelledID wire.RequestID
}

// read reads an outgoing message.
func (b *messageBody) read(data []byte) { _ = wire.Decode(data, &wire.Frame{Checked: true}, b) }

var (
	messageMembers = wire.NewMembers("message", wire.Member{Name: "params", In: wire.Always})
	paramsMembers  = wire.NewMembers("params",
		wire.Member{Name: "arguments", In: wire.Always},
		wire.Member{Name: "name", In: wire.Always},
		wire.Member{Name: "requestId", In: wire.Always},
		wire.Member{Name: "uri", In: wire.Always},
	)
)

// DecodeJSON implements [wire.Value].
func (b *messageBody) DecodeJSON(d *wire.Decoder) {
	for m := d.Object(messageMembers); m.Next(); {
		if m.Name != "params" {
			d.Skip()
			continue
		}
		for p := d.Object(paramsMembers); p.Next(); {
			b.param(d, p.Name)
		}
	}
}

func (b *messageBody) param(d *wire.Decoder, name string) {
	switch {
	case name == "":
		d.Skip()
	case name == b.nameMember && d.Kind() == '"':
		b.name, b.named = d.String(), true
	case name == "arguments" && b.tools:
		b.arguments = d.Raw()
	case name == "requestId" && b.nameMember == "":
		b.cancelledID = d.ID()
	default:
		d.Skip()
	}
}
