package connection

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/outbound"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// A door is the one way out to the peer. Whatever is sent goes through one, and
// is checked there by its method.
type door struct {
	conn  *Connection
	facts *facts // as they were when the sending began
	out   peer.Outbound
	core  *core // the message being handled, nil on the connection's own channel
}

// call sends a request if it may be sent.
func (d door) call(ctx context.Context, req peer.Message, res wire.Value, opts []peer.CallOption) error {
	info := methodOf(req)
	ask, err := d.reach(req.Method(), info)
	if err != nil {
		return err
	}
	if x, is := req.(peer.Extension); is {
		if err := d.needExtension(req.Method(), x.Extension()); err != nil {
			return err
		}
	}
	checked, err := d.judge(req, info)
	if err != nil {
		return err
	}
	d.awaitConfirmation(ctx, req.Method())
	out := d.out
	if ask {
		out = asking{d.core, checked}
	}
	question := info != nil && info.Embedded != 0
	opts = d.facts.request.before(opts, question)
	err = d.send(ctx, out, req, res, opts, checked)
	if err != nil && !ask && question {
		err = d.insist(ctx, req, res, opts, checked, err)
	}
	return err
}

// confirmTime is how long a question waits for the client to confirm the handshake.
const confirmTime = 5 * time.Second

// awaitConfirmation waits until the client has confirmed the handshake: before, it
// is asked nothing but whether it is there. One that does not confirm is asked all
// the same, and is not waited for again; where ctx ends first, the channel says so.
func (d door) awaitConfirmation(ctx context.Context, method string) {
	if d.conn.client || d.facts.initialized || d.facts.overdue || method == mcp.MethodPing {
		return
	}
	timer := time.NewTimer(confirmTime)
	defer timer.Stop()
	select {
	case <-d.conn.Initialized():
	case <-timer.C:
		d.conn.state.update(func(f *facts) { f.overdue = true })
	case <-ctx.Done():
	}
}

// send sends a request that has been judged, with options that say how it is written,
// and judges the answer.
func (d door) send(ctx context.Context, out peer.Outbound, req peer.Message, res wire.Value, opts []peer.CallOption, c checked) error {
	err := typed(d.conn.wrapped(out).Call(ctx, req, res, opts...))
	if err != nil && !BadAnswer(err) {
		return err
	}
	if other := d.final(req.Method(), res); other != nil { // and may read like one that is broken
		return other
	}
	if err != nil {
		return err
	}
	return c.answer(res)
}

// final tells whether an answer is a whole one. What it is otherwise, if it says
// that it is something else, only a type of the caller's own can know.
func (d door) final(method string, res wire.Value) error {
	kind := mcp.ResultTypeOf(res)
	if kind == "" || kind == mcp.ResultTypeComplete || d.facts.handshake {
		return nil
	}
	return &InvalidError{Method: method, Answer: true, Err: fmt.Errorf("no result of the type %q was asked for", kind)}
}

// reach tells how a request gets to the peer: as a question inside the answer
// to the message being handled, or on its own.
func (d door) reach(method string, info *peer.MethodInfo) (ask bool, err error) {
	r := d.facts.revision
	switch {
	case d.conn.client:
		if info != nil && !info.FromClient.Has(r) {
			return false, &UnsupportedError{Method: method, Revision: r}
		}
	case !d.facts.handshake:
		if d.core != nil && d.core.mayAsk() && info != nil && info.Embedded.Has(r) {
			return true, nil
		}
		return false, &peer.NoBackChannelError{Method: method}
	case info != nil && !info.FromServer.Has(r):
		return false, &UnsupportedError{Method: method, Revision: r}
	case d.core != nil && !d.core.Transport().CanSendRequest():
		return false, &peer.NoBackChannelError{Method: method}
	}
	switch d.out.(type) {
	case outbound.None, outbound.NotifyOnly:
		return false, &peer.NoBackChannelError{Method: method}
	}
	return false, nil
}

