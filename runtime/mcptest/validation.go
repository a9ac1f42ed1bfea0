package mcptest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/revisions"
	"github.com/mcpwright/mcp/runtime/wire"
)

// validation validates one message or one batch. The mutex of the Validator is
// locked.
type validation struct {
	*Validator
	from   Sender
	raw    json.RawMessage
	resent bool

	revision   wire.Revision // that the message is validated by
	at         string        // the pointer of the message in its batch
	method     string
	response   bool
	violations []*Violation
}

// batch validates an array of messages.
func (v *validation) batch() {
	var list []json.RawMessage
	switch {
	case !v.checkJSON():
		return
	case !schemaOf(v.revision).hasBatches():
		v.add("", "the revision has no batches")
		return
	}
	if err := json.Unmarshal(v.raw, &list); err != nil || len(list) == 0 {
		v.add("", "the batch is empty")
		return
	}
	kinds := map[bool]bool{}
	for i, raw := range list {
		v.at, v.method, v.response = fmt.Sprintf("/%d", i), "", false
		v.single(raw)
		kinds[v.response] = true
		if v.method == mcp.MethodInitialize && !v.response {
			v.add("", "initialize must not be in a batch")
		}
	}
	v.at, v.method, v.response = "", "", false
	if len(kinds) > 1 {
		v.add("", "a batch must not contain both responses and other messages")
	}
}

// single validates one message.
func (v *validation) single(raw json.RawMessage) {
	m, ok := parseMessage(raw)
	if v.at == "" && !v.checkJSON() {
		v.expectError(m)
		return
	}
	switch {
	case !ok:
		v.add("", "not a request, a notification or a response")
		v.expectError(m)
	case m.isRequest():
		v.request(m, raw)
	case m.method != "":
		v.notification(m, raw)
	case m.result != nil && m.error != nil:
		v.response = true
		v.add("", "a response must not have both a result and an error")
		v.expectError(m)
	case m.result != nil || m.error != nil:
		v.validateResponse(m, raw)
	default:
		v.validate("", "JSONRPCRequest", raw)
	}
}

// request validates a request, and stores it for its response.
func (v *validation) request(m message, raw json.RawMessage) {
	v.method = m.method
	v.revision = v.revisionOf(m)
	v.checkBegin(m)
	v.validate("", "JSONRPCRequest", raw)
	if !m.params.extensions || !v.methodOfOtherRevision() {
		v.validateMethod(false, raw)
	}
	if m.id.IsZero() {
		return
	}
	key, pending := requestKey{v.from, m.id}, 1
	switch before := v.requests[key]; {
	case before == nil || v.resent:
	case before.pending > 0:
		v.add("/id", "the id %v is in use by another request without a response", m.id)
		pending += before.pending
	case before.method != "" && revisions.Handshake(before.revision) && revisions.Handshake(v.revision):
		v.add("/id", "the id %v was used by another request of the session", m.id)
	}
	v.storeRequest(key, &request{
		method: m.method, revision: v.revision, task: m.params.task, extensions: m.params.extensions, pending: pending,
	})
}

// notification validates a notification.
func (v *validation) notification(m message, raw json.RawMessage) {
	v.method = m.method
	v.revision = v.current
	v.checkBegin(m)
	v.validate("", "JSONRPCNotification", raw)
	v.validateMethod(true, raw)
}

// revisionOf returns the revision of a request. A request of the client also
// selects the revision of later messages without metadata.
func (v *validation) revisionOf(m message) wire.Revision {
	named, known := mcp.ParseRevision(m.params.metaVersion)
	switch {
	case v.from == FromServer:
		return v.current
	case m.method == mcp.MethodInitialize:
		if r, known := mcp.ParseRevision(m.params.version); known && revisions.Handshake(r) {
			return r
		}
		return revisions.Newest(true)
	case v.agreed || !m.params.stateless:
		return v.current
	case !known || revisions.Handshake(named):
		named = revisions.Newest(false)
	}
	v.current = named
	return named
}

// checkBegin checks that a request selects a revision before other messages are
// sent. Pings and log messages of the server may be sent before.
func (v *validation) checkBegin(m message) {
	switch {
	case !v.unbegun || m.method == mcp.MethodPing:
	case v.from == FromClient && m.hasID && (m.method == mcp.MethodInitialize || m.params.stateless):
		v.unbegun = false
	case v.from == FromServer && m.method == mcp.MethodLoggingMessage:
	default:
		v.add("", "the client has not selected a revision yet")
	}
}

// methodOfOtherRevision reports whether the protocol has the method only in other
// revisions. An extension may define it for this revision.
func (v *validation) methodOfOtherRevision() bool {
	info := mcp.MethodByName(v.method)
	return info != nil && !(info.FromClient | info.FromServer).Has(v.revision)
}

// validateMethod validates a request or a notification by the definition of its
// method. It accepts methods that the protocol does not have.
func (v *validation) validateMethod(notification bool, raw json.RawMessage) {
	info := mcp.MethodByName(v.method)
	if info == nil {
		return
	}
	if info.Notification != notification {
		v.add("", "requests must have an id, and notifications must not")
		return
	}
	revisions := info.FromClient
	if v.from == FromServer {
		revisions = info.FromServer
	}
	if !revisions.Has(v.revision) {
		v.add("/method", "the revision has no method %q from the %v", v.method, v.from)
		return
	}
	v.validate("", schemaOf(v.revision).methods[v.method], raw)
}

