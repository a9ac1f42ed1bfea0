package client_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/internal/testlog"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable/client"
)

// breakAfterEvent serves a call whose stream breaks after an event with the id "0-1". The
// function resume serves the GET request.
func breakAfterEvent(retry int, resume func(w *rawResponse, r *sentRequest)) func(w *rawResponse, r *sentRequest) {
	var asked *sentRequest
	return inSession(func(w *rawResponse, r *sentRequest) {
		if r.Method == http.MethodGet {
			w.to = asked
			resume(w, r)
			return
		}
		asked = r
		w.stream()
		if retry > 0 {
			w.write("retry: %d\n", retry)
		}
		w.write("id: 0-1\ndata:\n\n")
	})
}

func TestBrokenStreamIsResumed(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		begun := time.Now()
		times := []time.Duration{}
		s := newFakeServer(t, breakAfterEvent(500, func(w *rawResponse, r *sentRequest) {
			times = append(times, time.Since(begun))
			if len(times) == 1 {
				require.Equal(t, "0-1", r.Header.Get("Last-Event-ID"))
				w.stream()
				w.write("id: 0-2\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"a\"}\n\nid: cut off")
				w.cut()
			}
			require.Equal(t, "0-2", r.Header.Get("Last-Event-ID"))
			require.Equal(t, "session-1", r.Header.Get("Mcp-Session-Id"))
			require.Equal(t, "text/event-stream", r.Header.Get("Accept"))
			w.stream()
			w.event(w.answer(weatherResult))
		}))
		h := new(handled)
		c := s.handshake(client.Options{JSONRPC: jsonrpc.Options{Handler: h}})
		text, err := callWeather(t.Context(), c)
		require.NoError(t, err)
		require.Equal(t, "sunny", text)
		require.Equal(t, []string{"a "}, h.take())
		require.Equal(t, []time.Duration{500 * time.Millisecond, time.Second}, times, "not before the retry time of the server")
	})
}

func TestSlowResumptionRestartsTimeout(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newFakeServer(t, breakAfterEvent(0, func(w *rawResponse, r *sentRequest) {
			for range 3 { // such as during a login
				select {
				case <-time.After(40 * time.Second):
					w.WriteHeader(http.StatusProcessing)
				case <-r.Context().Done():
					return
				}
			}
			w.stream()
			w.event(w.answer(weatherResult))
		}))
		text, err := callWeather(t.Context(), s.handshake(client.Options{}), peer.WithTimeout(time.Minute))
		require.NoError(t, err)
		require.Equal(t, "sunny", text)
	})
}

func TestInitializeIsResumed(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var asked *sentRequest
		s := newFakeServer(t, func(w *rawResponse, r *sentRequest) {
			switch {
			case r.rpc.Method == "initialize":
				asked = r
				w.Header().Set("Mcp-Session-Id", "session-1")
				w.stream()
				w.write("id: 1\ndata:\n\n")
			case r.Header.Get("Last-Event-ID") == "1":
				require.Equal(t, "session-1", r.Header.Get("Mcp-Session-Id"))
				w.to = asked
				w.stream()
				w.event(w.answer(sessionResult))
			default:
				inSession(nil)(w, r)
			}
		})
		c := s.handshake(client.Options{})
		require.Equal(t, "session-1", c.SessionID())
	})
}

func TestCallHeadersAreSentWithResumption(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newFakeServer(t, breakAfterEvent(1, func(w *rawResponse, r *sentRequest) {
			w.stream()
			<-r.Context().Done()
		}))
		c := s.handshake(client.Options{})
		begun := time.Now()
		_, err := callWeather(t.Context(), c, peer.WithHeader(http.Header{"X-User": {"me"}}), peer.WithTimeout(time.Second))
		require.ErrorAs(t, err, new(*peer.TimeoutError))
		for _, name := range []string{"POST tools/call", "GET", "POST notifications/cancelled"} {
			require.Equal(t, "me", s.find(name).Header.Get("X-User"), name)
		}
		require.Equal(t, time.Second, time.Since(begun))
	})
}

