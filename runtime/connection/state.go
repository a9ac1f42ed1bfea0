package connection

import (
	"cmp"
	"maps"
	"slices"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/capabilities"
	"github.com/mcpwright/mcp/runtime/internal/loglevel"
	"github.com/mcpwright/mcp/runtime/internal/revisions"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// InFlight is the table of the requests that are being handled. The transport owns it; the
// connections of a pipe or session refer to it.
type InFlight interface {
	// Cancel stops the handling of a request, as if its sender had canceled it, and reports
	// whether the request was being handled.
	Cancel(id wire.RequestID) bool
	// IDs lists the requests that are being handled.
	IDs() []wire.RequestID
}

// State is what may change during the life of a connection. It is safe for concurrent use. Each
// [Connection] has its own State and shares nothing with others.
type State struct {
	now atomic.Pointer[facts]

	mu            sync.Mutex // held to replace now, and to use the fields below; only observe acquires another lock under it
	subscriptions map[string]*subscription
	observe       func(uri string, subscribed bool) // nil if there is no observer
	values        map[any]any

	inFlight InFlight // never changes
}

// facts is what is known about the peer. A facts never changes, and neither do the values that
// it points to: State replaces it.
type facts struct {
	revision     wire.Revision
	handshake    bool            // the revision is a handshake revision
	sendsUpdates bool            // the result of allowsUpdates, or false
	request      *requestOptions // how requests are encoded

	params   *mcp.InitializeRequest
	caps     *mcp.ClientCapabilities
	info     *mcp.Implementation // of the client; params are created from it when they are needed
	metadata *Metadata           // params and caps are decoded from it when they are needed
	server   *mcp.ServerCapabilities
	ready    chan struct{} // closed when the session is initialized; nil until it is requested

	logs                loglevel.Severity
	initializeProcessed bool
	initialized         bool
	timedOut            bool // the client has not confirmed the handshake in time
}

func (f *facts) accepted() bool { return f.params != nil || f.initialized }

// update replaces the facts by a changed copy.
func (s *State) update(change func(*facts)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := *s.now.Load()
	change(&f)
	f.sendsUpdates = f.allowsUpdates()
	s.now.Store(&f)
}

// allowsUpdates reports whether the server of a session may send updates of resources.
func (f *facts) allowsUpdates() bool {
	info := mcp.MethodByName(mcp.MethodResourceUpdated)
	return f.handshake && info.FromServer.Has(f.revision) && (f.server == nil || capabilities.ServerHas(f.server, info.Capability))
}

// snapshot returns the current facts.
func (s *State) snapshot() *facts { return s.now.Load() }

// Revision returns the revision in use.
func (s *State) Revision() wire.Revision { return s.snapshot().revision }

// setRevision sets the revision. Meta is added to the metadata of requests.
func (f *facts) setRevision(r wire.Revision, meta []wire.Entry) {
	f.revision, f.handshake, f.request = r, revisions.Handshake(r), plainOptions(r)
	if len(meta) > 0 {
		f.request = newRequestOptions(&wire.Frame{Revision: r, Meta: meta})
	}
}

// ClientInfo returns the name and version of the client, or nil if they are unknown.
// The caller must not change the value.
func (s *State) ClientInfo() *mcp.Implementation {
	if _, params := s.client(); params != nil {
		return &params.ClientInfo
	}
	return nil
}

// ClientCapabilities returns the capabilities of the client, or nil if they are unknown.
// The caller must not change the value.
func (s *State) ClientCapabilities() *mcp.ClientCapabilities {
	caps, _ := s.client()
	return caps
}

// client returns what is known about the client. It decodes the message metadata at the first
// call, because most handlers do not need it.
func (s *State) client() (caps *mcp.ClientCapabilities, params *mcp.InitializeRequest) {
	if f := s.snapshot(); f.metadata != nil || f.info != nil {
		s.update(func(f *facts) {
			switch {
			case f.metadata != nil:
				info, caps := f.metadata.Sender()
				f.setClient(f.revision, info, caps)
			case f.info != nil:
				f.setClient(f.revision, f.info, f.caps)
			}
		})
	}
	f := s.snapshot()
	return f.caps, f.params
}

// setClient sets the capabilities and, if info is not nil, the params of a client that has sent
// message metadata.
func (f *facts) setClient(r wire.Revision, info *mcp.Implementation, caps *mcp.ClientCapabilities) {
	f.metadata, f.info, f.caps = nil, nil, caps
	if info != nil {
		f.params = &mcp.InitializeRequest{ProtocolVersion: r.String(), ClientInfo: *info}
		if caps != nil {
			f.params.Capabilities = *caps
		}
	}
}

// SetClient sets the name, version and capabilities of the client. If info is nil, the client
// becomes unknown, and its capabilities remain unless caps replaces them.
func (s *State) SetClient(info *mcp.Implementation, caps *mcp.ClientCapabilities) {
	s.client() // decodes the message metadata before it is dropped
	s.update(func(f *facts) {
		var p *mcp.InitializeRequest
		if info != nil {
			p = &mcp.InitializeRequest{ProtocolVersion: f.revision.String(), ClientInfo: *info}
			if known := cmp.Or(caps, f.caps); known != nil {
				p.Capabilities = *known
			}
		}
		f.setParams(p)
		f.caps = cmp.Or(caps, f.caps)
	})
}

func (f *facts) setParams(p *mcp.InitializeRequest) {
	f.metadata, f.info, f.params = nil, nil, p
	if p != nil {
		f.caps = &p.Capabilities
	}
}

// ServerCapabilities returns the capabilities of the server, or nil if they are unknown. The
// caller must not change the value.
func (s *State) ServerCapabilities() *mcp.ServerCapabilities { return s.snapshot().server }

// SetServerCapabilities sets the capabilities of the server.
func (s *State) SetServerCapabilities(caps *mcp.ServerCapabilities) {
	s.update(func(f *facts) { f.server = caps })
}

// InFlight returns the table of the requests that are being handled.
func (s *State) InFlight() InFlight {
	if s.inFlight == nil {
		return noneInFlight{}
	}
	return s.inFlight
}

type noneInFlight struct{}

func (noneInFlight) Cancel(wire.RequestID) bool { return false }
func (noneInFlight) IDs() []wire.RequestID      { return nil }

// InitializeProcessed reports whether an initialize request has succeeded. A second one fails.
func (s *State) InitializeProcessed() bool { return s.snapshot().initializeProcessed }

// Initialized reports whether the client has confirmed the handshake, or needs none.
func (s *State) Initialized() bool { return s.snapshot().initialized }

// SetInitialized records that the client has confirmed the handshake.
func (s *State) SetInitialized() { s.setInitialized() }

// setInitialized is [State.SetInitialized]. It reports whether the state has changed.
func (s *State) setInitialized() (changed bool) {
	s.update(func(f *facts) {
		if f.initialized {
			return
		}
		f.initialized, changed = true, true
		if f.ready != nil {
			close(f.ready)
		}
	})
	return changed
}

// LogLevel returns the minimum level of the log messages for the client. It is empty if the
// client has not set a level.
func (s *State) LogLevel() mcp.LoggingLevel { return s.snapshot().logs.Level() }

// SetLogLevel sets the minimum level of the log messages for the client. An unknown level is the
// same as the empty one.
func (s *State) SetLogLevel(level mcp.LoggingLevel) {
	s.update(func(f *facts) { f.logs = loglevel.Of(level) })
}

// subscription is a subscription to a resource. Count is the number of subscribe requests that
// are being handled or have succeeded.
type subscription struct{ count int }

// Subscribe records that the client subscribes to a resource. It reports whether the
// subscription is new.
func (s *State) Subscribe(uri string) bool {
	_, added := s.subscribe(uri, 0)
	return added
}

// subscribe is [State.Subscribe] with a limit of the number of subscriptions, 0 for none. It
// returns nil if the limit is reached.
func (s *State) subscribe(uri string, limit int) (sub *subscription, added bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sub = s.subscriptions[uri]; sub != nil {
		sub.count++
		return sub, false
	}
	if limit > 0 && len(s.subscriptions) >= limit {
		return nil, false
	}
	if s.subscriptions == nil {
		s.subscriptions = make(map[string]*subscription)
	}
	sub = &subscription{count: 1}
	s.subscriptions[uri] = sub
	if s.observe != nil {
		s.observe(uri, true)
	}
	return sub, true
}

// undoSubscribe undoes one call of subscribe. It removes the subscription if there was no other
// call.
func (s *State) undoSubscribe(uri string, sub *subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sub.count--; sub.count == 0 && s.subscriptions[uri] == sub {
		s.unsubscribe(uri)
	}
}

// Unsubscribe removes the subscription to a resource, even if the client has subscribed several
// times.
func (s *State) Unsubscribe(uri string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unsubscribe(uri)
}

// unsubscribe removes a subscription, if there is one. The caller holds the lock.
func (s *State) unsubscribe(uri string) {
	if s.subscriptions[uri] == nil {
		return
	}
	delete(s.subscriptions, uri)
	if s.observe != nil {
		s.observe(uri, false)
	}
}

// ObserveSubscriptions calls f(uri, true) for each resource to which the client subscribes, and
// from then on f whenever a subscription begins or ends. The previous observer is called as if all
// subscriptions ended. Nil means no observer. An observer must not use the state.
func (s *State) ObserveSubscriptions(f func(uri string, subscribed bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for uri := range s.subscriptions {
		if s.observe != nil {
			s.observe(uri, false)
		}
		if f != nil {
			f(uri, true)
		}
	}
	s.observe = f
}

// Subscribed reports whether the client has subscribed to a resource.
func (s *State) Subscribed(uri string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, has := s.subscriptions[uri]
	return has
}

// Subscriptions lists the URIs of the subscribed resources in ascending order.
func (s *State) Subscriptions() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	uris := slices.Collect(maps.Keys(s.subscriptions))
	sort.Strings(uris)
	return uris
}

func (s *State) hasValues() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.values) > 0
}

