package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/revisions"
	"github.com/mcpwright/mcp/runtime/peer"
	httpclient "github.com/mcpwright/mcp/runtime/streamable/client"
)

// healthyTime is the duration of a connection after which restarts are counted from zero.
const healthyTime = time.Minute

// maxFailedPings is the number of failed pings in a row that end a connection.
const maxFailedPings = 3

var (
	errNoPong   = errors.New("server does not respond to pings")
	errSameKind = errors.New("server supports the same kind of revision as before")
)

// start starts the background goroutines of a connection.
func (c *Client) start(sc *serverConn) {
	c.spawn(func() { c.monitor(sc) }) // ends with the connection
	if c.opts.KeepAlive > 0 && revisions.Handshake(sc.server.revision) {
		c.spawn(func() { c.keepAlive(sc) }) // ends with the connection or the client
	}
}

// monitor waits for the end of a connection and its session. It then closes the client or restarts
// the server.
func (c *Client) monitor(sc *serverConn) {
	select {
	case <-sc.lost:
		c.sessionLost(sc)
	case <-sc.transport.Done():
	}
	<-sc.transport.Done()
	cause := sc.err()
	if c.opts.Restarts == 0 {
		c.mu.Lock()
		inUse := c.state.conn == sc && c.state.reconnecting == nil
		c.mu.Unlock()
		if inUse {
			c.finish(cause)
		}
		return
	}
	c.beginReconnect(sc, func(r *reconnection) { c.restart(sc, cause, r) })
}

// keepAlive sends pings until the connection ends. It ends the connection if the server does not
// respond. Any response counts, including an error.
func (c *Client) keepAlive(sc *serverConn) {
	tick := time.NewTicker(c.opts.KeepAlive)
	defer tick.Stop()
	for failed := 0; failed < maxFailedPings; {
		select {
		case <-sc.transport.Done():
			return
		case <-c.life.Done():
			return
		case <-tick.C:
		}
		err := sc.conn.Load().Ping(c.life, peer.WithTimeout(c.opts.KeepAlive))
		switch {
		case isSessionLost(err):
			c.sessionLost(sc)
			return
		case err == nil || peer.AsError(err) != nil:
			failed = 0
		default:
			failed++
			c.opts.Logger.Debug("ping failed", "server", c.endpoint.name(), "failed", failed, "error", err)
		}
	}
	sc.fail(errNoPong)
}

// usable returns the connection in use. If the last one is unusable it waits for a new one, and
// begins to reconnect if necessary.
func (c *Client) usable(ctx context.Context, method string) (*serverConn, error) {
	c.mu.Lock()
	s := c.state
	c.mu.Unlock()
	switch {
	case s.closed:
		return nil, &peer.ClosedError{Method: method, Cause: s.err, Unsent: true}
	case s.reconnecting == nil && !s.stale:
		return s.conn, nil
	}
	if err := c.reconnect(ctx, s.conn); err != nil {
		return nil, fmt.Errorf("send %q: %w", method, err)
	}
	return c.current(), nil
}

// reconnect replaces a connection, unless it is already replaced. All callers wait for the same
// attempt.
func (c *Client) reconnect(ctx context.Context, old *serverConn) error {
	r, _, err := c.beginReconnect(old, func(r *reconnection) { c.replace(old, r) })
	if err != nil {
		return err
	}
	return c.await(ctx, r)
}

// beginReconnect returns the reconnection that replaces old. If there is none it begins one with
// run, which calls finishReconnect. It returns nil if old is already replaced.
func (c *Client) beginReconnect(old *serverConn, run func(*reconnection)) (r *reconnection, begun bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.state.closed:
		return nil, false, &peer.ClosedError{Method: mcp.MethodInitialize, Cause: c.state.err}
	case c.state.conn != old:
		return nil, false, nil
	case c.state.reconnecting != nil:
		return c.state.reconnecting, false, nil
	}
	r = &reconnection{done: make(chan struct{})}
	c.state.reconnecting = r
	c.tasks.Go(func() { run(r) }) // ends with the reconnection, at the latest with the client
	return r, true, nil
}

