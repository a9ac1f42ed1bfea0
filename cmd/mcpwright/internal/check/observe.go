package check

import (
	"encoding/json"
	"math"
)

// answer responds to a request of the server, as a client without a user does.
func (c *conn) answer(m *message) {
	c.mu.Lock()
	c.asked = append(c.asked, m)
	prepared, hostile := c.prepared, c.hostile
	c.mu.Unlock()
	if !prepared && !hostile && m.method != "ping" {
		c.stage.find("early-request", m.raw, "/method", "the server sent the request %q before the handshake was complete", m.method)
	}
	if !c.stage.handshake {
		return // validation reports the request
	}
	response := map[string]any{"jsonrpc": "2.0", "id": m.id}
	if result := c.resultFor(m.method, m.params); result != nil {
		response["result"] = result
	} else {
		response["error"] = map[string]any{"code": -32601, "message": "method not found"}
	}
	c.answering.Go(func() { c.send(marshal(response)) }) // ends with the HTTP exchange, or when the pipe has taken the line
}

// resultFor returns the result of a server's request, or nil if the client did not
// declare it.
func (c *conn) resultFor(method string, params json.RawMessage) map[string]any {
	switch {
	case method == "ping":
		return map[string]any{}
	case !c.declared:
		return nil
	}
	switch method {
	case "roots/list":
		return map[string]any{"roots": []any{}}
	case "sampling/createMessage":
		return map[string]any{"role": "assistant", "model": "none", "stopReason": "endTurn",
			"content": map[string]any{"type": "text", "text": "This is a test."}}
	case "elicitation/create":
		return map[string]any{"action": "decline"}
	}
	return nil
}

// observe checks a notification of the server.
func (c *conn) observe(m *message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.notified = append(c.notified, m)
	if c.hostile {
		return
	}
	switch m.method {
	case "notifications/progress":
		c.observeProgress(m)
	case "notifications/message":
		if !c.logging {
			c.stage.find("logging-undeclared", m.raw, "/method", "the server sent a log message without the capability \"logging\"")
		}
		if !c.stage.handshake && !c.logAllowed {
			c.stage.find("log-unrequested", m.raw, "/method", "no request asked for log messages, since none had a log level")
		}
	}
}

// observeProgress checks that progress increases, and belongs to a request in flight.
// The mutex is locked.
func (c *conn) observeProgress(m *message) {
	token := idKey(at(m.params, "progressToken"))
	var value float64
	if json.Unmarshal(at(m.params, "progress"), &value) != nil {
		return // validation reports it
	}
	last, known := c.progress[token]
	_, http := c.link.(*httpLink)
	switch {
	case !known:
		c.stage.find("progress-token", m.raw, "/params/progressToken", "no request has the progress token %s", token)
		return
	case c.done[token] && !http: // over HTTP, messages of several streams have no order
		c.stage.find("progress-after-response", m.raw, "/params/progressToken", "the request with the progress token %s already has a response", token)
	case !math.IsNaN(last) && value <= last:
		c.stage.find("progress-increases", m.raw, "/params/progress", "the progress %v does not increase: it was %v", value, last)
	}
	c.progress[token] = value
}

// track begins to track the progress token of a request.
func (c *conn) track(id any, token string) {
	key := idKey(marshal(token))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.progress[key] = math.NaN()
	c.tokens[idKey(marshal(id))] = key
}
