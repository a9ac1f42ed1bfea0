package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/peer"
	httpclient "github.com/mcpwright/mcp/runtime/streamable/client"
	"github.com/mcpwright/mcp/runtime/wire"
)

const (
	callTimeout = 15 * time.Second
	taskTimeout = 40 * time.Second
)

// revisions are the revisions of the clients.
var revisions = []wire.Revision{mcp.Revision20241105, mcp.Revision20250326, mcp.Revision20250618, mcp.Revision20251125, mcp.Revision20260728}

// client uses the server in one connection after another, and records what it observes.
type client struct {
	number    int
	url       string
	revision  wire.Revision
	principal string
	history   *recorder
	random    *rand.Rand // used by one goroutine
	http      *http.Client
	logger    *slog.Logger
	orphans   *atomic.Int64 // counts sessions that the server may have, without a client

	conn        *mcpclient.Client // nil if there is none
	stopWatch   func()
	connections int
	calls       int
	events      int    // the number of the last event that was requested
	name        string // of the connection

	mu        sync.Mutex
	sessionID string
	last      int   // the greatest number of an event of the standalone stream that has arrived
	noticed   int64 // when the client was last notified of a change of the note
}

// isStateless reports whether the client has no session.
func (c *client) isStateless() bool { return c.revision == mcp.Revision20260728 }

// run uses the server until ctx ends.
func (c *client) run(ctx context.Context) {
	for ctx.Err() == nil {
		if c.conn == nil && !c.connect(ctx) {
			_ = pause(ctx, 500)
			continue
		}
		c.act()
		_ = pause(ctx, c.random.IntN(200))
	}
}

// connect begins a connection.
func (c *client) connect(ctx context.Context) bool {
	c.connections++
	c.name = fmt.Sprintf("client-%d.%d", c.number, c.connections)
	c.calls, c.events, c.last = 0, 0, 0
	to := mcpclient.URL(c.url)
	to.HTTP = httpclient.Options{
		HTTPClient: &http.Client{Transport: observeSession{c, c.http.Transport}}, Header: http.Header{headerUser: {c.principal}},
		Backoff: httpclient.Backoff{InitialDelay: 100 * time.Millisecond, MaxDelay: 2 * time.Second, MaxAttempts: 20},
	}
	name := c.name
	conn, err := mcpclient.Connect(ctx, to, &mcpclient.Options{
		Revision: c.revision, Timeout: callTimeout, Logger: c.logger.With("client", name), Tasks: true, Cache: mcpclient.CacheOptions{Off: true},
		OnLog:    func(_ context.Context, n *mcp.LoggingMessageNotification) error { return c.receive(name, n.Data) },
		OnElicit: func(_ context.Context, q *mcp.ElicitRequest) (*mcp.ElicitResult, error) { return c.elicit(name, q) },
		OnCreateMessage: func(_ context.Context, q *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			return c.sample(name, q)
		},
	})
	if err != nil {
		c.orphans.Add(1)
		c.logger.Warn("connection failed", "client", name, "error", err)
		return false
	}
	c.conn = conn
	c.watch()
	return true
}

// watch watches a resource. In a session, a notification means that events may be missing. Without a session, it
// means that the resource has changed, or may have changed.
func (c *client) watch() {
	uri, o := gapURI, observation{Kind: gap, Client: c.name}
	if c.isStateless() {
		uri, o.Kind = noteURI, noticed
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	conn := c.conn
	go func() { // ends with stopWatch
		defer close(done)
		for ctx.Err() == nil {
			for _, err := range conn.Watch(ctx, uri) {
				o.Text = ""
				if err != nil {
					o.Text = err.Error()
				}
				c.history.record(o)
				if err == nil {
					c.notice()
				}
			}
			_ = pause(ctx, 100)
		}
	}()
	c.stopWatch = func() {
		cancel()
		<-done
	}
}

// notice stores when the client was last notified.
func (c *client) notice() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.noticed = clock()
}

func (c *client) noticedAfter(at int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.noticed > at
}

// receive records an event.
func (c *client) receive(name string, data json.RawMessage) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	number, stream, ok := parseEvent(text)
	if !ok {
		return fmt.Errorf("unexpected message %q", text)
	}
	c.history.record(observation{Kind: arrived, Client: name, Stream: stream, Number: number})
	if stream == name {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.last = max(c.last, number)
	}
	return nil
}

func (c *client) elicit(name string, q *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	params, ok := q.Params.(*mcp.ElicitRequestFormParams)
	if !ok {
		return nil, fmt.Errorf("unexpected params %T", q.Params)
	}
	c.history.record(observation{Kind: replied, Client: name, Nonce: params.Message})
	return &mcp.ElicitResult{Action: mcp.ElicitActionAccept, Content: map[string]any{"nonce": params.Message}}, nil
}

