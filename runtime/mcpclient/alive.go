package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable"
)

// renewal is the making of a live in place of another.
type renewal struct {
	done chan struct{} // closed when err is set
	err  error
}

// sessionLost tells whether a request failed because its server has forgotten
// the session. Nothing came of the request then.
func sessionLost(err error) bool { return errors.Is(err, streamable.ErrSessionLost) }

// renew makes a live in place of an old one, unless another has taken its place
// already. Everybody who asks for it waits for the same one.
func (c *Client) renew(ctx context.Context, old *live) error {
	return c.renewBy(ctx, old, func(r *renewal) { c.replace(old, r) })
}

// renewBy is renew by a way that is to be taken where none is under way.
func (c *Client) renewBy(ctx context.Context, old *live, way func(*renewal)) error {
	r, _, err := c.renewal(old, way)
	if err != nil {
		return err
	}
	return c.await(ctx, r)
}

// await waits for the end of a renewal, nil being one that is over. A call waits
// no longer for it than for its answer.
func (c *Client) await(ctx context.Context, r *renewal) error {
	if r == nil {
		return nil
	}
	if most := c.opts.answerTimeout(); c.opts.Timeout >= 0 {
		late := &peer.TimeoutError{Method: mcp.MethodInitialize, After: most}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, most, late)
		defer cancel()
	}
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// renewal returns the renewal of a live, nil where there is nothing to renew.
// Where none is under way it begins one, by way of start.
func (c *Client) renewal(old *live, start func(*renewal)) (r *renewal, begun bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.state.over:
		return nil, false, &peer.ClosedError{Method: mcp.MethodInitialize, Cause: c.state.err}
	case c.state.live != old:
		return nil, false, nil
	case c.state.busy != nil:
		return c.state.busy, false, nil
	}
	r = &renewal{done: make(chan struct{})}
	c.state.busy = r
	c.tasks.Go(func() { start(r) }) // ends when there is a new live, and with the life
	return r, true, nil
}

// lose notes that the server has ended the session of a live. The next call
// makes another; where somebody waits for what the server has to say, it is made
// at once.
func (c *Client) lose(l *live) {
	c.mu.Lock()
	if c.state.live == l && c.state.busy == nil {
		c.state.stale = true
	}
	c.mu.Unlock()
	if c.hears() {
		c.spawn(func() { c.insist(l) }) // ends when there is a new live, and with the life
	}
}

// insist makes a live in place of one whose session the server has ended. A
// server that has been started anew may not be ready yet, and one that ends each
// session at once is not kept busy.
func (c *Client) insist(old *live) {
	if rest(c.life, c.pause(old)) != nil {
		return
	}
	for delay := leastDelay; ; delay = min(2*delay, mostDelay) {
		err := c.renew(c.life, old)
		if err == nil || rest(c.life, delay) != nil {
			return
		}
		c.opts.Logger.Debug("session not opened anew yet", "server", c.to.name(), "error", err)
	}
}

// pause is how long to wait before a session is opened anew for which nobody has
// called: longer each time, while sessions do not last.
func (c *Client) pause(old *live) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state.pause = longer(c.state.pause, time.Since(old.begun))
	return c.state.pause
}

// hears tells whether anybody waits for what the server says on its own account.
func (c *Client) hears() bool {
	o := &c.opts
	return o.OnToolListChanged != nil || o.OnPromptListChanged != nil || o.OnResourceListChanged != nil ||
		o.OnLog != nil || o.Handlers != nil || len(c.watchers.watched()) > 0
}

// replace makes a live in place of an old one, in one attempt. Calls that the
// old one still carries may end as they do.
func (c *Client) replace(old *live, r *renewal) {
	l, err := c.establish(c.life, old.to, old.about.revision)
	c.install(l, err, r)
	if err == nil {
		old.retire()
	}
}

