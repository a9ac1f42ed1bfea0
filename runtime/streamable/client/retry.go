package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/mcpwright/mcp/runtime/internal/limit"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Backoff defines when a client tries again, in these cases:
//
//   - The stream of a handshake session broke. It is resumed.
//   - A server refused a message with status 429 or 503 and the header Retry-After. The
//     message is sent again after that time, and later after each further refusal. A call
//     fails at once if the time is longer than MaxDelay, or ends after the timeout or the
//     deadline of the call.
//   - A response to a request of the server was not accepted: the server could not be
//     reached, or its status says that it may accept the response later. Responses have
//     the id of their request, so a server recognizes one that it receives twice.
//
// If the server asks clients of a stream to wait, no delay is shorter than that.
type Backoff struct {
	// InitialDelay is the delay before the first attempt. It doubles after each failed
	// attempt. Default 1 s.
	InitialDelay time.Duration
	// MaxDelay limits the delay. Default 30 s.
	MaxDelay time.Duration
	// MaxAttempts is the number of consecutive failed attempts after which a call
	// fails or a response is dropped. The standalone stream has no such limit. Default
	// 5; a negative value means no limit.
	MaxAttempts int
}

const (
	defaultInitialDelay = time.Second
	defaultMaxDelay     = 30 * time.Second
	defaultMaxAttempts  = 5
)

// complete returns a copy of b with defaults.
func (b Backoff) complete() Backoff {
	if b.InitialDelay <= 0 {
		b.InitialDelay = defaultInitialDelay
	}
	if b.MaxDelay <= 0 {
		b.MaxDelay = defaultMaxDelay
	}
	b.MaxAttempts = limit.Count(b.MaxAttempts, defaultMaxAttempts)
	return b
}

// delay returns the delay after a number of consecutive failures. The server asked for a
// delay of at least asked; 0 means that it did not. Delays after a failure are random, so
// that not all clients reconnect to a restarted server at the same time.
func (b *Backoff) delay(failures int, asked time.Duration) time.Duration {
	d := cmp.Or(asked, b.InitialDelay)
	if failures == 0 {
		return d
	}
	for range min(failures, 16) {
		d = min(2*d, max(b.MaxDelay, asked))
	}
	return d + rand.N(d/4+1)
}

// minRetry is the minimum delay that a server can ask for. It prevents a busy loop with
// a server that closes its streams or refuses requests immediately.
const minRetry = 100 * time.Millisecond

// retryAfter returns how long the server asked to wait if it refused a message before it
// handled it, or 0 for other errors.
func retryAfter(err error) time.Duration {
	e, ok := errors.AsType[*HTTPError](err)
	if !ok || e.Status != http.StatusTooManyRequests && e.Status != http.StatusServiceUnavailable {
		return 0
	}
	text := e.Header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 32); err == nil {
		return max(time.Duration(seconds)*time.Second, minRetry)
	}
	date, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(e.Header.Get("Date")) // the clocks may differ
	if err != nil {
		now = time.Now()
	}
	return max(date.Sub(now), minRetry)
}

// retryRule returns the delay after which a message that failed for the given number of
// times is sent again. It reports false if the message is not sent again.
type retryRule func(b *Backoff, err error, failures int) (delay time.Duration, again bool)

// ifRefused is the rule for requests and notifications: the server must have refused the
// message before it handled it.
func ifRefused(b *Backoff, err error, failures int) (time.Duration, bool) {
	asked := retryAfter(err)
	delay := b.delay(failures, asked)
	if failures == 0 {
		delay += rand.N(delay/4 + 1) // a server may refuse many clients at the same time
	}
	return delay, asked > 0 && asked <= b.MaxDelay && failures < b.MaxAttempts
}

// ifNotAccepted is the rule for responses to requests of the server.
func ifNotAccepted(b *Backoff, err error, failures int) (time.Duration, bool) {
	again := !errors.Is(err, errResponded) // such as a failed login, which may have asked a person
	if e, ok := errors.AsType[*HTTPError](err); ok {
		again = e.Temporary()
	}
	return b.delay(failures, min(retryAfter(err), b.MaxDelay)), again && failures < b.MaxAttempts
}

// errResponded is in the chain of errors of a message that the server began to respond to.
var errResponded = errors.New("the server has responded")

// retry calls send after a first attempt that ended with err, until it succeeds, the rule
// ends it, or the next attempt would be after the deadline. A zero deadline is none. It
// also ends with ctx and with the connection. The result is the last error.
func (c *core) retry(ctx context.Context, deadline time.Time, rule retryRule, err error, send func() error) error {
	for failures := 0; err != nil; failures++ {
		delay, again := rule(&c.opts.Backoff, err, failures)
		if !again || !deadline.IsZero() && time.Until(deadline) < delay {
			return err
		}
		c.opts.JSONRPC.Logger.DebugContext(ctx, "message not accepted, will retry", "delay", delay, "error", err)
		timer := time.NewTimer(delay)
		select {
		case <-timer.C:
			err = send()
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("%w, after: %w", context.Cause(ctx), err)
		case <-c.conn.Done():
			timer.Stop()
			return fmt.Errorf("%w, after: %w", jsonrpc.ErrClosed, err)
		}
	}
	return err
}

// retryDeadline returns when the caller of a request stops waiting, or zero for never.
func retryDeadline(ctx context.Context, timeout time.Duration) time.Time {
	deadline, _ := ctx.Deadline()
	if t := time.Now().Add(timeout); timeout > 0 && (deadline.IsZero() || t.Before(deadline)) {
		return t
	}
	return deadline
}

// post sends a message whose HTTP response has no content. If the server refuses the
// message, post sends it again before the timeout and before ctx ends.
func (c *core) post(ctx context.Context, req *http.Request, timeout time.Duration) error {
	deadline := retryDeadline(ctx, timeout)
	err := c.http.send(req, c.ctx, timeout)
	return c.retry(ctx, deadline, ifRefused, err, func() error { return c.http.send(again(req), c.ctx, timeout) })
}

// postResponse sends a response to a request of the server, until the server accepts it.
func (c *core) postResponse(req *http.Request) error {
	var responded atomic.Bool
	req = req.WithContext(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
		GotFirstResponseByte: func() { responded.Store(true) },
	}))
	send := func() error {
		responded.Store(false)
		err := c.http.send(again(req), c.ctx, c.opts.acceptTimeout())
		if _, refused := errors.AsType[*HTTPError](err); err == nil || refused || !responded.Load() {
			return err
		}
		return fmt.Errorf("%w, but: %w", errResponded, err)
	}
	return c.retry(req.Context(), time.Time{}, ifNotAccepted, send(), send)
}

// responseSent reports the error of sending a response, because no caller sees it.
func (c *core) responseSent(id wire.RequestID, err error) error {
	if err != nil && !errors.Is(err, jsonrpc.ErrClosed) {
		c.opts.reportError(fmt.Errorf("response to request id %v lost: %w", id, err))
	}
	return err
}

// again returns a copy of a request with the body from its beginning.
func again(req *http.Request) *http.Request {
	req = req.Clone(req.Context())
	if req.GetBody != nil {
		req.Body, _ = req.GetBody() // never fails for our requests
	}
	return req
}
