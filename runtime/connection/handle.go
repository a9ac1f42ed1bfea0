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

// handle is the innermost handler: what the middleware is around.
func (k *Kernel) handle(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
	c := coreFrom(ctx)
	info := mcp.MethodByName(in.Method)
	switch {
	case c == nil:
		return peer.Reply{}, errors.New("the context of the message was lost on its way through the middleware")
	case in.ID.IsZero():
		k.notification(ctx, c, info, in)
		return peer.Reply{}, nil
	case !c.comes(info, false):
		return peer.Reply{}, notFound(in.Method)
	case in.Method == mcp.MethodInitialize:
		return k.initialize(c, in)
	}
	facts := c.conn.state.snapshot()
	route, req, err := k.admit(c, in, facts)
	if err != nil {
		return peer.Reply{}, err
	}
	res, err := k.call(ctx, c, info, in, route, req)
	if ask := asInput(err); ask != nil {
		res, err = askBack(info, ask, facts.revision)
	}
	if err != nil {
		return peer.Reply{}, err
	}
	return peer.Reply{Result: res, Frame: k.frame(c.conn, facts.revision)}, nil
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

// admit finds the handler of a request and reads the request for it. The params
// are judged before the state is: what is wrong in itself is refused whoever
// sends it, and whether anyone handles it or not.
func (k *Kernel) admit(c *core, in *peer.Inbound, facts *facts) (peer.Route, peer.Message, error) {
	route, handled := k.route(in.Method)
	req, err := k.read(c, route, in, facts.revision)
	switch {
	case err != nil:
		return peer.Route{}, nil, err
	case !handled:
		return peer.Route{}, nil, notFound(in.Method)
	case !c.conn.client && !facts.accepted() && in.Method != mcp.MethodPing:
		return peer.Route{}, nil, &peer.Error{
			Code:    mcp.CodeInvalidRequest,
			Message: "Invalid request: the session has not been initialized",
		}
	}
	return route, req, nil
}

// route finds what answers a method: the program's handler, or the kernel's.
func (k *Kernel) route(method string) (peer.Route, bool) {
	if method != mcp.MethodDiscover {
		if r, ok := k.mux.Route(method); ok {
			return r, true
		}
	}
	return k.builtin.Route(method)
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
	if in.Value != nil && route.Is(in.Value) {
		return in.Value, nil
	}
	m := route.New()
	if err := decode(in, r, m); err != nil {
		return nil, invalidParams(err)
	}
	return m, nil
}

// decode reads the params of a message in the form of a revision. A message
// that was passed on in process is written down first.
func decode(in *peer.Inbound, r wire.Revision, m wire.Params) error {
	if in.Value == nil {
		return in.Decode(plainFrame(r), m)
	}
	raw, err := wire.AppendParams(nil, plainFrame(r), in.Value)
	if err != nil {
		return err
	}
	return wire.DecodeParams(raw, &wire.Frame{Revision: r, Checked: true}, m)
}

// call calls the handler of a request, with what goes around it.
func (k *Kernel) call(ctx context.Context, c *core, info *peer.MethodInfo, in *peer.Inbound, route peer.Route, req peer.Message) (wire.Value, error) {
	var after func()
	switch req := req.(type) {
	case *mcp.SubscribeRequest:
		return k.subscribe(&c.conn.state, req.URI, func() (wire.Value, error) { return route.Serve(ctx, req) })
	case *mcp.UnsubscribeRequest:
		after = func() { c.conn.state.Unsubscribe(req.URI) }
	case *mcp.SetLevelRequest:
		after = func() { c.conn.state.SetLogLevel(req.Level) }
	}
	if k.opts.NewRound != nil && mayAsk(info, c.conn.state.Negotiated()) {
		c.round = k.opts.NewRound(ctx, in)
		return c.round.Serve(ctx, req, route.Serve)
	}
	res, err := route.Serve(ctx, req)
	if err == nil && after != nil {
		after()
	}
	return res, err
}

// mayAsk tells whether a handler may ask for input before it answers, and
// whether that would travel in the answer in some revision.
func mayAsk(info *peer.MethodInfo, r wire.Revision) bool {
	return info != nil && info.MultiRoundTrip != 0 && (handshake(r) || info.MultiRoundTrip.Has(r))
}

// subscribe records a subscription, and forgets it if its handler does not
// agree.
func (k *Kernel) subscribe(s *State, uri string, next func() (wire.Value, error)) (wire.Value, error) {
	added, ok := s.subscribe(uri, k.opts.MaxSubscriptions)
	if !ok {
		return nil, &peer.Error{
			Code:    mcp.CodeInternal,
			Message: fmt.Sprintf("Too many subscriptions: a session may have %d", k.opts.MaxSubscriptions),
		}
	}
	res, err := next()
	if err != nil && added {
		s.Unsubscribe(uri)
	}
	return res, err
}

// notification passes a notification on to its handler. Nobody is told what is
// wrong with one.
func (k *Kernel) notification(ctx context.Context, c *core, info *peer.MethodInfo, in *peer.Inbound) {
	log := k.log(c.conn)
	if !c.comes(info, true) {
		log.DebugContext(ctx, "notification dropped: the revision does not have it in this direction", "method", in.Method)
		return
	}
	facts := c.conn.state.snapshot()
	route, handled := k.mux.Route(in.Method)
	m, err := k.read(c, route, in, facts.revision)
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
	if !handled {
		return
	}
	if _, err := route.Serve(ctx, m); err != nil {
		log.WarnContext(ctx, "notification handler failed", "method", in.Method, "error", err)
	}
}

func notFound(method string) *peer.Error {
	name, err := json.Marshal(method)
	if err != nil {
		name = nil // a name that is no text is left out
	}
	return &peer.Error{Code: mcp.CodeMethodNotFound, Message: "Method not found", Data: name}
}
