package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable/client"
	"github.com/mcpwright/mcp/runtime/wire"
)

func TestJSONResponse(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newFakeServer(t, func(w *rawResponse, r *sentRequest) { w.json(weatherResult) })
		text, err := callWeather(t.Context(), s.connect(client.Options{}))
		require.NoError(t, err)
		require.Equal(t, "sunny", text)
		require.Equal(t, []string{"POST tools/call"}, s.requests())
	})
}

func TestStreamBeforeResponse(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newFakeServer(t, func(w *rawResponse, r *sentRequest) {
			w.stream()
			w.write("event: ping\ndata: not for us\n\n")
			w.write(":\r\nid: 1\r\nevent: message\r\ndata: {\"jsonrpc\":\"2.0\",\r\ndata: \"method\":\"a\"}\r\n\r\n")
			for i := range 3 {
				w.event(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`, r.rpc.ID, i))
			}
			w.event(`{"jsonrpc":"2.0","method":"b"}`)
			w.event(w.answer(weatherResult))
			w.event(`{"jsonrpc":"2.0","method":"too late"}`)
		})
		h := new(handled)
		c := s.connect(client.Options{JSONRPC: jsonrpc.Options{Handler: h}})
		var reports []float64
		type key struct{}
		ctx := context.WithValue(t.Context(), key{}, "value")
		text, err := callWeather(ctx, c, peer.OnProgress(func(p peer.Progress) { reports = append(reports, p.Progress) }))
		require.NoError(t, err)
		require.Equal(t, "sunny", text)
		require.Equal(t, []float64{0, 1, 2}, reports)
		got := h.take()
		require.Len(t, got, 5)
		require.Equal(t, "a ", got[0])
		require.Equal(t, "b ", got[4])
		require.Equal(t, "value", h.ctx[0].Value(key{}))
	})
}

func TestErrNoResponse(t *testing.T) {
	for _, c := range []struct {
		name  string
		serve func(w *rawResponse, r *sentRequest)
		want  string
	}{
		{"accepted like a notification", func(w *rawResponse, _ *sentRequest) { w.WriteHeader(202) }, "status 202"},
		{"an empty response", func(w *rawResponse, _ *sentRequest) {}, `content type ""`},
		{"another content type", func(w *rawResponse, _ *sentRequest) { w.status(200, "text/html; charset=utf-8", "<p>") }, `content type "text/html; charset=utf-8"`},
		{"an empty body", func(w *rawResponse, _ *sentRequest) { w.status(200, "application/json", "") }, "unexpected end"},
		{"no JSON", func(w *rawResponse, _ *sentRequest) { w.status(200, "application/json", "{nope") }, "unexpected 'n'"},
		{"a notification", func(w *rawResponse, _ *sentRequest) {
			w.status(200, "application/json", `{"jsonrpc":"2.0","method":"x"}`)
		}, "another message"},
		{"a response to another request", func(w *rawResponse, r *sentRequest) {
			w.status(200, "application/json", `{"jsonrpc":"2.0","id":77,`+weatherResult+`}`)
		}, "another message"},
		{"an id of another type", func(w *rawResponse, r *sentRequest) {
			w.status(200, "application/json", fmt.Sprintf(`{"jsonrpc":"2.0","id":"%s",%s}`, r.rpc.ID, weatherResult))
		}, "another message"},
		{"a response to another request on a stream", func(w *rawResponse, r *sentRequest) {
			w.stream()
			w.event(`{"jsonrpc":"2.0","id":77,` + weatherResult + `}`)
		}, "stream ended before the response"},
		{"a stream of comments", func(w *rawResponse, _ *sentRequest) { w.stream() }, "stream ended before the response"},
		{"a stream with an id that breaks", func(w *rawResponse, _ *sentRequest) {
			w.stream()
			w.write("id: 5\nretry: 1\ndata:\n\n")
			w.cut()
		}, "unexpected EOF"},
		{"a stream that breaks in the response", func(w *rawResponse, _ *sentRequest) {
			w.stream()
			w.write("data: %s\n", w.answer(weatherResult))
			w.cut()
		}, "unexpected EOF"},
		{"a body that ends early", func(w *rawResponse, _ *sentRequest) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "100")
			w.write("{")
			w.cut()
		}, "unexpected EOF"},
		{"a body beyond the limit", func(w *rawResponse, _ *sentRequest) {
			w.status(200, "application/json", strings.Repeat(" ", 2000))
		}, "too long"},
		{"a body without a length beyond the limit", func(w *rawResponse, _ *sentRequest) {
			w.Header().Set("Content-Type", "application/json")
			w.write("%s", strings.Repeat(" ", 1000))
			w.write("%s", strings.Repeat(" ", 1000))
		}, "too long"},
		{"an event beyond the limit", func(w *rawResponse, _ *sentRequest) {
			w.stream()
			w.event(strings.Repeat("x", 2000))
			w.event(w.answer(weatherResult))
		}, "too long: more than 1000 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				bad := true
				s := newFakeServer(t, func(w *rawResponse, r *sentRequest) {
					if bad {
						c.serve(w, r)
					} else {
						w.json(weatherResult)
					}
				})
				conn := s.connect(client.Options{JSONRPC: jsonrpc.Options{MaxMessage: 1000}})
				_, err := callWeather(t.Context(), conn)
				require.ErrorIs(t, err, client.ErrNoResponse)
				require.ErrorContains(t, err, c.want)
				require.ErrorContains(t, err, `send "tools/call": `)
				require.NotContains(t, s.requests(), "GET", "a stateless request cannot be resumed")

				bad = false
				_, err = callWeather(t.Context(), conn)
				require.NoError(t, err, "the next call succeeds")
			})
		})
	}
}

func TestInvalidResultFailsCall(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newFakeServer(t, func(w *rawResponse, r *sentRequest) {
			w.stream()
			w.event(`{"jsonrpc":"2.0","method":`)
			w.event(w.answer(`"result":{"content":7}`))
		})
		var reported errorList
		_, err := callWeather(t.Context(), s.connect(client.Options{JSONRPC: jsonrpc.Options{OnError: reported.add}}))
		require.ErrorAs(t, err, new(*wire.DecodeError))
		require.Len(t, reported.take(), 1, "the invalid event")
	})
}

func TestInvalidResponseFailsCall(t *testing.T) {
	for _, begin := range []func(*fakeServer, client.Options) *client.Client{(*fakeServer).connect, (*fakeServer).handshake} {
		inBubble(t, func(t *testing.T) {
			s := newFakeServer(t, inSession(func(w *rawResponse, r *sentRequest) { w.json(`"outcome":{}`) }))
			reported := new(errorList)
			_, err := callWeather(t.Context(), begin(s, client.Options{JSONRPC: jsonrpc.Options{OnError: reported.add}}))
			require.ErrorAs(t, err, new(*wire.DecodeError))
			require.ErrorContains(t, err, `send "tools/call": invalid response: `)
			require.NotContains(t, s.requests(), "POST answer")
		})
	}
}

func TestHTTPErrorHasServerError(t *testing.T) {
	const unsupported = `"error":{"code":-32022,"message":"Unsupported protocol version","data":{"requested":"2026-07-28","supported":["2025-11-25"]}}`
	for _, c := range []struct {
		name   string
		status int
		body   func(id json.RawMessage) string
	}{
		{"with its id", 400, func(id json.RawMessage) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, id, unsupported)
		}},
		{"with the id null", 400, func(json.RawMessage) string { return `{"jsonrpc":"2.0","id":null,` + unsupported + `}` }},
		{"without an id", 404, func(json.RawMessage) string { return `{"jsonrpc":"2.0",` + unsupported + `}` }},
		{"with status 200", 200, func(json.RawMessage) string { return `{"jsonrpc":"2.0","id":null,` + unsupported + `}` }},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				s := newFakeServer(t, func(w *rawResponse, r *sentRequest) {
					w.status(c.status, "application/json", c.body(r.rpc.ID))
				})
				_, err := callWeather(t.Context(), s.connect(client.Options{}))
				var e *peer.Error
				require.ErrorAs(t, err, &e)
				require.EqualValues(t, mcp.CodeUnsupportedProtocolVersion, e.Code)
				typed := new(mcp.UnsupportedProtocolVersionError)
				require.NoError(t, json.Unmarshal(e.Data, typed))
				require.Equal(t, []string{"2025-11-25"}, typed.Supported)
				var h *client.HTTPError
				require.Equal(t, c.status != 200, errors.As(err, &h))
				if h != nil {
					require.Equal(t, c.status, h.Status)
				}
			})
		})
	}
}

// The error of a refused call has the server's reason, from the challenge and the body.
func TestHTTPErrorHasReasonOfChallenge(t *testing.T) {
	for status, want := range map[int]string{
		401: `POST "http://server.test/mcp": 401 Unauthorized: invalid_token "it expired at noon": "sorry"`,
		403: `403 Forbidden: invalid_token "it expired at noon": "sorry"`,
		500: `500 Internal Server Error: "sorry"`,
	} {
		inBubble(t, func(t *testing.T) {
			s := newFakeServer(t, func(w *rawResponse, r *sentRequest) {
				w.Header().Set("WWW-Authenticate", `Bearer realm="x", error="invalid_token", error_description="it expired at noon"`)
				w.status(status, "text/plain", "sorry")
			})
			_, err := callWeather(t.Context(), s.connect(client.Options{}))
			require.ErrorContains(t, err, want)
		})
	}
}

func TestHTTPErrorText(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		body   string
		want   string
	}{
		{"a proxy", 502, "<h1>Bad\ngateway</h1>", `POST "http://server.test/mcp": 502 Bad Gateway: "<h1>Bad\ngateway</h1>"`},
		{"no body", 503, "", `POST "http://server.test/mcp": 503 Service Unavailable`},
		{"a status without a name", 599, "", `POST "http://server.test/mcp": 599`},
		{"an error about another request", 400, `{"jsonrpc":"2.0","id":77,"error":{"code":1,"message":"no"}}`, `400 Bad Request: "{`},
		{"a long body", 500, strings.Repeat("ä", 400), `500 Internal Server Error: "ääää`},
		{"a binary body", 500, "a\xff", `500 Internal Server Error: "a?"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				s := newFakeServer(t, func(w *rawResponse, r *sentRequest) {
					w.Header().Set("WWW-Authenticate", "Bearer")
					w.status(c.status, "text/plain", c.body)
				})
				_, err := callWeather(t.Context(), s.connect(client.Options{}))
				var e *client.HTTPError
				require.ErrorAs(t, err, &e)
				require.Equal(t, c.status, e.Status)
				require.Equal(t, "Bearer", e.Header.Get("WWW-Authenticate"))
				require.ErrorContains(t, err, c.want)
				require.NotErrorAs(t, err, new(*peer.Error))
				require.LessOrEqual(t, len(e.Body), 512)
			})
		})
	}
}

func TestCancelledStatelessCallClosesResponse(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		ended := make(chan struct{}, 10)
		s := newFakeServer(t, func(w *rawResponse, r *sentRequest) {
			if r.Header.Get("X-Stream") != "" {
				w.stream()
			}
			<-r.Context().Done()
			ended <- struct{}{}
		})
		c := s.connect(client.Options{})
		for _, h := range []http.Header{nil, {"X-Stream": {"yes"}}} {
			ctx, cancel := context.WithCancel(t.Context())
			call := startWeather(ctx, c, peer.WithHeader(h))
			require.False(t, call.over())
			cancel()
			require.True(t, call.over())
			require.ErrorIs(t, call.err, context.Canceled)
			<-ended

			before := time.Now()
			_, err := callWeather(t.Context(), c, peer.WithHeader(h), peer.WithTimeout(3*time.Second))
			require.ErrorAs(t, err, new(*peer.TimeoutError))
			require.Equal(t, 3*time.Second, time.Since(before))
			<-ended
		}
		require.Equal(t, []string{"POST tools/call", "POST tools/call", "POST tools/call", "POST tools/call"}, s.requests())
	})
}

func TestExplicitCancellationClosesResponse(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		ended := make(chan string, 10)
		s := newFakeServer(t, func(w *rawResponse, r *sentRequest) {
			<-r.Context().Done()
			ended <- string(r.rpc.ID)
		})
		c := s.connect(client.Options{})
		one := startWeather(t.Context(), c, peer.WithID(wire.StringID("one")))
		two := startWeather(t.Context(), c, peer.WithID(wire.StringID("two")))
		id := wire.StringID("one")
		require.NoError(t, c.Notify(t.Context(), &mcp.CancelledNotification{RequestID: id}))
		require.Equal(t, `"one"`, <-ended)
		require.True(t, one.over())
		require.ErrorIs(t, one.err, context.Canceled)
		require.False(t, two.over())
		require.NoError(t, c.Notify(t.Context(), &mcp.CancelledNotification{RequestID: id}), "the id is not in use")
		require.NoError(t, c.Close())
		require.True(t, two.over())
		require.ErrorAs(t, two.err, new(*peer.ClosedError))
		require.NotContains(t, s.requests(), "POST notifications/cancelled")
	})
}

func TestCancellationUsesRevisionOfRequest(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		ended := make(chan struct{}, 1)
		s := newFakeServer(t, func(w *rawResponse, r *sentRequest) {
			<-r.Context().Done()
			ended <- struct{}{}
		})
		var session atomic.Bool // set when the client learns that there is a session
		c := s.connect(client.Options{JSONRPC: jsonrpc.Options{Frame: func(method string) *wire.Frame {
			if session.Load() {
				return sessionFrame(method)
			}
			return statelessFrame(method)
		}}})
		call := startWeather(t.Context(), c, peer.WithTimeout(time.Second))
		session.Store(true)
		time.Sleep(time.Second)
		<-ended
		require.True(t, call.over())
		require.Equal(t, []string{"POST tools/call"}, s.requests())
	})
}

func TestWithoutCancelNotification(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		finish, cause := make(chan struct{}), make(chan error, 1)
		s := newFakeServer(t, func(w *rawResponse, r *sentRequest) {
			<-finish
			cause <- r.Context().Err()
			w.json(weatherResult)
		})
		c := s.connect(client.Options{})
		_, err := callWeather(t.Context(), c, peer.WithoutCancelNotification(), peer.WithTimeout(time.Second))
		require.ErrorAs(t, err, new(*peer.TimeoutError))
		close(finish)
		require.NoError(t, <-cause)
	})
}

func TestProgressRestartsTimeout(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newFakeServer(t, func(w *rawResponse, r *sentRequest) {
			w.stream()
			for i := range 5 {
				time.Sleep(40 * time.Second)
				w.event(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`, r.rpc.ID, i))
			}
			w.event(w.answer(weatherResult))
		})
		_, err := callWeather(t.Context(), s.connect(client.Options{}), peer.OnProgress(func(peer.Progress) {}))
		require.NoError(t, err)
	})
}

