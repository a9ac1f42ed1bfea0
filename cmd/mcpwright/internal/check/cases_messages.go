package check

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// messageCases are about single messages, the handshake, and notifications.
func messageCases() []*Case {
	return []*Case{
		{ID: "message-schema", Title: "each message matches the schema of its revision",
			Advice: "Change the message so that it matches the schema. An SDK with types for the revision does this for you.",
			Rules:  always(Error, "schema")},
		{ID: "stdout-not-a-message", Title: "standard output has only messages", Transport: Stdio,
			Advice: "Write logs to standard error. Look for print statements, also in libraries.",
			Rules: append([]Rule{{Since: r2024, Until: r2025Nov, Severity: Error, Section: "basic/transports#stdio"}},
				stateless(Error, "basic/transports/stdio")...)},
		{ID: "no-response", Title: "each request gets a response",
			Advice: "Respond to each request with a result or an error, also if the method is unknown or the request is invalid.",
			Rules:  basic(Error, "responses"), run: checkNoResponse},
		{ID: "initialize-version", Title: "the server does not select a revision that does not exist",
			Advice: "If the requested revision is unknown, respond with the newest revision that the server supports.",
			Rules:  handshakes(Error, "basic/lifecycle#version-negotiation"), Once: true, apart: true, run: checkInitializeVersion},
		{ID: "early-request", Title: "the server sends no request before the handshake is complete",
			Advice: "Wait for the notification \"initialized\" before sending requests other than ping.",
			Rules:  handshakes(Warning, "basic/lifecycle#initialization")},
		{ID: "ping", Title: "the server responds to ping with an empty result",
			Advice: "Register a handler for ping that returns {}.",
			Rules:  handshakes(Error, "basic/utilities/ping#behavior-requirements"), run: checkPing},
		{ID: "unknown-method", Title: "an unknown method gets an error",
			Advice: "Respond with error -32601 to methods that the server does not have.",
			Rules:  basic(Error, "responses"), run: checkUnknownMethod},
		{ID: "unknown-method-code", Title: "an unknown method gets the error -32601",
			Advice: "Use the code -32601 (method not found) for methods that the server does not have.",
			Rules:  basic(Warning, "responses"), run: checkUnknownMethodCode},
		{ID: "response-id", Title: "the id of a response has the value and type of its request's id",
			Advice: "Copy the id of the request as it is: do not convert strings to numbers or numbers to floats.",
			Rules:  basic(Error, "responses"), run: checkResponseID},
		{ID: "notification-response", Title: "a notification gets no response",
			Advice: "Never respond to a message without an id. Ignore notifications that the server does not handle.",
			Rules:  basic(Error, "notifications"), apart: true, run: checkNotificationResponse},
		{ID: "undeclared-client-capability", Title: "the server uses no capability that the client has not declared",
			Advice: "Check the client's capabilities before sending roots/list, sampling/createMessage or elicitation/create.",
			Rules: []Rule{{Since: r2024, Until: r2025June, Severity: Warning, Section: "basic/lifecycle#operation"},
				{Since: r2025Nov, Until: r2025Nov, Severity: Error, Section: "basic/lifecycle#operation"}, {Since: r2026, Until: r2026, Severity: Error, Section: "basic#_meta"}}, apart: true, run: checkUndeclaredClientCapability},
		{ID: "progress-increases", Title: "progress increases with each notification",
			Advice: "Send a progress notification only if the value is larger than the last one.",
			Rules:  progressRules()},
		{ID: "progress-token", Title: "progress notifications have the token of a request",
			Advice: "Use the progressToken of the request's metadata. Send no progress for requests without one.",
			Rules:  progressRules()},
		{ID: "progress-after-response", Title: "no progress is sent after the response", Transport: Stdio,
			Advice: "Send all progress notifications before the response.",
			Rules:  progressRules()},
		{ID: "logging-undeclared", Title: "a server that sends log messages declares the capability \"logging\"",
			Advice: "Declare the capability \"logging\", or send no notifications/message.",
			Rules:  since(r2025, Error, "server/utilities/logging#capabilities")},
		{ID: "log-unrequested", Title: "log messages are sent only for requests with a log level",
			Advice: "Send notifications/message only for requests with io.modelcontextprotocol/logLevel in the metadata.",
			Rules:  stateless(Error, "server/utilities/logging")},
		{ID: "log-level", Title: "an invalid log level gets the error -32602", Needs: "logging",
			Advice: "Validate the level of logging/setLevel.",
			Rules:  handshakes(Warning, "server/utilities/logging#error-handling"), Once: true, run: checkLogLevel},
	}
}

func progressRules() []Rule {
	return append([]Rule{{Since: r2024, Until: r2025Nov, Severity: Error, Section: "basic/utilities/progress#behavior-requirements"}},
		stateless(Error, "basic/patterns/progress#behavior-requirements")...)
}

// checkNoResponse reports the lists that got no response.
func checkNoResponse(t *trial) {
	for _, l := range lists {
		if t.offers.lists[l.method].none {
			t.find(nil, "", "%s: no response within %v", l.method, t.opts.Timeout)
		}
	}
}

func checkInitializeVersion(t *trial) {
	c, err := t.dial(true)
	if err != nil {
		t.skip("no connection: %v", err)
		return
	}
	defer c.close()
	m, _ := c.shake("1999-01-01")
	switch {
	case m == nil:
		t.find(nil, "", "initialize with an unknown revision got no response")
	case m.ok() && text(at(m.result, "protocolVersion")) == "1999-01-01":
		t.find(m.raw, "/result/protocolVersion", "the server selected the revision \"1999-01-01\", which does not exist")
	}
}

