package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"
	"sync/atomic"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/extension"
	"github.com/mcpwright/mcp/runtime/internal/limit"
	"github.com/mcpwright/mcp/runtime/internal/outbound"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
)

// subscribe adds a resource to the subscriptions of a session, which the connection stores. It
// is not available on connections that cannot send notifications outside of a request.
func (s *Server) subscribe(ctx context.Context, req *mcp.SubscribeRequest) (*mcp.EmptyResult, error) {
	c := s.catalog.Load()
	if r := c.capabilities.Resources; r == nil || !r.Subscribe || !connection.FromContext(ctx).HasStandaloneChannel() {
		return nil, methodNotFound(mcp.MethodSubscribe)
	}
	if _, err := s.find(ctx, c, req.URI); err != nil {
		return nil, err
	}
	return &mcp.EmptyResult{}, nil
}

func (s *Server) unsubscribe(context.Context, *mcp.UnsubscribeRequest) (*mcp.EmptyResult, error) {
	if r := s.catalog.Load().capabilities.Resources; r == nil || !r.Subscribe {
		return nil, methodNotFound(mcp.MethodUnsubscribe)
	}
	return &mcp.EmptyResult{}, nil
}

// listen serves a subscription stream.
func (s *Server) listen(ctx context.Context, req *mcp.SubscriptionsListenRequest) (*mcp.SubscriptionsListenResult, error) {
	id := connection.RequestIDFromContext(ctx)
	st, err := s.newStream(ctx, id, &req.Notifications)
	if err != nil {
		return nil, err
	}
	if refused := st.refused(&req.Notifications); refused != "" {
		return nil, invalid("Nothing to subscribe to: %s", refused)
	}
	if err := s.subscribers.addStream(st); err != nil {
		return nil, err
	}
	defer s.subscribers.removeStream(st)
	err = st.session.SendSubscriptionsAcknowledged(ctx, &mcp.SubscriptionsAcknowledgedNotification{
		Notifications: st.filter, Meta: &st.meta,
	})
	if err != nil {
		return nil, err
	}
	if st.isEmpty() { // the client asked for nothing
		st.end()
	}
	if err := st.run(ctx); err != nil {
		return nil, err
	}
	return &mcp.SubscriptionsListenResult{Meta: &mcp.SubscriptionsListenResultMeta{SubscriptionID: id}}, nil
}

// newStream returns a stream with the part of a filter that can be served: the declared
// capabilities, and the resources that exist.
func (s *Server) newStream(ctx context.Context, id mcp.RequestID, want *mcp.SubscriptionFilter) (*stream, error) {
	if n := len(want.ResourceSubscriptions); n > s.opts.MaxSubscriptions {
		return nil, limitExceeded("A subscription may not name more than %d resources", s.opts.MaxSubscriptions)
	}
	if _, asks := want.Extra["taskIds"]; asks && s.tasks != nil {
		if err := extension.RequireTasks(ctx, mcp.MethodSubscriptionsListen); err != nil {
			return nil, err
		}
	}
	c := s.catalog.Load()
	caps := c.capabilities
	st := &stream{
		opts: &s.opts, session: mcp.SessionFromContext(ctx),
		queue: eventQueue{draining: true}, // run drains it; the acknowledgement is sent first
		wake:  make(chan struct{}, 1),
	}
	st.meta.SubscriptionID = id
	st.filter = mcp.SubscriptionFilter{
		ToolsListChanged:     want.ToolsListChanged && caps.Tools != nil && caps.Tools.ListChanged,
		PromptsListChanged:   want.PromptsListChanged && caps.Prompts != nil && caps.Prompts.ListChanged,
		ResourcesListChanged: want.ResourcesListChanged && caps.Resources != nil && caps.Resources.ListChanged,
	}
	if caps.Resources == nil || !caps.Resources.Subscribe {
		return st, nil
	}
	watched := make(map[string]struct{})
	for _, uri := range want.ResourceSubscriptions {
		if _, known := watched[uri]; known {
			continue
		}
		if _, err := s.find(ctx, c, uri); err == nil {
			watched[uri] = struct{}{}
			st.filter.ResourceSubscriptions = append(st.filter.ResourceSubscriptions, uri)
		}
	}
	return st, nil
}

// isEmpty reports whether the stream will send nothing.
func (st *stream) isEmpty() bool {
	f := &st.filter
	return !f.ToolsListChanged && !f.PromptsListChanged && !f.ResourcesListChanged && len(f.ResourceSubscriptions) == 0
}

// maxRefused limits the names in the error of a stream that would send nothing.
const maxRefused = 8

