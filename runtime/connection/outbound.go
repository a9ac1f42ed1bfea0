package connection

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/loglevel"
	"github.com/mcpwright/mcp/runtime/internal/outbound"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// sender checks and sends messages. All messages to the peer are sent by one.
type sender struct {
	checker
	out     peer.Outbound
	session *session // of the message being handled; nil for the connection's own channel
}

// call sends a request if it may be sent.
func (s sender) call(ctx context.Context, req peer.Message, res wire.Value, opts []peer.CallOption) error {
	info := methodOf(req)
	inResult, err := s.route(req.Method(), info)
	if err != nil {
		return err
	}
	if x, ok := req.(peer.Extension); ok {
		if err := s.requireExtension(x); err != nil {
			return err
		}
	}
	check, err := s.check(req, info)
	if err != nil {
		return err
	}
	s.awaitInitialized(ctx, req.Method())
	out := s.out
	if inResult {
		out = questionOutbound{s.session, check}
	}
	question := info != nil && info.Embedded != 0
	opts = s.facts.request.before(opts, question)
	err = s.send(ctx, out, req, res, opts, check)
	if err != nil && !inResult && question {
		err = s.retry(ctx, req, res, opts, check, err)
	}
	return err
}

// route reports whether a request is sent in the result of the message being handled, rather than
// as a request of its own. The error is not nil if neither is possible.
func (s sender) route(method string, info *peer.MethodInfo) (inResult bool, err error) {
	r := s.facts.revision
	switch {
	case s.conn.client:
		if info != nil && !info.FromClient.Has(r) {
			return false, &UnsupportedError{Method: method, Revision: r}
		}
	case !s.facts.handshake:
		if s.session == nil || info == nil || !info.Embedded.Has(r) {
			return false, &peer.NoBackChannelError{Method: method}
		}
		ok, ended := s.session.hasRound()
		if !ok || ended {
			return false, &peer.NoBackChannelError{Method: method, Returned: ended}
		}
		return true, nil
	case info != nil && !info.FromServer.Has(r):
		return false, &UnsupportedError{Method: method, Revision: r}
	case s.session != nil && !s.session.Transport().CanSendRequest():
		return false, &peer.NoBackChannelError{Method: method}
	}
	switch s.out.(type) {
	case outbound.None, outbound.NotifyOnly:
		return false, &peer.NoBackChannelError{Method: method}
	}
	return false, nil
}

// initializedTimeout limits how long a request waits until the client confirms the handshake.
const initializedTimeout = 5 * time.Second

// awaitInitialized waits until the client has confirmed the handshake, because a server may send
// only ping before. After the timeout the request is sent nevertheless, and later requests do not
// wait. If ctx ends first, the channel returns the error.
func (s sender) awaitInitialized(ctx context.Context, method string) {
	if s.conn.client || s.facts.initialized || s.facts.timedOut || method == mcp.MethodPing {
		return
	}
	timer := time.NewTimer(initializedTimeout)
	defer timer.Stop()
	select {
	case <-s.conn.Initialized():
	case <-timer.C:
		s.conn.state.update(func(f *facts) { f.timedOut = true })
	case <-ctx.Done():
	}
}

// send sends a request that has been checked, and checks its response.
func (s sender) send(ctx context.Context, out peer.Outbound, req peer.Message, res wire.Value, opts []peer.CallOption, check responseCheck) error {
	err := typed(s.conn.state.Revision(), s.conn.wrapped(out).Call(ctx, req, res, opts...))
	if err != nil && !outbound.IsInvalidResponse(err) {
		return err
	}
	// A result of another type can be the reason why decoding failed.
	if other := s.checkResultType(req.Method(), res); other != nil {
		return other
	}
	if err != nil {
		return err
	}
	return check.check(res)
}

