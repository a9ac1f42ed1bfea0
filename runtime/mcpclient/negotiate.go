package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/capabilities"
	"github.com/mcpwright/mcp/runtime/internal/revisions"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	httpclient "github.com/mcpwright/mcp/runtime/streamable/client"
	"github.com/mcpwright/mcp/runtime/tasks"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Delays before a retry: twice as long each time.
const minDelay, maxDelay = 100 * time.Millisecond, 5 * time.Second

const (
	// maxInitializedDelay limits the delays before a retry of notifications/initialized.
	maxInitializedDelay = 2 * time.Second
	// listeningTimeout limits the wait for a response to the request for the session's stream. Some
	// servers respond only when they send the first message.
	listeningTimeout = time.Second
)

// open dials an endpoint and negotiates the revision. Last is the revision that the server used
// before, or zero.
func (c *Client) open(ctx context.Context, to Endpoint, last wire.Revision) (*serverConn, error) {
	sc, err := c.dial(to)
	if err != nil {
		return nil, err
	}
	if sc, err = c.negotiate(ctx, sc, last); err == nil {
		return sc, nil
	}
	f, ok := to.(interface{ fallback(error) (Endpoint, error) })
	if !ok || !c.opts.allows(revisions.Newest(true)) {
		return nil, err
	}
	other, err := f.fallback(err)
	if other == nil {
		return nil, err
	}
	sc, otherErr := c.open(ctx, other, revisions.Newest(true))
	if otherErr != nil {
		return nil, fmt.Errorf("%w; tried HTTP+SSE: %w", err, otherErr)
	}
	return sc, nil
}

// dial opens a connection to an endpoint.
func (c *Client) dial(to Endpoint) (*serverConn, error) {
	sc := &serverConn{
		opts: &c.opts, dispatcher: c.dispatcher, endpoint: to, opened: time.Now(),
		lost: make(chan struct{}), idle: make(chan struct{}),
	}
	lost := sync.OnceFunc(func() { close(sc.lost) })
	var err error
	sc.transport, err = to.dial(c.values, &dialOptions{
		toolHeaders:   c.tools.headers,
		onSessionLost: func(error) { lost() },
		onEventsLost:  func() { c.eventsLost(sc) },
		jsonrpc: jsonrpc.Options{
			Handler:                sc,
			Frame:                  sc.frame,
			Logger:                 c.opts.Logger,
			Timeout:                c.opts.Timeout,
			MaxTimeout:             c.opts.MaxTimeout,
			MaxMessage:             c.opts.MaxMessage,
			MaxInFlight:            c.opts.MaxInFlight,
			MaxQueuedNotifications: c.opts.MaxQueuedNotifications,
			Client:                 true,
			Batches:                sc.batches,
			InterceptNotification:  func(in *peer.Inbound) bool { return c.interceptNotification(sc, in) },
			OnError: func(err error) {
				c.opts.Logger.Warn("connection error", "server", to.name(), "error", err)
			},
		},
	})
	return sc, err
}

// negotiate finds a common revision. If the server does not support the kind of revision that was
// tried first, it tries the other kind. If that fails too and the first attempt had timed out, it
// tries the first kind once more.
func (c *Client) negotiate(ctx context.Context, sc *serverConn, last wire.Revision) (_ *serverConn, err error) {
	r, only := c.opts.firstRevision(last)
	for before := (*wrongKindError)(nil); ; {
		if err = c.tryRevision(ctx, sc, r); err == nil {
			return sc, nil
		}
		wrong, isWrong := errors.AsType[*wrongKindError](err)
		if !isWrong || only || before != nil && !isTimeout(before.cause) {
			sc.closeWithin(ctx)
			return nil, &negotiationError{before, err}
		}
		only = before != nil
		before, r = wrong, revisions.Newest(!revisions.Handshake(r))
		if sc, err = c.redialIfEnded(ctx, sc, err); err != nil {
			return nil, &negotiationError{before, err}
		}
	}
}

// redialIfEnded returns the connection, or a new one if it has ended: some servers exit when they
// receive an unknown request.
func (c *Client) redialIfEnded(ctx context.Context, sc *serverConn, err error) (*serverConn, error) {
	if _, closed := errors.AsType[*peer.ClosedError](err); !closed && !sc.ended() {
		return sc, nil
	}
	sc.closeWithin(ctx)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return c.dial(sc.endpoint)
}

// tryRevision negotiates r or another revision of the same kind.
func (c *Client) tryRevision(ctx context.Context, sc *serverConn, r wire.Revision) error {
	if revisions.Handshake(r) {
		return c.initialize(ctx, sc, r)
	}
	return c.discover(ctx, sc, r, true)
}

