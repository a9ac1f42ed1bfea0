package mcptest

import (
	"encoding/json"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/eras"
	"github.com/mcpwright/mcp/runtime/tasks"
	"github.com/mcpwright/mcp/runtime/wire"
)

// envelope is what a message shows of itself before it is judged. A member of
// the wrong type is as good as absent: the schemas tell.
type envelope struct {
	id     wire.RequestID // zero where there is none that could be one
	hasID  bool
	nullID bool
	method string
	name   *string // of what the request is about, where a header repeats that
	params struct {
		version string // of the handshake
		named   string // the revision in the _meta
		hasName bool
		task    bool
		extends bool // the sender declares extensions
	}
	result json.RawMessage
	error  json.RawMessage
}

// open reads the envelope of a message.
func open(message json.RawMessage) (e envelope, isMessage bool) {
	var raw map[string]json.RawMessage
	if json.Unmarshal(message, &raw) != nil {
		return e, false
	}
	id, hasID := raw["id"]
	e.hasID, e.nullID = hasID, string(id) == "null"
	if id, err := wire.ParseID(id); err == nil {
		e.id = id
	}
	e.method, e.result, e.error = text(raw["method"]), raw["result"], raw["error"]
	params := members(raw["params"])
	e.params.version = text(params["protocolVersion"])
	var named json.RawMessage
	meta := members(params["_meta"])
	named, e.params.hasName = meta[eras.KeyVersion]
	e.params.named = text(named)
	e.params.extends = len(members(members(meta[eras.KeyCapabilities])["extensions"])) > 0
	_, e.params.task = params["task"]
	e.name = nameOf(e.method, params)
	return e, raw["method"] != nil || e.result != nil || e.error != nil
}

// asks tells whether the message is a request.
func (e envelope) asks() bool { return e.method != "" && e.hasID }

// code is the code of an error, 0 where there is none.
func (e envelope) code() (code int64) {
	if json.Unmarshal(members(e.error)["code"], &code) != nil {
		return 0
	}
	return code
}

// nameOf finds the member of params that a header repeats.
func nameOf(method string, params map[string]json.RawMessage) *string {
	member := ""
	switch method {
	case tasks.MethodGet, tasks.MethodUpdate, tasks.MethodCancel:
		member = "taskId"
	default:
		if info := mcp.MethodByName(method); info != nil {
			member = info.NameMember
		}
	}
	var name *string
	if json.Unmarshal(params[member], &name) != nil {
		return nil
	}
	return name
}

// text reads a string, "" where there is none.
func text(raw json.RawMessage) (s string) {
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// members reads an object, nil where there is none.
func members(raw json.RawMessage) (object map[string]json.RawMessage) {
	if json.Unmarshal(raw, &object) != nil {
		return nil
	}
	return object
}