// checkResultType checks that a result is a complete one. Results of other types can be decoded
// only into types of the caller's own.
func (s sender) checkResultType(method string, res wire.Value) error {
	typ := mcp.ResultTypeOf(res)
	if typ == "" || typ == mcp.ResultTypeComplete || s.facts.handshake {
		return nil
	}
	return &InvalidError{Method: method, Answer: true, Err: fmt.Errorf("no result of the type %q was asked for", typ)}
}

// retry repeats a question that was sent as a request if the response is invalid and the message
// being handled has a round. A question in a result is repeated by its round in any case.
func (s sender) retry(ctx context.Context, req peer.Message, res wire.Value, opts []peer.CallOption, check responseCheck, err error) error {
	if s.session == nil || !outbound.IsInvalidResponse(err) {
		return err
	}
	round := s.session.currentRound()
	if round == nil {
		return err
	}
	return round.Retry(ctx, req, err, func() error {
		reflect.ValueOf(res).Elem().SetZero()
		return s.send(ctx, s.out, req, res, opts, check)
	})
}

// notify sends a notification, or drops it if it may not be sent.
func (s sender) notify(ctx context.Context, n peer.Notification, opts []peer.CallOption) error {
	if reason := s.dropReason(n); reason != "" {
		s.conn.log.DebugContext(ctx, "notification dropped", "method", n.Method(), "reason", reason)
		return nil
	}
	if s.session != nil {
		if p, ok := n.(*mcp.ProgressNotification); ok && s.session.reportsProgress(p) {
			return s.progress(ctx, peer.Progress{Progress: p.Progress, Total: p.Total, Message: p.Message})
		}
	}
	if len(s.conn.outgoing()) > 0 {
		n = outbound.Original(n)
	}
	err := s.conn.wrapped(s.out).Notify(ctx, n, plainOptions(s.facts.revision).before(opts, false)...)
	if err == nil || encodeError(err) != nil {
		return err
	}
	s.conn.log.DebugContext(ctx, "notification dropped", "method", n.Method(), "error", err)
	return nil
}

// tryNotify sends a notification without waiting. It reports false if notify must be called: the
// notification would be dropped or sent in order, or middleware, which may wait, must be called.
func (s sender) tryNotify(n peer.Notification, f *wire.Frame) (sent bool) {
	method := n.Method()
	if len(s.conn.outgoing()) > 0 || method == mcp.MethodProgress {
		return false
	}
	if !s.isAllowedUpdate(n, method) && s.dropReason(n) != "" {
		return false
	}
	if f == nil {
		f = plainOptions(s.facts.revision).frame
	}
	return outbound.TryNotify(s.out, n, f)
}

// isAllowedUpdate reports whether n is an update of a resource that a server sends to many
// sessions, and may be sent. If it is false, dropReason decides.
func (s sender) isAllowedUpdate(n peer.Notification, method string) bool {
	if !s.facts.sendsUpdates || s.conn.client || method != mcp.MethodResourceUpdated {
		return false
	}
	_, ok := n.(outbound.Encoded)
	return ok
}

// progress sends a progress report about the message being handled.
func (s sender) progress(ctx context.Context, p peer.Progress) error {
	info := mcp.MethodByName(mcp.MethodProgress)
	in, back := s.session.in, s.session.back()
	if s.session.listens() || s.conn.client && !info.FromClient.Has(s.conn.state.Revision()) {
		return nil
	}
	if len(s.conn.outgoing()) == 0 || in.Token.IsZero() {
		return back.Progress(ctx, p)
	}
	return s.conn.wrapped(progressOutbound{back}).Notify(ctx, &mcp.ProgressNotification{
		ProgressToken: in.Token, Progress: p.Progress, Total: p.Total, Message: p.Message,
	})
}