func TestMinimumDelayOfReconnect(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newFakeServer(t, serveStandalone(func(w *rawResponse, r *sentRequest) {
			w.stream()
			w.write("retry: 1\nid: 1\n\n")
		}))
		s.handshake(client.Options{})
		time.Sleep(10 * time.Second)
		require.LessOrEqual(t, count(s.requests(), "GET"), 101)
	})
}

func TestPollingServer(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		polls := 0
		s := newFakeServer(t, breakAfterEvent(2000, func(w *rawResponse, r *sentRequest) {
			if polls++; polls <= 20 {
				w.stream()
				return
			}
			w.stream()
			w.event(w.answer(weatherResult))
		}))
		c := s.handshake(client.Options{})
		begun := time.Now()
		_, err := callWeather(t.Context(), c)
		require.NoError(t, err)
		require.Equal(t, 42*time.Second, time.Since(begun))
	})
}

func TestResumptionFailsAfterMaxAttempts(t *testing.T) {
	for _, c := range []struct {
		name     string
		resume   func(w *rawResponse, r *sentRequest)
		attempts int
		want     string
	}{
		{"immediately if the server has no GET", func(w *rawResponse, _ *sentRequest) { w.status(405, "", "") }, 1, "405 Method Not Allowed"},
		{"immediately if the event is unknown", func(w *rawResponse, _ *sentRequest) { w.status(400, "", "") }, 1, "400 Bad Request"},
		{"immediately if the session is lost", func(w *rawResponse, _ *sentRequest) { w.status(404, "", "") }, 1, "the server has ended the session"},
		{"immediately if the response is no stream", func(w *rawResponse, _ *sentRequest) { w.status(200, "text/html", "") }, 1, `content type "text/html"`},
		{"after several attempts", func(w *rawResponse, _ *sentRequest) { w.status(503, "", "") }, 3, "503 Service Unavailable"},
		{"after several broken connections", func(w *rawResponse, _ *sentRequest) { w.cut() }, 0, "EOF"}, // net/http retries, too
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				attempts := 0
				s := newFakeServer(t, breakAfterEvent(0, func(w *rawResponse, r *sentRequest) {
					attempts++
					c.resume(w, r)
				}))
				conn := s.handshake(client.Options{Backoff: client.Backoff{MaxAttempts: 3}})
				begun := time.Now()
				_, err := callWeather(t.Context(), conn)
				require.ErrorIs(t, err, client.ErrNoResponse)
				require.ErrorContains(t, err, c.want)
				require.NotErrorIs(t, err, client.ErrSessionLost, "the server may have processed the call")
				if c.attempts > 0 {
					require.Equal(t, c.attempts, attempts)
				}
				if attempts > 1 {
					require.GreaterOrEqual(t, time.Since(begun), 7*time.Second, "1 s, 2 s, 4 s and a little")
					require.LessOrEqual(t, time.Since(begun), 9*time.Second)
				}
			})
		})
	}
}

func TestResumptionErrorHasServerError(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newFakeServer(t, breakAfterEvent(0, func(w *rawResponse, r *sentRequest) {
			w.status(400, "application/json", w.answer(`"error":{"code":-32600,"message":"no such event"}`))
		}))
		_, err := callWeather(t.Context(), s.handshake(client.Options{}))
		var e *peer.Error
		require.ErrorAs(t, err, &e)
		require.EqualValues(t, mcp.CodeInvalidRequest, e.Code)
	})
}

func TestCancelledCallIsNotResumed(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newFakeServer(t, breakAfterEvent(60_000, func(w *rawResponse, r *sentRequest) { require.Fail(t, "resumed") }))
		c := s.handshake(client.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		call := startWeather(ctx, c)
		require.False(t, call.over())
		cancel()
		require.True(t, call.over())
		require.ErrorIs(t, call.err, context.Canceled)
		time.Sleep(5 * time.Minute)
		require.Contains(t, s.requests(), "POST notifications/cancelled")

		waiting := startWeather(t.Context(), c)
		require.NoError(t, c.Close())
		require.True(t, waiting.over())
		require.Error(t, waiting.err)
	})
}

