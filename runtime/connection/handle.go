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

// job is a message on its way to its handler.
type job struct {
	*method
	facts   *facts
	message peer.Message
	serve   func(context.Context, peer.Message) (wire.Value, error) // nil where there is nothing to call
	reply   peer.Reply                                              // where there is nothing to call
}

// admit finds the handler of a message, and what goes around it, and reads the
// message for it.
func (k *Kernel) admit(ctx context.Context, c *core, j *job, in *peer.Inbound) (err error) {
	j.method = k.method(in.Method, c.conn.state.Negotiated())
	switch {
	case in.ID.IsZero():
		k.admitNotification(ctx, c, j, in)
		return nil
	case !c.comes(j.info, false):
		return notFound(in.Method)
	case in.Method == mcp.MethodInitialize:
		j.reply, err = k.initialize(c, in)
		return err
	}
	if err := k.admitRequest(c, j, in); err != nil {
		return err
	}
	c.request = j.message
	if k.opts.NewRound != nil && mayAsk(j.info, j.facts.revision) {
		c.round = k.opts.NewRound(ctx, in)
	}
	return nil
}

// conclude makes the answer to a message.
func (k *Kernel) conclude(ctx context.Context, c *core, j *job, res wire.Value, err error) (peer.Reply, error) {
	if c.in.ID.IsZero() {
		if err != nil {
			k.log(c.conn).WarnContext(ctx, "notification handler failed", "method", c.in.Method, "error", err)
		}
		return peer.Reply{}, nil
	}
	if ask := asInput(err); ask != nil {
		res, err = askBack(j.info, ask, j.facts.revision, c.conn.client)
	}
	switch {
	case err != nil:
		return peer.Reply{}, err
	case j.serve == nil:
		return j.reply, nil
	}
	return peer.Reply{Result: res, Frame: k.frame(c.conn, j.info, j.facts.revision)}, nil
}

// intend sees to it that a request takes effect with its outcome, as far as this is
// not its handler's. A subscription does at once, so that no change is missed, and
// is taken back where it fails.
func (k *Kernel) intend(c *core, m peer.Message) error {
	c.abort()
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
func (c *core) comes(info *peer.MethodInfo, notification bool) bool {
	if info == nil {
		return true
	}
	way := info.FromClient
	if c.conn.client {
		way = info.FromServer
	}
	return info.Notification == notification && way.Has(c.conn.state.Negotiated())
}

// admitRequest is admit for a request. The params are judged before the state is:
// what is wrong in itself is refused whoever sends it, and whether anyone handles
// it or not.
func (k *Kernel) admitRequest(c *core, j *job, in *peer.Inbound) (err error) {
	j.facts = c.conn.state.snapshot()
	if j.message, err = k.read(c, j.route, in, j.facts.revision); err != nil {
		return err
	}
	if j.info == nil && !c.conn.client && !handshake(j.facts.revision) {
		if err := c.admitOwn(j.message, in.Transport); err != nil {
			return err
		}
	}
	switch {
	case !j.handled():
		return notFound(in.Method)
	case !c.conn.client && !j.facts.accepted() && in.Method != mcp.MethodPing:
		return &peer.Error{
			Code:    mcp.CodeInvalidRequest,
			Message: "Invalid request: the session has not been initialized",
		}
	}
	if err := k.intend(c, j.message); err != nil {
		return err
	}
	j.serve = j.route.Serve
	return nil
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

// admitNotification is admit for a notification. Nobody is told what is wrong
// with one.
func (k *Kernel) admitNotification(ctx context.Context, c *core, j *job, in *peer.Inbound) {
	log := k.log(c.conn)
	if !c.comes(j.info, true) {
		log.DebugContext(ctx, "notification dropped: the revision does not have it in this direction", "method", in.Method)
		return
	}
	j.facts = c.conn.state.snapshot()
	m, err := k.read(c, j.route, in, j.facts.revision)
	if err != nil {
		log.WarnContext(ctx, "notification dropped: it is malformed", "method", in.Method, "error", err)
		return
	}
	if in.Method == mcp.MethodInitialized {
		k.confirm(ctx, c.conn)
	} else if !c.conn.client && !j.facts.accepted() {
		log.DebugContext(ctx, "notification dropped: the session has not been initialized", "method", in.Method)
		return
	}
	if j.handled() {
		j.serve, j.message = j.route.Serve, m
	}
}

// method is what is known of a method, and what answers it: the program's handler,
// or the kernel's.
type method struct {
	info      *peer.MethodInfo // nil where the protocol does not have it
	route     peer.Route       // nothing where nobody handles it
	extension *method          // that of an extension, nil where there is none
}

func (m *method) handled() bool { return m.route.New != nil }

// method finds a method as a revision has it. An extension may have one where the
// revision itself does not.
func (k *Kernel) method(name string, r wire.Revision) *method {
	m := k.methods[name]
	switch {
	case m == nil:
		return new(method)
	case m.extension == nil || handshake(r) || m.info != nil && (m.info.FromClient|m.info.FromServer).Has(r):
		return m
	}
	return m.extension
}

// listMethods lists all methods that are known or handled.
func (k *Kernel) listMethods() map[string]*method {
	all := make(map[string]*method)
	for i := range mcp.Methods {
		all[mcp.Methods[i].Name] = &method{info: &mcp.Methods[i]}
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

// read reads the message for its route. Without one, it judges the params if
// the protocol knows the method, and returns nil.
func (k *Kernel) read(c *core, route peer.Route, in *peer.Inbound, r wire.Revision) (peer.Message, error) {
	if route.New == nil {
		surface := serverSurface
		if c.conn.client {
			surface = clientSurface
		}
		if route, _ = surface.Route(in.Method); route.New == nil {
			return nil, nil
		}
	}
	switch {
	case in.Value != nil && route.Is(in.Value):
		return in.Value, nil
	case in == c.in && c.message != nil && route.Is(c.message):
		m := c.message
		c.message = nil // a handler that is called twice gets its own
		return m, nil
	}
	m := route.New()
	if err := in.Decode(plainFrame(r), m); err != nil {
		return nil, invalidParams(err)
	}
	return m, nil
}

// mayAsk tells whether a handler may ask for input before it answers, and
// whether that would travel in the answer in some revision.
func mayAsk(info *peer.MethodInfo, r wire.Revision) bool {
	return info != nil && info.MultiRoundTrip != 0 && (handshake(r) || info.MultiRoundTrip.Has(r))
}

func notFound(method string) *peer.Error {
	name, err := json.Marshal(method)
	if err != nil {
		name = nil // a name that is no text is left out
	}
	return &peer.Error{Code: mcp.CodeMethodNotFound, Message: "Method not found", Data: name}
}
