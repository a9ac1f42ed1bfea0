package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/outbound"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable"
)

// stream is a subscription as a listener: a request whose handler sends what it
// hears until one side ends it.
type stream struct {
	opts    *Options
	session *mcp.ServerSession
	meta    mcp.NotificationMeta // of all that is sent
	filter  mcp.SubscriptionFilter
	watched map[string]struct{}
	mail    mailbox
	wake    chan struct{} // holds one; something has come, or the end has
	over    atomic.Bool   // there will be no more events
}

// listen serves a stream.
func (s *Server) listen(ctx context.Context, req *mcp.SubscriptionsListenRequest) (*mcp.SubscriptionsListenResult, error) {
	id := connection.RequestIDFromContext(ctx)
	st, err := s.newStream(ctx, id, &req.Notifications)
	if err != nil {
		return nil, err
	}
	if err := s.audience.enter(st); err != nil {
		return nil, err
	}
	defer s.audience.exit(st)
	err = st.session.SendSubscriptionsAcknowledged(ctx, &mcp.SubscriptionsAcknowledgedNotification{
		Notifications: st.filter, Meta: &st.meta,
	})
	if err != nil {
		return nil, err
	}
	if err := st.run(ctx); err != nil {
		return nil, err
	}
	return &mcp.SubscriptionsListenResult{Meta: &mcp.SubscriptionsListenResultMeta{SubscriptionID: id}}, nil
}

// newStream makes a stream of what can be honoured of a filter: what is declared,
// and resources that there are.
func (s *Server) newStream(ctx context.Context, id mcp.RequestID, want *mcp.SubscriptionFilter) (*stream, error) {
	if n := len(want.ResourceSubscriptions); n > s.opts.MaxSubscriptions {
		return nil, tooMany("A subscription may name %d resources", s.opts.MaxSubscriptions)
	}
	if _, asks := want.Extra["taskIds"]; asks && s.opts.Tasks != nil {
		if err := needTasks(ctx, mcp.MethodSubscriptionsListen); err != nil {
			return nil, err
		}
	}
	c := s.catalog.Load()
	caps := c.capabilities
	st := &stream{
		opts: &s.opts, session: mcp.SessionFromContext(ctx), watched: make(map[string]struct{}),
		mail: mailbox{emptier: true}, // run is about to: nothing precedes the acknowledgement
		wake: make(chan struct{}, 1),
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
	for _, uri := range want.ResourceSubscriptions {
		if _, known := st.watched[uri]; known {
			continue
		}
		if _, err := s.find(ctx, c, uri); err == nil {
			st.watched[uri] = struct{}{}
			st.filter.ResourceSubscriptions = append(st.filter.ResourceSubscriptions, uri)
		}
	}
	return st, nil
}

func tooMany(format string, limit int) error {
	return &peer.Error{Code: mcp.CodeInternal, Message: fmt.Sprintf(format, limit)}
}

// enter makes a stream a member of the audience, before it is acknowledged:
// nothing that happens in between is lost.
func (a *audience) enter(st *stream) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.closed:
		return errClosing
	case a.streams >= a.opts.MaxSubscriptionStreams:
		return tooMany("Too many subscriptions: the server has %d", a.opts.MaxSubscriptionStreams)
	}
	a.streams++
	a.members[st] = struct{}{}
	return nil
}

func (a *audience) exit(st *stream) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.streams--
	delete(a.members, st)
}

// run sends what the stream hears. It returns nil when the server ends the stream
// in order, also where it is the transport that does so.
func (st *stream) run(ctx context.Context) error {
	defer context.AfterFunc(ctx, st.nudge)()
	var waiting []*rendered
	for {
		var full bool
		waiting, full = st.mail.take(waiting)
		switch {
		case ctx.Err() != nil && (st.over.Load() || orderly(context.Cause(ctx))):
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case full:
			return tooMany("The subscription has ended: more than %d notifications waited for the client", st.opts.MaxQueuedEvents)
		}
		for _, r := range waiting {
			if err := st.session.Notify(ctx, r); err != nil {
				return err
			}
		}
		switch {
		case len(waiting) > 0: // more may have come meanwhile
		case st.over.Load():
			return nil
		default:
			<-st.wake
		}
	}
}

// orderly tells whether it is the transport that ends a stream in order.
func orderly(cause error) bool {
	return errors.Is(cause, streamable.ErrClosing) || errors.Is(cause, jsonrpc.ErrPeerDone)
}

func (st *stream) wants(e Event) bool {
	switch e.Method {
	case mcp.MethodToolListChanged:
		return st.filter.ToolsListChanged
	case mcp.MethodPromptListChanged:
		return st.filter.PromptsListChanged
	case mcp.MethodResourceListChanged:
		return st.filter.ResourcesListChanged
	case mcp.MethodResourceUpdated:
		return st.watches(e.URI)
	}
	return false
}

// watches tells whether the stream is to hear of changes of a resource.
func (st *stream) watches(uri string) bool {
	if _, watched := st.watched[uri]; watched || st.opts.Affects == nil {
		return watched
	}
	for watched := range st.watched {
		if st.opts.covers(watched, uri) {
			return true
		}
	}
	return false
}

func (st *stream) hear(a *announcement) {
	r := a.forStream(&st.meta)
	if st.mail.idle() && outbound.TryNotify(st.session.SessionCore, r) {
		return
	}
	if st.mail.put(r, st.opts.MaxQueuedEvents) {
		st.nudge()
	}
}

func (st *stream) end() {
	st.over.Store(true)
	st.nudge()
}

// nudge wakes the stream. It does not wait.
func (st *stream) nudge() {
	select {
	case st.wake <- struct{}{}:
	default: // it is awake already
	}
}

// subscribe lets a session watch a resource; the kernel records it. Where nothing
// is left when the answer is sent there is nobody to tell of changes.
func (s *Server) subscribe(ctx context.Context, req *mcp.SubscribeRequest) (*mcp.EmptyResult, error) {
	c := s.catalog.Load()
	if r := c.capabilities.Resources; r == nil || !r.Subscribe || !connection.FromContext(ctx).HasStandaloneChannel() {
		return nil, notOffered(mcp.MethodSubscribe)
	}
	if _, err := s.find(ctx, c, req.URI); err != nil {
		return nil, err
	}
	return &mcp.EmptyResult{}, nil
}

func (s *Server) unsubscribe(context.Context, *mcp.UnsubscribeRequest) (*mcp.EmptyResult, error) {
	if r := s.catalog.Load().capabilities.Resources; r == nil || !r.Subscribe {
		return nil, notOffered(mcp.MethodUnsubscribe)
	}
	return &mcp.EmptyResult{}, nil
}
