package scale_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/tasks"
	"github.com/mcpwright/mcp/runtime/wire"
)

// balancer sends each request to the next replica. If a replica refuses the connection, it tries the next
// one.
type balancer struct {
	f    *fleet
	next atomic.Int64
}

func (b *balancer) RoundTrip(r *http.Request) (res *http.Response, err error) {
	for range b.f.replicas {
		out := r.Clone(r.Context())
		out.URL.Host = fmt.Sprintf("replica-%d", int(b.next.Add(1))%len(b.f.replicas))
		if r.GetBody != nil {
			out.Body, _ = r.GetBody()
		}
		res, err = b.f.client.Transport.RoundTrip(out)
		if op, ok := errors.AsType[*net.OpError](err); !ok || op.Op != "dial" {
			break
		}
	}
	return res, err
}

// connect connects a client through a balancer.
func (f *fleet) connect(r wire.Revision) *mcpclient.Client {
	to := mcpclient.URL("http://balancer/mcp")
	to.HTTP.HTTPClient = &http.Client{Transport: &balancer{f: f}}
	c, err := mcpclient.Connect(f.t.Context(), to, &mcpclient.Options{
		Revision: r, Logger: slog.New(slog.DiscardHandler), Cache: mcpclient.CacheOptions{Off: true},
		Tasks: true, OnTask: func(context.Context, *tasks.Task) { f.tasks.Add(1) },
		OnElicit: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: mcp.ElicitActionAccept}, nil
		},
	})
	require.NoError(f.t, err)
	return c
}

func TestClientsDoNotNoticeTheirReplicas(t *testing.T) {
	for _, r := range []wire.Revision{mcp.Revision20250618, mcp.Revision20251125, mcp.Revision20260728} {
		t.Run(r.String(), func(t *testing.T) {
			run(t, 3, func(t *testing.T, f *fleet) {
				f.t = t
				c := f.connect(r)
				defer c.Close()
				ask := func() {
					t.Helper()
					text, err := mcpclient.CallTool[string](t.Context(), c, "ask", nil)
					require.NoError(t, err)
					require.Contains(t, text, "accept")
				}
				for range 10 {
					ask()
				}
				for i := range 2 {
					f.replicas[i].kill()
					time.Sleep(lease + lease/2)
					for range 10 {
						ask()
					}
				}
			})
		})
	}
}

func TestWatchingClientMovesWithItsSession(t *testing.T) {
	run(t, 3, func(t *testing.T, f *fleet) {
		f.t = t
		c := f.connect(mcp.Revision20251125)
		defer c.Close()
		changes := make(chan error, 16)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { // ends with cancel
			defer close(done)
			for _, err := range c.Watch(ctx, resource) {
				changes <- err
			}
		}()
		defer func() { <-done }()
		defer cancel()
		notify := func() {
			for _, r := range f.replicas {
				if !r.engine.down.Load() {
					require.NoError(t, r.server.ResourceUpdated(t.Context(), resource))
				}
			}
			select {
			case err := <-changes:
				require.NoError(t, err)
			case <-time.After(time.Minute):
				require.Fail(t, "no change")
			}
		}
		time.Sleep(time.Second)
		notify()
		for i := range 2 {
			f.replicas[i].kill()
			time.Sleep(lease + lease/2)
			_, err := mcpclient.CallTool[string](t.Context(), c, "where", nil)
			require.NoError(t, err)
			time.Sleep(lease)
			notify()
		}
	})
}

func TestAnyReplicaServesRequestsForTasks(t *testing.T) {
	run(t, 3, func(t *testing.T, f *fleet) {
		f.t = t
		c := f.connect(mcp.Revision20260728)
		defer c.Close()
		for range 4 {
			before := f.tasks.Load()
			text, err := mcpclient.CallTool[string](t.Context(), c, "slow", nil)
			require.NoError(t, err)
			require.Equal(t, "accept", text)
			require.Greater(t, f.tasks.Load(), before+2, "the client has polled")
		}
	})
}

func TestTaskOfAReplicaThatIsGone(t *testing.T) {
	run(t, 2, func(t *testing.T, f *fleet) {
		s := &session{fleet: f, version: "2026-07-28"}
		get := func(at int, id string) answer {
			r := s.request(at, http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":"`+id+`","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}}`)
			r.Header.Set("Mcp-Method", "tasks/get")
			r.Header.Set("Mcp-Name", id)
			return s.do(r)
		}
		id := f.replicas[0].node.NewTaskID()
		unknown := get(0, id)
		require.Contains(t, unknown.body, `"error"`)
		require.Equal(t, unknown.String(), get(1, id).String())
		f.replicas[0].kill()
		require.Equal(t, http.StatusServiceUnavailable, get(1, id).status)
		time.Sleep(lease + lease/4)
		require.Equal(t, unknown.String(), get(1, id).String(), "the task is lost")
		require.Contains(t, get(1, "invented").body, "Unknown task")
	})
}