// expectError stores the id of an invalid message, so that an error response to it
// is accepted.
func (v *validation) expectError(m message) {
	if key := (requestKey{v.from, m.id}); !m.id.IsZero() && v.requests[key] == nil {
		v.storeRequest(key, &request{revision: v.revision, pending: 1})
	}
}

// validateResponse validates a response by its request.
func (v *validation) validateResponse(m message, raw json.RawMessage) {
	v.response = true
	if m.error != nil && (!m.hasID || m.nullID) { // to a message that could not be read
		v.validateError(m, raw)
		return
	}
	key := requestKey{v.from.other(), m.id}
	request := v.requests[key]
	inOtherExchange := v.forgotten || v.partial && revisions.Handshake(v.revision) && (v.from == FromClient || v.resent)
	switch {
	case m.id.IsZero():
		if s := schemaOf(v.revision); v.validate("", s.response(m.error != nil), raw) {
			v.add("/id", "an id must be a string or an integer without a fraction")
		}
		return
	case request == nil && m.error != nil && (inOtherExchange || m.code() == mcp.CodeParse):
		v.validateError(m, raw)
		return
	case request == nil && inOtherExchange:
		v.validate("", schemaOf(v.revision).response(false), raw)
		return
	case request == nil:
		v.add("/id", "the %v has not sent a request with the id %v", v.from.other(), m.id)
		return
	}
	v.method, v.revision = request.method, request.revision
	if request.pending == 0 && !v.resent {
		v.add("/id", "the request already has a response")
	}
	if request.pending == 1 {
		v.storeAnswered(key)
	}
	request.pending = max(request.pending-1, 0)
	if m.error != nil {
		v.validateError(m, raw)
		return
	}
	if v.method == mcp.MethodInitialize && v.from == FromServer {
		v.completeHandshake(m)
	}
	v.validate("", schemaOf(v.revision).response(false), raw)
	if definition := v.resultDefinition(request, m.result); definition != "" {
		v.validate("/result", definition, m.result)
	}
}

// completeHandshake stores the revision that a response to initialize selects.
func (v *validation) completeHandshake(m message) {
	name := text(members(m.result)["protocolVersion"])
	r, known := mcp.ParseRevision(name)
	if !known || !revisions.Handshake(r) {
		v.add("/result/protocolVersion", "unknown handshake revision %q", name)
		return
	}
	v.revision, v.current, v.agreed = r, r, true
}

// resultDefinition returns the definition of a result, or "" if any result is
// valid.
func (v *validation) resultDefinition(request *request, result json.RawMessage) string {
	s := schemaOf(v.revision)
	object := members(result)
	if name := "CreateTaskResult"; request.task && object["task"] != nil && s.bundle.Has(name) {
		return name
	}
	name := s.result(request.method)
	if name == "" || revisions.Handshake(v.revision) {
		return name
	}
	switch kind := text(object["resultType"]); mcp.ResultType(kind) {
	case "", mcp.ResultTypeComplete:
		return name
	case mcp.ResultTypeInputRequired:
		if info := mcp.MethodByName(request.method); !info.MultiRoundTrip.Has(v.revision) {
			v.add("/result/resultType", "the response to %q must not request input", request.method)
		}
		return "InputRequiredResult"
	default:
		if !request.extensions {
			v.add("/result/resultType", "unknown result type %q, and the request declares no extension", kind)
		}
	}
	return "" // of an extension
}

// validateError validates an error response.
func (v *validation) validateError(m message, raw json.RawMessage) {
	s := schemaOf(v.revision)
	v.validate("", s.response(true), raw)
	switch name := s.errorDefinition(m.code()); {
	case name == "" && s.reserves(m.code()):
		v.add("/error/code", "the code %d is reserved, and the revision does not define it", m.code())
	case name == "":
	case s.errorResponses[name]:
		v.validate("", name, raw)
	default:
		v.validate("/error", name, m.error)
	}
}

// checkJSON reports whether the message is valid JSON that a peer would accept.
func (v *validation) checkJSON() bool {
	err := wire.Check(v.raw, 0)
	if d, ok := errors.AsType[*wire.DecodeError](err); ok {
		v.add(d.Pointer, "invalid JSON: %v", d.Err)
	}
	return err == nil
}

// validate validates a part of the message by a definition, and reports whether it
// is valid.
func (v *validation) validate(pointer, definition string, part json.RawMessage) bool {
	problems := schemaOf(v.revision).validate(definition, part)
	for _, p := range problems {
		v.add(pointer+p.Pointer, "%s", p.Message)
	}
	return len(problems) == 0
}

// add adds a violation, unless the same violation was added before.
func (v *validation) add(pointer, format string, args ...any) {
	n := &Violation{
		Revision: v.revision, From: v.from, Method: v.method, Response: v.response,
		Pointer: v.at + pointer, Problem: fmt.Sprintf(format, args...), Message: v.raw,
	}
	same := func(w *Violation) bool { return w.Pointer == n.Pointer && w.Problem == n.Problem }
	if !slices.ContainsFunc(v.violations, same) {
		v.violations = append(v.violations, n)
	}
}
