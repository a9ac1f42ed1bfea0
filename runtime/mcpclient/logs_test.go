package mcpclient_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/internal/leaks"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
)

// logRecorder records the messages that a callback receives.
type logRecorder struct {
	mu   sync.Mutex
	said []string
}

func (d *logRecorder) note(n *mcp.LoggingMessageNotification) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.said = append(d.said, string(n.Level)+" "+string(n.Data))
}

func (d *logRecorder) all() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.said)
}

// loggingServer returns a server with a tool that logs at three levels, and a tool that waits for
// another active call first.
func loggingServer() (s *mcpserver.Server, both *sync.WaitGroup) {
	s, both = newKit(nil), new(sync.WaitGroup)
	log := func(ctx context.Context, session *mcp.ServerSession, text string) error {
		for _, level := range []mcp.LoggingLevel{mcp.LoggingLevelDebug, mcp.LoggingLevelInfo, mcp.LoggingLevelError} {
			data, _ := json.Marshal(text)
			if err := session.SendLogMessage(ctx, &mcp.LoggingMessageNotification{Level: level, Data: data}); err != nil {
				return err
			}
		}
		return nil
	}
	plain(s, "talk", func(ctx context.Context, session *mcp.ServerSession) (string, error) {
		return "", log(ctx, session, "talk")
	})
	mcpserver.AddTool(s, &mcp.Tool{Name: "together"}, func(ctx context.Context, session *mcp.ServerSession, in greeting) (string, error) {
		both.Done()
		both.Wait()
		return "", log(ctx, session, in.Name)
	})
	return s, both
}

func TestOnLog(t *testing.T) {
	leaks.Check(t)
	for _, r := range mcp.Revisions {
		s, _ := loggingServer()
		for _, w := range kitEndpoints(t, s) {
			if w.old && !r.Handshake || w.name == "command" {
				continue
			}
			t.Run(r.Revision.String()+" "+w.name, func(t *testing.T) {
				for level, want := range map[mcp.LoggingLevel][]string{
					"":                    {`debug "talk"`, `info "talk"`, `error "talk"`},
					mcp.LoggingLevelInfo:  {`info "talk"`, `error "talk"`},
					mcp.LoggingLevelError: {`error "talk"`},
				} {
					c := connect(t, w.to, &mcpclient.Options{Revision: r.Revision})
					var d logRecorder
					callText(t, c, "talk", mcpclient.OnLog(level, d.note))
					require.Equal(t, want, d.all(), "the call returns after the last message")
					callText(t, c, "talk")
					require.Equal(t, want, d.all(), "the next call has no messages of the first")
				}
			})
		}
	}
}

// Two concurrent calls: over HTTP and in process each receives only its own messages. On a pipe each
// may also receive the messages of the other.
func TestOnLogOfConcurrentCalls(t *testing.T) {
	leaks.Check(t)
	for _, r := range mcp.Revisions {
		s, both := loggingServer()
		for _, w := range kitEndpoints(t, s) {
			if w.old && !r.Handshake || w.name == "command" {
				continue
			}
			t.Run(r.Revision.String()+" "+w.name, func(t *testing.T) {
				c := connect(t, w.to, &mcpclient.Options{Revision: r.Revision})
				_, err := c.ListTools(t.Context(), &mcp.ListToolsRequest{})
				require.NoError(t, err)
				both.Add(2)
				var all sync.WaitGroup
				diaries := map[string]*logRecorder{"one": {}, "two": {}}
				for name, d := range diaries {
					all.Go(func() { // ends with the call
						_, err := mcpclient.CallTool[string](t.Context(), c, "together", greeting{name}, mcpclient.OnLog("", d.note))
						if err != nil {
							t.Error(err)
						}
					})
				}
				all.Wait()
				for name, d := range diaries {
					own := []string{`debug "` + name + `"`, `info "` + name + `"`, `error "` + name + `"`}
					said := d.all()
					if w.name == "pipe" || w.old {
						said = slices.DeleteFunc(said, func(s string) bool { return !strings.Contains(s, name) })
					}
					require.Equal(t, own, said)
				}
			})
		}
	}
}

func TestOnLogOfOptionsAndCall(t *testing.T) {
	leaks.Check(t)
	for _, r := range mcp.Revisions {
		t.Run(r.Revision.String(), func(t *testing.T) {
			heard := make(chan string, 9)
			s, _ := loggingServer()
			c := connect(t, mcpclient.InProcess(s), &mcpclient.Options{
				Revision: r.Revision, LogLevel: mcp.LoggingLevelError,
				OnLog: func(_ context.Context, n *mcp.LoggingMessageNotification) error {
					heard <- string(n.Level)
					return nil
				},
			})
			var d logRecorder
			callText(t, c, "talk", mcpclient.OnLog(mcp.LoggingLevelInfo, d.note))
			want := []string{`info "talk"`, `error "talk"`}
			if r.Handshake {
				want = want[1:] // the level applies to the session
			}
			require.Equal(t, want, d.all())
			for _, said := range want {
				require.Equal(t, strings.Fields(said)[0], <-heard)
			}
		})
	}
}

