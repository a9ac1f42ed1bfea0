package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/limit"
	"github.com/mcpwright/mcp/runtime/internal/request"
	"github.com/mcpwright/mcp/runtime/internal/revisions"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Forward returns the server for a gateway. It has no cache, and input requests are returned to the
// caller as an *[mcp.InputRequiredError]. The server kit passes them to its own client. In a
// gateway, a tool of this server is
//
//	upstream := mcp.ServerPeer{Outbound: mcpserver.Forward(client.Forward())}
//	server.AddRawTool(tool, upstream.CallTool)
//
// [Options].Capabilities must declare the capabilities of the gateway's clients. With
// [Options].Tasks the client waits for tasks, and its own handlers handle the input requests of a
// task.
//
// In a handler of the gateway, progress and log messages are forwarded to its client, if the client
// asked for them. Subscribe and Unsubscribe work in every revision: the upstream server is asked to
// send updates, in the way of its own revision, for as long as the client's connection lasts. Ping
// and SetLevel succeed if the upstream server has no such request.
//
// Subscriptions are rejected, because each notification contains the id of the request that opened
// the subscription. A gateway must open its own with [Client.Listen].
func (c *Client) Forward() mcp.ServerPeer {
	return mcp.ServerPeer{Outbound: &clientOutbound{client: c, forward: true}}
}

// forwardCall sends a request of a gateway's client to the server.
func (c *Client) forwardCall(ctx context.Context, req peer.Message, res wire.Value, opts []peer.CallOption) error {
	from := connection.FromContext(ctx) // nil outside of a handler
	switch m := req.(type) {
	case *mcp.SubscriptionsListenRequest:
		return &peer.Error{Code: mcp.CodeMethodNotFound, Message: "A subscription cannot be forwarded"}
	case *mcp.PingRequest, *mcp.SetLevelRequest:
		if !revisions.Handshake(c.Revision()) {
			return nil
		}
	case *mcp.SubscribeRequest:
		if from != nil {
			return c.watchFor(ctx, from, m.URI)
		}
	case *mcp.UnsubscribeRequest:
		if from != nil {
			watchesOf(from).end(m.URI)
			return nil
		}
	}
	err := c.callWithReports(ctx, req, res, opts)
	if m, ok := req.(*mcp.ReadResourceRequest); ok {
		return notFound(m.URI, err)
	}
	return err
}

// notFound returns the error of reading a resource with the code for resources that do not exist,
// which depends on the revision, if that is what the error means.
func notFound(uri string, err error) error {
	e, ok := errors.AsType[*peer.Error](err)
	if !ok || e.Code != mcp.CodeInvalidParams {
		return err
	}
	var data struct{ URI string }
	if json.Unmarshal(e.Data, &data) != nil || data.URI != uri {
		return err
	}
	return &peer.Error{Code: revisions.CodeResourceNotFound, Message: e.Message, Data: e.Data}
}

// callWithReports sends a request, and forwards the progress and the log messages of the call to the
// client of the gateway.
func (c *Client) callWithReports(ctx context.Context, req peer.Message, res wire.Value, opts []peer.CallOption) error {
	opts = append(opts[:len(opts):len(opts)], keepFalse)
	session := mcp.SessionFromContext(ctx)
	if session == nil { // no handler, or the handler of a client
		return c.callWithTask(ctx, req, res, opts)
	}
	if request.WantsProgress(ctx) && callOptions(opts).OnProgress == nil {
		opts = append(opts[:len(opts):len(opts)], peer.OnProgress(func(p peer.Progress) {
			_ = session.ReportProgress(ctx, p) // it fails only if the handler has returned
		}))
	}
	level := c.forwardedLogs(ctx)
	if level == "" || callOptions(opts).OnLog != nil {
		return c.callWithTask(ctx, req, res, opts)
	}
	logs := OnLog(level, func(n *mcp.LoggingMessageNotification) { _ = session.SendLogMessage(ctx, n) })
	opts = append(opts[:len(opts):len(opts)], logs)
	return c.callLogs.collect(ctx, callOptions(opts).OnLog, c.opts.Logger, func(ctx context.Context) error {
		return c.callWithTask(ctx, req, res, opts)
	})
}

