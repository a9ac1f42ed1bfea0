package connection

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// answer has a message handled by the middleware, where chain is not nil, and otherwise
// by its handler. It calls that itself: every function between the bytes and the
// handler is stack that a goroutine has to grow.
func (k *Dispatcher) answer(ctx context.Context, c *core, in *peer.Inbound, chain peer.Handler) (peer.Reply, error) {
	if chain != nil {
		return chain.Handle(ctx, in)
	}
	facts := c.conn.state.snapshot()
	m := k.method(in.Method, facts.revision)
	switch {
	case in.ID.IsZero():
		k.notice(ctx, c, m, facts, in)
		return peer.Reply{}, nil
	case !c.comes(m.info, facts.revision, false):
		return peer.Reply{}, notFound(in.Method)
	case in.Method == mcp.MethodInitialize:
		return k.initialize(c, in)
	}
	req, err := k.admit(c, m, facts, in)
	if err != nil {
		return peer.Reply{}, err
	}
	c.request = req
	var res wire.Value
	if k.unbegun.rounds != nil && mayAsk(m.info, facts) {
		c.await(&k.unbegun)
		res, err = k.unbegun.rounds.Serve(ctx, in, req, m.route.Serve)
	} else {
		res, err = m.route.Serve(ctx, req)
	}
	if err != nil {
		res, err = askBack(m.info, err, facts.revision, c.conn.client)
	}
	if err != nil {
		return peer.Reply{}, err
	}
	return peer.Reply{Result: res, Frame: k.frame(c.conn, m.info, facts.revision)}, nil
}

// conclude makes the outcome of a message ready for its sender. It comes after all of
// the middleware.
func (c *core) conclude(reply peer.Reply, err error) (peer.Reply, error) {
	if effect := c.effect; effect != nil {
		c.effect = nil
		err = effect(err)
	}
	if err != nil {
		return peer.Reply{}, outward(c.conn.state.Revision(), c.told(err))
	}
	if reply.Frame == nil {
		reply.Frame = plainFrame(c.conn.state.Revision())
	}
	return reply, nil
}

// intend sees to it that a request takes effect with its outcome, as far as this is
// not its handler's. A subscription does at once, so that no change is missed, and
// is taken back where it fails.
func (k *Dispatcher) intend(c *core, m peer.Message) error {
	s := &c.conn.state
	switch m := m.(type) {
	case *mcp.SubscribeRequest:
		sub, _ := s.subscribe(m.URI, k.opts.MaxSubscriptions)
		if sub == nil {
			return &peer.Error{
				Code:    mcp.CodeInternal,
				Message: fmt.Sprintf("Too many subscriptions: a session may have %d", k.opts.MaxSubscriptions),
			}
		}
		c.effect = func(err error) error {
			if err != nil {
				s.takeBack(m.URI, sub)
			}
			return err
		}
	case *mcp.UnsubscribeRequest:
		c.effect = onSuccess(func() error { s.Unsubscribe(m.URI); return nil })
	case *mcp.SetLevelRequest:
		c.effect = onSuccess(func() error { s.SetLogLevel(m.Level); return nil })
	}
	return nil
}

// abort ends a request that has no outcome, since its handler has panicked or is
// called again.
func (c *core) abort() {
	if effect := c.effect; effect != nil {
		c.effect = nil
		_ = effect(errAborted)
	}
}

var errAborted = errors.New("the handler has not returned")

// onSuccess is the effect of a request that has one where it succeeds.
func onSuccess(f func() error) func(error) error {
	return func(err error) error {
		if err != nil {
			return err
		}
		return f()
	}
}

// comes tells whether a method may come to this end. Methods that the protocol
// does not know may.
func (c *core) comes(info *peer.MethodInfo, r wire.Revision, notification bool) bool {
	if info == nil {
		return true
	}
	way := info.FromClient
	if c.conn.client {
		way = info.FromServer
	}
	return info.Notification == notification && way.Has(r)
}

// admit reads a request for its handler. The params are judged before the state is:
// what is wrong in itself is refused whoever sends it, and whether anyone handles
// it or not.
func (k *Dispatcher) admit(c *core, m *method, facts *facts, in *peer.Inbound) (peer.Message, error) {
	req, err := c.read(m, in, facts.revision)
	if err != nil {
		return nil, err
	}
	if m.info == nil && !c.conn.client && !facts.handshake {
		if err := c.admitOwn(req, in.Transport); err != nil {
			return nil, err
		}
	}
	switch {
	case !m.handled():
		return nil, notFound(in.Method)
	case !c.conn.client && !facts.accepted() && in.Method != mcp.MethodPing:
		return nil, errUninitialized
	}
	c.abort()
	if m.hasEffect {
		err = k.intend(c, req)
	}
	return req, err
}

var errUninitialized = &peer.Error{
	Code:    mcp.CodeInvalidRequest,
	Message: "Invalid request: the session has not been initialized",
}

