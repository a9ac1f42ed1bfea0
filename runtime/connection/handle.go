package connection

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/fit"
	"github.com/mcpwright/mcp/runtime/internal/limit"
	"github.com/mcpwright/mcp/runtime/internal/revisions"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// handle handles a message with the middleware, if chain is not nil, or with its handler. It
// calls the handler itself, because each function between the transport and the handler makes
// the goroutine's stack deeper.
func (d *Dispatcher) handle(ctx context.Context, s *session, in *peer.Inbound, chain peer.Handler) (peer.Reply, error) {
	if chain != nil {
		return chain.Handle(ctx, in)
	}
	facts := s.conn.state.snapshot()
	m := d.method(in.Method, facts.revision)
	switch {
	case in.ID.IsZero():
		d.handleNotification(ctx, s, m, facts, in)
		return peer.Reply{}, nil
	case !s.mayReceive(m.info, facts.revision, false):
		return peer.Reply{}, methodNotFound(in.Method)
	case in.Method == mcp.MethodInitialize:
		return d.initialize(s, in)
	}
	req, err := d.prepare(s, m, facts, in)
	if err != nil {
		return peer.Reply{}, err
	}
	s.request = req
	var res wire.Value
	if d.pending.rounds != nil && mayAskInput(m.info, facts) {
		s.expectRound(&d.pending)
		res, err = d.pending.rounds.Serve(ctx, in, req, m.route.Serve)
	} else {
		res, err = m.route.Serve(ctx, req)
	}
	if err == nil && !s.conn.client {
		res, err = fit.Result(facts.revision, res)
	}
	if err != nil {
		res, err = inputResult(m.info, err, facts.revision, s.conn.client)
	}
	if err != nil {
		return peer.Reply{}, err
	}
	return peer.Reply{Result: res, Frame: d.frame(s.conn, m.info, facts.revision)}, nil
}

// finish prepares the result or error of a message for its sender, after all middleware.
func (s *session) finish(reply peer.Reply, err error) (peer.Reply, error) {
	if effect := s.effect; effect != nil {
		s.effect = nil
		err = effect(err)
	}
	if err != nil {
		return peer.Reply{}, forRevision(s.conn.state.Revision(), s.checkError(err))
	}
	if reply.Frame == nil {
		reply.Frame = revisions.Frame(s.conn.state.Revision())
	}
	return reply, nil
}

// checkError replaces an error that sends the user to a URL if the client does not support URLs.
func (s *session) checkError(err error) error {
	e := peer.AsError(err)
	if e == nil || s.conn.client || !codeWindow(e.Code).Has(s.conn.state.Revision()) {
		return err
	}
	if _, ok := mcp.ErrorFrom(e).(*mcp.URLElicitationRequiredError); !ok {
		return err
	}
	if unsupported := s.checker().requireClient(s.in.Method, "elicitation.url"); unsupported != nil {
		return unsupported
	}
	return err
}

func (s *session) checker() checker { return checker{s.conn, s.conn.state.snapshot()} }

// setEffect sets the effect that a successful request has on the state, in addition to its
// handler. A subscription takes effect before the handler is called, so that no change is missed,
// and is undone if the request fails.
func (d *Dispatcher) setEffect(s *session, m peer.Message) error {
	state := &s.conn.state
	switch m := m.(type) {
	case *mcp.SubscribeRequest:
		sub, _ := state.subscribe(m.URI, d.opts.MaxSubscriptions)
		if sub == nil {
			return &peer.Error{
				Code:    mcp.CodeInternal,
				Message: fmt.Sprintf("Too many subscriptions: a session may have %d", d.opts.MaxSubscriptions),
			}
		}
		s.effect = func(err error) error {
			if err != nil {
				state.undoSubscribe(m.URI, sub)
			}
			return err
		}
	case *mcp.UnsubscribeRequest:
		s.effect = onSuccess(func() error { state.Unsubscribe(m.URI); return nil })
	case *mcp.SetLevelRequest:
		s.effect = onSuccess(func() error { state.SetLogLevel(m.Level); return nil })
	}
	return nil
}

