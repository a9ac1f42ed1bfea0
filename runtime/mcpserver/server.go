package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/capabilities"
	"github.com/mcpwright/mcp/runtime/internal/extension"
	"github.com/mcpwright/mcp/runtime/internal/limit"
	"github.com/mcpwright/mcp/runtime/internal/revisions"
	"github.com/mcpwright/mcp/runtime/mcpserver/internal/rounds"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Server is an MCP server: the registrations and options, without state of any client. It is
// safe for concurrent use. [New] returns one.
type Server struct {
	info    mcp.Implementation
	opts    Options
	rules   *rounds.Rules
	tasks   *extension.Tasks // or nil
	catalog atomic.Pointer[catalog]

	pages       pageCache
	subscribers subscribers
	shutdowners shutdowners
	refused     limit.Refusals // on pipes and in process

	mu             sync.Mutex // guards the following fields, and changes of the catalog
	wrap           wrappers
	mux            peer.Mux
	dispatcher     *connection.Dispatcher // nil until it is first used
	readsLists     bool                   // middleware may use lists; does not change once there is a dispatcher
	unsubscribeBus func()                 // ends the subscription to the bus; nil if there is none
}

// shutdowner is a part of the server that [Server.Shutdown] stops.
type shutdowner interface {
	// Shutdown stops gracefully until ctx ends, and then at once.
	Shutdown(ctx context.Context) error
}

// shutdowners are the parts of a server that must be stopped.
type shutdowners struct {
	mu     sync.Mutex
	list   map[shutdowner]struct{}
	closed bool
}

// add adds a part. It returns false if the server has been shut down.
func (h *shutdowners) add(x shutdowner) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.list == nil {
		h.list = make(map[shutdowner]struct{})
	}
	if !h.closed {
		h.list[x] = struct{}{}
	}
	return !h.closed
}

func (h *shutdowners) remove(x shutdowner) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.list, x)
}

// parts returns the present parts.
func (h *shutdowners) parts() (list []shutdowner) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for x := range h.list {
		list = append(list, x)
	}
	return list
}

// close prevents additions and returns the present parts.
func (h *shutdowners) close() (list []shutdowner) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for x := range h.list {
		list = append(list, x)
	}
	return list
}

// endpoints implements [connection.Endpoints].
type endpoints struct{ *shutdowners }

func (e endpoints) Add(x connection.Endpoint) error {
	if !e.add(x) {
		return ErrShutdown
	}
	return nil
}

func (e endpoints) Remove(x connection.Endpoint) { e.remove(x) }

// Handle registers a handler for a method of the program or of an extension. The
// request type determines the method. Handle must be called before the server begins to serve. It panics
// with a [*RegistrationError] if it is called later, if the method has a handler, or if h is
// nil.
//
// [mcp.SessionFromContext] returns the session from the context of h.
func Handle[Req any, P interface {
	*Req
	peer.Request[R]
}, R wire.Value](s *Server, h func(context.Context, P) (R, error)) {
	s.withMux(P(new(Req)), h != nil, func(m *peer.Mux) { peer.Handle(m, h) })
}

// HandleNotification is like [Handle] for a notification: one of the program, or a
// notification of the protocol that the server itself does not use. Examples are
// [mcp.InitializedNotification], with which a session begins, and
// [mcp.RootsListChangedNotification].
func HandleNotification[N any, P interface {
	*N
	peer.Notification
}](s *Server, h func(context.Context, P) error) {
	s.withMux(P(new(N)), h != nil, func(m *peer.Mux) { peer.HandleNotification(m, h) })
}

func (s *Server) withMux(of peer.Message, handled bool, register func(*peer.Mux)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	method := of.Method()
	_, taken := s.mux.Route(method)
	_, extends := of.(peer.Extension)
	if extends {
		_, taken = s.mux.Extension(method)
	}
	var err error
	switch {
	case extends && revisions.StatelessMethod(method):
		err = errors.New("the protocol defines a method with this name")
	case s.dispatcher != nil:
		err = errors.New("the server has begun to serve")
	case method == mcp.MethodInitialize || method == mcp.MethodDiscover:
		err = errors.New("the server handles this method itself")
	case taken:
		err = errors.New("method already has a handler")
	case !handled:
		err = errNoHandler
	}
	must(registrationError(KindMethod, method, err))
	register(&s.mux)
}