// A Key identifies a value that a program stores in the [State] of each connection:
//
//	var visits = connection.NewKey[int]("visits")
//
//	n := visits.Update(connection.FromContext(ctx).State(), func(n int) int { return n + 1 })
//
// Two keys are always different, even if their names are equal.
type Key[T any] struct{ name string }

// NewKey returns a new key. The name is for debugging only.
func NewKey[T any](name string) *Key[T] { return &Key[T]{name} }

// String returns the name.
func (k *Key[T]) String() string { return k.name }

// Get returns the value and reports whether there is one.
func (k *Key[T]) Get(s *State) (T, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, has := s.values[k].(T)
	return v, has
}

// Set stores a value.
func (k *Key[T]) Set(s *State, v T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setValue(k, v)
}

// Delete removes the value.
func (k *Key[T]) Delete(s *State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.values, k)
}

// Update replaces the value by the result of change, atomically, and returns the new value. If
// there is no value, change receives the zero value. The function change must not use the state.
func (k *Key[T]) Update(s *State, change func(T) T) T {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, _ := s.values[k].(T)
	v = change(v)
	s.setValue(k, v)
	return v
}

// setValue stores a value. The caller holds the lock.
func (s *State) setValue(k, v any) {
	if s.values == nil {
		s.values = make(map[any]any)
	}
	s.values[k] = v
}

// requestOptions is how requests to a peer are encoded, with the call options that contain it.
type requestOptions struct {
	frame   *wire.Frame
	options [2]peer.CallOption // the second is for questions, which people answer
}

func newRequestOptions(f *wire.Frame) *requestOptions {
	return &requestOptions{f, [2]peer.CallOption{peer.WithFrame(f), peer.WithMaxTimeout()}}
}

// plainOptionsOf contains the options of each revision for requests without additional metadata.
var plainOptionsOf = func() []*requestOptions {
	list := make([]*requestOptions, len(mcp.Revisions))
	for i, r := range mcp.Revisions {
		list[i] = newRequestOptions(revisions.Frame(r.Revision))
	}
	return list
}()

func plainOptions(r wire.Revision) *requestOptions {
	if i := r.Index(); i >= 0 && i < len(plainOptionsOf) {
		return plainOptionsOf[i]
	}
	return newRequestOptions(revisions.Frame(r))
}

// before returns the options, followed by the options of the caller, which override them. It does not
// allocate if the caller has none, which is usual.
func (o *requestOptions) before(opts []peer.CallOption, question bool) []peer.CallOption {
	n := 1
	if question {
		n = 2
	}
	return append(o.options[:n:n], opts...)
}