// await waits for a reconnection, at most for the timeout of a call. Nil is one that has finished.
func (c *Client) await(ctx context.Context, r *reconnection) error {
	if r == nil {
		return nil
	}
	if timeout := c.opts.responseTimeout(); c.opts.Timeout >= 0 {
		cause := &peer.TimeoutError{Method: mcp.MethodInitialize, After: timeout}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, timeout, cause)
		defer cancel()
	}
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// replace opens a connection in place of old, in one attempt. Active calls on the old one continue.
func (c *Client) replace(old *serverConn, r *reconnection) {
	sc, err := c.open(c.life, old.endpoint, old.server.revision)
	c.finishReconnect(sc, err, r)
	if err == nil {
		c.closeWhenIdle(old)
	}
}

// closeWhenIdle closes a connection when its calls have ended, or when the client is closed.
func (c *Client) closeWhenIdle(sc *serverConn) {
	idle := sc.drain()
	wait := func() {
		select {
		case <-idle:
		case <-c.life.Done():
		}
		sc.close()
	}
	if !c.spawn(wait) { // ends with the calls or the client
		sc.close()
	}
}

// finishReconnect ends a reconnection with a new connection or an error.
func (c *Client) finishReconnect(sc *serverConn, err error, r *reconnection) {
	c.mu.Lock()
	c.state.reconnecting = nil
	closed := c.state.closed
	if c.state.stale = err != nil; err == nil && !closed {
		c.state.conn = sc
	}
	c.mu.Unlock()
	if err == nil {
		c.cache.clear() // before the callers continue
		c.tools.invalidate()
	}
	if r.err = err; closed {
		r.err = &peer.ClosedError{Method: mcp.MethodInitialize, Cause: err}
	}
	close(r.done)
	switch {
	case err != nil:
	case closed:
		sc.close()
	default:
		c.start(sc)
		c.resume(c.life, sc, true)
	}
}

// sessionLost handles the end of a session. The next call reconnects. If the program waits for
// notifications, the client reconnects at once.
func (c *Client) sessionLost(sc *serverConn) {
	c.mu.Lock()
	if c.state.conn == sc && c.state.reconnecting == nil {
		c.state.stale = true
	}
	c.mu.Unlock()
	if c.receivesChanges() {
		c.spawn(func() { c.reconnectInBackground(sc) }) // ends with the reconnection or the client
	}
}

// reconnectInBackground reconnects after a lost session, with backoff: the server may be restarting,
// or may end each session at once.
func (c *Client) reconnectInBackground(old *serverConn) {
	if sleep(c.life, c.nextBackoff(old)) != nil {
		return
	}
	for delay := minDelay; ; delay = min(2*delay, maxDelay) {
		err := c.reconnect(c.life, old)
		if err == nil || sleep(c.life, delay) != nil {
			return
		}
		c.opts.Logger.Debug("reconnect failed, will retry", "server", c.endpoint.name(), "error", err)
	}
}

// nextBackoff returns the delay before a reconnect in the background. It grows while sessions are
// short.
func (c *Client) nextBackoff(old *serverConn) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state.backoff = longerDelay(c.state.backoff, time.Since(old.opened))
	return c.state.backoff
}

// longerDelay returns the next delay before a connection or subscription is opened again. It doubles
// while they last only a short time.
func longerDelay(delay, lasted time.Duration) time.Duration {
	if lasted > maxDelay {
		return minDelay
	}
	return min(max(2*delay, minDelay), maxDelay)
}

// awaitRestart handles an error of a call that was not sent because the connection has ended. It
// waits until the server is restarted, and reports whether the call can be sent again.
func (c *Client) awaitRestart(ctx context.Context, old *serverConn, err error) bool {
	if e, closed := errors.AsType[*peer.ClosedError](err); !closed || !e.Unsent || c.opts.Restarts == 0 {
		return false
	}
	select {
	case <-old.transport.Done():
	case <-ctx.Done():
		return false
	}
	r, _, err := c.beginReconnect(old, func(r *reconnection) { c.restart(old, old.err(), r) })
	return err == nil && c.await(ctx, r) == nil
}

