package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/mcpwright/mcp/runtime/mcptest"
)

// link carries messages to the server. It passes the server's messages to conn.deliver.
type link interface {
	// send sends one message as it is.
	send(ctx context.Context, raw []byte)
	close()
}

// conn is a connection to the server in one revision. It sees every byte.
type conn struct {
	stage    *stage
	link     link
	declared bool // the client declares capabilities
	ended    chan struct{}
	end      func()
	opened   time.Time
	started  func() // permits the next process to start

	mu         sync.Mutex
	heard      time.Time // when the last message arrived, or zero
	hostile    bool      // what the client sends is invalid, so messages are not validated
	validator  *mcptest.Validator
	next       int
	waiting    map[string]chan *message // by id
	strays     []*message               // responses that no call waits for
	asked      []*message               // requests of the server
	notified   []*message               // notifications of the server
	progress   map[string]float64       // last value by token; NaN before the first
	tokens     map[string]string        // progress tokens by the id of the request
	done       map[string]bool          // tokens of completed requests
	logAllowed bool                     // a request in flight asks for log messages
	logging    bool                     // the server has declared logging, or has not declared anything yet
	prepared   bool                     // the server has received the notification "initialized"
	answering  sync.WaitGroup           // responses to requests of the server
}

// newConn returns a connection without a link.
func newConn(s *stage, declared bool) *conn {
	ended := make(chan struct{})
	return &conn{
		stage: s, declared: declared, opened: time.Now(), started: func() {}, ended: ended, end: sync.OnceFunc(func() { close(ended) }),
		validator: mcptest.NewValidator(s.revision), waiting: map[string]chan *message{},
		progress: map[string]float64{}, tokens: map[string]string{}, done: map[string]bool{}, logging: true,
	}
}

// open opens a connection and completes the handshake, if the revision has one.
func (s *stage) open(declared bool) (*conn, error) {
	c, err := s.dial(declared)
	if err != nil {
		return nil, err
	}
	if !s.handshake {
		c.prepared = true
		return c, nil
	}
	if _, err := c.shake(s.revision.String()); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// dial opens a connection without a handshake.
func (s *stage) dial(declared bool) (*conn, error) {
	c := newConn(s, declared)
	if s.server.Start == nil {
		c.link = newHTTPLink(c)
		return c, nil
	}
	select {
	case s.starting <- struct{}{}:
	case <-s.ctx.Done():
		return nil, s.ctx.Err()
	}
	c.started = sync.OnceFunc(func() { <-s.starting })
	p, err := s.server.Start(s.ctx)
	if err != nil {
		c.started()
		return nil, err
	}
	c.opened = time.Now()
	c.link = newPipe(c, p)
	return c, nil
}

// shake sends initialize and, if the server selects the version, the notification after
// it.
func (c *conn) shake(version string) (*message, error) {
	m := c.call("initialize", map[string]any{
		"protocolVersion": version, "capabilities": c.capabilities(),
		"clientInfo": map[string]any{"name": "mcpwright", "version": "1.0.0"},
	})
	switch {
	case m == nil:
		return nil, c.noResponse()
	case m.err != nil:
		return m, fmt.Errorf("initialize: error %s: %s", m.err.Code, m.err.Message)
	}
	if got := text(at(m.result, "protocolVersion")); got != version {
		return m, fmt.Errorf("initialize: the server selected revision %q, not %q", got, version)
	}
	if h, ok := c.link.(*httpLink); ok {
		h.setVersion(version)
	}
	c.mu.Lock()
	c.logging = at(m.result, "capabilities", "logging") != nil
	c.prepared = true
	c.mu.Unlock()
	c.notify("notifications/initialized", nil)
	return m, nil
}

var errNoResponse = errors.New("no response")

// noResponse returns errNoResponse, with the reason if it is known.
func (c *conn) noResponse() error {
	if p, ok := c.link.(*pipe); ok {
		if w, ok := p.process.In.(*sseWriter); ok {
			if err := w.problem(); err != nil {
				return fmt.Errorf("%w: %w", errNoResponse, err)
			}
		}
	}
	return errNoResponse
}

// capabilities returns what the client declares.
func (c *conn) capabilities() map[string]any {
	if !c.declared {
		return map[string]any{}
	}
	all := map[string]any{"roots": map[string]any{}, "sampling": map[string]any{}}
	if c.stage.revision.String() >= r2025June {
		all["elicitation"] = map[string]any{}
	}
	return all
}

// meta returns the metadata that each request has in a stateless revision, or nil.
func (c *conn) meta() map[string]any {
	if c.stage.handshake {
		return nil
	}
	return map[string]any{
		"io.modelcontextprotocol/protocolVersion":    c.stage.revision.String(),
		"io.modelcontextprotocol/clientInfo":         map[string]any{"name": "mcpwright", "version": "1.0.0"},
		"io.modelcontextprotocol/clientCapabilities": c.capabilities(),
	}
}

// id returns a new request id.
func (c *conn) id() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next++
	return c.next
}