func TestSubscriptionHasNoTimeout(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		events := make(chan string)
		ended := make(chan struct{})
		s := newFakeServer(t, func(w *rawResponse, r *sentRequest) {
			w.stream()
			for {
				select {
				case e := <-events:
					w.event(strings.ReplaceAll(e, "ID", string(r.rpc.ID)))
				case <-time.After(30 * time.Second):
					w.write(": still here\n\n")
				case <-r.Context().Done():
					close(ended)
					return
				}
			}
		})
		h := new(handled)
		c := s.connect(client.Options{JSONRPC: jsonrpc.Options{Handler: h}})
		done := make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { // ends with the call
			_, err := peer.SendRequest(ctx, c, &mcp.SubscriptionsListenRequest{Notifications: mcp.SubscriptionFilter{ToolsListChanged: true}})
			done <- err
		}()
		for i := range 100 {
			events <- fmt.Sprintf(`{"jsonrpc":"2.0","method":"n%d","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":ID}}}`, i)
		}
		got := h.take()
		require.Len(t, got, 100)
		for i, text := range got {
			require.Contains(t, text, fmt.Sprintf(`n%d {"_meta":`, i))
		}
		time.Sleep(24 * time.Hour)
		require.Empty(t, done)
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
		<-ended
	})
}