// judge tells whether the peer may be asked for this, by whatever way.
func (d door) judge(req peer.Message, info *peer.MethodInfo) (checked, error) {
	if err := d.entitled(req.Method(), info); err != nil {
		return checked{}, err
	}
	return d.check(req)
}

// entitled checks the capability that the method table names.
func (d door) entitled(method string, info *peer.MethodInfo) error {
	if info == nil || info.Capability == "" {
		return nil
	}
	if !d.conn.client {
		return d.need(method, info.Capability)
	}
	have := d.facts.server
	if d.conn.strict && have != nil && declarable(info.Capability, d.facts.revision) && !serverDeclares(have, info.Capability) {
		return &CapabilityError{Method: method, Capability: info.Capability, Revision: d.facts.revision}
	}
	return nil
}

// need checks a capability of the client.
func (d door) need(method, path string) error {
	want := clientNeeds(path)
	if d.conn.HasClientCapability(want) {
		return nil
	}
	return &CapabilityError{Method: method, Capability: path, Required: want, Revision: d.facts.revision}
}

// typed gives a peer's error the type that its code stands for, also where the
// transport has more to say about it.
func typed(err error) error {
	e := peer.AsError(err)
	if e == nil {
		return err
	}
	switch t := mcp.ErrorFrom(e); {
	case t == error(e):
		return err
	case err == error(e):
		return t
	default:
		return &told{err, e, t}
	}
}

// told is an error of the peer's in what a transport says about it. The typed one
// takes its place in the text: it knows more.
type told struct{ err, plain, typed error }

func (t *told) Error() string {
	return strings.Replace(t.err.Error(), t.plain.Error(), t.typed.Error(), 1)
}
func (t *told) Unwrap() []error { return []error{t.typed, t.err} }

// notify sends a notification, or drops it if it may not be sent.
func (d door) notify(ctx context.Context, n peer.Notification, opts []peer.CallOption) error {
	if reason := d.withhold(n); reason != "" {
		d.conn.log.DebugContext(ctx, "notification dropped", "method", n.Method(), "reason", reason)
		return nil
	}
	if d.core != nil {
		if p, ok := n.(*mcp.ProgressNotification); ok && d.core.ownProgress(p) {
			return d.core.Progress(ctx, peer.Progress{Progress: p.Progress, Total: p.Total, Message: p.Message})
		}
	}
	if len(d.conn.outgoing()) > 0 {
		n = outbound.Original(n)
	}
	err := d.conn.wrapped(d.out).Notify(ctx, n, plainSpelling(d.facts.revision).before(opts, false)...)
	if err == nil || unwritable(err) != nil {
		return err
	}
	d.conn.log.DebugContext(ctx, "notification dropped", "method", n.Method(), "error", err)
	return nil
}

// post posts a notification that may be sent. It leaves to notify what is
// withheld or ordered there, and does not try what is around the way out: that
// might wait.
func (d door) post(n peer.Notification, opts []peer.CallOption) (taken bool) {
	if len(d.conn.outgoing()) > 0 || n.Method() == mcp.MethodProgress || d.withhold(n) != "" {
		return false
	}
	return outbound.TryNotify(d.out, n, plainSpelling(d.facts.revision).before(opts, false)...)
}

// withhold tells why a notification may not be sent, empty where it may.
func (d door) withhold(n peer.Notification) string {
	info := methodOf(n)
	if x, is := n.(peer.Extension); is {
		if err := d.needExtension(n.Method(), x.Extension()); err != nil {
			return err.Error()
		}
	}
	if info == nil {
		return ""
	}
	way := info.FromServer
	if d.conn.client {
		way = info.FromClient
	}
	if !way.Has(d.facts.revision) {
		return "the revision does not have it in this direction"
	}
	if info.Capability != "" && !d.declared(info.Capability) {
		return "capability " + info.Capability + " was not declared"
	}
	if d.conn.client {
		return ""
	}
	return d.withholdFromClient(n, info)
}