func (c *client) sample(name string, q *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	text, ok := q.Messages[0].Content[0].(*mcp.TextContent)
	if !ok {
		return nil, fmt.Errorf("unexpected content %T", q.Messages[0].Content[0])
	}
	c.history.record(observation{Kind: replied, Client: name, Nonce: text.Text})
	return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: "m", Content: []mcp.SamplingMessageContentBlock{mcp.Text(text.Text)}}, nil
}

// act does one random thing.
func (c *client) act() {
	switch n := c.random.IntN(100); {
	case n < 20 && !c.isStateless():
		c.announce(1 + c.random.IntN(5))
	case n < 40:
		c.call("ask", &input{Nonce: fmt.Sprintf("nonce-%s-%d", c.name, c.calls)})
	case n < 50 && c.revision.Index() >= mcp.Revision20251125.Index():
		c.call("work", &input{Pause: c.random.IntN(2000), Ask: c.random.IntN(2) == 0, Nonce: fmt.Sprintf("nonce-%s-%d", c.name, c.calls)})
	case n < 53 && !c.isStateless():
		c.intrude()
	case n < 55 && !c.isStateless():
		c.setLevel()
	case n < 57:
		c.end()
	case n < 59:
		c.call("touch", new(input))
	default:
		c.call("effect", &input{Count: c.random.IntN(4), Pause: c.random.IntN(100)})
	}
}

// announce requests events of the standalone stream.
func (c *client) announce(count int) (result, text string) {
	first := c.events + 1
	c.events += count
	return c.call("announce", &input{Stream: c.name, First: first, Count: count})
}

// call calls a tool, and records the begin and the end. It returns the result.
func (c *client) call(tool string, in *input) (result, text string) {
	c.calls++
	in.Call = fmt.Sprintf("%s/%d", c.name, c.calls)
	timeout := 2 * callTimeout
	if tool == "work" {
		timeout = taskTimeout
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	c.history.record(observation{Kind: began, Client: c.name, Call: in.Call, Text: tool})
	text, err := c.callTool(ctx, tool, in)
	result = resultOf(err)
	if err != nil {
		text = err.Error()
	}
	c.history.record(observation{Kind: ended, Client: c.name, Call: in.Call, Result: result, Text: text})
	if err := c.conn.Err(); err != nil {
		c.logger.Warn("connection ended", "client", c.name, "error", err)
		c.forget()
	}
	return result, text
}

func (c *client) callTool(ctx context.Context, tool string, in *input) (string, error) {
	if tool != "work" || c.isStateless() {
		return mcpclient.CallTool[string](ctx, c.conn, tool, in)
	}
	arguments, err := json.Marshal(in)
	if err != nil {
		return "", err
	}
	res, err := c.conn.CallTool(ctx, &mcp.CallToolRequest{Name: tool, Arguments: arguments, Task: &mcp.TaskMetadata{}})
	if err != nil {
		return "", err
	}
	if len(res.Content) == 1 && !res.IsError {
		if t, ok := res.Content[0].(*mcp.TextContent); ok {
			return t.Text, nil
		}
	}
	return "", fmt.Errorf("result %+v", res)
}

// resultOf returns the result of a call.
func resultOf(err error) string {
	refused, isHTTP := errors.AsType[*httpclient.HTTPError](err)
	fromServer, isPeer := errors.AsType[*peer.Error](err)
	_, isTimeout := errors.AsType[*peer.TimeoutError](err)
	_, isTask := errors.AsType[*mcpclient.TaskError](err)
	switch {
	case err == nil:
		return resultOK
	case isPeer && strings.Contains(string(fromServer.Data), "owner-lost"):
		return resultOwnerLost
	case isTimeout, errors.Is(err, context.DeadlineExceeded):
		return resultTimeout
	case isHTTP && refused.Status == http.StatusServiceUnavailable && !isTask:
		return resultRefused
	}
	return resultUnknown
}

// setLevel changes the state of the session.
func (c *client) setLevel() {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	levels := []mcp.LoggingLevel{mcp.LoggingLevelDebug, mcp.LoggingLevelInfo, mcp.LoggingLevelError}
	_, _ = c.conn.SetLevel(ctx, &mcp.SetLevelRequest{Level: levels[c.random.IntN(len(levels))]})
}

// request sends a request over HTTP, and returns its status, or 0 without a response.
func (c *client) request(method, principal, session string) int {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	body := ""
	if method == http.MethodPost {
		body = `{"jsonrpc":"2.0","id":"probe","method":"tools/call","params":{"name":"effect","arguments":{"call":"` + probeCall(session) + `"}}}`
	}
	r, err := http.NewRequestWithContext(ctx, method, c.url, bytes.NewReader([]byte(body)))
	if err != nil {
		panic(err)
	}
	r.Header = http.Header{
		headerUser: {principal}, "Mcp-Session-Id": {session}, "Mcp-Protocol-Version": {c.revision.String()},
		"Accept": {"application/json, text/event-stream"}, "Content-Type": {"application/json"},
	}
	if method == http.MethodGet {
		r.Header.Set("Accept", "text/event-stream")
	}
	res, err := c.http.Do(r)
	if err != nil {
		return 0
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		_, _ = io.Copy(io.Discard, res.Body)
	}
	return res.StatusCode
}

// session returns the id of the session.
func (c *client) session() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sessionID
}

