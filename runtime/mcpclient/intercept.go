package mcpclient

import (
	"errors"
	"fmt"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
)

// intercept sees each notification when it arrives, before anything that comes
// later: what is kept goes stale at once, and subscriptions get what is theirs.
// It returns true for what is no business of handlers.
func (l *live) intercept(in *peer.Inbound) bool {
	c := l.client
	switch in.Method {
	case mcp.MethodCancelled:
		return l.cancelled(in)
	case mcp.MethodLoggingMessage:
		l.overhear(in)
		return false
	}
	n, id := l.announcement(in)
	if n == nil {
		return false // the kernel will tell if it is wrong
	}
	c.notice(n)
	if id.IsZero() {
		if u, ok := n.(*mcp.ResourceUpdatedNotification); ok {
			c.watchers.tell(u)
		}
		return !c.handles(in.Method)
	}
	s := c.subs.find(id)
	if s == nil {
		return isListenID(id) // it comes late, or belongs to a request of the program's own
	}
	if ack, ok := n.(*mcp.SubscriptionsAcknowledgedNotification); ok {
		s.acknowledge(ack.Notifications)
		return true
	}
	if s.relay {
		return false
	}
	if s.asksFor(n) && !s.events.put(n) {
		s.lose(ErrSlowConsumer)
	}
	return true
}

// handles tells whether anybody looks at messages of a method.
func (c *Client) handles(method string) bool {
	_, handled := c.mux.Route(method)
	_, extended := c.mux.Extension(method)
	return handled || extended || len(c.opts.Middleware) > 0
}

// notice makes stale what a notification says has changed.
func (c *Client) notice(n peer.Notification) {
	c.cache.notice(n)
	if n.Method() == mcp.MethodToolListChanged {
		c.tools.changed()
	}
}

// announcement reads a notification that subscriptions are about, and tells the
// id of the one that it belongs to. It returns nil for all others, and for what
// cannot be read.
func (l *live) announcement(in *peer.Inbound) (peer.Notification, mcp.RequestID) {
	switch in.Method {
	case mcp.MethodSubscriptionsAcknowledged:
		if n := read[mcp.SubscriptionsAcknowledgedNotification](l, in); n != nil {
			return n, subscriptionID(n.Meta)
		}
	case mcp.MethodToolListChanged:
		if n := read[mcp.ToolListChangedNotification](l, in); n != nil {
			return n, subscriptionID(n.Meta)
		}
	case mcp.MethodPromptListChanged:
		if n := read[mcp.PromptListChangedNotification](l, in); n != nil {
			return n, subscriptionID(n.Meta)
		}
	case mcp.MethodResourceListChanged:
		if n := read[mcp.ResourceListChangedNotification](l, in); n != nil {
			return n, subscriptionID(n.Meta)
		}
	case mcp.MethodResourceUpdated:
		if n := read[mcp.ResourceUpdatedNotification](l, in); n != nil {
			return n, subscriptionID(n.Meta)
		}
	}
	return nil, mcp.RequestID{}
}

// read reads a notification, unless it was passed on in process as it is. It
// returns nil for one that cannot be read.
func read[T any, P interface {
	*T
	peer.Notification
}](l *live, in *peer.Inbound) P {
	if n, ok := in.Value.(P); ok {
		return n
	}
	n := P(new(T))
	if in.Decode(l.frame(in.Method), n) != nil {
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

// asksFor tells whether the subscription is about a notification.
func (s *Subscription) asksFor(n peer.Notification) bool {
	switch n.(type) {
	case *mcp.ToolListChangedNotification:
		return s.wish.ToolsListChanged
	case *mcp.PromptListChangedNotification:
		return s.wish.PromptsListChanged
	case *mcp.ResourceListChangedNotification:
		return s.wish.ResourcesListChanged
	case *mcp.ResourceUpdatedNotification:
		return len(s.wish.ResourceSubscriptions) > 0
	}
	return false
}

// errAborted is why a subscription is over that the server has given up.
var errAborted = errors.New("the server has given up the subscription")

// cancelled ends the subscription that a server cancels. Nothing else is the
// server's to cancel but its own requests, which the dispatcher sees to.
func (l *live) cancelled(in *peer.Inbound) bool {
	n := new(mcp.CancelledNotification)
	if in.Decode(l.frame(in.Method), n) != nil {
		return false
	}
	s := l.client.subs.find(n.RequestID)
	if s == nil {
		return false
	}
	err := errAborted
	if n.Reason != "" {
		err = fmt.Errorf("%w: %q", errAborted, n.Reason)
	}
	s.lose(err)
	return true
}
