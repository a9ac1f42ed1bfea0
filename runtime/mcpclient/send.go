package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/revisions"
	"github.com/mcpwright/mcp/runtime/internal/sessiontasks"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// sendWithRetry sends a request. If the server has not begun to process it and the problem can be
// solved, it sends the request once more.
func (c *Client) sendWithRetry(ctx context.Context, req peer.Message, res wire.Value, opts []peer.CallOption) error {
	sc, err := c.send(ctx, req, res, opts)
	for sc != nil && c.awaitRestart(ctx, sc, err) {
		sc, err = c.send(ctx, req, res, opts)
	}
	if err == nil || sc == nil {
		return err
	}
	retry, failed := c.recoverFrom(ctx, sc, req, err)
	switch {
	case failed != nil:
		return fmt.Errorf("%w (recovery failed: %w)", err, failed)
	case !retry:
		return err
	}
	resetResult(res)
	_, err = c.send(ctx, req, res, opts)
	return err
}

// send sends a request over the connection in use. It returns that connection, or nil if there is
// none.
func (c *Client) send(ctx context.Context, req peer.Message, res wire.Value, opts []peer.CallOption) (*serverConn, error) {
	list, lists := res.(*mcp.ListToolsResult)
	var changes uint64
	if lists {
		changes = c.tools.numChanges()
	}
	sc, err := c.usable(ctx, req.Method())
	for ; err == nil && !sc.beginCall(); sc, err = c.usable(ctx, req.Method()) {
	}
	if err != nil {
		return nil, err
	}
	defer sc.endCall()
	if err := sc.conn.Load().Call(ctx, req, res, opts...); err != nil {
		return sc, err
	}
	if lists {
		c.storeTools(sc, req, list, changes)
	}
	if set, ok := req.(*mcp.SetLevelRequest); ok {
		level := set.Level
		c.logLevel.Store(&level) // also applies to later sessions
	}
	return sc, nil
}

// recoverFrom tries to solve the problem of a failed request that the server has not begun to
// process. It reports whether the request can be sent again.
func (c *Client) recoverFrom(ctx context.Context, sc *serverConn, req peer.Message, err error) (retry bool, failed error) {
	if isSessionLost(err) {
		return true, c.reconnect(ctx, sc)
	}
	if unsupported, ok := errors.AsType[*mcp.UnsupportedProtocolVersionError](err); ok && !revisions.Handshake(sc.server.revision) {
		return c.changeRevision(ctx, sc, unsupported.Supported)
	}
	if e := peer.AsError(err); e != nil && e.Code == mcp.CodeHeaderMismatch && req.Method() == mcp.MethodCallTool {
		return true, c.refreshTools(ctx)
	}
	return c.mayHaveOtherKind(sc, err) && c.reconnectOtherKind(ctx, sc), nil
}

// changeRevision continues in a revision that the server supports. A handshake revision needs a new
// connection.
func (c *Client) changeRevision(ctx context.Context, sc *serverConn, supported []string) (retry bool, failed error) {
	if r, known := c.newestStateless(supported); known {
		sc.changeRevision(r)
		return true, nil
	}
	if _, ok := newestOf(supported, true); !ok || c.opts.Mode != Auto || c.opts.Revision.Index() >= 0 {
		return false, nil
	}
	return true, c.reconnect(ctx, sc)
}

// resetResult clears a result into which a failed response may have been decoded.
func resetResult(res wire.Value) {
	switch r := res.(type) {
	case *taskOrResult:
		r.task, res = nil, r.result
	case *sessiontasks.ResultOrTask:
		r.Task, res = nil, r.Result
	}
	if v := reflect.ValueOf(res); v.Kind() == reflect.Pointer && !v.IsNil() {
		v.Elem().SetZero()
	}
}