// request returns a request. In a stateless revision it adds the metadata.
func (c *conn) request(id any, method string, params map[string]any) json.RawMessage {
	all := map[string]any{}
	for name, value := range params {
		all[name] = value
	}
	if meta := c.meta(); meta != nil {
		if own, ok := all["_meta"].(map[string]any); ok {
			for name, value := range own {
				meta[name] = value
			}
		}
		all["_meta"] = meta
	}
	m := map[string]any{"jsonrpc": "2.0", "id": id, "method": method}
	if len(all) > 0 {
		m["params"] = all
	}
	return marshal(m)
}

// call sends a request and returns its response, or nil if there is none in time.
func (c *conn) call(method string, params map[string]any) *message {
	return c.callWith(c.id(), method, params)
}

// callWith is call with an id.
func (c *conn) callWith(id any, method string, params map[string]any) *message {
	return c.start(id, method, params)()
}

// start sends a request and returns a function that waits for its response.
func (c *conn) start(id any, method string, params map[string]any) func() *message {
	return c.startRaw(marshal(id), c.request(id, method, params))
}

// startRaw is start for a complete message.
func (c *conn) startRaw(id, raw json.RawMessage) func() *message {
	key := idKey(id)
	answer := make(chan *message, 1)
	c.mu.Lock()
	c.waiting[key] = answer
	c.mu.Unlock()
	c.send(raw)
	return func() *message {
		defer c.forget(key)
		return c.receive(answer)
	}
}

// receive waits for a response, and returns nil if there is none in time.
func (c *conn) receive(answer <-chan *message) *message {
	since := time.Now()
	timer := time.NewTimer(c.stage.opts.Timeout)
	defer timer.Stop()
	for {
		select {
		case m := <-answer:
			return m
		case <-c.ended:
			select {
			case m := <-answer: // it came before the end
				return m
			default:
				return nil
			}
		case <-c.stage.ctx.Done():
			return nil
		case <-timer.C:
			left := time.Until(c.deadline(since))
			if left <= 0 {
				return nil
			}
			timer.Reset(left)
		}
	}
}

// deadline returns when a wait ends that began at a time. The timeout begins again with
// each message of a process, at most three times. It is longer for the first message, if
// other processes of this server started slowly.
func (c *conn) deadline(since time.Time) time.Time {
	timeout := c.stage.opts.Timeout
	if _, ok := c.link.(*pipe); !ok {
		return since.Add(timeout)
	}
	c.mu.Lock()
	heard := c.heard
	c.mu.Unlock()
	if !heard.IsZero() {
		if heard.Before(since) {
			heard = since
		}
		return earliest(heard.Add(timeout), since.Add(3*timeout))
	}
	c.stage.mu.Lock()
	defer c.stage.mu.Unlock()
	if c.stage.firstWait == 0 {
		return since.Add(3 * timeout)
	}
	return earliest(since.Add(timeout+4*c.stage.firstWait), since.Add(6*timeout))
}