func TestSubscriptionWithTimeout(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newFakeServer(t, func(w *rawResponse, r *sentRequest) { <-r.Context().Done() })
		_, err := peer.SendRequest(t.Context(), s.connect(client.Options{}), &mcp.SubscriptionsListenRequest{}, peer.WithTimeout(time.Second))
		require.ErrorAs(t, err, new(*peer.TimeoutError))
	})
}

func TestRequestFromStatelessServerIsRejected(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newFakeServer(t, func(w *rawResponse, r *sentRequest) {
			w.stream()
			w.event(`{"jsonrpc":"2.0","id":0,"method":"ping"}`)
			w.event(w.answer(weatherResult))
		})
		h, reported := new(handled), new(errorList)
		c := s.connect(client.Options{JSONRPC: jsonrpc.Options{Handler: h, OnError: reported.add}})
		_, err := callWeather(t.Context(), c)
		require.NoError(t, err)
		require.Empty(t, h.take())
		require.ErrorContains(t, reported.take()[0], `request "ping"`)
		require.Equal(t, []string{"POST tools/call"}, s.requests())
	})
}

func TestStatelessNotificationHeaders(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newFakeServer(t, func(w *rawResponse, r *sentRequest) { w.status(400, "", "") })
		s.skipValidation = true // a client may not send this one
		c := s.connect(client.Options{})
		require.NoError(t, c.Notify(t.Context(), &mcp.ProgressNotification{ProgressToken: wire.IntToken(1)}))
		h := s.find("POST notifications/progress").Header
		require.Equal(t, "notifications/progress", h.Get("Mcp-Method"))
		require.Equal(t, "2026-07-28", h.Get("MCP-Protocol-Version"))
	})
}

