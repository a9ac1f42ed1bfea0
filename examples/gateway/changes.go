package main

import (
	"context"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// forward is the server upstream, except for what cannot be handed on as it is.
type forward struct {
	mcp.ServerPeer
	upstream *mcpclient.Client
}

// SubscriptionsListen opens a subscription upstream for each one downstream, and
// has what comes bear the id of the latter.
func (f forward) SubscriptionsListen(ctx context.Context, req *mcp.SubscriptionsListenRequest) (*mcp.SubscriptionsListenResult, error) {
	if !f.upstream.NoHandshake() {
		return nil, &peer.Error{Code: mcp.CodeMethodNotFound, Message: "The server upstream has no subscriptions"}
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

// rename gives a notification to another subscription.
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

// quiet says in answer to a handshake that no changes are announced: there they
// would come without a subscription, and nobody here sends them.
func quiet(answer wire.Value) {
	if hello, ok := answer.(*mcp.InitializeResult); ok {
		hello.Capabilities = withoutChanges(hello.Capabilities)
	}
}

func withoutChanges(caps mcp.ServerCapabilities) mcp.ServerCapabilities {
	if caps.Tools != nil {
		caps.Tools = &mcp.ToolsCapability{Extra: caps.Tools.Extra}
	}
	if caps.Prompts != nil {
		caps.Prompts = &mcp.PromptsCapability{Extra: caps.Prompts.Extra}
	}
	if caps.Resources != nil {
		caps.Resources = &mcp.ResourcesCapability{Extra: caps.Resources.Extra}
	}
	return caps
}