// declared tells whether the capability that entitles a sender to a
// notification was declared by whoever has to. What this end declared itself
// may be unknown here; then it counts as declared.
func (d door) declared(path string) bool {
	want := clientNeeds(path)
	switch {
	case want == nil:
		return d.facts.server == nil || serverDeclares(d.facts.server, path)
	case d.conn.client && d.conn.state.ClientCapabilities() == nil:
		return true
	}
	return d.conn.HasClientCapability(want)
}

// withholdFromClient is withhold for what depends on the era.
func (d door) withholdFromClient(n peer.Notification, info *peer.MethodInfo) string {
	perRequest := !d.facts.handshake
	switch {
	case d.listening() && (info.Name == mcp.MethodLoggingMessage || info.Name == mcp.MethodProgress):
		return "a subscription carries no logs and no reports"
	case info.Name == mcp.MethodLoggingMessage:
		return d.withholdLog(n)
	case info.Name == mcp.MethodProgress && d.foreign(n):
		return "the request being handled has another token, or none"
	case perRequest && info.FilterMember != "" && !d.listening():
		return "it travels on subscriptions only"
	case perRequest && info.Name == mcp.MethodCancelled && !d.endsListen(n):
		return "a server cancels nothing but a subscription"
	}
	return ""
}

// foreign tells whether a report is about another request than the one being handled.
// In the revision that has tasks of its own it may be about one of those.
func (d door) foreign(n peer.Notification) bool {
	p, ok := n.(*mcp.ProgressNotification)
	return ok && d.core != nil && p.ProgressToken != d.core.in.Token && d.facts.revision != mcp.Revision20251125
}

// listening tells whether the message being handled is a subscription.
func (d door) listening() bool { return d.core != nil && d.core.listens() }

func (d door) endsListen(n peer.Notification) bool {
	c, ok := n.(*mcp.CancelledNotification)
	return d.listening() && ok && c.RequestID == d.core.in.ID
}

// withholdLog tells why the client does not want a log message. In a handshake
// revision the level is the session's, otherwise that of the request being
// handled, and without one there are no logs.
func (d door) withholdLog(n peer.Notification) string {
	least := d.facts.logs.level()
	if !d.facts.handshake {
		if d.core == nil || d.core.logs == 0 {
			return "nobody asked for logs"
		}
		least = d.core.logs.level()
	}
	m, ok := n.(*mcp.LoggingMessageNotification)
	if ok && least != "" && Below(m.Level, least) {
		return "the client wants logs from level " + string(least) + " on"
	}
	return ""
}

// levels are the levels of logs, from the least severe.
var levels = func() []mcp.LoggingLevel {
	var levels []mcp.LoggingLevel
	for _, enum := range mcp.Enums {
		if enum.Type() == "LoggingLevel" {
			for v := range enum.All() {
				levels = append(levels, mcp.LoggingLevel(v.Name))
			}
		}
	}
	return levels
}()

// severity is a level of logs by its place among the levels, counted from 1; 0 is
// none.
type severity uint8

func severityOf(level mcp.LoggingLevel) severity {
	if level == "" {
		return 0
	}
	return severity(slices.Index(levels, level) + 1)
}

// level is empty for none.
func (s severity) level() mcp.LoggingLevel {
	if s == 0 {
		return ""
	}
	return levels[s-1]
}

// Below tells whether a level is less severe than another. One that is no level
// is not: writing it will tell.
func Below(level, least mcp.LoggingLevel) bool {
	i := slices.Index(levels, level)
	return i >= 0 && i < slices.Index(levels, least)
}

// asInput returns the questions that err asks for, if it does.
func asInput(err error) *mcp.InputRequiredResult {
	if e, ok := errors.AsType[*mcp.InputRequiredError](err); ok {
		return e.Result
	}
	return nil
}