func earliest(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// hear stores that a message has arrived.
func (c *conn) hear() {
	c.mu.Lock()
	first := c.heard.IsZero()
	c.heard = time.Now()
	wait := c.heard.Sub(c.opened)
	c.mu.Unlock()
	if first {
		c.started()
		c.stage.mu.Lock()
		c.stage.firstWait = max(c.stage.firstWait, wait)
		c.stage.mu.Unlock()
	}
}

func (c *conn) forget(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, key)
}

// notify sends a notification.
func (c *conn) notify(method string, params map[string]any) {
	m := map[string]any{"jsonrpc": "2.0", "method": method}
	if params != nil {
		m["params"] = params
	}
	c.send(marshal(m))
}

// send sends a message, after the validator has seen it.
func (c *conn) send(raw []byte) {
	c.mu.Lock()
	c.validator.Check(mcptest.FromClient, raw) // for the responses; the client's own faults are intended
	c.mu.Unlock()
	c.link.send(c.stage.ctx, raw)
}

// deliver receives a message, or a batch, of the server.
func (c *conn) deliver(raw []byte) []*message {
	c.hear()
	c.validate(raw)
	list := []json.RawMessage{raw}
	if trimmed := strings.TrimSpace(string(raw)); strings.HasPrefix(trimmed, "[") {
		list = array(raw)
	}
	var all []*message
	for _, one := range list {
		m, ok := parse(one)
		if !ok {
			continue
		}
		all = append(all, m)
		switch {
		case m.isResponse():
			c.respond(m)
		case m.id != nil:
			c.answer(m)
		default:
			c.observe(m)
		}
	}
	return all
}

// validate reports what the schema of the revision does not allow.
func (c *conn) validate(raw []byte) {
	c.mu.Lock()
	violations := c.validator.Check(mcptest.FromServer, raw)
	hostile := c.hostile
	c.mu.Unlock()
	if hostile {
		return
	}
	for _, v := range violations {
		if v.Pointer == "/result/protocolVersion" && strings.HasPrefix(v.Problem, "unknown handshake revision") {
			continue // the server may support revisions that did not exist when this program was built
		}
		where := v.Method
		if where == "" {
			where = "a message"
		}
		c.stage.find("message-schema", v.Message, v.Pointer, "%s: %s", where, v.Problem)
	}
}

// respond passes a response to the call that waits for it.
func (c *conn) respond(m *message) {
	c.mu.Lock()
	answer := c.waiting[idKey(m.id)]
	if token, ok := c.tokens[idKey(m.id)]; ok {
		c.done[token] = true
	}
	if answer == nil {
		c.strays = append(c.strays, m)
	}
	c.mu.Unlock()
	if answer != nil {
		select {
		case answer <- m:
		default: // a second response, which validation reports
		}
	}
}

// alive reports whether the server still responds.
func (c *conn) alive() bool {
	method := "ping"
	if !c.stage.handshake {
		method = "server/discover"
	}
	return c.callWith(fmt.Sprintf("alive-%d", c.id()), method, nil) != nil
}

// over reports whether the server has ended the connection.
func (c *conn) over() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

// wait waits until a condition is true, at most for the timeout.
func (c *conn) wait(timeout time.Duration, condition func() bool) bool {
	deadline := time.Now().Add(timeout)
	for {
		c.mu.Lock()
		ok := condition()
		c.mu.Unlock()
		if ok || time.Now().After(deadline) || c.stage.ctx.Err() != nil {
			return ok
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// await waits until a condition is true, at most as long as for a response.
func (c *conn) await(condition func() bool) bool {
	since := time.Now()
	for !c.wait(50*time.Millisecond, condition) {
		if c.over() || c.stage.ctx.Err() != nil || time.Now().After(c.deadline(since)) {
			return false
		}
	}
	return true
}

// close ends the connection.
func (c *conn) close() {
	c.link.close()
	c.end()
	c.started()
	c.answering.Wait()
}
