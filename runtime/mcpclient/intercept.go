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
	if in.Method == mcp.MethodCancelled {
		return l.cancelled(in)
	}
	n, meta := announcement(in.Method)
	if n == nil || in.Decode(l.frame(in.Method), n) != nil {
		return false // the kernel will tell what is wrong with it
	}
	c.notice(n)
	id := mcp.RequestID{}
	if m := meta(); m != nil {
		id = m.SubscriptionID
	}
	if id.IsZero() {
		if u, ok := n.(*mcp.ResourceUpdatedNotification); ok {
			c.watchers.tell(u)
		}
		return false
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
		s.lose(ErrFellBehind)
	}
	return true
}

// notice makes stale what a notification says has changed.
func (c *Client) notice(n peer.Notification) {
	c.cache.notice(n)
	if n.Method() == mcp.MethodToolListChanged {
		c.tools.setListed(false)
	}
}

// announcement returns an empty notification of a method that subscriptions are
// about, and the way to its metadata once it has been read.
func announcement(method string) (peer.Notification, func() *mcp.NotificationMeta) {
	switch method {
	case mcp.MethodSubscriptionsAcknowledged:
		n := new(mcp.SubscriptionsAcknowledgedNotification)
		return n, func() *mcp.NotificationMeta { return n.Meta }
	case mcp.MethodToolListChanged:
		n := new(mcp.ToolListChangedNotification)
		return n, func() *mcp.NotificationMeta { return n.Meta }
	case mcp.MethodPromptListChanged:
		n := new(mcp.PromptListChangedNotification)
		return n, func() *mcp.NotificationMeta { return n.Meta }
	case mcp.MethodResourceListChanged:
		n := new(mcp.ResourceListChangedNotification)
		return n, func() *mcp.NotificationMeta { return n.Meta }
	case mcp.MethodResourceUpdated:
		n := new(mcp.ResourceUpdatedNotification)
		return n, func() *mcp.NotificationMeta { return n.Meta }
	}
	return nil, nil
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
