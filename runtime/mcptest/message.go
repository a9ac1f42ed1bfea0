package mcptest

import (
	"encoding/json"
	"math"
	"slices"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/generated/tasks"
	"github.com/mcpwright/mcp/runtime/internal/revisions"
	"github.com/mcpwright/mcp/runtime/wire"
)

// message has the members of a message that are read before the message is
// validated. A member of the wrong type counts as absent; validation reports it.
type message struct {
	id     wire.RequestID // zero if there is no valid id
	hasID  bool
	nullID bool
	method string
	name   *string // value of the Mcp-Name header for this message, or nil
	params struct {
		version     string // protocolVersion of initialize
		metaVersion string // protocol version in the message metadata
		stateless   bool   // the message metadata has a protocol version
		task        bool
		extensions  bool // the sender declares extensions
	}
	result json.RawMessage
	error  json.RawMessage
}

// parseMessage reads the members of a message. It returns false if the message is
// not a JSON object with a method, a result or an error.
func parseMessage(raw json.RawMessage) (m message, ok bool) {
	all := members(raw)
	id, hasID := all["id"]
	m.hasID, m.nullID = hasID, string(id) == "null"
	if id, err := wire.ParseID(id); err == nil {
		m.id = id
	}
	m.method, m.result, m.error = text(all["method"]), all["result"], all["error"]
	if params := members(all["params"]); params != nil {
		m.readParams(params)
	}
	return m, all["method"] != nil || m.result != nil || m.error != nil
}

// readParams reads the members of the params.
func (m *message) readParams(params map[string]json.RawMessage) {
	m.params.version = text(params["protocolVersion"])
	_, m.params.task = params["task"]
	m.name = nameOf(m.method, params)
	if meta := members(params["_meta"]); meta != nil {
		var version json.RawMessage
		version, m.params.stateless = meta[revisions.KeyVersion]
		m.params.metaVersion = text(version)
		m.params.extensions = len(members(members(meta[revisions.KeyCapabilities])["extensions"])) > 0
	}
}

// isRequest reports whether the message is a request.
func (m message) isRequest() bool { return m.method != "" && m.hasID }

// code returns the code of an error, or 0.
func (m message) code() (code int64) {
	if json.Unmarshal(members(m.error)["code"], &code) != nil {
		return 0
	}
	return code
}

// hasResponse reports whether a message is the response to m, or a batch that
// contains the response.
func (m message) hasResponse(raw []byte) bool {
	if wire.Check(raw, 0) != nil {
		return false
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		list = []json.RawMessage{raw}
	}
	return slices.ContainsFunc(list, func(one json.RawMessage) bool {
		r, _ := parseMessage(one)
		return r.id == m.id && (r.result != nil || r.error != nil)
	})
}

// nameOf returns the member of the params that the Mcp-Name header repeats, or
// nil.
func nameOf(method string, params map[string]json.RawMessage) *string {
	member := ""
	switch method {
	case tasks.MethodGetTask, tasks.MethodUpdateTask, tasks.MethodCancelTask:
		member = "taskId"
	default:
		if info := mcp.MethodByName(method); info != nil {
			member = info.NameMember
		}
	}
	var name *string
	if wire.Kind(params[member]) != '"' || json.Unmarshal(params[member], &name) != nil {
		return nil
	}
	return name
}

// paramsOf returns the members of the params of a message.
func paramsOf(raw []byte) map[string]json.RawMessage { return members(members(raw)["params"]) }

// text returns the value of a JSON string, or "" for anything else.
func text(raw json.RawMessage) (s string) {
	if wire.Kind(raw) != '"' || json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// members returns the members of a JSON object, or nil for anything else. JSON that a
// peer would not accept, for example with a repeated name, is read too.
func members(raw json.RawMessage) (object map[string]json.RawMessage) {
	if wire.Kind(raw) != '{' {
		return nil
	}
	err := wire.DecodeWith(raw, &wire.Frame{MaxDepth: math.MaxInt}, &object, func(d *wire.Decoder, object *map[string]json.RawMessage) {
		*object = map[string]json.RawMessage{}
		for o := d.Object(nil); o.Next(); {
			*object = o.Extra(*object)
		}
	})
	if err == nil {
		return object
	}
	object = nil
	if json.Unmarshal(raw, &object) != nil {
		return nil
	}
	return object
}