func TestStreamWithoutIDsIsNotResumed(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newFakeServer(t, inSession(func(w *rawResponse, r *sentRequest) {
			w.stream()
			w.event(`{"jsonrpc":"2.0","method":"good"}`)
		}))
		c := s.handshake(client.Options{DisableStandaloneStream: true})
		begun := time.Now()
		_, err := callWeather(t.Context(), c)
		require.ErrorIs(t, err, client.ErrNoResponse)
		require.Zero(t, time.Since(begun), "the call fails immediately")
		require.NotContains(t, s.requests(), "GET", "there is no event id to resume from")
	})
}

func TestResponseOnStandaloneStreamIsRejected(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		called, answered := make(chan json.RawMessage, 1), make(chan struct{})
		s := newFakeServer(t, func(w *rawResponse, r *sentRequest) {
			switch {
			case r.Method == http.MethodGet:
				w.stream()
				w.event(`{"jsonrpc":"2.0","id":` + string(<-called) + `,"result":{"content":[{"type":"text","text":"wet"}]}}`)
				close(answered)
				<-r.Context().Done()
			case r.rpc.Method == "tools/call":
				called <- r.rpc.ID
				<-answered
				time.Sleep(time.Second)
				w.json(weatherResult)
			default:
				inSession(nil)(w, r)
			}
		})
		text, err := callWeather(t.Context(), s.handshake(client.Options{}))
		require.NoError(t, err)
		require.Equal(t, "sunny", text, "the id is that of the response to initialize")
	})
}

// serveStandalone serves sessions whose standalone stream is served by serve.
func serveStandalone(serve func(w *rawResponse, r *sentRequest)) func(w *rawResponse, r *sentRequest) {
	return func(w *rawResponse, r *sentRequest) {
		switch {
		case r.Method == http.MethodGet:
			serve(w, r)
		case r.rpc.Method == "tools/call":
			w.json(weatherResult)
		default:
			inSession(nil)(w, r)
		}
	}
}

func TestStandaloneStreamReopens(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		begun := time.Now()
		var at []time.Duration
		var after []string
		s := newFakeServer(t, serveStandalone(func(w *rawResponse, r *sentRequest) {
			at, after = append(at, time.Since(begun).Truncate(time.Second)), append(after, r.Header.Get("Last-Event-ID"))
			switch len(at) {
			case 1:
				w.stream()
				w.write("id: a\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"n\"}\n\n")
				w.cut()
			case 2:
				w.cut()
			case 3, 4, 5, 6, 7, 8:
				w.status(503, "", "")
			case 9:
				w.stream()
				w.write("retry: 100000\nid: b\n\n")
			case 10:
				w.stream()
				<-r.Context().Done()
			}
		}))
		h, reported := new(handled), new(errorList)
		c := s.handshake(client.Options{JSONRPC: jsonrpc.Options{Handler: h, OnError: reported.add}})
		time.Sleep(time.Hour)
		require.Equal(t, []string{"n "}, h.take())
		require.Equal(t, []string{"", "a", "a", "a", "a", "a", "a", "a", "a", "b"}, after)
		require.Len(t, at, 10)
		for i, least := range []time.Duration{0, 1, 2, 4, 8, 16, 30, 30, 30, 100} {
			if i > 0 {
				gap := at[i] - at[i-1]
				require.GreaterOrEqual(t, gap, least*time.Second, i)
				require.LessOrEqual(t, gap, least*time.Second*5/4+time.Second, i)
			}
		}
		require.Empty(t, reported.take())
		_, err := callWeather(t.Context(), c)
		require.NoError(t, err)
	})
}