// refused returns what a client asked for and does not get, if the stream would send nothing.
// Otherwise it returns the empty string.
func (st *stream) refused(want *mcp.SubscriptionFilter) string {
	if !st.isEmpty() {
		return ""
	}
	var reasons []string
	for method, asked := range map[string]bool{
		mcp.MethodToolListChanged:     want.ToolsListChanged,
		mcp.MethodPromptListChanged:   want.PromptsListChanged,
		mcp.MethodResourceListChanged: want.ResourcesListChanged,
	} {
		if asked {
			reasons = append(reasons, fmt.Sprintf("the server does not send %q", method))
		}
	}
	for name := range want.Extra {
		reasons = append(reasons, fmt.Sprintf("the server does not support %q", limit.Name(name)))
	}
	for _, uri := range want.ResourceSubscriptions {
		reasons = append(reasons, fmt.Sprintf("there is no resource %q that can be watched", limit.Name(uri)))
	}
	sort.Strings(reasons)
	if more := len(reasons) - maxRefused; more > 0 {
		reasons = append(reasons[:maxRefused], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(reasons, "; ")
}

// stream is a subscription stream: a request whose handler sends events until one side ends
// it.
type stream struct {
	opts    *Options
	session *mcp.ServerSession
	meta    mcp.NotificationMeta // metadata of all notifications
	filter  mcp.SubscriptionFilter
	queue   eventQueue
	number  uint64
	wake    chan struct{} // capacity 1; an event was queued, or the stream has ended
	ended   atomic.Bool   // no more events follow
}

// run sends the events of the stream. It returns nil if the server or the transport ends the
// stream regularly.
func (st *stream) run(ctx context.Context) error {
	defer context.AfterFunc(ctx, st.wakeUp)()
	var waiting []*eventNotification
	for {
		var full bool
		waiting, full = st.queue.take(waiting)
		switch {
		case ctx.Err() != nil && (st.ended.Load() || endedByTransport(context.Cause(ctx))):
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case full:
			return limitExceeded("Subscription ended: more than %d notifications are queued", st.opts.MaxQueuedEvents)
		}
		for _, r := range waiting {
			if err := st.session.Notify(ctx, r); err != nil {
				return err
			}
		}
		switch {
		case len(waiting) > 0: // more may have been queued meanwhile
		case st.ended.Load():
			return nil
		default:
			<-st.wake
		}
	}
}

// endedByTransport reports whether the transport has ended a stream regularly.
func endedByTransport(cause error) bool {
	return errors.Is(cause, connection.ErrClosing) || errors.Is(cause, jsonrpc.ErrPeerDone)
}

func (st *stream) isSubscribed(method string) bool {
	switch method {
	case mcp.MethodToolListChanged:
		return st.filter.ToolsListChanged
	case mcp.MethodPromptListChanged:
		return st.filter.PromptsListChanged
	case mcp.MethodResourceListChanged:
		return st.filter.ResourcesListChanged
	}
	return false
}

func (st *stream) resources() []string { return st.filter.ResourceSubscriptions }
func (st *stream) place() *uint64      { return &st.number }

func (st *stream) notify(m *eventMessage) {
	r := m.streamNotification(&st.meta)
	if st.queue.idle() && outbound.TryNotify(st.session.SessionCore, r, nil) {
		return
	}
	if st.queue.put(r, m.room(st.opts)) {
		st.wakeUp()
	}
}

func (st *stream) end() {
	st.ended.Store(true)
	st.wakeUp()
}

// wakeUp makes run look at the queue. It does not block.
func (st *stream) wakeUp() {
	select {
	case st.wake <- struct{}{}:
	default: // run has not received the last signal yet
	}
}

// addStream adds a stream before it is acknowledged, so that no event in between is lost.
func (subs *subscribers) addStream(st *stream) error {
	subs.mu.Lock()
	defer subs.mu.Unlock()
	switch {
	case subs.closed:
		return errShuttingDown
	case subs.streams >= subs.opts.MaxSubscriptionStreams:
		return limitExceeded("Too many subscription streams: the limit is %d", subs.opts.MaxSubscriptionStreams)
	}
	subs.streams++
	subs.add(st)
	for _, uri := range st.resources() {
		subs.watchers.add(uri, st)
	}
	return nil
}

func (subs *subscribers) removeStream(st *stream) {
	subs.mu.Lock()
	defer subs.mu.Unlock()
	subs.streams--
	delete(subs.members, st)
	for _, uri := range st.resources() {
		subs.watchers.remove(uri, st)
	}
}

func limitExceeded(format string, limit int) error {
	return &peer.Error{Code: mcp.CodeInternal, Message: fmt.Sprintf(format, limit)}
}
