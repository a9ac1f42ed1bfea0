package client

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/mcpwright/mcp/runtime/jsonrpc"
)

// sendAgain sends a message, and sends it again as long as mayRepeat permits that for the error, at
// most Backoff.MaxAttempts times. It returns the last error. It gives up when ctx or the context of
// the caller ends, when the client is closed, or if the next attempt would be after the deadline of
// the caller.
func (c *core) sendAgain(ctx, caller context.Context, mayRepeat func(error) bool, send func() error) error {
	b := &c.opts.Backoff
	for attempt := 0; ; attempt++ {
		err := send()
		if err == nil || attempt >= b.MaxAttempts || !mayRepeat(err) {
			return err
		}
		after := retryAfter(err)
		delay := b.delay(attempt, after)
		if after > b.MaxDelay || isAfterDeadline(caller, delay) {
			return err
		}
		c.opts.JSONRPC.Logger.Debug("sending a message again after a failure", "delay", delay, "error", err)
		if !c.sleep(ctx, caller, delay) {
			return err
		}
	}
}

// sleep waits. It returns false if a context ends or the client is closed before.
func (c *core) sleep(ctx, caller context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-caller.Done():
	case <-c.conn.Done():
	}
	return false
}

// isAfterDeadline reports whether a context ends within a delay.
func isAfterDeadline(ctx context.Context, delay time.Duration) bool {
	end, ok := ctx.Deadline()
	return ok && time.Until(end) <= delay
}

// isRefusal reports whether the server, or a proxy, has refused a message before it was handled,
// and has stated when the message can be sent again.
func isRefusal(err error) bool {
	e, ok := errors.AsType[*HTTPError](err)
	return ok && (e.Status == http.StatusTooManyRequests || e.Status == http.StatusServiceUnavailable) && e.Header.Get("Retry-After") != ""
}

// isTemporary reports whether a message that may arrive twice can be sent again after an error: the
// server could not be reached, or it may accept the message later.
func isTemporary(err error) bool {
	if e, ok := errors.AsType[*HTTPError](err); ok {
		return e.temporary()
	}
	return !errors.Is(err, jsonrpc.ErrNotWritten)
}

// retryAfter returns the delay that the header Retry-After of an HTTP error states, in seconds or
// as a date, or 0.
func retryAfter(err error) time.Duration {
	e, ok := errors.AsType[*HTTPError](err)
	if !ok {
		return 0
	}
	text := e.Header.Get("Retry-After")
	if seconds, err := strconv.Atoi(text); err == nil {
		return time.Duration(min(max(seconds, 0), maxRetryAfter)) * time.Second
	}
	if date, err := http.ParseTime(text); err == nil {
		return max(time.Until(date), 0)
	}
	return 0
}

// maxRetryAfter is a number of seconds that is longer than any useful delay.
const maxRetryAfter = 1 << 30

// delay returns a delay before the next attempt, which follows a number of failed attempts to do
// it. Atleast is a delay that the server asked for, or 0. Delays after the first are random, so
// that not all clients reconnect to a restarted server at the same time.
func (b *Backoff) delay(failures int, atLeast time.Duration) time.Duration {
	d := atLeast
	if d == 0 {
		d = b.InitialDelay
	}
	if failures == 0 {
		return d
	}
	for range min(failures, 16) {
		d = min(2*d, max(b.MaxDelay, atLeast))
	}
	return d + rand.N(d/4+1)
}
