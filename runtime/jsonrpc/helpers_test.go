package jsonrpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/internal/testlog"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
	"github.com/stretchr/testify/require"
)

// bubble runs f with a clock of its own. Goroutines that f leaves behind fail
// the test.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

// recorder is a Writer that keeps what is written.
type recorder struct {
	mu    sync.Mutex
	lines []string
	hook  func(ctx context.Context, line string) error // before it is kept; its error is that of the Writer
}

func (r *recorder) WriteMessage(ctx context.Context, data []byte) error {
	line := string(data)
	if r.hook != nil {
		if err := r.hook(ctx, line); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, line)
	return nil
}

// take returns what has been written since the last time, when nothing more
// happens.
func (r *recorder) take() []string {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	lines := r.lines
	r.lines = nil
	return lines
}

// stuck makes a recorder's writer wait for the end of its context.
func stuck(ctx context.Context, _ string) error {
	<-ctx.Done()
	return ctx.Err()
}

// raw is any JSON as result or params.
type raw struct{ json.RawMessage }

func (r *raw) AppendJSON(b []byte, e *wire.Encoder) []byte   { return e.Raw(b, r.RawMessage, "{}") }
func (r *raw) DecodeJSON(d *wire.Decoder)                    { r.RawMessage = d.Raw() }
func (r *raw) AppendParams(b []byte, e *wire.Encoder) []byte { return r.AppendJSON(b, e) }
func (r *raw) DecodeParams(d *wire.Decoder)                  { r.DecodeJSON(d) }

// changed is a notification of no revision.
type changed struct{ raw }

func (*changed) Method() string  { return "x/changed" }
func (*changed) IsNotification() {}

// result is a handler's answer.
func result(json string) (peer.Reply, error) {
	return peer.Reply{Result: &raw{[]byte(json)}}, nil
}

// logs is a logger and what it has been told.
func logs() (*slog.Logger, *testlog.Recorder) {
	b := new(testlog.Recorder)
	return b.Logger(), b
}

func newConn(t *testing.T, opts *jsonrpc.Options) (*jsonrpc.Conn, *recorder) {
	t.Helper()
	if opts == nil {
		opts = new(jsonrpc.Options)
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	r := new(recorder)
	c := jsonrpc.New(r, opts)
	t.Cleanup(func() { c.Close() })
	return c, r
}

// deliver hands messages to c, one after the other.
func deliver(c *jsonrpc.Conn, messages ...string) {
	for _, m := range messages {
		c.Deliver(context.Background(), []byte(m), jsonrpc.Source{})
	}
}

// call is a call under way.
type call struct {
	done chan struct{}
	err  error
}

// start makes a call in a goroutine of its own.
func start(f func() error) *call {
	c := &call{done: make(chan struct{})}
	go func() {
		defer close(c.done)
		c.err = f()
	}()
	synctest.Wait()
	return c
}

// over returns how the call ended.
func (c *call) over(t *testing.T) error {
	t.Helper()
	synctest.Wait()
	select {
	case <-c.done:
		return c.err
	default:
		require.Fail(t, "the call has not returned")
		return nil
	}
}

func (c *call) isOver() bool {
	synctest.Wait()
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// ping starts a ping.
func ping(ctx context.Context, out peer.Outbound, opts ...peer.CallOption) *call {
	return start(func() error {
		_, err := peer.SendRequest(ctx, out, &mcp.PingRequest{}, opts...)
		return err
	})
}

// handlers is a handler made of functions by method.
type handlers map[string]func(ctx context.Context, in *peer.Inbound) (peer.Reply, error)

func (h handlers) Handle(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
	if f, ok := h[in.Method]; ok {
		return f(ctx, in)
	}
	return peer.Reply{}, &peer.Error{Code: mcp.CodeMethodNotFound, Message: "Method not found"}
}

// untilDone waits for the end of ctx.
func untilDone(ctx context.Context, _ *peer.Inbound) (peer.Reply, error) {
	<-ctx.Done()
	return peer.Reply{}, context.Cause(ctx)
}

var errBroken = errors.New("broken")