// A callback may block, call the server, and panic.
func TestOnLogCallback(t *testing.T) {
	leaks.Check(t)
	s, _ := loggingServer()
	for _, w := range kitEndpoints(t, s) {
		if w.name == "command" {
			continue
		}
		t.Run(w.name, func(t *testing.T) {
			c := connect(t, w.to, &mcpclient.Options{Logger: silent})
			calls := 0
			callText(t, c, "talk", mcpclient.OnLog("", func(*mcp.LoggingMessageNotification) {
				calls++
				callText(t, c, "report")
				panic("test panic")
			}))
			require.GreaterOrEqual(t, calls, 3)
		})
	}
}

// A log level in the request takes precedence. A request cannot change the description of the client.
func TestLogLevelOfRequest(t *testing.T) {
	leaks.Check(t)
	asked := make(chan *mcp.RequestMeta, 1)
	s := newServer(mcp.Revision20260728)
	mcp.HandleCallTool(&s.mux, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		asked <- req.Meta
		return mcp.TextResult("ok"), nil
	})
	own := &mcp.RequestMeta{
		LogLevel: mcp.LoggingLevelError, ProtocolVersion: "2024-11-05",
		ClientInfo: &mcp.Implementation{Name: "somebody else"}, ClientCapabilities: &mcp.ClientCapabilities{Roots: &mcp.RootsCapability{}},
		Extra: map[string]json.RawMessage{"com.example/x": json.RawMessage("1")},
	}
	c := connect(t, s.overPipe(t), &mcpclient.Options{
		Info:  mcp.Implementation{Name: "me", Version: "1"},
		OnLog: func(context.Context, *mcp.LoggingMessageNotification) error { return nil },
	})
	for level, opts := range map[mcp.LoggingLevel][]peer.CallOption{
		mcp.LoggingLevelInfo: nil,
		"debug":              {mcpclient.OnLog("", func(*mcp.LoggingMessageNotification) {})},
	} {
		_, err := c.With(opts...).CallTool(t.Context(), &mcp.CallToolRequest{Name: "x"})
		require.NoError(t, err)
		require.Equal(t, level, (<-asked).LogLevel)

		_, err = c.With(opts...).CallTool(t.Context(), &mcp.CallToolRequest{Name: "x", Meta: own})
		require.NoError(t, err)
		got := <-asked
		require.Equal(t, mcp.LoggingLevelError, got.LogLevel)
		require.Equal(t, "2026-07-28", got.ProtocolVersion)
		require.Equal(t, "me", got.ClientInfo.Name)
		require.Nil(t, got.ClientCapabilities.Roots)
		require.JSONEq(t, "1", string(got.Extra["com.example/x"]))
		require.Equal(t, "2024-11-05", own.ProtocolVersion, "the caller's value is not changed")
	}
}

func TestLogLevelOfRequestInProcess(t *testing.T) {
	leaks.Check(t)
	s, _ := loggingServer()
	c := connect(t, mcpclient.InProcess(s), nil)
	var d logRecorder
	_, err := c.With(mcpclient.OnLog("", d.note)).CallTool(t.Context(), &mcp.CallToolRequest{
		Name: "talk", Arguments: json.RawMessage("{}"), Meta: &mcp.RequestMeta{LogLevel: mcp.LoggingLevelError},
	})
	require.NoError(t, err)
	require.Equal(t, []string{`error "talk"`}, d.all())
}

// The level that one client sets is not the level of another client of the same server.
func TestLogLevelOfSession(t *testing.T) {
	leaks.Check(t)
	s, _ := loggingServer()
	for _, r := range mcp.Revisions {
		for _, w := range kitEndpoints(t, s) {
			if w.name == "command" || w.old && !r.Handshake {
				continue // has another server
			}
			t.Run(r.Revision.String()+"/"+w.name, func(t *testing.T) {
				client := func(level mcp.LoggingLevel) (*mcpclient.Client, chan string) {
					logged := make(chan string, 9)
					return connect(t, w.to, &mcpclient.Options{
						Revision: r.Revision, LogLevel: level,
						OnLog: func(_ context.Context, n *mcp.LoggingMessageNotification) error {
							logged <- string(n.Level)
							return nil
						},
					}), logged
				}
				verbose, all := client(mcp.LoggingLevelDebug)
				quiet, errors := client(mcp.LoggingLevelError)
				callText(t, verbose, "talk")
				callText(t, quiet, "talk")
				require.Equal(t, []string{"debug", "info", "error"}, []string{<-all, <-all, <-all})
				require.Equal(t, "error", <-errors)
				callText(t, verbose, "talk")
				require.Equal(t, []string{"debug", "info", "error"}, []string{<-all, <-all, <-all})
				require.Empty(t, errors, "a call of another client logs for that client")
			})
		}
	}
}