// dropReason returns why a notification may not be sent, or the empty string.
func (s sender) dropReason(n peer.Notification) string {
	info := methodOf(n)
	if x, ok := n.(peer.Extension); ok {
		if err := s.requireExtension(x); err != nil {
			return err.Error()
		}
	}
	if info == nil {
		return ""
	}
	window := info.FromServer
	if s.conn.client {
		window = info.FromClient
	}
	if !window.Has(s.facts.revision) {
		return "the revision does not have it in this direction"
	}
	if info.Capability != "" && !s.declared(info.Capability) {
		return "capability " + info.Capability + " was not declared"
	}
	if s.conn.client {
		return ""
	}
	return s.serverDropReason(n, info)
}

// serverDropReason is dropReason for rules that apply to servers only.
func (s sender) serverDropReason(n peer.Notification, info *peer.MethodInfo) string {
	stateless := !s.facts.handshake
	switch {
	case s.listening() && (info.Name == mcp.MethodLoggingMessage || info.Name == mcp.MethodProgress):
		return "the stream of a subscription carries no log messages and no progress"
	case info.Name == mcp.MethodLoggingMessage:
		return s.logDropReason(n)
	case info.Name == mcp.MethodProgress && s.otherToken(n):
		return "the request being handled has another progress token, or none"
	case stateless && info.FilterMember != "" && !s.listening():
		return "only subscriptions carry it"
	case stateless && info.Name == mcp.MethodCancelled && !s.endsListen(n):
		return "a server may cancel only a subscription"
	}
	return ""
}

// otherToken reports whether a progress notification is not about the request being handled. In
// revision 2025-11-25 it may be about a task.
func (s sender) otherToken(n peer.Notification) bool {
	p, ok := n.(*mcp.ProgressNotification)
	return ok && s.session != nil && p.ProgressToken != s.session.in.Token && s.facts.revision != mcp.Revision20251125
}

// listening reports whether the message being handled is a subscription.
func (s sender) listening() bool { return s.session != nil && s.session.listens() }

// endsListen reports whether a notification cancels the subscription being handled.
func (s sender) endsListen(n peer.Notification) bool {
	c, ok := n.(*mcp.CancelledNotification)
	return s.listening() && ok && c.RequestID == s.session.in.ID
}

// logDropReason returns why the client does not receive a log message, or the empty string. The
// session has the level in a handshake revision, and the request being handled in a stateless
// revision. Without a request there are no log messages then.
func (s sender) logDropReason(n peer.Notification) string {
	minimum := s.facts.logs.Level()
	if !s.facts.handshake {
		if s.session == nil || s.session.logs == 0 {
			return "no log level was requested"
		}
		minimum = s.session.logs.Level()
	}
	m, ok := n.(*mcp.LoggingMessageNotification)
	if ok && minimum != "" && loglevel.Below(m.Level, minimum) {
		return "its level is below the requested level " + string(minimum)
	}
	return ""
}

// wrapped returns an outbound with the middleware around it.
func (c *Connection) wrapped(out peer.Outbound) peer.Outbound {
	for _, wrap := range slices.Backward(c.outgoing()) {
		out = wrap(out)
	}
	return out
}

// questionOutbound sends requests as questions in the result of the message being handled.
type questionOutbound struct {
	session *session
	check   responseCheck
}

func (q questionOutbound) Call(ctx context.Context, req peer.Message, res wire.Value, opts ...peer.CallOption) error {
	var o peer.CallOptions
	for _, opt := range opts {
		opt(&o)
	}
	return q.session.currentRound().Ask(ctx, &Question{Message: req, Key: o.Key, Check: q.check.check}, res)
}

func (questionOutbound) Notify(context.Context, peer.Notification, ...peer.CallOption) error {
	return nil
}

// progressOutbound sends progress notifications as reports about the message being handled.
type progressOutbound struct{ peer.BackChannel }

func (o progressOutbound) Notify(ctx context.Context, n peer.Notification, opts ...peer.CallOption) error {
	if p, ok := n.(*mcp.ProgressNotification); ok {
		return o.Progress(ctx, peer.Progress{Progress: p.Progress, Total: p.Total, Message: p.Message})
	}
	return o.BackChannel.Notify(ctx, n, opts...)
}