func TestStandaloneStreamReopensWithoutEventID(t *testing.T) {
	for name, c := range map[string]struct {
		session string
		status  int
	}{
		"bad request":              {"session-1", 400},
		"not found, no session id": {"", 404},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				var after []string
				s := newFakeServer(t, func(w *rawResponse, r *sentRequest) {
					switch {
					case r.rpc.Method == "initialize" && c.session == "":
						w.json(sessionResult)
						return
					case r.Method != http.MethodGet:
						inSession(nil)(w, r)
						return
					}
					after = append(after, r.Header.Get("Last-Event-ID"))
					switch len(after) {
					case 1:
						w.stream()
						w.write("id: a\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"n\"}\n\n")
					case 2:
						w.status(c.status, "", "no such event")
					default:
						w.stream()
						w.event(`{"jsonrpc":"2.0","method":"m"}`)
						<-r.Context().Done()
					}
				})
				h, reported := new(handled), new(errorList)
				s.handshake(client.Options{JSONRPC: jsonrpc.Options{Handler: h, OnError: reported.add}})
				time.Sleep(time.Minute)
				require.Equal(t, []string{"n ", "m "}, h.take())
				require.Equal(t, []string{"", "a", ""}, after)
				require.Empty(t, reported.take())
			})
		})
	}
}

func TestOnEventsLost(t *testing.T) {
	for name, c := range map[string]struct {
		stream string
		again  int // status of the second request
		want   int
	}{
		"it is resumed":           {"id: a\n\n", 200, 0},
		"no ids":                  {"data:\n\n", 200, 1},
		"the events are deleted":  {"id: a\n\n", 400, 1},
		"the first request fails": {"data:\n\n", 503, 1},
		"it is never open":        {"data:\n\n", 405, 0},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				asked := 0
				s := newFakeServer(t, serveStandalone(func(w *rawResponse, r *sentRequest) {
					switch asked++; {
					case asked == 1:
						w.stream()
						w.write("%s", c.stream)
					case asked == 2 && c.again != 200:
						w.status(c.again, "", "")
					default:
						w.stream()
						<-r.Context().Done()
					}
				}))
				var gaps atomic.Int32
				s.handshake(client.Options{OnEventsLost: func() { gaps.Add(1) }})
				time.Sleep(time.Minute)
				require.EqualValues(t, c.want, gaps.Load())
			})
		})
	}
}

func TestInvalidEventsAreSkipped(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newFakeServer(t, serveStandalone(func(w *rawResponse, r *sentRequest) {
			w.stream()
			w.event(`{"jsonrpc":"2.0","method":`)
			w.event(strings.Repeat("x", 2000))
			w.write("event: other\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\n")
			w.event(`{"jsonrpc":"2.0","id":1,"result":{}}`)
			w.event(`{"jsonrpc":"2.0","method":"good"}`)
			<-r.Context().Done()
		}))
		h, reported := new(handled), new(errorList)
		s.handshake(client.Options{JSONRPC: jsonrpc.Options{Handler: h, OnError: reported.add, MaxMessage: 1000}})
		require.Equal(t, []string{"good "}, h.take())
		got := reported.take()
		require.Len(t, got, 2, "an unexpected response is not reported")
		require.ErrorContains(t, got[0], "message of the peer")
		require.ErrorContains(t, got[1], "too long: more than 1000 bytes")
	})
}

