// Package sharedtasks tests tasks that replicas of a server share in an engine. The tests of engines
// use it with real servers of NATS and Redis.
package sharedtasks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/engine"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/scale"
	"github.com/mcpwright/mcp/runtime/streamable"
	"github.com/mcpwright/mcp/runtime/tasks"
	"github.com/mcpwright/mcp/runtime/wire"
)

// store is an engine as one replica reaches it.
type store interface {
	engine.Table
	engine.Log
}

// gate is an engine that can be cut off.
type gate struct {
	store
	cut atomic.Bool
}

var errCut = errors.New("cut off from the engine")

// Get implements [engine.Table].
func (g *gate) Get(ctx context.Context, key string) (engine.Record, error) {
	if g.cut.Load() {
		return engine.Record{}, errCut
	}
	return g.store.Get(ctx, key)
}

// Put implements [engine.Table].
func (g *gate) Put(ctx context.Context, key string, data []byte, prev uint64, keep time.Duration) (uint64, error) {
	if g.cut.Load() {
		return 0, errCut
	}
	return g.store.Put(ctx, key, data, prev, keep)
}

// lease is short, so that the end of a replica is noticed in seconds.
const lease = time.Second

var keys = [][]byte{[]byte("32 bytes that all replicas share")}

// replica is a server with its own listener.
type replica struct {
	node   *scale.Node
	server *mcpserver.Server
	engine *gate
	http   *httptest.Server
}

// start starts a replica. It ends with the test.
func start(t *testing.T, shared store) *replica {
	r := &replica{engine: &gate{store: shared}}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	quiet := slog.New(slog.DiscardHandler)
	r.node, err = scale.NewNode(r.engine, r.engine, &scale.Options{Address: "http://" + listener.Addr().String(), Keys: keys, Lease: lease, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	r.server = mcpserver.New(mcp.Implementation{Name: "tasks", Version: "1"}, &mcpserver.Options{
		Tasks: &tasks.Options{
			StartAfter: -1, PollInterval: 20 * time.Millisecond, Table: r.engine, Lease: lease,
		},
		Questions: mcpserver.QuestionOptions{SealKeys: keys}, Logger: quiet,
	})
	type input struct {
		Milliseconds int `json:"milliseconds"`
	}
	mcpserver.AddTool(r.server, &mcp.Tool{Name: "work", Execution: &mcp.ToolExecution{TaskSupport: mcp.TaskSupportRequired}},
		func(ctx context.Context, s *mcp.ServerSession, in input) (string, error) {
			select {
			case <-time.After(time.Duration(in.Milliseconds) * time.Millisecond):
				return "done", nil
			case <-ctx.Done():
				return "", context.Cause(ctx)
			}
		})
	mcpserver.AddTool(r.server, &mcp.Tool{Name: "ask", Execution: &mcp.ToolExecution{TaskSupport: mcp.TaskSupportRequired}},
		func(ctx context.Context, s *mcp.ServerSession, in input) (string, error) {
			res, err := s.ElicitForm(ctx, &mcp.ElicitRequestFormParams{Message: "Proceed?"})
			if err != nil {
				return "", err
			}
			return string(res.Action), nil
		})
	r.http = &httptest.Server{Listener: listener, Config: &http.Server{Handler: r.node.Handler(r.server, &streamable.Options{
		Principal: func(*http.Request) string { return "ann" },
	})}}
	r.http.Start()
	t.Cleanup(func() { r.stop(t) })
	return r
}

// stop ends a replica.
func (r *replica) stop(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	r.engine.cut.Store(false)
	if err := errors.Join(r.node.Shutdown(ctx), r.server.Shutdown(ctx)); err != nil {
		t.Error(err)
	}
	r.http.Close()
}

// balancer sends each request to the next replica.
type balancer struct {
	replicas []*replica
	next     atomic.Int64
}

// RoundTrip implements [http.RoundTripper].
func (b *balancer) RoundTrip(r *http.Request) (*http.Response, error) {
	out := r.Clone(r.Context())
	out.URL.Host = b.replicas[int(b.next.Add(1))%len(b.replicas)].http.Listener.Addr().String()
	return http.DefaultTransport.RoundTrip(out)
}

// connect connects a client through a balancer. It is closed at the end of the test.
func connect(t *testing.T, r wire.Revision, id *atomic.Value, replicas ...*replica) *mcpclient.Client {
	to := mcpclient.URL("http://127.0.0.1/mcp")
	to.HTTP.HTTPClient = &http.Client{Transport: &balancer{replicas: replicas}}
	c, err := mcpclient.Connect(t.Context(), to, &mcpclient.Options{
		Revision: r, Logger: slog.New(slog.DiscardHandler), Tasks: true,
		OnTask: func(_ context.Context, task *tasks.Task) { id.Store(task.ID) },
		OnElicit: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: mcp.ElicitActionAccept}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// Run tests tasks of two replicas that share an engine.
func Run(t *testing.T, shared store) {
	first, second := start(t, shared), start(t, shared)
	for _, r := range []wire.Revision{mcp.Revision20251125, mcp.Revision20260728} {
		t.Run(fmt.Sprint("any replica, ", r), func(t *testing.T) {
			c := connect(t, r, new(atomic.Value), first, second)
			for range 5 {
				expect(t, c, "ask", 0, "accept")
				expect(t, c, "work", 100, "done")
			}
		})
	}
	t.Run("the replica is cut off", func(t *testing.T) { replicaIsCutOff(t, first, second) })
}

// replicaIsCutOff begins a task that does not end, and one that ends, and cuts the replica off.
func replicaIsCutOff(t *testing.T, first, second *replica) {
	lost, done := new(atomic.Value), new(atomic.Value)
	c := connect(t, mcp.Revision20260728, lost, first)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { // ends with cancel
		defer close(ended)
		_, _ = mcpclient.CallTool[string](ctx, c, "work", map[string]any{"milliseconds": 60_000})
	}()
	defer func() { <-ended }()
	defer cancel()
	expect(t, connect(t, mcp.Revision20260728, done, first), "work", 100, "done")
	for lost.Load() == nil {
		time.Sleep(10 * time.Millisecond)
	}
	other := connect(t, mcp.Revision20260728, new(atomic.Value), second)
	await(t, other, lost.Load().(string), mcp.TaskStatusWorking)
	first.engine.cut.Store(true) // the replica cannot renew its lease
	await(t, other, done.Load().(string), mcp.TaskStatusCompleted)
	await(t, other, lost.Load().(string), mcp.TaskStatusFailed)
}

// await polls a task until it has a status.
func await(t *testing.T, c *mcpclient.Client, id string, status mcp.TaskStatus) {
	t.Helper()
	var task *tasks.GetResult
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		var err error
		if task, err = peer.SendRequest(t.Context(), c, &tasks.GetRequest{TaskID: id}); err != nil {
			t.Fatal(err)
		}
		if string(task.Status) == string(status) {
			return
		}
	}
	t.Errorf("task %q has the status %q, expected %q", id, task.Status, status)
}

// expect calls a tool and compares its result.
func expect(t *testing.T, c *mcpclient.Client, tool string, milliseconds int, want string) {
	t.Helper()
	got, err := mcpclient.CallTool[string](t.Context(), c, tool, map[string]any{"milliseconds": milliseconds})
	if err != nil || got != want {
		t.Errorf("tool %q returned %q, %v; expected %q", tool, got, err, want)
	}
}
