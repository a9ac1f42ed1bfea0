package mcpclient

import (
	"context"
	"errors"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/revisions"
	"github.com/mcpwright/mcp/runtime/peer"
	httpclient "github.com/mcpwright/mcp/runtime/streamable/client"
)

// Listen opens a subscription. It returns when the server has agreed to send notifications. The
// subscription ends when ctx ends or when it is closed.
//
// [Client.Watch] is simpler for changes of resources: it supports all revisions and continues after
// a reconnect. [Options] has handlers for changes of lists.
func (c *Client) Listen(ctx context.Context, filter mcp.SubscriptionFilter) (*Subscription, error) {
	return c.listen(ctx, filter, false)
}

// listen opens a subscription. If forOpts is set, the handlers of the options receive its
// notifications.
func (c *Client) listen(ctx context.Context, filter mcp.SubscriptionFilter, forOpts bool) (*Subscription, error) {
	if r := c.Revision(); revisions.Handshake(r) {
		return nil, &connection.UnsupportedError{Method: mcp.MethodSubscriptionsListen, Revision: r}
	}
	s, within := newSubscription(ctx, filter, forOpts)
	c.subs.add(s)
	if !c.spawn(func() { c.requestSubscription(within, s) }) { // ends with ctx, the subscription or the connection
		s.end(nil)
		c.subs.remove(s)
		return nil, &peer.ClosedError{Method: mcp.MethodSubscriptionsListen, Cause: c.Err(), Unsent: true}
	}
	if err := c.awaitAcknowledgement(ctx, s); err != nil {
		return nil, err
	}
	return s, nil
}

// awaitAcknowledgement waits until the server has agreed to a subscription.
func (c *Client) awaitAcknowledgement(ctx context.Context, s *Subscription) error {
	timeout := c.opts.responseTimeout()
	if s.forOpts {
		timeout = c.opts.ProbeTimeout // Connect waits for it
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-s.acked:
	case <-s.done:
		switch err := s.Err(); {
		case s.isAcknowledged():
		case err != nil:
			return err
		default:
			return context.Cause(ctx) // nil if the server has ended the subscription
		}
	case <-timer.C:
		s.Close()
		return &peer.TimeoutError{Method: mcp.MethodSubscriptionsListen, After: timeout}
	}
	return nil
}

// requestSubscription sends the request of a subscription and waits for its end.
func (c *Client) requestSubscription(ctx context.Context, s *Subscription) {
	req := &mcp.SubscriptionsListenRequest{Notifications: s.filter}
	err := c.sendWithRetry(ctx, req, req.NewResult(), []peer.CallOption{peer.WithID(s.id), peer.WithTimeout(-1)})
	if ctx.Err() != nil {
		err = nil // ended by this client; the error is already set
	}
	c.subs.remove(s)
	s.end(err)
	close(s.done)
}

// listenWithRetry opens a subscription. It retries if the connection has ended. A positive delay
// means that there was a subscription before: it then waits first, and retries after any error that
// is not final.
func (c *Client) listenWithRetry(ctx context.Context, f mcp.SubscriptionFilter, forOpts bool, delay time.Duration) (*Subscription, error) {
	for retry := delay > 0; ; delay = min(2*delay, maxDelay) {
		if delay = max(delay, minDelay); retry {
			if err := sleep(ctx, delay); err != nil {
				return nil, err
			}
		}
		s, err := c.listen(ctx, f, forOpts)
		_, ended := errors.AsType[*peer.ClosedError](err)
		retry = retry || ended
		if err == nil || !retry || ctx.Err() != nil || isFinal(err) || isUnsupported(err) || c.isClosed() {
			return s, err
		}
		c.opts.Logger.DebugContext(ctx, "subscription failed, will retry", "server", c.endpoint.name(), "error", err)
	}
}

// isUnsupported reports whether the revision in use does not have a request.
func isUnsupported(err error) bool {
	_, ok := errors.AsType[*connection.UnsupportedError](err)
	return ok
}

