package mcpserver

import (
	"context"
	"runtime/debug"
	"sync"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/lazy"
	"github.com/mcpwright/mcp/runtime/internal/outbound"
)

// audience is everybody who hears of events: sessions, whose revisions have a
// handshake, and streams, which are requests that the server answers last.
type audience struct {
	opts *Options

	mu      sync.Mutex // others may be taken under it, but not the server's
	members map[listener]struct{}
	streams int
	closed  bool
}

// listener is a member of the audience.
type listener interface {
	// wants tells whether an event is of interest.
	wants(e Event) bool
	// hear takes an announcement. It does not block, and is called under the
	// lock of the audience, one at a time.
	hear(a *announcement)
	// end says that there will be no more events.
	end()
}

func (a *audience) begin(opts *Options) {
	a.opts, a.members = opts, make(map[listener]struct{})
}

// deliver gives an event to everybody who wants it. It waits for nobody: where
// a channel takes a notification at once, it is sent from here; where it does
// not, the event waits in the mailbox of its listener.
func (a *audience) deliver(e Event) {
	news := newAnnouncement(e)
	a.mu.Lock()
	defer a.mu.Unlock()
	for l := range a.members {
		if l.wants(e) {
			l.hear(news)
		}
	}
}

// covers tells whether a change of one resource is of interest to who watches
// another.
func (o *Options) covers(watched, changed string) bool {
	return watched == changed || o.Affects != nil && o.Affects(changed, watched)
}

// add makes a listener a member, unless the audience is closed.
func (a *audience) add(l listener) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.closed {
		a.members[l] = struct{}{}
	}
	return !a.closed
}

func (a *audience) remove(l listener) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.members, l)
}

// isClosed tells whether nobody becomes a member any more.
func (a *audience) isClosed() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.closed
}

// close ends the streams.
func (a *audience) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	for l := range a.members {
		l.end()
	}
}

// join makes a session a member for as long as its connection lives.
func (a *audience) join(_ context.Context, conn *connection.Connection) {
	s := &session{audience: a, conn: conn}
	s.ctx.Context = context.Background()
	if a.add(s) {
		conn.OnClose(s.leave)
	}
}

// session is a connection with a handshake as a listener. It has a goroutine only
// while something is to be sent.
type session struct {
	audience *audience
	conn     *connection.Connection
	ctx      lazy.Context // ends with the connection
	mail     mailbox
	sending  sync.WaitGroup
}

// leave ends the session as a listener. Nothing is being sent afterwards.
func (s *session) leave(context.Context) error {
	s.audience.remove(s)
	s.ctx.Cancel(nil)
	s.sending.Wait()
	return nil
}

func (s *session) wants(e Event) bool {
	switch e.Method {
	case mcp.MethodToolListChanged, mcp.MethodPromptListChanged, mcp.MethodResourceListChanged:
		return true // the connection itself drops what was not declared
	case mcp.MethodResourceUpdated:
		return s.watches(e.URI)
	}
	return false
}

// watches tells whether the client wants to hear of changes of a resource.
func (s *session) watches(uri string) bool {
	state := s.conn.State()
	if s.audience.opts.Affects == nil {
		return state.Subscribed(uri)
	}
	for _, watched := range state.Subscriptions() {
		if s.audience.opts.covers(watched, uri) {
			return true
		}
	}
	return false
}

// hear implements listener. The session is removed from the audience before its
// goroutine is waited for.
func (s *session) hear(a *announcement) {
	if s.mail.idle() && outbound.TryNotify(s.conn, &a.session) {
		return
	}
	if s.mail.put(&a.session, s.audience.opts.MaxQueuedEvents) {
		s.sending.Go(s.send) // ends when the mailbox is empty, and with the connection
	}
}

func (s *session) send() {
	var waiting []*rendered
	for {
		var full bool
		waiting, full = s.mail.take(waiting)
		if full {
			s.audience.opts.Logger.Warn("notifications dropped: too many wait for one session", "limit", s.audience.opts.MaxQueuedEvents)
		}
		if len(waiting) == 0 || s.ctx.Err() != nil {
			return
		}
		for _, r := range waiting {
			s.tell(r)
		}
	}
}

// tell sends a notification. A store of events, or what is around the way out, may
// panic: that ends neither the process nor what is still to be sent.
func (s *session) tell(r *rendered) {
	log := s.audience.opts.Logger
	defer func() {
		if p := recover(); p != nil {
			log.Error("notification panicked", "method", r.Method(), "panic", p, "stack", string(debug.Stack()))
		}
	}()
	if err := s.conn.Notify(&s.ctx, r); err != nil {
		log.Error("notification dropped", "method", r.Method(), "error", err)
	}
}

func (s *session) end() {} // its transport ends it