// install ends a renewal, with a live or an error.
func (c *Client) install(l *live, err error, r *renewal) {
	c.mu.Lock()
	c.state.busy = nil
	over := c.state.over
	if c.state.stale = err != nil; err == nil && !over {
		c.state.live = l
	}
	c.mu.Unlock()
	if err == nil {
		c.cache.clear() // before anybody goes on
		c.tools.changed()
	}
	if r.err = err; over {
		r.err = &peer.ClosedError{Method: mcp.MethodInitialize, Cause: err}
	}
	close(r.done)
	switch {
	case err != nil:
	case over:
		l.close()
	default:
		c.begin(l)
		c.resume(c.life, l, true)
	}
}

// guard waits for the end of a live that nobody wanted, and starts the server
// anew or ends the client. An end of the session it notes, also one from before
// the live was taken into use.
func (c *Client) guard(l *live) {
	select {
	case <-l.lost:
		c.lose(l)
	case <-l.link.Done():
	}
	<-l.link.Done()
	cause := l.reason()
	if c.opts.Restarts == 0 {
		c.mu.Lock()
		wanted := c.state.live == l && c.state.busy == nil
		c.mu.Unlock()
		if wanted {
			c.finish(cause)
		}
		return
	}
	c.renewal(l, func(r *renewal) { c.restart(l, cause, r) })
}

// outlive waits until a server that has ended is started anew. It tells whether
// there is any use in waiting.
func (c *Client) outlive(ctx context.Context, old *live, err error) bool {
	if e, closed := errors.AsType[*peer.ClosedError](err); !closed || !e.Unsent || c.opts.Restarts == 0 {
		return false
	}
	select {
	case <-old.link.Done():
	case <-ctx.Done():
		return false
	}
	return c.renewBy(ctx, old, func(r *renewal) { c.restart(old, old.reason(), r) }) == nil
}

// How long to wait before a server that has ended is started anew: more each
// time.
const leastDelay, mostDelay = 100 * time.Millisecond, 5 * time.Second

// restart makes a live in place of one that has ended, as often as the options
// allow, and ends the client where that leads nowhere.
func (c *Client) restart(old *live, cause error, r *renewal) {
	old.close()
	if time.Since(old.begun) >= longEnough {
		c.forgetRestarts()
	}
	for {
		n := c.countRestart()
		if c.opts.Restarts >= 0 && n > c.opts.Restarts || c.life.Err() != nil {
			c.finish(cause)
			c.install(nil, cause, r)
			return
		}
		c.opts.Logger.Warn("server has ended; starting it anew", "server", c.to.name(), "restart", n, "error", cause)
		if rest(c.life, min(leastDelay<<min(n-1, 16), mostDelay)) != nil {
			continue
		}
		l, err := c.establish(c.life, old.to, old.about.revision)
		if err == nil {
			c.install(l, nil, r)
			return
		}
		cause = fmt.Errorf("restart of %q: %w", c.to.name(), err)
	}
}

// longEnough is how long a server runs that is well.
const longEnough = time.Minute

func (c *Client) forgetRestarts() {
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

// errSilent is why a connection is over whose server gave no sign of life.
var errSilent = errors.New("the server gives no sign of life")

// mostSilence is how many signs of life in a row may be missing.
const mostSilence = 3

// keepAlive looks for signs of life until the link ends, and ends it where there
// are none. Any answer is one, also that of a server that knows no ping.
func (c *Client) keepAlive(l *live) {
	tick := time.NewTicker(c.opts.KeepAlive)
	defer tick.Stop()
	for missed := 0; missed < mostSilence; {
		select {
		case <-l.link.Done():
			return
		case <-c.life.Done():
			return
		case <-tick.C:
		}
		err := l.conn.Load().Ping(c.life, peer.WithTimeout(c.opts.KeepAlive))
		switch {
		case sessionLost(err):
			c.lose(l)
			return
		case err == nil || peer.AsError(err) != nil:
			missed = 0
		default:
			missed++
			c.opts.Logger.Debug("no sign of life", "server", c.to.name(), "missed", missed, "error", err)
		}
	}
	l.giveUp(errSilent)
}
