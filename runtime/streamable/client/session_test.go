package client_test

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/internal/testlog"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable/client"
	"github.com/mcpwright/mcp/runtime/wire"
)

func TestSessionHeaders(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newFakeServer(t, inSession(func(w *rawResponse, r *sentRequest) { w.json(weatherResult) }))
		c := s.handshake(client.Options{})
		require.Equal(t, "session-1", c.SessionID())
		<-c.Listening()
		text, err := callWeather(t.Context(), c)
		require.NoError(t, err)
		require.Equal(t, "sunny", text)
		require.NoError(t, c.Close())
		require.NoError(t, c.Close())
		<-c.Done()

		first := s.find("POST initialize").Header
		require.Empty(t, first.Get("Mcp-Session-Id"))
		require.Empty(t, first.Get("MCP-Protocol-Version"))
		for _, name := range []string{"POST notifications/initialized", "GET", "POST tools/call", "DELETE"} {
			h := s.find(name).Header
			require.Equal(t, "session-1", h.Get("Mcp-Session-Id"), name)
			require.Equal(t, "2025-11-25", h.Get("MCP-Protocol-Version"), name)
			require.Empty(t, h.Get("Mcp-Method"), name)
		}
		_, err = callWeather(t.Context(), c)
		require.ErrorAs(t, err, new(*peer.ClosedError))
	})
}

func TestOldRevisionsHaveNoVersionHeader(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newFakeServer(t, inSession(func(w *rawResponse, r *sentRequest) { w.json(weatherResult) }))
		c := s.handshake(client.Options{})
		c.SetRevision(mcp.Revision20250326)
		_, err := callWeather(t.Context(), c)
		require.NoError(t, err)
		require.Empty(t, s.find("POST tools/call").Header.Get("MCP-Protocol-Version"))
		c.SetRevision(mcp.Revision20250618)
		_, err = callWeather(t.Context(), c)
		require.NoError(t, err)
		require.Equal(t, "2025-06-18", s.find("POST tools/call").Header.Get("MCP-Protocol-Version"), "initialize comes first")
	})
}

func TestSetRevisionWithoutFrame(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newFakeServer(t, inSession(func(w *rawResponse, r *sentRequest) { w.json(weatherResult) }))
		c := s.connect(client.Options{JSONRPC: jsonrpc.Options{Frame: func(string) *wire.Frame { return nil }}})
		beginSession(t, c)
		_, err := callWeather(t.Context(), c)
		require.NoError(t, err)
		require.Equal(t, "2025-11-25", s.find("POST tools/call").Header.Get("MCP-Protocol-Version"))
	})
}

func TestSessionWithoutID(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		reported := new(errorList)
		s := newFakeServer(t, func(w *rawResponse, r *sentRequest) {
			switch r.String() {
			case "POST initialize":
				w.json(sessionResult)
			case "POST notifications/initialized":
				w.WriteHeader(202)
			default:
				w.WriteHeader(404)
			}
		})
		c := s.handshake(client.Options{
			JSONRPC:       jsonrpc.Options{OnError: reported.add},
			OnSessionLost: func(err error) { reported.add(err) },
		})
		s.requests()
		_, err := callWeather(t.Context(), c)
		require.NotErrorIs(t, err, client.ErrSessionLost)
		require.ErrorAs(t, err, new(*client.HTTPError))
		require.NoError(t, c.Close())
		require.Empty(t, reported.take(), "servers need no standalone stream")
		require.Equal(t, []string{"POST initialize", "POST notifications/initialized", "GET", "POST tools/call"}, s.requests())
	})
}

func TestInvalidSessionIDIsRejected(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newFakeServer(t, func(w *rawResponse, r *sentRequest) {
			w.Header().Set("Mcp-Session-Id", "a b")
			w.json(sessionResult)
		})
		c := s.connect(client.Options{JSONRPC: jsonrpc.Options{Frame: sessionFrame}})
		_, err := peer.SendRequest(t.Context(), c, &mcp.InitializeRequest{ProtocolVersion: "2025-11-25"})
		require.ErrorContains(t, err, `session id "a b"`)
		require.Empty(t, c.SessionID())
	})
}