func TestServerRefusesStandaloneStream(t *testing.T) {
	for _, c := range []struct {
		name  string
		serve func(w *rawResponse, r *sentRequest)
		want  string // error that is reported
	}{
		{"no stream", func(w *rawResponse, _ *sentRequest) { w.status(405, "", "") }, ""},
		{"bad request", func(w *rawResponse, _ *sentRequest) { w.status(400, "", "what?") }, "400 Bad Request"},
		{"another content type", func(w *rawResponse, _ *sentRequest) { w.status(200, "text/html", "<p>") }, `content type "text/html"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				reported := new(errorList)
				s := newFakeServer(t, serveStandalone(c.serve))
				conn := s.handshake(client.Options{JSONRPC: jsonrpc.Options{OnError: reported.add}})
				time.Sleep(time.Hour)
				require.Equal(t, 1, count(s.requests(), "GET"))
				if got := reported.take(); c.want == "" {
					require.Empty(t, got)
				} else {
					require.Len(t, got, 1)
					require.ErrorContains(t, got[0], c.want)
				}
				_, err := callWeather(t.Context(), conn)
				require.NoError(t, err)
			})
		})
	}
}

func TestStandaloneStreamDetectsLostSession(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		lost, reported := new(errorList), new(errorList)
		s := newFakeServer(t, serveStandalone(serveOnceThenGone(func(w *rawResponse) { w.stream() })))
		c := s.handshake(client.Options{OnSessionLost: lost.add, JSONRPC: jsonrpc.Options{OnError: reported.add}})
		time.Sleep(time.Minute)
		got := lost.take()
		require.Len(t, got, 1)
		require.ErrorIs(t, got[0], client.ErrSessionLost)
		require.Empty(t, reported.take())
		require.NoError(t, c.Close())
		require.NotContains(t, s.requests(), "DELETE")
	})
}

// serveOnceThenGone serves the standalone stream of a session once. Then the session is gone.
func serveOnceThenGone(once func(w *rawResponse)) func(w *rawResponse, r *sentRequest) {
	var asked atomic.Int32
	return func(w *rawResponse, _ *sentRequest) {
		if asked.Add(1) == 1 {
			once(w)
			return
		}
		w.status(404, "", "")
	}
}

func TestUnopenedStandaloneStreamDetectsLostSession(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		lost := new(errorList)
		s := newFakeServer(t, serveStandalone(serveOnceThenGone(func(w *rawResponse) { w.status(503, "", "") })))
		s.handshake(client.Options{OnSessionLost: lost.add})
		time.Sleep(time.Minute)
		require.Len(t, lost.take(), 1)
	})
}

func TestNotFoundForFirstGetIsNoLostSession(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		lost, reported := new(errorList), new(errorList)
		s := newFakeServer(t, serveStandalone(func(w *rawResponse, _ *sentRequest) { w.status(404, "text/plain", "Cannot GET /mcp") }))
		c := s.handshake(client.Options{OnSessionLost: lost.add, JSONRPC: jsonrpc.Options{OnError: reported.add}})
		s.requests()
		select {
		case <-c.Listening():
		default:
			require.Fail(t, "the server has responded, so Listening must be closed")
		}
		_, err := callWeather(t.Context(), c)
		require.NoError(t, err)
		require.NoError(t, c.Close())
		require.Equal(t, []string{"POST initialize", "POST notifications/initialized", "GET", "POST tools/call", "DELETE"}, s.requests())
		require.Empty(t, lost.take())
		require.Empty(t, reported.take(), "servers need no standalone stream")
	})
}

func TestListening(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newFakeServer(t, serveStandalone(func(w *rawResponse, r *sentRequest) {
			time.Sleep(time.Minute)
			w.stream()
			<-r.Context().Done()
		}))
		begun := time.Now()
		c := s.handshake(client.Options{})
		<-c.Listening()
		require.Equal(t, time.Minute, time.Since(begun))
		<-c.Listening()
		beginSession(t, c)
		<-c.Listening()
		require.Equal(t, 2*time.Minute, time.Since(begun), "each session has its own standalone stream")
	})
}

func TestDisableStandaloneStream(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newFakeServer(t, inSession(nil))
		<-s.handshake(client.Options{DisableStandaloneStream: true}).Listening()
		require.NotContains(t, s.requests(), "GET")
	})
}

func TestOneStandaloneStreamPerSession(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newFakeServer(t, serveStandalone(func(w *rawResponse, r *sentRequest) {
			w.stream()
			<-r.Context().Done()
		}))
		c := s.handshake(client.Options{})
		require.NoError(t, c.Notify(t.Context(), &mcp.InitializedNotification{}))
		require.Equal(t, 1, count(s.requests(), "GET"))
	})
}

func TestErrorsAreLoggedWithoutOnError(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		log := new(testlog.Recorder)
		s := newFakeServer(t, serveStandalone(func(w *rawResponse, _ *sentRequest) { w.status(400, "", "") }))
		s.handshake(client.Options{JSONRPC: jsonrpc.Options{Logger: log.Logger()}})
		s.requests()
		require.Contains(t, log.String(), "transport error")
	})
}