// keepFalse makes the decoder keep each explicit false of the server, so that the client of the gateway
// receives it.
func keepFalse(o *peer.CallOptions) {
	f := new(wire.Frame)
	if o.Frame != nil {
		*f = *o.Frame
	}
	f.KeepFalse = true
	o.Frame = f
}

// forwardedLogs returns the level of the log messages that a client of a gateway gets, or the empty
// level if it gets none.
func (c *Client) forwardedLogs(ctx context.Context) mcp.LoggingLevel {
	caps := c.ServerCapabilities()
	handled, ok := ctx.Value(request.Key{}).(interface{ LogLevel() mcp.LoggingLevel })
	if caps == nil || caps.Logging == nil || !ok {
		return ""
	}
	return handled.LogLevel()
}

// clientWatches are the resources that are watched for one client of a gateway.
type clientWatches struct {
	mu     sync.Mutex
	closed bool
	cancel map[string]context.CancelFunc
}

var watchesKey = connection.NewKey[*clientWatches]("resources watched for a client")

// watchesOf returns the watched resources of a client. They end with its connection.
func watchesOf(from *connection.Connection) *clientWatches {
	first := false
	w := watchesKey.Update(from.State(), func(w *clientWatches) *clientWatches {
		if first = w == nil; first {
			w = &clientWatches{cancel: make(map[string]context.CancelFunc)}
		}
		return w
	})
	if first {
		from.OnClose(func(context.Context) error { w.close(); return nil })
	}
	return w
}

// begin replaces the watch of a resource. It returns false if the connection is closed.
func (w *clientWatches) begin(uri string, cancel context.CancelFunc) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if before := w.cancel[uri]; before != nil {
		before()
	}
	w.cancel[uri] = cancel
	return !w.closed
}

func (w *clientWatches) end(uri string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if cancel := w.cancel[uri]; cancel != nil {
		cancel()
		delete(w.cancel, uri)
	}
}

func (w *clientWatches) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	for _, cancel := range w.cancel {
		cancel()
	}
}

// watchFor watches a resource for a client of a gateway. It returns when the server has agreed.
func (c *Client) watchFor(ctx context.Context, from *connection.Connection, uri string) error {
	if !from.HasStandaloneChannel() {
		return &peer.Error{Code: mcp.CodeMethodNotFound, Message: "Notifications cannot be sent on this connection"}
	}
	session := mcp.SessionFromContext(ctx).With(peer.Standalone())
	life, cancel := context.WithCancel(context.Background())
	if !watchesOf(from).begin(uri, cancel) {
		cancel()
		return &peer.ClosedError{Method: mcp.MethodSubscribe}
	}
	result := make(chan error, 1)
	report := func(err error) {
		select {
		case result <- err:
		default: // reported before
		}
	}
	watch := &watching{uris: []string{uri}, opened: func() { report(nil) }, yield: func(changed string, _ error) bool {
		_ = session.SendResourceUpdated(life, &mcp.ResourceUpdatedNotification{URI: changed}) // fails with the connection
		return true
	}}
	if !c.spawn(func() { // ends with the connection of the gateway's client, or with this client
		defer cancel()
		defer context.AfterFunc(c.life, cancel)()
		err := c.watch(life, watch)
		if err == nil {
			err = context.Cause(life)
		}
		report(err)
		c.opts.Logger.Debug("resource is not watched any more", "uri", uri, "error", err)
	}) {
		cancel()
		return &peer.ClosedError{Method: mcp.MethodSubscribe, Cause: c.Err(), Unsent: true}
	}
	select {
	case err := <-result:
		if e := peer.AsError(err); errors.Is(err, errNotAccepted) || e != nil && e.Code == mcp.CodeInvalidParams {
			data := append(wire.AppendString([]byte(`{"uri":`), limit.URI(uri)), '}')
			return &peer.Error{Code: revisions.CodeResourceNotFound, Message: "Resource not found", Data: data}
		}
		return err
	case <-ctx.Done():
		watchesOf(from).end(uri)
		return context.Cause(ctx)
	}
}
