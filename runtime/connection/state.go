package connection

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/wire"
)

// InFlight is the table of the requests that are being handled. It belongs to
// the dispatcher; the connections on its pipe or session refer to it.
type InFlight interface {
	// Cancel stops the handling of a request as if its sender had asked for
	// it, and reports whether there was one.
	Cancel(id wire.RequestID) bool
	// IDs lists the requests being handled.
	IDs() []wire.RequestID
}

// State is what may change about a peer while the connection to it lives. It is
// safe for concurrent use. Each [Connection] has one; no two share anything.
type State struct {
	inFlight InFlight // never changes

	now atomic.Pointer[facts]

	mu            sync.Mutex // to replace now, and for what follows; no other lock is taken under it
	subscriptions map[string]*subscription
	values        map[any]any
}

// facts are what is known about the peer. They never change, nor does what they
// lead to: others take their place.
type facts struct {
	revision wire.Revision
	request  *spelling // how requests are written
	params   *mcp.InitializeRequest
	caps     *mcp.ClientCapabilities
	info     *mcp.Implementation // who the client says it is, of which params are still to be made
	letter   *Metadata           // of which params and caps are still to be read
	server   *mcp.ServerCapabilities
	ready    chan struct{} // closed when initialized; made at the first question

	logs                severity
	handshake           bool // of the revision
	initializeProcessed bool
	initialized         bool
	overdue             bool // that was waited for, in vain
}

// alwaysReady is shared by all connections that were ready when asked first, and by
// those that have nothing to tear down.
var alwaysReady = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

func (f *facts) accepted() bool { return f.params != nil || f.initialized }

// update puts others in the place of the facts.
func (s *State) update(change func(*facts)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := *s.now.Load()
	change(&f)
	s.now.Store(&f)
}

// snapshot returns the facts as they are.
func (s *State) snapshot() *facts { return s.now.Load() }

// ClientCapabilities returns what the client declared, nil where that is
// unknown. It is not to be changed.
func (s *State) ClientCapabilities() *mcp.ClientCapabilities {
	caps, _ := s.sender()
	return caps
}

// ClientInfo returns the name and version of the client, or nil if they are unknown.
// The caller must not change the value.
func (s *State) ClientInfo() *mcp.Implementation {
	if _, params := s.sender(); params != nil {
		return &params.ClientInfo
	}
	return nil
}

// sender returns what is known about the client. An envelope is read when it is
// needed first: most requests never ask.
func (s *State) sender() (caps *mcp.ClientCapabilities, params *mcp.InitializeRequest) {
	if f := s.snapshot(); f.letter != nil || f.info != nil {
		s.update(func(f *facts) {
			switch {
			case f.letter != nil:
				info, caps := f.letter.Sender()
				f.setSender(f.revision, info, caps)
			case f.info != nil:
				f.setSender(f.revision, f.info, f.caps)
			}
		})
	}
	f := s.snapshot()
	return f.caps, f.params
}

// setSender records who sent an envelope: nothing without capabilities, the
// params only with all of it.
func (f *facts) setSender(r wire.Revision, info *mcp.Implementation, caps *mcp.ClientCapabilities) {
	f.letter, f.info, f.caps = nil, nil, caps
	if info != nil {
		f.params = &mcp.InitializeRequest{ProtocolVersion: r.String(), ClientInfo: *info}
		if caps != nil {
			f.params.Capabilities = *caps
		}
	}
}

// SetClient records the name, version and capabilities of the client. If info is nil, the
// client becomes unknown and its capabilities remain, unless caps replaces them.
func (s *State) SetClient(info *mcp.Implementation, caps *mcp.ClientCapabilities) {
	s.sender() // reads the message metadata before it is dropped
	s.update(func(f *facts) {
		var p *mcp.InitializeRequest
		if info != nil {
			p = &mcp.InitializeRequest{ProtocolVersion: f.revision.String(), ClientInfo: *info}
			if known := cmp.Or(caps, f.caps); known != nil {
				p.Capabilities = *known
			}
		}
		f.setClient(p)
		f.caps = cmp.Or(caps, f.caps)
	})
}

