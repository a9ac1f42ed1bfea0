package connection

import (
	"context"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
)

// Ping asks the peer for a sign of life, in the revisions that have one.
func (c *Connection) Ping(ctx context.Context, opts ...peer.CallOption) error {
	_, err := peer.SendRequest(ctx, c, &mcp.PingRequest{}, opts...)
	return err
}

// Log sends a log message that belongs to no request. Messages below the level
// that the client asked for are dropped, and so are all where logs travel with
// requests only.
func (c *Connection) Log(ctx context.Context, n *mcp.LoggingMessageNotification) error {
	return c.Notify(ctx, n)
}

// SendToolListChanged tells the client that there are other tools now.
func (c *Connection) SendToolListChanged(ctx context.Context) error {
	return c.Notify(ctx, &mcp.ToolListChangedNotification{})
}

// SendPromptListChanged tells the client that there are other prompts now.
func (c *Connection) SendPromptListChanged(ctx context.Context) error {
	return c.Notify(ctx, &mcp.PromptListChangedNotification{})
}

// SendResourceListChanged tells the client that there are other resources now.
func (c *Connection) SendResourceListChanged(ctx context.Context) error {
	return c.Notify(ctx, &mcp.ResourceListChangedNotification{})
}

// SendResourceUpdated tells the client that a resource has changed. Whether it
// wants to know is for the caller to find out: see [State.Subscribed].
func (c *Connection) SendResourceUpdated(ctx context.Context, n *mcp.ResourceUpdatedNotification) error {
	return c.Notify(ctx, n)
}