// restart opens a connection in place of one that has ended, as often as the options allow.
// Otherwise it closes the client.
func (c *Client) restart(old *serverConn, cause error, r *reconnection) {
	old.close()
	if time.Since(old.opened) >= healthyTime {
		c.resetRestarts()
	}
	for {
		n := c.countRestart()
		if c.opts.Restarts >= 0 && n > c.opts.Restarts || c.life.Err() != nil {
			c.finish(cause)
			c.finishReconnect(nil, cause, r)
			return
		}
		c.opts.Logger.Warn("connection ended, restarting", "server", c.endpoint.name(), "restart", n, "error", cause)
		if sleep(c.life, min(minDelay<<min(n-1, 16), maxDelay)) != nil {
			continue
		}
		sc, err := c.open(c.life, old.endpoint, old.server.revision)
		if err == nil {
			c.finishReconnect(sc, nil, r)
			return
		}
		cause = fmt.Errorf("restart %q: %w", c.endpoint.name(), err)
	}
}

func (c *Client) resetRestarts() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state.restarts = 0
}

func (c *Client) countRestart() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state.restarts++
	return c.state.restarts
}

// mayHaveOtherKind reports whether a server may have rejected a request because another server runs
// at its URL now, which supports the other kind of revision. The request was not processed then.
func (c *Client) mayHaveOtherKind(sc *serverConn, err error) bool {
	e, ok := errors.AsType[*httpclient.HTTPError](err)
	if _, both := sc.transport.(httpConn); !ok || !both || !c.opts.allows(revisions.Newest(true)) || !c.opts.allows(revisions.Newest(false)) {
		return false
	}
	code := int64(0)
	if in := peer.AsError(e); in != nil {
		code = in.Code
	}
	if revisions.Handshake(sc.server.revision) {
		return isStatelessError(e) || e.Status == http.StatusNotFound ||
			e.Status == http.StatusBadRequest && code == mcp.CodeInvalidParams
	}
	return isUnknownRequest(e) && code != mcp.CodeInvalidParams && code != mcp.CodeMethodNotFound
}

// reconnectOtherKind connects in the other kind of revision, if the server supports it now. It
// reports whether it does.
func (c *Client) reconnectOtherKind(ctx context.Context, old *serverConn) bool {
	sc, err := c.dial(old.endpoint)
	if err == nil {
		sc, err = c.tryOtherKind(ctx, sc, old)
	}
	if err != nil {
		c.opts.Logger.DebugContext(ctx, "server does not support the other kind of revision", "server", c.endpoint.name(), "error", err)
		return false
	}
	r, begun, err := c.beginReconnect(old, func(r *reconnection) {
		c.finishReconnect(sc, nil, r)
		c.closeWhenIdle(old)
	})
	if !begun { // another call has reconnected
		sc.close()
	}
	return err == nil && c.await(ctx, r) == nil
}

// tryOtherKind negotiates a revision of the kind that old does not have. It closes the connection
// if the server does not support it. It tries initialize only if the server is not stateless.
func (c *Client) tryOtherKind(ctx context.Context, sc, old *serverConn) (*serverConn, error) {
	err := c.tryRevision(ctx, sc, revisions.Newest(false))
	if !revisions.Handshake(old.server.revision) {
		if _, wrong := errors.AsType[*wrongKindError](err); wrong {
			if sc, err = c.redialIfEnded(ctx, sc, err); err != nil {
				return nil, err
			}
			err = c.tryRevision(ctx, sc, revisions.Newest(true))
		} else if err == nil {
			err = errSameKind
		}
	}
	if err != nil {
		sc.close()
		return nil, err
	}
	return sc, nil
}