func TestErrSessionLost(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var sessions atomic.Int32
		current := func() string { return fmt.Sprintf("session-%d", sessions.Load()) }
		lost := new(errorList)
		s := newFakeServer(t, func(w *rawResponse, r *sentRequest) {
			switch {
			case r.String() == "POST initialize":
				sessions.Add(1)
				w.Header().Set("Mcp-Session-Id", current())
				w.json(sessionResult)
			case r.Header.Get("Mcp-Session-Id") != current():
				w.status(404, "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}`)
			case r.Method == "GET":
				w.stream()
				<-r.Context().Done()
			case r.rpc.ID == nil:
				w.WriteHeader(202)
			default:
				w.json(weatherResult)
			}
		})
		c := s.handshake(client.Options{OnSessionLost: lost.add})
		sessions.Add(1) // the server deletes the session
		for range 3 {
			_, err := callWeather(t.Context(), c)
			require.ErrorIs(t, err, client.ErrSessionLost)
			var e *client.HTTPError
			require.ErrorAs(t, err, &e)
			require.Equal(t, 404, e.Status)
		}
		require.Len(t, lost.take(), 1)

		beginSession(t, c)
		require.Equal(t, "session-3", c.SessionID())
		_, err := callWeather(t.Context(), c)
		require.NoError(t, err)
		require.NoError(t, c.Close())
		require.Equal(t, "session-3", s.find("DELETE").Header.Get("Mcp-Session-Id"))
		require.Empty(t, lost.take())
	})
}

func TestNewSessionEndsPreviousSession(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newFakeServer(t, inSession(func(w *rawResponse, r *sentRequest) {}))
		c := s.handshake(client.Options{})
		beginSession(t, c)
		list := s.requests()
		require.Contains(t, list, "DELETE")
		require.NoError(t, c.Close())
		require.Equal(t, 2, count(s.requests(), "DELETE"))
	})
}

func count(list []string, text string) (n int) {
	for _, s := range list {
		if s == text {
			n++
		}
	}
	return n
}

