package mcpserver

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/eras"
	"github.com/mcpwright/mcp/runtime/mcpserver/internal/rounds"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Server is what a program serves: registrations and options. It is safe for
// concurrent use. [New] makes one.
type Server struct {
	info    mcp.Implementation
	opts    Options
	rules   *rounds.Rules
	catalog atomic.Pointer[catalog]

	audience audience
	hosts    hosts

	mu     sync.Mutex // serialises changes of what follows, and of the catalog
	mux    peer.Mux
	kernel *connection.Dispatcher // nil until it is needed first
	leave  func()                 // unsubscribes from the bus
}

// New returns a server without anything registered. Nil options are the zero
// ones. It panics on options that make no sense.
func New(info mcp.Implementation, opts *Options) *Server {
	s := &Server{info: info}
	if opts != nil {
		s.opts = *opts
	}
	s.opts.complete()
	s.rules = s.newRules()
	s.serveTasks()
	s.audience.begin(&s.opts)
	c := new(catalog)
	c.capabilities = s.declare(c)
	s.catalog.Store(c)
	s.route()
	return s
}

// route registers the methods of the kit.
func (s *Server) route() {
	handleValue(&s.mux, s.listTools)
	handleValue(&s.mux, s.callTool)
	handleValue(&s.mux, s.listResources)
	handleValue(&s.mux, s.listTemplates)
	mcp.HandleReadResource(&s.mux, s.readResource)
	handleValue(&s.mux, s.listPrompts)
	mcp.HandleGetPrompt(&s.mux, s.getPrompt)
	mcp.HandleComplete(&s.mux, s.completeArgument)
	mcp.HandleSubscribe(&s.mux, s.subscribe)
	mcp.HandleUnsubscribe(&s.mux, s.unsubscribe)
	mcp.HandleSubscriptionsListen(&s.mux, s.listen)
}

// handleValue registers a handler whose result need not have the result type of the request: it may
// have been encoded before.
func handleValue[Req any, P interface {
	*Req
	peer.Message
}](m *peer.Mux, h func(context.Context, P) (wire.Value, error)) {
	m.Add(peer.Route{
		New:   func() peer.Message { return P(new(Req)) },
		Is:    func(m peer.Message) bool { _, ok := m.(P); return ok },
		Serve: func(ctx context.Context, req peer.Message) (wire.Value, error) { return h(ctx, req.(P)) },
	})
}

// Handle registers h for a method of the program's own, or of an extension, by
// the type of its request. It must be called before the server begins to serve,
// and panics with a [*RegistrationError] afterwards, for a method that has a
// handler, and without h.
//
// In h, [mcp.SessionFromContext] has the session.
func Handle[Req any, P interface {
	*Req
	peer.Request[R]
}, R wire.Value](s *Server, h func(context.Context, P) (R, error)) {
	s.withMux(P(new(Req)), h != nil, func(m *peer.Mux) { peer.Handle(m, h) })
}

// HandleNotification is [Handle] for a notification: one of the program's own, or
// one of the protocol that the server itself makes nothing of, such as
// [mcp.InitializedNotification], by which a session begins, and
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
	case extends && eras.WithoutHandshake(method):
		err = errors.New("the protocol itself has a method of that name where there are extensions")
	case s.kernel != nil:
		err = errors.New("the server has begun to serve")
	case method == mcp.MethodInitialize || method == mcp.MethodDiscover:
		err = errors.New("the server answers that itself")
	case taken:
		err = errors.New("it has a handler")
	case !handled:
		err = errNoHandler
	}
	registration(KindMethod, method, err)
	register(&s.mux)
}

// Dispatcher returns what handles the server's messages, for a transport of one's
// own. From the first call on no method can be added; tools, resources and
// prompts can.
func (s *Server) Dispatcher() *connection.Dispatcher {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kernel == nil {
		s.kernel = s.newKernel()
		if s.opts.Bus != nil && !s.audience.isClosed() {
			s.leave = s.opts.Bus.Subscribe(s.audience.deliver)
		}
	}
	return s.kernel
}

func (s *Server) newKernel() *connection.Dispatcher {
	return connection.NewDispatcher(&connection.DispatcherOptions{
		Mux:              &s.mux,
		Middleware:       s.opts.Middleware,
		Announce:         s.announce,
		Info:             s.info,
		OmitServerInfo:   s.opts.OmitServerInfo,
		Capabilities:     s.opts.Capabilities,
		CapabilitiesFor:  func(peer.TransportContext) *mcp.ServerCapabilities { return s.catalog.Load().capabilities },
		Instructions:     s.opts.Instructions,
		Revisions:        s.opts.Revisions,
		OnInitialized:    s.audience.join,
		MaxSubscriptions: s.opts.MaxSubscriptions,
		Rounds:           s.rules,
		Logger:           s.opts.Logger,
	})
}

// visible tells whether a caller may know of something.
func (s *Server) visible(ctx context.Context, kind Kind, name string) bool {
	return s.opts.Filter == nil || s.shows(ctx, kind, name)
}

func (s *Server) shows(ctx context.Context, kind Kind, name string) bool {
	return s.opts.Filter(ctx, mcp.SessionFromContext(ctx), Item{kind, name})
}