// Dispatcher returns the handler of the server's messages, for transports that [Server.Serve]
// does not support. After the first call no methods can be registered; tools, resources and
// prompts can.
func (s *Server) Dispatcher() *connection.Dispatcher {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dispatcher == nil {
		s.dispatcher = s.newDispatcher()
		s.readsLists = s.dispatcher.ReadsLists()
		if s.opts.Bus != nil && !s.subscribers.isClosed() {
			s.unsubscribeBus = s.opts.Bus.Subscribe(s.subscribers.deliver)
		}
	}
	return s.dispatcher
}

func (s *Server) newDispatcher() *connection.Dispatcher {
	return connection.NewDispatcher(&connection.DispatcherOptions{
		Mux:                &s.mux,
		Middleware:         s.withHooks(s.opts.Middleware),
		Announce:           s.announce,
		Info:               s.info,
		OmitServerInfo:     s.opts.OmitServerInfo,
		Capabilities:       s.opts.Capabilities,
		CapabilitiesFor:    s.capabilitiesFor,
		Instructions:       s.opts.Instructions,
		Revisions:          s.opts.Revisions,
		RequireInitialized: s.opts.RequireInitialized,
		OnInitialized:      s.startSession,
		MaxSubscriptions:   s.opts.MaxSubscriptions,
		Rounds:             s.rules,
		Logger:             s.opts.Logger,
		Outgoing:           s.opts.Outgoing,
		Endpoints:          endpoints{&s.shutdowners},
	})
}

// change replaces the catalog and publishes an event, unless its method is empty. Requests
// that are being handled use the catalog that they have loaded.
func (s *Server) change(event Event, edit func(c *catalog) (changed bool)) {
	s.mu.Lock()
	c := *s.catalog.Load()
	changed := edit(&c)
	if changed {
		c.capabilities = s.declareCapabilities(&c)
		c.withTasks = s.declareTasks(&c, c.capabilities)
		s.catalog.Store(&c)
	}
	s.mu.Unlock()
	if !changed || event.Method == "" {
		return
	}
	if err := s.publish(context.Background(), event); err != nil {
		s.opts.Logger.Error("cannot publish event", "method", event.Method, "error", err)
	}
}

// publish notifies the subscribers of an event, at all replicas.
func (s *Server) publish(ctx context.Context, e Event) error {
	if s.opts.Bus != nil {
		return s.opts.Bus.Publish(ctx, e)
	}
	s.subscribers.deliver(e)
	return nil
}

// ResourceUpdated notifies the subscribers of a resource that it has changed: sessions and
// subscription streams, at all replicas if [Options].Bus is set. It returns the error of the
// bus.
func (s *Server) ResourceUpdated(ctx context.Context, uri string) error {
	return s.publish(ctx, Event{Method: mcp.MethodResourceUpdated, URI: uri})
}

// declareCapabilities returns the capabilities of a server with a catalog. They combine the
// options, the capabilities declared before, and the kinds of the registered items.
func (s *Server) declareCapabilities(c *catalog) *mcp.ServerCapabilities {
	caps := s.opts.Capabilities
	if c.capabilities != nil {
		caps = *c.capabilities
	} else {
		caps.Extensions = s.extensions()
	}
	if caps.Tools == nil && (len(c.tools) > 0 || c.sessionTools) {
		caps.Tools = &mcp.ToolsCapability{ListChanged: true}
	}
	if caps.Resources == nil && len(c.resources)+len(c.templates) > 0 {
		caps.Resources = &mcp.ResourcesCapability{ListChanged: true, Subscribe: true}
	}
	if c.unlisted != nil {
		c.unlisted.Declare(&caps)
	}
	if caps.Prompts == nil && len(c.prompts) > 0 {
		caps.Prompts = &mcp.PromptsCapability{ListChanged: true}
	}
	if caps.Completions == nil && (len(c.completers) > 0 || c.complete != nil) {
		caps.Completions = map[string]json.RawMessage{}
	}
	return &caps
}

// announce completes the results of initialize and server/discover. The former gets the
// extensions, except for tasks, which sessions do not support; the latter gets a cache hint.
func (s *Server) announce(answer wire.Value) {
	switch answer := answer.(type) {
	case *mcp.InitializeResult:
		caps := &answer.Capabilities
		caps.Extensions = maps.Clone(caps.Extensions)
		delete(caps.Extensions, extension.NameOfTasks)
		if err := capabilities.EncodeExtensions(caps.Extensions, &caps.Extra); err != nil {
			s.opts.Logger.Error("extensions not declared", "error", err)
		}
	case *mcp.DiscoverResult:
		s.setCacheHint(mcp.MethodDiscover, &answer.TTLMs, &answer.CacheScope)
	}
}
