package mcptest

import (
	"encoding/json"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/eras"
	"github.com/mcpwright/mcp/runtime/wire"
)

// single judges one message.
func (c *hearing) single(message json.RawMessage) {
	e, isMessage := open(message)
	if c.at == "" && !c.readable() {
		c.refusable(e)
		return
	}
	switch {
	case !isMessage:
		c.wrong("", "it is neither a request nor a notification nor an answer")
		c.refusable(e)
	case e.method != "" && e.hasID:
		c.request(e, message)
	case e.method != "":
		c.notification(e, message)
	case e.result != nil && e.error != nil:
		c.answer = true
		c.wrong("", "it has both a result and an error")
		c.refusable(e)
	case e.result != nil || e.error != nil:
		c.answered(e, message)
	default:
		c.hold("", "JSONRPCRequest", message)
	}
}

// request judges a request, and remembers it for its answer.
func (c *hearing) request(e envelope, message json.RawMessage) {
	c.method = e.method
	c.revision = c.revisionOf(e)
	c.begin(e)
	c.hold("", "JSONRPCRequest", message)
	if !e.params.extends || !c.elsewhere() {
		c.known(false, message)
	}
	if e.id.IsZero() {
		return
	}
	q, open := question{c.from, e.id}, 1
	switch before := c.asked[q]; {
	case before == nil || c.replayed:
	case before.open > 0:
		c.wrong("/id", "the id %v is that of another request that has no answer yet", e.id)
		open += before.open
	case before.method != "" && handshake(before.revision) && handshake(c.revision):
		c.wrong("/id", "the id %v is that of another request of the session", e.id)
	}
	c.asked[q] = &request{method: e.method, revision: c.revision, task: e.params.task, extends: e.params.extends, open: open}
}

// refusable remembers the id of what is no message, for the error that says so.
func (c *hearing) refusable(e envelope) {
	if q := (question{c.from, e.id}); !e.id.IsZero() && c.asked[q] == nil {
		c.asked[q] = &request{revision: c.revision, open: 1}
	}
}

// revisionOf finds the revision that a request is written in, and keeps it in
// mind for what says nothing itself.
func (c *hearing) revisionOf(e envelope) wire.Revision {
	named, known := mcp.ParseRevision(e.params.named)
	switch {
	case c.from == FromServer:
		return c.speaks
	case e.method == mcp.MethodInitialize:
		if r, known := mcp.ParseRevision(e.params.version); known && handshake(r) {
			return r
		}
		return eras.Newest(true)
	case c.settled || !e.params.hasName:
		return c.speaks
	case !known || handshake(named):
		named = eras.Newest(false)
	}
	c.speaks = named
	return named
}

// notification judges a notification.
func (c *hearing) notification(e envelope, message json.RawMessage) {
	c.method = e.method
	c.revision = c.speaks
	c.begin(e)
	c.hold("", "JSONRPCNotification", message)
	c.known(true, message)
}

// begin judges what comes before the request that says what is spoken. A ping may,
// and what a server logs.
func (c *hearing) begin(e envelope) {
	switch {
	case !c.waiting || e.method == mcp.MethodPing:
	case c.from == FromClient && e.hasID && (e.method == mcp.MethodInitialize || e.params.hasName):
		c.waiting = false
	case c.from == FromServer && e.method == mcp.MethodLoggingMessage:
	default:
		c.wrong("", "the client has not said yet what it speaks")
	}
}

// elsewhere tells whether the method is one of other revisions only, which an
// extension may have in this one.
func (c *hearing) elsewhere() bool {
	info := mcp.MethodByName(c.method)
	return info != nil && !(info.FromClient | info.FromServer).Has(c.revision)
}

// known judges a message by the definition of its method. Of methods that the
// protocol does not know, only the envelope is judged.
func (c *hearing) known(notification bool, message json.RawMessage) {
	info := mcp.MethodByName(c.method)
	if info == nil {
		return
	}
	if info.Notification != notification {
		c.wrong("", "notifications have no id, and requests have one")
		return
	}
	way := info.FromClient
	if c.from == FromServer {
		way = info.FromServer
	}
	if !way.Has(c.revision) {
		c.wrong("/method", "the revision has no message %q from the %v", c.method, c.from)
		return
	}
	c.hold("", protocolOf(c.revision).methods[c.method], message)
}