func TestServerSendsRequestsOnBothStreams(t *testing.T) {
	const elicit = `{"jsonrpc":"2.0","id":%s,"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{}}}}`
	for _, c := range []struct{ stream, id string }{{"POST tools/call", "0"}, {"GET", "0"}, {"GET", `"a"`}} {
		t.Run(c.stream, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				answered := make(chan string, 1)
				asking := make(chan struct{}, 1)
				s := newFakeServer(t, func(w *rawResponse, r *sentRequest) {
					switch r.String() {
					case "GET":
						w.stream()
						select {
						case <-asking:
							w.event(fmt.Sprintf(elicit, c.id))
						case <-r.Context().Done():
						}
						<-r.Context().Done()
					case "POST tools/call":
						w.stream()
						if c.stream == "GET" {
							asking <- struct{}{}
						} else {
							w.event(fmt.Sprintf(elicit, c.id))
						}
						require.JSONEq(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"decline"}}`, c.id), <-answered)
						w.event(w.answer(weatherResult))
					case "POST answer":
						answered <- r.body
						w.WriteHeader(202)
					default:
						inSession(nil)(w, r)
					}
				})
				h := &handled{result: &mcp.ElicitResult{Action: mcp.ElicitActionDecline}}
				conn := s.handshake(client.Options{JSONRPC: jsonrpc.Options{Handler: h}})
				text, err := callWeather(t.Context(), conn)
				require.NoError(t, err)
				require.Equal(t, "sunny", text)
				require.Len(t, h.take(), 1)
				require.Equal(t, "session-1", s.find("POST answer").Header.Get("Mcp-Session-Id"))
			})
		})
	}
}

func TestHandlerContinuesAfterItsStream(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newFakeServer(t, inSession(func(w *rawResponse, r *sentRequest) {
			w.stream()
			w.event(`{"jsonrpc":"2.0","id":7,"method":"ping"}`)
			w.event(w.answer(weatherResult))
		}))
		finish := make(chan struct{})
		c := s.handshake(client.Options{JSONRPC: jsonrpc.Options{
			Handler: peer.HandlerFunc(func(ctx context.Context, _ *peer.Inbound) (peer.Reply, error) {
				select {
				case <-finish:
					return peer.Reply{Result: &mcp.EmptyResult{}}, nil
				case <-ctx.Done():
					return peer.Reply{}, context.Cause(ctx)
				}
			}),
		}})
		_, err := callWeather(t.Context(), c)
		require.NoError(t, err)
		time.Sleep(time.Minute)
		close(finish)
		require.Equal(t, `{"jsonrpc":"2.0","id":7,"result":{}}`, s.find("POST answer").body)
	})
}

func TestCancellationInSessionIsNotified(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		ended := make(chan struct{}, 1)
		s := newFakeServer(t, func(w *rawResponse, r *sentRequest) {
			switch r.String() {
			case "POST tools/call":
				<-r.Context().Done()
				ended <- struct{}{}
			case "POST notifications/cancelled":
				<-r.Context().Done()
			default:
				inSession(nil)(w, r)
			}
		})
		c := s.handshake(client.Options{})
		begun := time.Now()
		_, err := callWeather(t.Context(), c, peer.WithTimeout(time.Second))
		require.ErrorAs(t, err, new(*peer.TimeoutError))
		require.Equal(t, time.Second, time.Since(begun), "even if the server does not accept the notification")
		n := s.find("POST notifications/cancelled")
		require.Contains(t, n.body, `"requestId":2`)
		require.Equal(t, "session-1", n.Header.Get("Mcp-Session-Id"))
		<-ended
		require.Equal(t, 6*time.Second, time.Since(begun), "the response is closed after the cancellation has timed out")
	})
}

func TestNotificationsArriveInOrder(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		accepted := 0
		s := newFakeServer(t, func(w *rawResponse, r *sentRequest) {
			if r.String() != "POST notifications/progress" {
				inSession(nil)(w, r)
				return
			}
			time.Sleep(time.Duration(10-accepted) * time.Second)
			accepted++
			require.Contains(t, r.body, fmt.Sprintf(`"progress":%d,`, accepted))
			w.WriteHeader(202)
		})
		c := s.handshake(client.Options{})
		for i := range 5 {
			require.NoError(t, c.Notify(t.Context(), &mcp.ProgressNotification{ProgressToken: wire.IntToken(1), Progress: float64(i + 1)}))
		}
		require.Equal(t, 5, accepted)
	})
}

func TestNotificationWaitsOnlyForHeaders(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newFakeServer(t, func(w *rawResponse, r *sentRequest) {
			w.stream()
			<-r.Context().Done()
		})
		begun := time.Now()
		require.NoError(t, s.connect(client.Options{JSONRPC: jsonrpc.Options{Frame: sessionFrame}}).Notify(t.Context(), &mcp.InitializedNotification{}))
		require.Zero(t, time.Since(begun))
	})
}

func TestEndlessResponseDelaysNothing(t *testing.T) {
	open := func(code int, body string) func(w *rawResponse, r *sentRequest) {
		return inSession(func(w *rawResponse, r *sentRequest) {
			w.Header().Set("Content-Type", "text/plain")
			w.WriteHeader(code)
			w.write("%s", body)
			<-r.Context().Done()
		})
	}
	inBubble(t, func(t *testing.T) {
		c := newFakeServer(t, open(502, "bad gateway")).handshake(client.Options{})
		begun := time.Now()
		_, err := callWeather(t.Context(), c)
		var refusal *client.HTTPError
		require.ErrorAs(t, err, &refusal)
		require.Equal(t, 502, refusal.Status)
		require.Equal(t, "bad gateway", refusal.Body)
		require.Equal(t, time.Second, time.Since(begun))
	})
	inBubble(t, func(t *testing.T) {
		c := newFakeServer(t, open(202, "")).handshake(client.Options{})
		begun := time.Now()
		require.NoError(t, c.Notify(t.Context(), &mcp.RootsListChangedNotification{}))
		require.Equal(t, time.Second, time.Since(begun))
	})
}

func TestCloseDoesNotWaitForServer(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newFakeServer(t, func(w *rawResponse, r *sentRequest) {
			switch r.String() {
			case "POST initialize", "POST notifications/initialized":
				inSession(nil)(w, r)
			case "GET":
				w.stream()
				w.event(`{"jsonrpc":"2.0","id":7,"method":"ping"}`)
				<-r.Context().Done()
			default:
				<-r.Context().Done()
			}
		})
		h := &handled{result: &mcp.EmptyResult{}}
		c := s.handshake(client.Options{JSONRPC: jsonrpc.Options{Handler: h}})
		var calls []*runningCall
		for range 10 {
			calls = append(calls, startWeather(t.Context(), c))
		}
		begun := time.Now()
		require.NoError(t, c.Close())
		require.LessOrEqual(t, time.Since(begun), 4*time.Second)
		for _, call := range calls {
			require.True(t, call.over())
			require.ErrorAs(t, call.err, new(*peer.ClosedError))
		}
		require.Contains(t, s.requests(), "DELETE")
	})
}

func TestBatchInBody(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newFakeServer(t, inSession(func(w *rawResponse, r *sentRequest) {
			w.status(200, "application/json; charset=utf-8", `[{"jsonrpc":"2.0","method":"a"},`+w.answer(weatherResult)+`,{"jsonrpc":"2.0","id":55,"result":{}}]`)
		}))
		h := new(handled)
		c := s.handshake(client.Options{JSONRPC: jsonrpc.Options{Handler: h, Batches: func() bool { return true }}})
		_, err := callWeather(t.Context(), c)
		require.NoError(t, err)
		require.Equal(t, []string{"a "}, h.take())
	})
}

func TestFailedCallsKeepSession(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		n := 0
		s := newFakeServer(t, inSession(func(w *rawResponse, r *sentRequest) {
			switch n++; n {
			case 1:
				w.status(502, "text/html", "<h1>")
			case 2:
				w.cut()
			case 3:
				w.stream()
				w.cut()
			case 4:
				w.status(400, "", "")
			default:
				w.json(weatherResult)
			}
		}))
		c := s.handshake(client.Options{})
		for range 4 {
			_, err := callWeather(t.Context(), c)
			require.Error(t, err)
		}
		_, err := callWeather(t.Context(), c)
		require.NoError(t, err)
		require.Equal(t, 1, count(s.requests(), "POST initialize"))
	})
}

func TestUnacceptedResponsesAreLogged(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		log := new(testlog.Recorder)
		s := newFakeServer(t, func(w *rawResponse, r *sentRequest) {
			switch r.String() {
			case "POST tools/call":
				w.stream()
				w.event(`{"jsonrpc":"2.0","id":7,"method":"ping"}`)
				synctest.Wait()
				w.event(w.answer(weatherResult))
			case "POST answer":
				w.WriteHeader(http.StatusBadGateway)
			default:
				inSession(nil)(w, r)
			}
		})
		c := s.handshake(client.Options{JSONRPC: jsonrpc.Options{Handler: &handled{result: &mcp.EmptyResult{}}, Logger: log.Logger()}})
		_, err := callWeather(t.Context(), c)
		require.NoError(t, err)
		require.NoError(t, c.Close())
		require.Contains(t, log.String(), "502 Bad Gateway")
	})
}