// abortEffect ends the effect of a request without a result: its handler panicked or is called
// again.
func (s *session) abortEffect() {
	if effect := s.effect; effect != nil {
		s.effect = nil
		_ = effect(errAborted)
	}
}

var errAborted = errors.New("the handler has not returned")

// onSuccess returns an effect that calls f if the request succeeds.
func onSuccess(f func() error) func(error) error {
	return func(err error) error {
		if err != nil {
			return err
		}
		return f()
	}
}

// mayReceive reports whether the revision allows a method in this direction. Methods that are not
// part of the protocol are allowed.
func (s *session) mayReceive(info *peer.MethodInfo, r wire.Revision, notification bool) bool {
	if info == nil {
		return true
	}
	window := info.FromClient
	if s.conn.client {
		window = info.FromServer
	}
	return info.Notification == notification && window.Has(r)
}

// prepare decodes and checks a request. It validates the params before the state, and even if
// there is no handler, so that an invalid request gets the same error from all sessions.
func (d *Dispatcher) prepare(s *session, m *method, facts *facts, in *peer.Inbound) (peer.Message, error) {
	req, err := s.decode(m, in, facts.revision)
	if err != nil {
		return nil, err
	}
	switch {
	case !m.handled():
		return nil, methodNotFound(in.Method)
	case s.conn.client || in.Method == mcp.MethodPing:
	case !facts.accepted():
		return nil, errUninitialized
	case d.opts.RequireInitialized && facts.handshake && !facts.initialized:
		return nil, errUnconfirmed
	}
	if m.info == nil && !s.conn.client {
		if err := s.checkCustom(req, in.Transport, facts.handshake); err != nil {
			return nil, err
		}
	}
	s.abortEffect()
	if m.hasEffect {
		err = d.setEffect(s, req)
	}
	return req, err
}

var errUninitialized = &peer.Error{
	Code:    mcp.CodeInvalidRequest,
	Message: "Invalid request: the session has not been initialized",
}

var errUnconfirmed = &peer.Error{
	Code:    mcp.CodeInvalidRequest,
	Message: "Invalid request: the client has not sent notifications/initialized",
}

// checkCustom checks a request that is not part of the protocol: its extension and, in the
// stateless revisions, the name that a header repeats. For other requests, both were checked with
// the message metadata.
func (s *session) checkCustom(m peer.Message, t peer.TransportContext, handshake bool) error {
	if named, ok := m.(peer.Named); ok && !handshake && t != nil && t.Header() != nil && named.NameMember() != "" {
		if err := checkNameHeader(named.NameMember(), "", t.Header()); err != nil {
			return err
		}
	}
	if x, ok := m.(peer.Extension); ok {
		return s.checker().requireExtension(x)
	}
	return nil
}

