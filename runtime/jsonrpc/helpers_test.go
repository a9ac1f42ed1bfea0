package jsonrpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/internal/leaks"
	"github.com/mcpwright/mcp/internal/testlog"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

const pinged = `{"jsonrpc":"2.0","id":%v,"method":"ping","params":{}}`

func cancelled(id any) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%v,"reason":"the caller no longer waits"}}`, id)
}

var pingRequest mcp.PingRequest

// pair returns an in-process connection. The client has no handler.
func pair(t *testing.T, h peer.Handler, change ...func(client, server *jsonrpc.Options)) (*jsonrpc.InProcessConn, *jsonrpc.InProcessConn) {
	log, _ := logs()
	client, server := &jsonrpc.Options{Logger: log}, &jsonrpc.Options{Logger: log, Handler: h}
	for _, f := range change {
		f(client, server)
	}
	c, s := jsonrpc.InProcessPair(client, server)
	t.Cleanup(func() { s.Close() })
	return c, s
}

// slow returns a handler that waits until it can receive from release.
func slow(release <-chan struct{}) peer.HandlerFunc {
	return func(context.Context, *peer.Inbound) (peer.Reply, error) {
		<-release
		return result(`{}`)
	}
}

func TestMain(m *testing.M) { leaks.Main(m) }

// bubble runs f with a fake clock. The test fails if goroutines are left behind.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

// recorder is a Writer that records the messages.
type recorder struct {
	mu    sync.Mutex
	lines []string
	hook  func(ctx context.Context, line string) error // called before a message is recorded; may return an error
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

// take waits until all goroutines are blocked, and returns the messages since the previous call.
func (r *recorder) take() []string {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	lines := r.lines
	r.lines = nil
	for i := range lines {
		lines[i] = testlog.WithoutIDs(lines[i])
	}
	return lines
}

// stuck is a hook that blocks until the context of the message ends.
func stuck(ctx context.Context, _ string) error {
	<-ctx.Done()
	return ctx.Err()
}

// raw is a result, or params, with any JSON.
type raw struct{ json.RawMessage }

func (r *raw) AppendJSON(b []byte, e *wire.Encoder) []byte   { return e.Raw(b, r.RawMessage, "{}") }
func (r *raw) DecodeJSON(d *wire.Decoder)                    { r.RawMessage = d.Raw() }
func (r *raw) AppendParams(b []byte, e *wire.Encoder) []byte { return r.AppendJSON(b, e) }
func (r *raw) DecodeParams(d *wire.Decoder)                  { r.DecodeJSON(d) }

// changed is a notification that no revision defines.
type changed struct{ raw }

func (*changed) Method() string  { return "x/changed" }
func (*changed) IsNotification() {}

// result returns the reply of a handler.
func result(json string) (peer.Reply, error) {
	return peer.Reply{Result: &raw{[]byte(json)}}, nil
}

// logs returns a logger and its output.
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

// deliver delivers messages to c, one after another.
func deliver(c *jsonrpc.Conn, messages ...string) {
	for _, m := range messages {
		c.Deliver(context.Background(), []byte(m), jsonrpc.Source{})
	}
}

// call is a function that runs in a goroutine.
type call struct {
	done chan struct{}
	err  error
}

// start runs f in a goroutine.
func start(f func() error) *call {
	c := &call{done: make(chan struct{})}
	go func() {
		defer close(c.done)
		c.err = f()
	}()
	synctest.Wait()
	return c
}

// over returns the error of the call, which must have returned.
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

// ping sends a ping in a goroutine.
func ping(ctx context.Context, out peer.Outbound, opts ...peer.CallOption) *call {
	return start(func() error {
		_, err := peer.SendRequest(ctx, out, &mcp.PingRequest{}, opts...)
		return err
	})
}

// handlers maps methods to handlers.
type handlers map[string]func(ctx context.Context, in *peer.Inbound) (peer.Reply, error)

func (h handlers) Handle(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
	if f, ok := h[in.Method]; ok {
		return f(ctx, in)
	}
	return peer.Reply{}, &peer.Error{Code: mcp.CodeMethodNotFound, Message: "Method not found"}
}

// untilDone is a handler that waits for the end of ctx.
func untilDone(ctx context.Context, _ *peer.Inbound) (peer.Reply, error) {
	<-ctx.Done()
	return peer.Reply{}, context.Cause(ctx)
}

var errBroken = errors.New("broken")

const (
	cancelOne = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"enough"}}`
	closedOne = `{"jsonrpc":"2.0","id":%v,"error":{"code":-32603,"message":"Connection closed"}}`
	emptyOne  = `{"jsonrpc":"2.0","id":%v,"result":{}}`
)

func request(id any, method string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"method":%q}`, id, method)
}

func note(method string) string { return fmt.Sprintf(`{"jsonrpc":"2.0","method":%q}`, method) }

// infoRecorder is a recorder that also records the MessageInfo.
type infoRecorder struct {
	recorder
	infos []jsonrpc.MessageInfo
}

func (w *infoRecorder) WriteWithInfo(ctx context.Context, e jsonrpc.MessageInfo, data []byte) error {
	w.infos = append(w.infos, e)
	return w.WriteMessage(ctx, data)
}

func quick(context.Context, *peer.Inbound) (peer.Reply, error) { return result("{}") }
