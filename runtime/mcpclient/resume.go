package mcpclient

import (
	"context"
	"errors"
	"runtime/debug"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable"
)

// resume tells the server over a new live what it has to know of this client:
// which logs and which changes are wanted. After a gap, whoever waits for
// changes is told that there may have been some.
func (c *Client) resume(ctx context.Context, l *live, gap bool) {
	if handshake(l.about.revision) {
		c.resumeSession(ctx, l, gap)
		return
	}
	c.watchers.end(&connection.UnsupportedError{Method: mcp.MethodSubscribe, Revision: l.about.revision})
	filter := c.changesWanted(l.about.capabilities)
	if filter == nil {
		return
	}
	opened := make(chan struct{})
	if !c.spawn(func() { c.hearChanges(l, filter, gap, opened) }) { // ends with the link or the life
		return
	}
	select {
	case <-opened:
	case <-ctx.Done(): // the server may still agree
	}
}

// hearChanges opens a subscription for the handlers of the options and keeps it
// open, from a server that is busy as soon as it can be had. It closes opened when
// the server has agreed, or has not yet.
func (c *Client) hearChanges(l *live, filter *mcp.SubscriptionFilter, gap bool, opened chan<- struct{}) {
	s, err := c.listen(c.life, *filter, true)
	if err == nil && gap {
		c.suspectChanges(filter)
	}
	close(opened)
	if e, ok := errors.AsType[*streamable.HTTPError](err); err != nil && !refuses(err) && !(ok && unknownStatus(e)) {
		c.opts.Logger.Debug("server does not tell of changes yet", "server", c.to.name(), "error", err)
		if s, err = c.listenAgain(c.life, *filter, true, leastDelay); err == nil && !l.over() {
			c.suspectChanges(filter)
		}
	}
	switch {
	case err == nil:
		c.follow(l, s, filter)
	case c.life.Err() == nil && !turned(err): // a server of the other era is listened to in another way
		c.opts.Logger.Warn("server does not tell of changes", "server", c.to.name(), "error", err)
	}
}

// changesWanted is what the handlers of the options want to hear of and the
// server can tell, nil for nothing.
func (c *Client) changesWanted(caps *mcp.ServerCapabilities) *mcp.SubscriptionFilter {
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

// follow keeps a subscription for the handlers of the options open until the
// link ends.
func (c *Client) follow(l *live, s *Subscription, filter *mcp.SubscriptionFilter) {
	for delay := time.Duration(0); ; {
		if l.over() { // this one is over the next link, for which there is another
			s.Close()
			return
		}
		begun := time.Now()
		<-s.Done()
		if l.over() || c.life.Err() != nil {
			return
		}
		var err error
		delay = longer(delay, time.Since(begun))
		if s, err = c.listenAgain(c.life, *filter, true, delay); err != nil {
			if c.life.Err() == nil && !turned(err) { // a server of the other era is listened to in another way
				c.opts.Logger.Warn("server tells of changes no more", "server", c.to.name(), "error", err)
			}
			return
		}
		if !l.over() {
			c.suspectChanges(filter)
		}
	}
}

// suspectChanges acts as if all lists had changed that [Client.changesWanted] found
// handlers for.
func (c *Client) suspectChanges(f *mcp.SubscriptionFilter) {
	if f.ToolsListChanged {
		suspect(c, c.opts.OnToolListChanged, &mcp.ToolListChangedNotification{})
	}
	if f.PromptsListChanged {
		suspect(c, c.opts.OnPromptListChanged, &mcp.PromptListChangedNotification{})
	}
	if f.ResourcesListChanged {
		suspect(c, c.opts.OnResourceListChanged, &mcp.ResourceListChangedNotification{})
	}
}

// suspect acts as if a notification had come. As then, a handler that panics ends
// nothing.
func suspect[N peer.Notification](c *Client, h func(context.Context, N) error, n N) {
	defer func() {
		if p := recover(); p != nil {
			c.opts.Logger.Error("notification handler panicked", "method", n.Method(), "panic", p, "stack", string(debug.Stack()))
		}
	}()
	c.notice(n)
	if err := serial(&c.notes, h)(c.life, n); err != nil {
		c.opts.Logger.Warn("notification handler failed", "method", n.Method(), "error", err)
	}
}

// resumeSession is resume for a session.
func (c *Client) resumeSession(ctx context.Context, l *live, gap bool) {
	conn := l.conn.Load()
	if caps, level := l.about.capabilities, c.logLevel(); level != "" && caps != nil && caps.Logging != nil {
		_, err := peer.SendRequest(ctx, conn, &mcp.SetLevelRequest{Level: level})
		c.grumble(ctx, mcp.MethodSetLevel, err)
	}
	if !gap {
		return
	}
	for _, uri := range c.watchers.watched() {
		_, err := peer.SendRequest(ctx, conn, &mcp.SubscribeRequest{URI: uri})
		c.grumble(ctx, mcp.MethodSubscribe, err)
		if _, closed := errors.AsType[*peer.ClosedError](err); err != nil && !closed && !sessionLost(err) {
			c.watchers.fail(uri, err) // there is no other session to come that would mend it
			continue
		}
		c.watchers.tell(&mcp.ResourceUpdatedNotification{URI: uri})
	}
	c.suspectLists(l)
}

// miss notes that a session goes on after a gap in what its server says on its
// own account. One that is not in use yet, or no more, concerns nobody: who comes
// to another is told anyway.
func (c *Client) miss(l *live) {
	c.mu.Lock()
	used := c.state.live == l
	c.mu.Unlock()
	if !used {
		return
	}
	c.spawn(func() { // ends with the handlers
		for _, uri := range c.watchers.watched() {
			c.watchers.tell(&mcp.ResourceUpdatedNotification{URI: uri})
		}
		c.suspectLists(l)
	})
}

// suspectLists acts as if all lists of a server had changed.
func (c *Client) suspectLists(l *live) {
	if f := c.changesWanted(l.about.capabilities); f != nil {
		c.suspectChanges(f)
	}
}

// logLevel is the level of the logs that are wanted in a session: what a call has
// set last, or what the options say. Empty is what the server likes.
func (c *Client) logLevel() mcp.LoggingLevel {
	if set := c.level.Load(); set != nil {
		return *set
	}
	if c.opts.OnLog != nil {
		return c.opts.LogLevel
	}
	return ""
}

// grumble logs what went wrong beside the calls of the program.
func (c *Client) grumble(ctx context.Context, method string, err error) {
	if err != nil {
		c.opts.Logger.WarnContext(ctx, "server refuses", "server", c.to.name(), "method", method, "error", err)
	}
}