func checkPing(t *trial) {
	switch m := t.callMain("ping", nil); {
	case m == nil:
		t.find(nil, "", "ping got no response within %v", t.opts.Timeout)
	case m.err != nil:
		t.find(m.raw, "/error", "ping got an error")
	}
}

const unknownMethod = "mcpwright/unknown"

func checkUnknownMethod(t *trial) {
	switch m := t.callMain(unknownMethod, nil); {
	case m == nil:
		t.find(nil, "", "the request with the unknown method %q got no response", unknownMethod)
	case m.ok():
		t.find(m.raw, "/result", "the request with the unknown method %q got a result", unknownMethod)
	}
}

func checkUnknownMethodCode(t *trial) {
	if m := t.callMain(unknownMethod, nil); m != nil && m.err != nil && m.code() != "-32601" {
		t.find(m.raw, "/error/code", "the request with the unknown method %q got the error %s, not -32601", unknownMethod, m.code())
	}
}

// checkResponseID sends ids that servers convert if they are careless.
func checkResponseID(t *trial) {
	method := "ping"
	if !t.handshake {
		method = "server/discover"
	}
	for _, id := range []any{"text", "42", "ü\u2028\"", json.Number("0"), json.Number("-7"), json.Number("9007199254740991")} {
		c := t.connection()
		if c == nil {
			t.skip("no connection")
			return
		}
		c.mu.Lock()
		before := len(c.strays)
		c.mu.Unlock()
		if m := c.callWith(id, method, nil); m != nil || c.over() {
			continue
		}
		t.findStray(c, before, id)
	}
}

// findStray reports the response with another id, or that there is none.
func (t *trial) findStray(c *conn, before int, id any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	want := string(marshal(id))
	if len(c.strays) > before {
		m := c.strays[before]
		t.find(m.raw, "/id", "the request with the id %s got a response with the id %s", want, string(m.id))
		return
	}
	t.find(nil, "", "the request with the id %s got no response", want)
}

// checkNotificationResponse sends a notification with an unknown method. A response
// would arrive before the response to the next request.
func checkNotificationResponse(t *trial) {
	t.withConn(true, func(c *conn) {
		c.notify("notifications/mcpwright/unknown", map[string]any{"value": 1})
		if !c.alive() {
			t.find(nil, "", "the server does not respond after an unknown notification")
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, m := range c.strays {
			t.find(m.raw, "", "an unknown notification got a response")
		}
	})
}

// checkUndeclaredClientCapability uses the server as a client without capabilities.
func checkUndeclaredClientCapability(t *trial) {
	t.withConn(false, func(c *conn) {
		var starts []func() (finish func())
		for _, tool := range t.offers.tools[:min(maxUses, len(t.offers.tools))] {
			if arguments := generate(at(tool, "inputSchema")); t.mayCall(tool) && len(arguments) > 0 {
				starts = append(starts, func() func() {
					wait := c.start(c.id(), "tools/call", map[string]any{"name": text(at(tool, "name")), "arguments": arguments[0]})
					return func() { t.findQuestions(wait()) }
				})
			}
		}
		t.overlap(starts)
		c.wait(200*time.Millisecond, func() bool { return len(c.asked) > 0 })
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, m := range c.asked {
			if m.method != "ping" {
				t.find(m.raw, "/method", "the server sent %q to a client without capabilities", m.method)
			}
		}
	})
}

// findQuestions reports questions in a result.
func (t *trial) findQuestions(m *message) {
	if !m.ok() || text(at(m.result, "resultType")) != "input_required" {
		return
	}
	for name, q := range object(at(m.result, "inputRequests")) {
		t.find(m.raw, "/result/inputRequests/"+escape(name), "the server asked %q of a client without capabilities", text(at(q, "method")))
	}
}

func checkLogLevel(t *trial) {
	m := t.callAbused("logging/setLevel", map[string]any{"level": "mcpwright"})
	switch {
	case m == nil:
	case m.ok():
		t.find(m.raw, "/result", "logging/setLevel with an invalid level got a result")
	case m.code() != "-32602":
		t.find(m.raw, "/error/code", "logging/setLevel with an invalid level got the error %s, not -32602", m.code())
	}
}

// callAbused calls a method on the connection for hostile messages.
func (s *stage) callAbused(method string, params map[string]any) *message {
	c := s.hostileConn()
	if c == nil {
		return nil
	}
	return c.callWith("abused-"+strconv.Itoa(c.id()), method, params)
}

// hostileConn returns the connection for messages that violate the protocol. It opens a
// new one if the server has ended it.
func (s *stage) hostileConn() *conn {
	if s.abused != nil && !s.abused.over() {
		return s.abused
	}
	if s.abused != nil {
		s.abused.close()
	}
	c, err := s.open(true)
	if err != nil {
		s.abused = nil
		return nil
	}
	c.mu.Lock()
	c.hostile = true
	c.mu.Unlock()
	s.abused = c
	return c
}

// unknownName is a name and, as a URI, an address that no server has.
const unknownName = "mcpwright-no-such-thing"

func unknownURI() string { return fmt.Sprintf("mcpwright-test://%s/%d", unknownName, 1) }