// handleNotification handles a notification. It logs errors, because a notification has no
// response.
func (d *Dispatcher) handleNotification(ctx context.Context, s *session, m *method, facts *facts, in *peer.Inbound) {
	log := d.log(s.conn)
	if !s.mayReceive(m.info, facts.revision, true) {
		log.DebugContext(ctx, "notification dropped: the revision does not have it in this direction", "method", in.Method)
		return
	}
	n, err := s.decode(m, in, facts.revision)
	if err != nil {
		log.WarnContext(ctx, "notification dropped: it is malformed", "method", in.Method, "error", err)
		return
	}
	if in.Method == mcp.MethodInitialized {
		d.confirm(ctx, s.conn)
	} else if !s.conn.client && !facts.accepted() {
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

// method is a method of the protocol or of the program.
type method struct {
	info      *peer.MethodInfo // nil if the method is not part of the protocol
	route     peer.Route       // the handler; zero if there is none
	extension *method          // of an extension that has the same method; nil if there is none
	hasEffect bool             // setEffect is called
}

func (m *method) handled() bool { return m.route.New != nil }

// method returns a method in a revision.
func (d *Dispatcher) method(name string, r wire.Revision) *method {
	m := d.methods[name]
	if m == nil || m.extension != nil {
		return m.in(r)
	}
	return m
}

// in returns the method in a revision. If the revision does not have it, an extension may.
func (m *method) in(r wire.Revision) *method {
	switch {
	case m == nil:
		return new(method)
	case m.extension == nil || m.info != nil && (m.info.FromClient|m.info.FromServer).Has(r):
		return m
	}
	return m.extension
}

// listMethods returns all methods of the protocol and all that have a handler.
func (d *Dispatcher) listMethods() map[string]*method {
	all := make(map[string]*method)
	for i := range mcp.Methods {
		all[mcp.Methods[i].Name] = &method{info: &mcp.Methods[i]}
	}
	for _, name := range []string{mcp.MethodSubscribe, mcp.MethodUnsubscribe, mcp.MethodSetLevel} {
		all[name].hasEffect = true
	}
	for _, mux := range []*peer.Mux{&d.builtin, d.mux} {
		for name := range mux.Methods() {
			if mux == d.mux && name == mcp.MethodDiscover {
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

// decode decodes a message for its handler. If there is no handler, it validates the params of a
// method of the protocol and returns nil.
func (s *session) decode(m *method, in *peer.Inbound, r wire.Revision) (peer.Message, error) {
	msg, unhandled := s.request, s.unhandled
	s.request, s.unhandled = nil, false // a second call of the handler gets a message of its own
	if changed := in.Message; changed != nil && changed != s.received.message {
		if !m.handled() || !m.route.Is(changed) {
			return nil, fmt.Errorf("middleware has replaced the message of %q by a %T", in.Method, changed)
		}
		return changed, nil
	}
	sameParams := sameSlice(in.Params, s.received.params) || bytes.Equal(in.Params, s.received.params)
	if unhandled && sameParams && in.Message == s.received.message && in.Value == nil && m.handled() && m.route.Is(msg) {
		return msg, nil
	}
	route := m.route
	if !m.handled() {
		known := serverMessages()
		if s.conn.client {
			known = clientMessages()
		}
		if route, _ = known.Route(in.Method); route.New == nil {
			return nil, nil
		}
	}
	if in.Value != nil && sameParams && route.Is(in.Value) {
		return in.Value, nil
	}
	if !sameParams {
		var err error
		if in, err = s.withChangedParams(in, r); err != nil {
			return nil, invalidParams(err)
		}
	}
	msg = route.New()
	if err := in.Decode(revisions.Frame(r), msg); err != nil {
		return nil, invalidParams(err)
	}
	return msg, nil
}

// withChangedParams returns a message whose params middleware has changed. The params may be invalid,
// and a message that was sent in process had none: they get its metadata, and replace its value.
func (s *session) withChangedParams(in *peer.Inbound, r wire.Revision) (*peer.Inbound, error) {
	if len(in.Params) > 0 {
		if err := wire.Check(in.Params, 0); err != nil {
			return nil, err
		}
		if in.Value != nil {
			own := *in
			own.Value, in = nil, &own
		}
	}
	var members map[string]json.RawMessage
	if s.received.value == nil || revisions.Handshake(r) || json.Unmarshal(in.Params, &members) != nil || members["_meta"] != nil {
		return in, nil
	}
	meta, err := wire.Append(nil, &wire.Frame{Revision: r}, s.senderMeta())
	if err != nil {
		return nil, err
	}
	members["_meta"] = meta
	changed := *in
	changed.Params, err = json.Marshal(members)
	return &changed, err
}

// serverMessages and clientMessages contain the messages of the protocol that a server and a
// client receive, to validate the params of messages without a handler.
var serverMessages, clientMessages = sync.OnceValue(func() *peer.Mux {
	m := new(peer.Mux)
	mcp.HandleServer(m, mcp.ServerPeer{})
	return m
}), sync.OnceValue(func() *peer.Mux {
	m := new(peer.Mux)
	mcp.HandleClient(m, mcp.ClientPeer{})
	return m
})

func methodNotFound(method string) *peer.Error {
	name, err := json.Marshal(limit.Name(method))
	if err != nil {
		name = nil // omits a name that is not valid text
	}
	return &peer.Error{Code: mcp.CodeMethodNotFound, Message: "Method not found", Data: name}
}