// admitOwn judges a request that is not the protocol's by what only its type knows:
// the name that a header repeats, and the extension that it belongs to. Others were
// judged with their envelope.
func (c *core) admitOwn(m peer.Message, t peer.TransportContext) error {
	if named, is := m.(peer.Named); is && t != nil && t.Header() != nil && named.NameMember() != "" {
		if err := nameRepeated(named.NameMember(), "", t.Header()); err != nil {
			return err
		}
	}
	if x, is := m.(peer.Extension); is {
		return c.conn.door().needExtension(m.Method(), x.Extension())
	}
	return nil
}

// notice handles a notification. Nobody is told what is wrong with one.
func (k *Dispatcher) notice(ctx context.Context, c *core, m *method, facts *facts, in *peer.Inbound) {
	log := k.log(c.conn)
	if !c.comes(m.info, facts.revision, true) {
		log.DebugContext(ctx, "notification dropped: the revision does not have it in this direction", "method", in.Method)
		return
	}
	n, err := c.read(m, in, facts.revision)
	if err != nil {
		log.WarnContext(ctx, "notification dropped: it is malformed", "method", in.Method, "error", err)
		return
	}
	if in.Method == mcp.MethodInitialized {
		k.confirm(ctx, c.conn)
	} else if !c.conn.client && !facts.accepted() {
		log.DebugContext(ctx, "notification dropped: the session has not been initialized", "method", in.Method)
		return
	}
	if !m.handled() {
		return
	}
	if _, err := m.route.Serve(ctx, n); err != nil {
		log.WarnContext(ctx, "notification handler failed", "method", in.Method, "error", err)
	}
}

// method is what is known of a method, and what answers it: the program's handler,
// or the kernel's.
type method struct {
	info      *peer.MethodInfo // nil where the protocol does not have it
	route     peer.Route       // nothing where nobody handles it
	extension *method          // that of an extension, nil where there is none
	hasEffect bool             // see intend
}

func (m *method) handled() bool { return m.route.New != nil }

// method finds a method as a revision has it.
func (k *Dispatcher) method(name string, r wire.Revision) *method {
	m := k.methods[name]
	if m == nil || m.extension != nil {
		return m.in(r)
	}
	return m
}

// in is the method in a revision. An extension may have one where the revision itself
// does not.
func (m *method) in(r wire.Revision) *method {
	switch {
	case m == nil:
		return new(method)
	case handshake(r) || m.info != nil && (m.info.FromClient|m.info.FromServer).Has(r):
		return m
	}
	return m.extension
}

// listMethods lists all methods that are known or handled.
func (k *Dispatcher) listMethods() map[string]*method {
	all := make(map[string]*method)
	for i := range mcp.Methods {
		all[mcp.Methods[i].Name] = &method{info: &mcp.Methods[i]}
	}
	for _, name := range []string{mcp.MethodSubscribe, mcp.MethodUnsubscribe, mcp.MethodSetLevel} {
		all[name].hasEffect = true
	}
	for _, mux := range []*peer.Mux{&k.builtin, k.mux} {
		for name := range mux.Methods() {
			if mux == k.mux && name == mcp.MethodDiscover {
				continue
			}
			if all[name] == nil {
				all[name] = new(method)
			}
			all[name].route, _ = mux.Route(name)
			if route, has := mux.Extension(name); has {
				all[name].extension = &method{route: route}
			}
		}
	}
	return all
}

// The messages of the protocol, for judging the params of those that nobody
// handles.
var serverSurface, clientSurface = func() (server, client *peer.Mux) {
	server, client = new(peer.Mux), new(peer.Mux)
	mcp.HandleServer(server, mcp.ServerPeer{})
	mcp.HandleClient(client, mcp.ClientPeer{})
	return server, client
}()

// read reads the message for its handler. Without one, it judges the params if the
// protocol knows the method, and returns nil.
func (c *core) read(m *method, in *peer.Inbound, r wire.Revision) (peer.Message, error) {
	msg, unheard := c.request, c.unheard
	c.request, c.unheard = nil, false // a handler that is called twice gets its own
	if unheard && in == c.in && in.Value == nil && m.handled() && m.route.Is(msg) {
		return msg, nil
	}
	route := m.route
	if !m.handled() {
		surface := serverSurface
		if c.conn.client {
			surface = clientSurface
		}
		if route, _ = surface.Route(in.Method); route.New == nil {
			return nil, nil
		}
	}
	if in.Value != nil && route.Is(in.Value) {
		return in.Value, nil
	}
	msg = route.New()
	if err := in.Decode(plainFrame(r), msg); err != nil {
		return nil, invalidParams(err)
	}
	return msg, nil
}

// mayAsk tells whether a handler may ask for input before it answers, and
// whether that would travel in the answer in some revision.
func mayAsk(info *peer.MethodInfo, f *facts) bool {
	return info != nil && info.MultiRoundTrip != 0 && (f.handshake || info.MultiRoundTrip.Has(f.revision))
}

func notFound(method string) *peer.Error {
	name, err := json.Marshal(method)
	if err != nil {
		name = nil // a name that is no text is left out
	}
	return &peer.Error{Code: mcp.CodeMethodNotFound, Message: "Method not found", Data: name}
}
