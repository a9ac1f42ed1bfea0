package check

import (
	"bytes"
	"encoding/json"
	"strings"
)

// message is a message of the server.
type message struct {
	raw    json.RawMessage
	id     json.RawMessage // nil if the message has no id
	method string
	params json.RawMessage
	result json.RawMessage
	err    *rpcError
}

// rpcError is the error of a response.
type rpcError struct {
	Code    json.Number     `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

// parse reads a message leniently. It returns false for anything but a JSON object.
func parse(raw []byte) (*message, bool) {
	m := &message{raw: bytes.Clone(raw)}
	all := object(raw)
	if all == nil {
		return m, false
	}
	m.id, m.params, m.result = all["id"], all["params"], all["result"]
	m.method = text(all["method"])
	if e, ok := all["error"]; ok {
		m.err = &rpcError{}
		_ = json.Unmarshal(e, m.err) // an invalid error is reported by validation
	}
	return m, true
}

// isResponse reports whether m is a response.
func (m *message) isResponse() bool { return m.method == "" && (m.result != nil || m.err != nil) }

// ok reports whether m is a response with a result.
func (m *message) ok() bool { return m != nil && m.result != nil && m.err == nil }

// code returns the error code of a response, or "" if it has no error.
func (m *message) code() string {
	if m == nil || m.err == nil {
		return ""
	}
	return m.err.Code.String()
}

// object returns the members of a JSON object, or nil for anything else.
func object(raw json.RawMessage) (members map[string]json.RawMessage) {
	if json.Unmarshal(raw, &members) != nil {
		return nil
	}
	return members
}

// array returns the elements of a JSON array, or nil for anything else.
func array(raw json.RawMessage) (list []json.RawMessage) {
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	return list
}

// text returns the value of a JSON string, or "" for anything else.
func text(raw json.RawMessage) (s string) {
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// at returns the value at a path of member names, or nil.
func at(raw json.RawMessage, path ...string) json.RawMessage {
	for _, name := range path {
		raw = object(raw)[name]
	}
	return raw
}

// idKey returns a text that is the same for equal ids.
func idKey(id json.RawMessage) string {
	if id = bytes.TrimSpace(id); bytes.HasPrefix(id, []byte{'"'}) {
		return string(marshal(text(id))) // escapes may differ
	}
	return string(id)
}

// marshal returns the JSON of a value that always has one.
func marshal(v any) json.RawMessage {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return json.RawMessage(strings.TrimSuffix(b.String(), "\n"))
}
