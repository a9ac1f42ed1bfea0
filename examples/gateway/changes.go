package main

import (
	"context"

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

// hideChanges removes the capabilities that the gateway cannot forward. In handshake revisions,
// notifications of changed lists need no request, and the gateway does not send them. Other
// clients need subscriptions, which the gateway has only if the upstream server has them.
func hideChanges(result wire.Value, subscriptions bool) {
	switch res := result.(type) {
	case *mcp.InitializeResult:
		res.Capabilities = withoutListChanged(res.Capabilities)
	case *mcp.DiscoverResult:
		if !subscriptions {
			res.Capabilities = withoutListChanged(res.Capabilities)
			if r := res.Capabilities.Resources; r != nil {
				r.Subscribe = false
			}
		}
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