func (f *facts) setClient(p *mcp.InitializeRequest) {
	f.letter, f.info, f.params = nil, nil, p
	if p != nil {
		f.caps = &p.Capabilities
	}
}

// ServerCapabilities returns what the server declared, nil where that is
// unknown. It is not to be changed.
func (s *State) ServerCapabilities() *mcp.ServerCapabilities { return s.snapshot().server }

// SetServerCapabilities records what the server declared.
func (s *State) SetServerCapabilities(caps *mcp.ServerCapabilities) {
	s.update(func(f *facts) { f.server = caps })
}

// Revision returns the revision being spoken.
func (s *State) Revision() wire.Revision { return s.snapshot().revision }

// InFlight returns the table of the requests being handled.
func (s *State) InFlight() InFlight {
	if s.inFlight == nil {
		return noneInFlight{}
	}
	return s.inFlight
}

type noneInFlight struct{}

func (noneInFlight) Cancel(wire.RequestID) bool { return false }
func (noneInFlight) IDs() []wire.RequestID      { return nil }

// InitializeProcessed tells whether the handshake's request has been answered.
// It is answered once.
func (s *State) InitializeProcessed() bool { return s.snapshot().initializeProcessed }

// Initialized tells whether the client has confirmed the handshake, or needed
// none.
func (s *State) Initialized() bool { return s.snapshot().initialized }

// SetInitialized records that the client has confirmed the handshake.
func (s *State) SetInitialized() { s.setInitialized() }

// setInitialized is SetInitialized, and tells whether that is news.
func (s *State) setInitialized() (news bool) {
	s.update(func(f *facts) {
		if f.initialized {
			return
		}
		f.initialized, news = true, true
		if f.ready != nil {
			close(f.ready)
		}
	})
	return news
}

// LogLevel returns the least severe level of which the client wants logs, empty
// while it has not said.
func (s *State) LogLevel() mcp.LoggingLevel { return s.snapshot().logs.level() }

// SetLogLevel records the least severe level of which the client wants logs. What is
// no level is none.
func (s *State) SetLogLevel(level mcp.LoggingLevel) {
	s.update(func(f *facts) { f.logs = severityOf(level) })
}

// subscription is that the client wants to hear of changes of a resource.
type subscription struct{ asked int } // how often it has said so, without what failed

// Subscribe records that the client wants to hear of changes of a resource. It
// reports whether that is news.
func (s *State) Subscribe(uri string) bool {
	_, added := s.subscribe(uri, 0)
	return added
}

// subscribe is Subscribe with a bound, 0 for none. It returns nil where the bound
// stands in the way.
func (s *State) subscribe(uri string, most int) (sub *subscription, added bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sub = s.subscriptions[uri]; sub != nil {
		sub.asked++
		return sub, false
	}
	if most > 0 && len(s.subscriptions) >= most {
		return nil, false
	}
	if s.subscriptions == nil {
		s.subscriptions = make(map[string]*subscription)
	}
	sub = &subscription{asked: 1}
	s.subscriptions[uri] = sub
	return sub, true
}

// takeBack undoes one call of subscribe. The subscription is over where no other
// stands.
func (s *State) takeBack(uri string, sub *subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sub.asked--; sub.asked == 0 && s.subscriptions[uri] == sub {
		delete(s.subscriptions, uri)
	}
}

// Unsubscribe takes back what Subscribe recorded, however often.
func (s *State) Unsubscribe(uri string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.subscriptions, uri)
}

// Subscribed tells whether the client wants to hear of changes of a resource.
func (s *State) Subscribed(uri string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, has := s.subscriptions[uri]
	return has
}

// Subscriptions lists the resources of whose changes the client wants to hear,
// in order.
func (s *State) Subscriptions() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.subscriptions))
}
