package mcptest

import (
	"encoding/json"

	"github.com/mcpwright/mcp/generated/mcp"
)

// answered judges an answer by what was asked.
func (c *hearing) answered(e envelope, message json.RawMessage) {
	c.answer = true
	if e.error != nil && (!e.hasID || e.nullID) { // of a message that nobody could read
		c.failed(e, message)
		return
	}
	asked := c.asked[question{c.from.other(), e.id}]
	elsewhere := c.alone && handshake(c.revision) && (c.from == FromClient || c.replayed)
	switch {
	case e.id.IsZero():
		if p := protocolOf(c.revision); c.hold("", p.answer(e.error != nil), message) {
			c.wrong("/id", "an id is a string or an integer without a fraction")
		}
		return
	case asked == nil && e.error != nil && (elsewhere || e.code() == mcp.CodeParse):
		c.failed(e, message)
		return
	case asked == nil && elsewhere:
		c.hold("", protocolOf(c.revision).answer(false), message)
		return
	case asked == nil:
		c.wrong("/id", "the %v has not sent a request with the id %v", c.from.other(), e.id)
		return
	}
	c.method, c.revision = asked.method, asked.revision
	if asked.open == 0 && !c.replayed {
		c.wrong("/id", "the request has been answered before")
	}
	asked.open = max(asked.open-1, 0)
	if e.error != nil {
		c.failed(e, message)
		return
	}
	if c.method == mcp.MethodInitialize && c.from == FromServer {
		c.settle(e)
	}
	c.hold("", protocolOf(c.revision).answer(false), message)
	if definition := c.resultDefinition(asked, e.result); definition != "" {
		c.hold("/result", definition, e.result)
	}
}

// settle records the revision that a handshake has agreed on.
func (c *hearing) settle(e envelope) {
	name := text(members(e.result)["protocolVersion"])
	r, known := mcp.ParseRevision(name)
	if !known || !handshake(r) {
		c.wrong("/result/protocolVersion", "no revision that has a handshake is called %q", name)
		return
	}
	c.revision, c.speaks, c.settled = r, r, true
}

// resultDefinition names what a result has to be, empty for anything.
func (c *hearing) resultDefinition(asked *request, result json.RawMessage) string {
	p := protocolOf(c.revision)
	object := members(result)
	if name := "CreateTaskResult"; asked.task && object["task"] != nil && p.bundle.Has(name) {
		return name
	}
	name := p.result(asked.method)
	if name == "" || handshake(c.revision) {
		return name
	}
	switch kind := text(object["resultType"]); mcp.ResultType(kind) {
	case "", mcp.ResultTypeComplete:
		return name
	case mcp.ResultTypeInputRequired:
		if info := mcp.MethodByName(asked.method); !info.MultiRoundTrip.Has(c.revision) {
			c.wrong("/result/resultType", "the answer to %q cannot ask for input", asked.method)
		}
		return "InputRequiredResult"
	default:
		if !asked.extends {
			c.wrong("/result/resultType", "the request declares no extension, and the protocol has no result of the type %q", kind)
		}
	}
	return "" // that of an extension
}

// failed judges an error.
func (c *hearing) failed(e envelope, message json.RawMessage) {
	p := protocolOf(c.revision)
	c.hold("", p.answer(true), message)
	switch name := p.errorDefinition(e.code()); {
	case name == "" && p.reserves(e.code()):
		c.wrong("/error/code", "the code %d is the protocol's to use, and the revision has no error that it is of", e.code())
	case name == "":
	case p.answers[name]:
		c.hold("", name, message)
	default:
		c.hold("/error", name, e.error)
	}
}
