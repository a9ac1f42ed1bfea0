package connection_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// channel is a peer.BackChannel that keeps what is written to it.
type channel struct {
	frame   func(method string) *wire.Frame
	answer  string // the result of each request
	refusal error  // instead of a result
	broken  error  // what Notify returns

	mu       sync.Mutex
	lines    []string
	options  []peer.CallOptions
	progress []peer.Progress
}

func (c *channel) frameOf(method string) *wire.Frame {
	if c.frame == nil {
		return nil
	}
	return c.frame(method)
}

func (c *channel) Call(_ context.Context, req peer.Message, res wire.Value, opts ...peer.CallOption) error {
	var o peer.CallOptions
	for _, opt := range opts {
		opt(&o)
	}
	line, err := wire.AppendRequest(nil, c.frameOf(req.Method()), wire.IntID(1), req.Method(), req)
	if err != nil {
		return err
	}
	c.write(string(line), o)
	if c.refusal != nil {
		return c.refusal
	}
	answer := c.answer
	if answer == "" {
		answer = "{}"
	}
	return wire.Decode([]byte(answer), c.frameOf(req.Method()), res)
}

func (c *channel) Notify(_ context.Context, n peer.Notification, opts ...peer.CallOption) error {
	if c.broken != nil {
		return c.broken
	}
	var o peer.CallOptions
	for _, opt := range opts {
		opt(&o)
	}
	line, err := wire.AppendNotification(nil, c.frameOf(n.Method()), n.Method(), n)
	if err != nil {
		return err
	}
	c.write(string(line), o)
	return nil
}

func (c *channel) Progress(_ context.Context, p peer.Progress) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.progress = append(c.progress, p)
	return nil
}

func (c *channel) write(line string, o peer.CallOptions) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines = append(c.lines, line)
	c.options = append(c.options, o)
}

// take returns what was written and forgets it.
func (c *channel) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	lines := c.lines
	c.lines = nil
	return lines
}

// journal is a slog.Handler that keeps the messages.
type journal struct {
	mu      sync.Mutex
	entries []string
}

func (j *journal) Enabled(context.Context, slog.Level) bool { return true }
func (j *journal) WithAttrs([]slog.Attr) slog.Handler       { return j }
func (j *journal) WithGroup(string) slog.Handler            { return j }
func (j *journal) Handle(_ context.Context, r slog.Record) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries = append(j.entries, r.Level.String()+" "+r.Message)
	return nil
}

func (j *journal) count() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.entries)
}

var (
	pipe     = peer.NewTransportContext("pipe", true, nil, "")
	someInfo = &mcp.Implementation{Name: "client", Version: "1"}
)

// request is an inbound request on a channel.
func request(method, params string, back peer.BackChannel) *peer.Inbound {
	in := &peer.Inbound{Method: method, ID: wire.IntID(7), Transport: pipe, Back: back}
	if params != "" {
		in.Params = json.RawMessage(params)
	}
	return in
}

func notification(method, params string, back peer.BackChannel) *peer.Inbound {
	in := request(method, params, back)
	in.ID = wire.RequestID{}
	return in
}

// allCapabilities is what a client declares that can do everything.
func allCapabilities() *mcp.ClientCapabilities {
	some := map[string]json.RawMessage{}
	return &mcp.ClientCapabilities{
		Elicitation: &mcp.ElicitationCapability{Form: some, URL: some},
		Roots:       &mcp.RootsCapability{ListChanged: true},
		Sampling:    &mcp.SamplingCapability{Tools: some, Context: some},
		Tasks: &mcp.ClientTasksCapability{
			Cancel: some, List: some,
			Requests: &mcp.ClientTaskRequests{
				Elicitation: &mcp.ElicitationTaskRequests{Create: some},
				Sampling:    &mcp.SamplingTaskRequests{CreateMessage: some},
			},
		},
	}
}

// loop is a connection whose client has said that it can do caps, and has confirmed
// the handshake.
func loop(t *testing.T, version string, caps *mcp.ClientCapabilities) (*connection.Connection, *channel) {
	t.Helper()
	out := new(channel)
	conn := connection.New(out, &connection.Options{VersionHint: version})
	out.frame = conn.Frame
	require.Equal(t, version, conn.Revision().String())
	if caps != nil {
		conn.State().SetClient(someInfo, caps)
		conn.State().SetInitialized()
	}
	return conn, out
}

// refused requires an error of type E and that nothing was written.
func refused[E error](t *testing.T, out *channel, err error) E {
	t.Helper()
	e, ok := errors.AsType[E](err)
	require.True(t, ok, "have %T: %v", err, err)
	require.Empty(t, out.take())
	return e
}
