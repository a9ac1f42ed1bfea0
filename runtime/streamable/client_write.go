package streamable

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/eras"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/wire"
)

// clientWriter makes a POST of each message of the dispatcher.
type clientWriter struct{ c *Client }

// WriteMessage implements [jsonrpc.Writer]. It is given answers to batches.
func (w clientWriter) WriteMessage(ctx context.Context, data []byte) error {
	return w.WriteWithInfo(ctx, jsonrpc.MessageInfo{}, data)
}

// WriteWithInfo implements [jsonrpc.InfoWriter]. A request is written in
// another goroutine: nothing is known of it before its response begins, and that
// may be its answer.
func (w clientWriter) WriteWithInfo(ctx context.Context, e jsonrpc.MessageInfo, data []byte) error {
	c := w.c
	if c.bad != nil {
		return notWritten(c.bad)
	}
	if e.Method == mcp.MethodInitialize {
		c.beginSession()
	}
	session := c.state.view(e.Revision)
	if e.Revision.Index() < 0 || e.Method == "" {
		e.Revision = session.revision
	}
	alone := e.Method != mcp.MethodInitialize && e.Revision.Index() >= 0 && !eras.Handshake(e.Revision)
	if alone {
		session = clientSession{}
	}
	switch {
	case e.Method == mcp.MethodCancelled:
		c.takeBack(ctx, e, session, alone, data)
		return nil
	case e.Method == "" && alone:
		return notWritten(errNoAnswers)
	case e.Method != "" && !e.ID.IsZero():
		return c.start(ctx, e, session, alone, data)
	}
	req, err := c.post(ctx, e, session, alone, data)
	if err != nil {
		return notWritten(err)
	}
	err = c.explain(c.http.tell(req, c.life, c.opts.oneWay()), session)
	if e.Method == mcp.MethodInitialized {
		if c.state.told(err); err == nil {
			c.listen(session)
		}
	}
	return err
}

var errNoAnswers = errors.New("servers of this revision send no requests, so there is nothing to answer")

// post returns the POST of a message.
func (c *Client) post(ctx context.Context, e jsonrpc.MessageInfo, session clientSession, alone bool, data []byte) (*http.Request, error) {
	// The HTTP client may read the body even after it has returned.
	req := c.http.request(ctx, http.MethodPost, c.to, e.Header, bytes.Clone(data))
	req.Header[headerAccept] = valueEitherKind
	switch {
	case alone:
		return req, c.requestHeader(req.Header, e, data)
	case e.Method != mcp.MethodInitialize:
		session.sessionHeader(req.Header)
	}
	return req, nil
}

// start starts the exchange of a request.
func (c *Client) start(ctx context.Context, e jsonrpc.MessageInfo, session clientSession, alone bool, data []byte) error {
	x := &clientExchange{
		client: c, id: e.ID, method: e.Method, header: e.Header, session: session, alone: alone,
		outer: clientScope{c.life, ctx},
	}
	x.ctx, x.cancel = context.WithCancel(x.outer)
	req, err := c.post(x.trace(), e, session, alone, data)
	if err != nil {
		x.cancel()
		return notWritten(err)
	}
	if before := c.state.enter(x); before != nil {
		before.cancel()
	}
	if !c.state.spawn(func() { x.run(req) }) { // ends with the answer, or when x is cancelled
		c.state.leave(x)
		x.cancel()
		return notWritten(jsonrpc.ErrClosed)
	}
	return nil
}

// cancelPatience is how long the server may take to accept that a request is
// cancelled.
const cancelPatience = 5 * time.Second

// takeBack cancels a request of ours: one that travels alone by closing its
// response; one in a session by telling the server so, for which nobody has to
// wait.
func (c *Client) takeBack(ctx context.Context, e jsonrpc.MessageInfo, session clientSession, alone bool, data []byte) {
	var b clientBody
	b.read(data)
	x := c.state.exchange(b.cancels)
	if x != nil {
		alone, session, e.Header = x.alone, x.session, x.header
		c.state.leave(x)
		c.conn.FailCall(x.id, context.Canceled) // unless the caller has gone already
	}
	if alone {
		if x != nil {
			x.cancel()
		}
		return
	}
	data = bytes.Clone(data)
	ctx = clientScope{c.life, ctx}
	c.state.spawn(func() { // ends when the server has accepted it, or after cancelPatience
		if x != nil {
			defer x.cancel()
		}
		req, err := c.post(ctx, e, session, alone, data)
		if err == nil {
			err = c.http.tell(req, c.life, cancelPatience)
		}
		if err != nil {
			c.opts.JSONRPC.Logger.Debug("server was not told that a request is cancelled", "id", b.cancels, "error", c.explain(err, session))
		}
	})
}

// do makes a request that belongs to a session.
func (c *Client) do(req *http.Request, session clientSession, id wire.RequestID) (*http.Response, error) {
	res, err := c.http.do(req, id)
	return res, c.explain(err, session)
}

// explain adds to err what it means for the session that it came up in.
func (c *Client) explain(err error, session clientSession) error {
	e, ok := errors.AsType[*HTTPError](err)
	if !ok || e.Status != http.StatusNotFound || session.id == "" {
		return err
	}
	if e.Err = ErrSessionLost; c.state.lose(session.id) {
		if f := c.opts.OnSessionLost; f != nil {
			go f(e) // ends when the callback does
		}
	}
	return err
}
