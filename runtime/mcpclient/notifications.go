package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
)

var errCancelledByServer = errors.New("server cancelled the subscription")

// interceptNotification processes each notification when it arrives, before later messages: it
// removes results from the cache and passes notifications to subscriptions. It reports whether the
// notification is not for handlers.
func (c *Client) interceptNotification(sc *serverConn, in *peer.Inbound) bool {
	switch in.Method {
	case mcp.MethodCancelled:
		return c.cancelledByServer(sc, in)
	case mcp.MethodLoggingMessage:
		c.logReceived(sc, in)
		return false
	}
	n, id := decodeChange(sc, in)
	if n == nil {
		return false // the dispatcher reports an error if it is invalid
	}
	c.invalidateChanged(n)
	if id.IsZero() {
		if u, ok := n.(*mcp.ResourceUpdatedNotification); ok {
			c.watched.notify(u)
			return !c.handlesUpdates
		}
		return !c.handles(in.Method)
	}
	s := c.subs.find(id)
	if s == nil {
		return isListenID(id) // it is late, or belongs to a request of the program
	}
	if ack, ok := n.(*mcp.SubscriptionsAcknowledgedNotification); ok {
		s.acknowledge(ack.Notifications)
		return true
	}
	if s.forOpts {
		return false
	}
	s.receive(n)
	return true
}

// handles reports whether a handler or middleware receives messages of a method.
func (c *Client) handles(method string) bool {
	_, handled := c.mux.Route(method)
	_, extended := c.mux.Extension(method)
	return handled || extended || len(c.opts.Middleware) > 0
}

// invalidateChanged forgets everything that a notification reports as changed.
func (c *Client) invalidateChanged(n peer.Notification) {
	c.cache.invalidateChanged(n)
	if n.Method() == mcp.MethodToolListChanged {
		c.tools.invalidate()
	}
}

// logReceived passes a log message to the calls that it is about.
func (c *Client) logReceived(sc *serverConn, in *peer.Inbound) {
	calls := c.callLogs.find(in, sc.relatesToCalls())
	if len(calls) == 0 {
		return
	}
	if n := decode[mcp.LoggingMessageNotification](sc, in); n != nil {
		for _, call := range calls {
			call.put(n)
		}
	}
}

// cancelledByServer ends the subscription that the server cancels. It returns false for other
// cancellations, which the dispatcher handles.
func (c *Client) cancelledByServer(sc *serverConn, in *peer.Inbound) bool {
	n := new(mcp.CancelledNotification)
	if in.Decode(sc.frame(in.Method), n) != nil {
		return false
	}
	s := c.subs.find(n.RequestID)
	if s == nil {
		return false
	}
	err := errCancelledByServer
	if n.Reason != "" {
		err = fmt.Errorf("%w: %q", errCancelledByServer, n.Reason)
	}
	s.end(err)
	return true
}

// decodeChange decodes a notification that a subscription may receive, and returns the id of the
// subscription. It returns nil for other and for invalid notifications.
func decodeChange(sc *serverConn, in *peer.Inbound) (peer.Notification, mcp.RequestID) {
	switch in.Method {
	case mcp.MethodSubscriptionsAcknowledged:
		if n := decode[mcp.SubscriptionsAcknowledgedNotification](sc, in); n != nil {
			return n, subscriptionID(n.Meta)
		}
	case mcp.MethodToolListChanged:
		if n := decode[mcp.ToolListChangedNotification](sc, in); n != nil {
			return n, subscriptionID(n.Meta)
		}
	case mcp.MethodPromptListChanged:
		if n := decode[mcp.PromptListChangedNotification](sc, in); n != nil {
			return n, subscriptionID(n.Meta)
		}
	case mcp.MethodResourceListChanged:
		if n := decode[mcp.ResourceListChangedNotification](sc, in); n != nil {
			return n, subscriptionID(n.Meta)
		}
	case mcp.MethodResourceUpdated:
		if n := decode[mcp.ResourceUpdatedNotification](sc, in); n != nil {
			return n, subscriptionID(n.Meta)
		}
	}
	return nil, mcp.RequestID{}
}

// decode decodes a notification, or returns its value if it came in process. It returns nil if the
// notification is invalid.
func decode[T any, P interface {
	*T
	peer.Notification
}](sc *serverConn, in *peer.Inbound) P {
	if n, ok := in.Value.(P); ok {
		return n
	}
	n := P(new(T))
	if in.Decode(sc.frame(in.Method), n) != nil {
		return nil
	}
	return n
}

func subscriptionID(m *mcp.NotificationMeta) (id mcp.RequestID) {
	if m != nil {
		id = m.SubscriptionID
	}
	return id
}

// eventsLost handles a gap in the notifications of a session. A connection that is not in use needs
// nothing: notifications are also assumed lost when the client begins to use another connection.
func (c *Client) eventsLost(sc *serverConn) {
	if sc != c.current() {
		return
	}
	c.spawn(func() { // ends with the handlers
		c.watched.notifyAll()
		c.assumeListsChanged(sc)
	})
}

// assumeListsChanged acts as if all lists of the server had changed.
func (c *Client) assumeListsChanged(sc *serverConn) {
	if f := c.handlersFilter(sc.server.capabilities); f != nil {
		c.assumeChanged(f)
	}
}

// handlersFilter returns the list changes for which the options have handlers and the server sends
// notifications, or nil if there are none.
func (c *Client) handlersFilter(caps *mcp.ServerCapabilities) *mcp.SubscriptionFilter {
	if caps == nil {
		caps = &mcp.ServerCapabilities{}
	}
	f := mcp.SubscriptionFilter{
		ToolsListChanged:     c.opts.OnToolListChanged != nil && caps.Tools != nil && caps.Tools.ListChanged,
		PromptsListChanged:   c.opts.OnPromptListChanged != nil && caps.Prompts != nil && caps.Prompts.ListChanged,
		ResourcesListChanged: c.opts.OnResourceListChanged != nil && caps.Resources != nil && caps.Resources.ListChanged,
	}
	if !f.ToolsListChanged && !f.PromptsListChanged && !f.ResourcesListChanged {
		return nil
	}
	return &f
}

// assumeChanged acts as if the lists of a filter had changed.
func (c *Client) assumeChanged(f *mcp.SubscriptionFilter) {
	if f.ToolsListChanged {
		assumeReceived(c, c.opts.OnToolListChanged, &mcp.ToolListChangedNotification{})
	}
	if f.PromptsListChanged {
		assumeReceived(c, c.opts.OnPromptListChanged, &mcp.PromptListChangedNotification{})
	}
	if f.ResourcesListChanged {
		assumeReceived(c, c.opts.OnResourceListChanged, &mcp.ResourceListChangedNotification{})
	}
}

// assumeReceived acts as if a notification had arrived. It recovers a panic of the handler.
func assumeReceived[N peer.Notification](c *Client, h func(context.Context, N) error, n N) {
	defer func() {
		if p := recover(); p != nil {
			c.opts.Logger.Error("notification handler panicked", "method", n.Method(), "panic", p, "stack", string(debug.Stack()))
		}
	}()
	c.invalidateChanged(n)
	if err := serialize(&c.handling, h)(c.life, n); err != nil {
		c.opts.Logger.Warn("notification handler failed", "method", n.Method(), "error", err)
	}
}

// receivesChanges reports whether the program waits for notifications outside of calls.
func (c *Client) receivesChanges() bool {
	o := &c.opts
	return o.OnToolListChanged != nil || o.OnPromptListChanged != nil || o.OnResourceListChanged != nil ||
		o.OnLog != nil || o.Handlers != nil || len(c.watched.uris()) > 0
}