// initialize opens a session.
func (c *Client) initialize(ctx context.Context, sc *serverConn, r wire.Revision) error {
	conn := sc.useRevision(r)
	caps := c.opts.Capabilities
	caps.Extensions = maps.Clone(caps.Extensions)
	delete(caps.Extensions, tasks.Name) // sessions have the tasks of the protocol
	if own := c.opts.ownTasks(); own != nil && r == mcp.Revision20251125 {
		caps.Tasks = own
	}
	if err := capabilities.EncodeExtensions(caps.Extensions, &caps.Extra); err != nil {
		return err
	}
	req := &initializeRequest{mcp.InitializeRequest{
		ProtocolVersion: r.String(), Capabilities: caps, ClientInfo: c.opts.Info,
	}}
	raw, err := peer.SendRequest(ctx, conn, req)
	if err != nil {
		return initializeError(r, err)
	}
	res, selected, err := decodeInitializeResult(raw, r)
	if err != nil {
		return err
	}
	if !revisions.Handshake(selected) || !c.opts.allows(selected) {
		return selectedError(r, res.ProtocolVersion)
	}
	conn.SetRevision(selected)
	if s, ok := sc.transport.(revisionSetter); ok {
		s.SetRevision(selected)
	}
	sc.setServer(serverDescription{selected, &res.ServerInfo, &res.Capabilities, res.Instructions})
	if err := c.sendInitialized(ctx, sc, conn); err != nil {
		return err
	}
	awaitListening(ctx, sc)
	return nil
}

// sendInitialized sends notifications/initialized. It retries if the transport reports that the
// server did not accept it, because many servers reject all requests before. If the server does not
// know the notification, it continues: a lost session is replaced later.
func (c *Client) sendInitialized(ctx context.Context, sc *serverConn, conn *connection.Connection) error {
	n := &mcp.InitializedNotification{}
	transport, reports := sc.transport.(initializedReporter)
	for delay := minDelay; ; delay *= 2 {
		if err := conn.Notify(ctx, n); err != nil || !reports {
			return err
		}
		err := transport.InitializedErr()
		if err == nil {
			return nil
		}
		if e, ok := errors.AsType[*httpclient.HTTPError](err); ok && isUnknownRequest(e) {
			c.logRefused(ctx, n.Method(), err)
			return nil
		}
		if delay > maxInitializedDelay || sleep(ctx, delay) != nil {
			return fmt.Errorf("send %q: %w", n.Method(), err)
		}
	}
}

// awaitListening waits until the server can send messages outside of responses. Some servers send
// the input requests of a call there; they would be lost if the call came first.
func awaitListening(ctx context.Context, sc *serverConn) {
	l, ok := sc.transport.(listener)
	if !ok {
		return
	}
	timer := time.NewTimer(listeningTimeout)
	defer timer.Stop()
	select {
	case <-l.Listening():
	case <-timer.C:
	case <-ctx.Done():
	}
}

// discover requests the server's revisions with server/discover, in the revision r. If the server
// requires another stateless revision and retry is set, it retries once in that revision.
func (c *Client) discover(ctx context.Context, sc *serverConn, r wire.Revision, retry bool) error {
	conn := sc.useRevision(r)
	raw, err := peer.SendRequest(ctx, conn, &discoverRequest{},
		peer.WithTimeout(c.opts.ProbeTimeout), peer.WithoutCancelNotification())
	if err != nil {
		return c.discoverError(ctx, sc, r, retry, err)
	}
	res, err := decodeDiscoverResult(raw, r)
	if err != nil {
		return &wrongKindError{r, fmt.Errorf("response to %q: %w", mcp.MethodDiscover, err)}
	}
	best, known := c.newestStateless(res.SupportedVersions)
	switch {
	case !known:
		return unsupportedError(r, res.SupportedVersions, fmt.Errorf("server supports %q", res.SupportedVersions))
	case best != r:
		sc.useRevision(best)
	}
	d := serverDescription{revision: best, capabilities: &res.Capabilities, instructions: res.Instructions}
	if res.Meta != nil {
		d.info = res.Meta.ServerInfo
	}
	sc.setServer(d)
	return nil
}

// discoverError interprets an error of server/discover.
func (c *Client) discoverError(ctx context.Context, sc *serverConn, r wire.Revision, retry bool, err error) error {
	if unsupported, ok := errors.AsType[*mcp.UnsupportedProtocolVersionError](err); ok {
		best, known := c.newestStateless(unsupported.Supported)
		if known && retry {
			return c.discover(ctx, sc, best, false)
		}
		return unsupportedError(r, unsupported.Supported, err)
	}
	if ctx.Err() == nil && mayBeHandshakeServer(err) {
		return &wrongKindError{r, err}
	}
	return err
}

// newestStateless returns the newest stateless revision of a list that the options allow.
func (c *Client) newestStateless(names []string) (wire.Revision, bool) {
	if r := c.opts.Revision; r.Index() >= 0 {
		return r, slices.Contains(names, r.String())
	}
	return newestOf(names, false)
}

// sleep waits for d. It returns the cause if ctx ends before.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
