package main

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// forward forwards requests to the upstream server. It embeds the methods that forward a
// request unchanged.
type forward struct {
	mcp.ServerPeer
	upstream *mcpclient.Client
}

// SubscriptionsListen opens a subscription of the upstream server and forwards its
// notifications with the id of the client's subscription.
func (f forward) SubscriptionsListen(ctx context.Context, req *mcp.SubscriptionsListenRequest) (*mcp.SubscriptionsListenResult, error) {
	if !f.upstream.NoHandshake() {
		return nil, &peer.Error{Code: mcp.CodeMethodNotFound, Message: "The upstream server has no subscriptions"}
	}
	changes, err := f.upstream.Listen(ctx, req.Notifications)
	if err != nil {
		return nil, err
	}
	defer changes.Close()
	id, session := connection.RequestIDFromContext(ctx), mcp.SessionFromContext(ctx)
	ack := &mcp.SubscriptionsAcknowledgedNotification{Notifications: changes.Filter(), Meta: &mcp.NotificationMeta{SubscriptionID: id}}
	if err := session.SendSubscriptionsAcknowledged(ctx, ack); err != nil {
		return nil, err
	}
	for change, err := range changes.All() {
		if err != nil {
			return nil, err
		}
		rename(change, id)
		if err := session.Notify(ctx, change); err != nil {
			return nil, err
		}
	}
	return &mcp.SubscriptionsListenResult{Meta: &mcp.SubscriptionsListenResultMeta{SubscriptionID: id}}, nil
}

// rename sets the subscription id of a notification.
func rename(change peer.Notification, id mcp.RequestID) {
	switch n := change.(type) {
	case *mcp.ToolListChangedNotification:
		n.Meta.SubscriptionID = id
	case *mcp.PromptListChangedNotification:
		n.Meta.SubscriptionID = id
	case *mcp.ResourceListChangedNotification:
		n.Meta.SubscriptionID = id
	case *mcp.ResourceUpdatedNotification:
		n.Meta.SubscriptionID = id
	}
}

// sessions are the sessions of clients of handshake revisions, which are notified of changed lists.
type sessions struct {
	mu   sync.Mutex // guards open
	open map[*connection.Connection]struct{}
}

// add adds a session.
func (s *sessions) add(conn *connection.Connection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = make(map[*connection.Connection]struct{})
	}
	s.open[conn] = struct{}{}
}

// remove removes a session.
func (s *sessions) remove(conn *connection.Connection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, conn)
}

// notify sends a notification to each session.
func (s *sessions) notify(ctx context.Context, n peer.Notification) error {
	s.mu.Lock()
	open := slices.Collect(maps.Keys(s.open))
	s.mu.Unlock()
	var errs []error
	for _, conn := range open {
		errs = append(errs, conn.Notify(ctx, n))
	}
	return errors.Join(errs...)
}

// receive sets the handlers of the upstream client that notify the sessions. For these handlers, the
// client has a subscription if the upstream server is stateless. Its notifications contain an id of the
// subscription, which the sessions do not have, so each session gets a new notification.
func (s *sessions) receive(o *mcpclient.Options) {
	o.OnToolListChanged = func(ctx context.Context, _ *mcp.ToolListChangedNotification) error {
		return s.notify(ctx, &mcp.ToolListChangedNotification{})
	}
	o.OnPromptListChanged = func(ctx context.Context, _ *mcp.PromptListChangedNotification) error {
		return s.notify(ctx, &mcp.PromptListChangedNotification{})
	}
	o.OnResourceListChanged = func(ctx context.Context, _ *mcp.ResourceListChangedNotification) error {
		return s.notify(ctx, &mcp.ResourceListChangedNotification{})
	}
}

// hideChanges removes the capabilities that need subscriptions, which clients of stateless revisions
// have only if the upstream server has them.
func hideChanges(result wire.Value, subscriptions bool) {
	res, ok := result.(*mcp.DiscoverResult)
	if !ok || subscriptions {
		return
	}
	res.Capabilities = withoutListChanged(res.Capabilities)
	if r := res.Capabilities.Resources; r != nil {
		r.Subscribe = false
	}
}

// withoutListChanged returns a copy of the capabilities without listChanged.
func withoutListChanged(caps mcp.ServerCapabilities) mcp.ServerCapabilities {
	if caps.Tools != nil {
		caps.Tools = &mcp.ToolsCapability{Extra: caps.Tools.Extra}
	}
	if caps.Prompts != nil {
		caps.Prompts = &mcp.PromptsCapability{Extra: caps.Prompts.Extra}
	}
	if caps.Resources != nil {
		caps.Resources = &mcp.ResourcesCapability{Subscribe: caps.Resources.Subscribe, Extra: caps.Resources.Extra}
	}
	return caps
}