func TestTenThousandCancelledCallsLeaveNothing(t *testing.T) {
	calls := 10_000
	if raceEnabled {
		calls = 500
	}
	inBubble(t, func(t *testing.T) {
		s := newFakeServer(t, func(w *rawResponse, r *sentRequest) { <-r.Context().Done() })
		c := s.connect(client.Options{})
		for range calls {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			_, err := callWeather(ctx, c)
			require.ErrorIs(t, err, context.Canceled)
		}
		synctest.Wait()
		require.Zero(t, c.InFlight())
		require.Len(t, s.requests(), calls)
	})
}

func TestReusedRequestID(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var calls atomic.Int32
		s := newFakeServer(t, func(w *rawResponse, r *sentRequest) {
			if calls.Add(1) == 1 {
				w.stream()
				<-r.Context().Done()
				return
			}
			w.json(weatherResult)
		})
		c := s.connect(client.Options{})
		id := peer.WithID(wire.StringID("again"))
		_, err := callWeather(t.Context(), c, id, peer.WithoutCancelNotification(), peer.WithTimeout(time.Second))
		require.ErrorAs(t, err, new(*peer.TimeoutError))
		text, err := callWeather(t.Context(), c, id)
		require.NoError(t, err)
		require.Equal(t, "sunny", text)
	})
}