// resume informs the server, on a new connection, of the log level and of the notifications that the
// program waits for. If lost is set, notifications before may be missing: the program is notified.
func (c *Client) resume(ctx context.Context, sc *serverConn, lost bool) {
	if revisions.Handshake(sc.server.revision) {
		c.resumeSession(ctx, sc, lost)
		return
	}
	c.watched.end(&connection.UnsupportedError{Method: mcp.MethodSubscribe, Revision: sc.server.revision})
	filter := c.handlersFilter(sc.server.capabilities)
	if filter == nil {
		return
	}
	tried := make(chan struct{})
	if !c.spawn(func() { c.subscribeHandlers(sc, filter, lost, tried) }) { // ends with the connection or the client
		return
	}
	select {
	case <-tried:
	case <-ctx.Done(): // the server may still agree
	}
}

// resumeSession does what resume does, in a handshake revision.
func (c *Client) resumeSession(ctx context.Context, sc *serverConn, lost bool) {
	conn := sc.conn.Load()
	if caps, level := sc.server.capabilities, c.sessionLogLevel(); level != "" && caps != nil && caps.Logging != nil {
		_, err := peer.SendRequest(ctx, conn, &mcp.SetLevelRequest{Level: level})
		c.logRefused(ctx, mcp.MethodSetLevel, err)
	}
	if !lost {
		return
	}
	for _, uri := range c.watched.uris() {
		_, err := peer.SendRequest(ctx, conn, &mcp.SubscribeRequest{URI: uri})
		c.logRefused(ctx, mcp.MethodSubscribe, err)
		if _, closed := errors.AsType[*peer.ClosedError](err); err != nil && !closed && !isSessionLost(err) {
			c.watched.endResource(uri, err) // no other session follows, which would subscribe again
			continue
		}
		c.watched.notify(&mcp.ResourceUpdatedNotification{URI: uri})
	}
	c.assumeListsChanged(sc)
}

// sessionLogLevel returns the log level of a session: of the last SetLevel call, or of the options.
// The empty level is the server's default.
func (c *Client) sessionLogLevel() mcp.LoggingLevel {
	if set := c.logLevel.Load(); set != nil {
		return *set
	}
	if c.opts.OnLog != nil {
		return c.opts.LogLevel
	}
	return ""
}

// subscribeHandlers opens a subscription for the handlers of the options and keeps it open. It closes
// tried after the first attempt.
func (c *Client) subscribeHandlers(sc *serverConn, filter *mcp.SubscriptionFilter, lost bool, tried chan<- struct{}) {
	s, err := c.listen(c.life, *filter, true)
	if err == nil && lost {
		c.assumeChanged(filter)
	}
	close(tried)
	if e, ok := errors.AsType[*httpclient.HTTPError](err); err != nil && !isFinal(err) && !(ok && isUnknownRequest(e)) {
		c.opts.Logger.Debug("subscription for handlers failed, will retry", "server", c.endpoint.name(), "error", err)
		if s, err = c.listenWithRetry(c.life, *filter, true, minDelay); err == nil && !sc.ended() {
			c.assumeChanged(filter)
		}
	}
	switch {
	case err == nil:
		c.keepSubscribed(sc, s, filter)
	case c.life.Err() == nil && !isUnsupported(err): // in a handshake revision, resume is called again
		c.opts.Logger.Warn("subscription for handlers failed", "server", c.endpoint.name(), "error", err)
	}
}

// keepSubscribed opens the subscription for the handlers of the options again whenever it ends, until
// the connection ends.
func (c *Client) keepSubscribed(sc *serverConn, s *Subscription, filter *mcp.SubscriptionFilter) {
	for delay := time.Duration(0); ; {
		if sc.ended() { // s is on the next connection, which has a subscription of its own
			s.Close()
			return
		}
		opened := time.Now()
		<-s.Done()
		if sc.ended() || c.life.Err() != nil {
			return
		}
		var err error
		delay = longerDelay(delay, time.Since(opened))
		if s, err = c.listenWithRetry(c.life, *filter, true, delay); err != nil {
			if c.life.Err() == nil && !isUnsupported(err) { // in a handshake revision, resume is called again
				c.opts.Logger.Warn("subscription for handlers lost", "server", c.endpoint.name(), "error", err)
			}
			return
		}
		if !sc.ended() {
			c.assumeChanged(filter)
		}
	}
}