// observeSession is an [http.RoundTripper] that notes the id of the session.
type observeSession struct {
	client    *client
	transport http.RoundTripper
}

// RoundTrip implements [http.RoundTripper].
func (o observeSession) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := o.transport.RoundTrip(r)
	if err == nil && r.Header.Get("Mcp-Session-Id") == "" {
		o.client.mu.Lock()
		defer o.client.mu.Unlock()
		if id := res.Header.Get("Mcp-Session-Id"); id != "" {
			o.client.sessionID = id
		}
	}
	return res, err
}

// intrude uses the session as another principal.
func (c *client) intrude() {
	id := c.session()
	method := []string{http.MethodPost, http.MethodGet, http.MethodDelete}[c.random.IntN(3)]
	status := c.request(method, "intruder", id)
	c.history.record(observation{Kind: intruded, Client: c.name, Session: id, Status: status, Text: method})
}

// end ends the connection and its session.
func (c *client) end() {
	if c.conn == nil {
		return
	}
	if c.isStateless() {
		c.forget()
		return
	}
	c.stopWatch()
	id := c.session()
	status := c.request(http.MethodDelete, c.principal, id)
	if status/100 == 2 {
		c.history.record(observation{Kind: closed, Client: c.name, Session: id})
		status := c.request(http.MethodPost, c.principal, id)
		c.history.record(observation{Kind: probed, Client: c.name, Session: id, Status: status})
	} else {
		c.orphans.Add(1)
		c.history.record(observation{Kind: closed, Client: c.name})
	}
	c.forget()
}

// forget closes the connection.
func (c *client) forget() {
	c.stopWatch()
	if c.isStateless() {
		c.history.record(observation{Kind: closed, Client: c.name})
	}
	if err := c.conn.Close(); err != nil {
		c.logger.Warn("close", "client", c.name, "error", err)
	}
	c.conn = nil
}

// rest calls a tool after the last fault, until it succeeds or ctx ends, and waits for an event of the
// standalone stream.
func (c *client) rest(ctx context.Context) {
	result, text := resultUnknown, "no connection"
	for ctx.Err() == nil {
		if c.conn == nil && !c.connect(ctx) {
			_ = pause(ctx, 500)
			continue
		}
		if result, text = c.call("effect", &input{Count: 1}); result == resultOK {
			break
		}
		_ = pause(ctx, 200)
	}
	switch {
	case result != resultOK:
	case c.isStateless():
		result, text = c.restWatch(ctx)
	default:
		result, text = c.restStream(ctx)
	}
	c.history.record(observation{Kind: rested, Client: c.name, Result: result, Text: text})
}

// restStream requests events of the standalone stream until one arrives, or ctx ends.
func (c *client) restStream(ctx context.Context) (result, text string) {
	for ctx.Err() == nil && c.conn != nil {
		if r, _ := c.announce(1); r != resultOK {
			continue
		}
		wait, cancel := context.WithTimeout(ctx, callTimeout)
		for wait.Err() == nil && !c.hasArrived(c.events) {
			_ = pause(wait, 20)
		}
		cancel()
		if c.hasArrived(c.events) {
			return resultOK, ""
		}
	}
	return resultTimeout, "no event of the standalone stream"
}

// restWatch changes the note until the client is notified, or ctx ends.
func (c *client) restWatch(ctx context.Context) (result, text string) {
	for ctx.Err() == nil && c.conn != nil {
		at := clock()
		if r, _ := c.call("touch", new(input)); r != resultOK {
			continue
		}
		wait, cancel := context.WithTimeout(ctx, callTimeout)
		for wait.Err() == nil && !c.noticedAfter(at) {
			_ = pause(wait, 20)
		}
		cancel()
		if c.noticedAfter(at) {
			return resultOK, ""
		}
	}
	return resultTimeout, "no notification of a change"
}

func (c *client) hasArrived(number int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last >= number
}