func TestConnectionIsReusedAfterStream(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newFakeServer(t, func(w *rawResponse, r *sentRequest) {
			w.stream()
			w.event(w.answer(weatherResult))
		})
		dials := 0
		transport := s.client.Transport.(*http.Transport)
		dial := transport.DialContext
		transport.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			dials++
			return dial(ctx, network, addr)
		}
		c := s.connect(client.Options{})
		for range 10 {
			_, err := callWeather(t.Context(), c)
			require.NoError(t, err)
			synctest.Wait()
		}
		require.Equal(t, 1, dials)
	})
}

func TestStreamIsClosedAfterResponse(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		ended := make(chan time.Time, 1)
		s := newFakeServer(t, func(w *rawResponse, r *sentRequest) {
			w.stream()
			w.event(w.answer(weatherResult))
			<-r.Context().Done()
			ended <- time.Now()
		})
		c := s.connect(client.Options{})
		begun := time.Now()
		_, err := callWeather(t.Context(), c)
		require.NoError(t, err)
		require.Zero(t, time.Since(begun), "the call has returned before")
		require.LessOrEqual(t, (<-ended).Sub(begun), 2*time.Second)
	})
}

func TestUnreachableServer(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newFakeServer(t, nil)
		s.net.Close()
		_, err := callWeather(t.Context(), s.connect(client.Options{}))
		require.EqualError(t, err, `send "tools/call": POST "http://server.test/mcp": connection refused`)
	})
}

func TestTransportError(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newFakeServer(t, nil)
		s.client.Transport = roundTrip(func(*http.Request) (*http.Response, error) { return nil, io.ErrClosedPipe })
		c := s.connect(client.Options{})
		_, err := callWeather(t.Context(), c)
		require.ErrorIs(t, err, io.ErrClosedPipe)
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestInterimResponsesRestartTimeout(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		interim := 5
		s := newFakeServer(t, func(w *rawResponse, r *sentRequest) {
			for range interim {
				select {
				case <-time.After(40 * time.Second):
					w.WriteHeader(http.StatusProcessing)
				case <-r.Context().Done():
					return
				}
			}
			w.json(weatherResult)
		})
		c := s.connect(client.Options{})
		begun := time.Now()
		text, err := callWeather(t.Context(), c, peer.WithTimeout(time.Minute))
		require.NoError(t, err)
		require.Equal(t, "sunny", text)
		require.Equal(t, 200*time.Second, time.Since(begun))

		interim, begun = 1000, time.Now()
		_, err = callWeather(t.Context(), c, peer.WithTimeout(time.Minute))
		require.Error(t, err)
		require.Equal(t, 10*time.Minute, time.Since(begun))
	})
}
