package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable/client"
)

const (
	elicitation = `{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{}}}}`
	declined    = `{"jsonrpc":"2.0","id":7,"result":{"action":"decline"}}`
)

// asker serves a tool that asks a question and waits for the response. The function answer
// serves the requests with the response, until it returns true.
type asker struct {
	answer   func(w *rawResponse, attempt int) (accepted bool)
	accepted chan string

	mu       sync.Mutex
	attempts []time.Time
}

func newAsker(answer func(w *rawResponse, attempt int) bool) *asker {
	return &asker{answer: answer, accepted: make(chan string, 1)}
}

func (a *asker) serve(w *rawResponse, r *sentRequest) {
	switch r.String() {
	case "POST tools/call":
		w.stream()
		w.event(elicitation)
		select {
		case <-a.accepted:
			w.event(w.answer(weatherResult))
		case <-r.Context().Done():
		}
	case "POST answer":
		a.mu.Lock()
		a.attempts = append(a.attempts, time.Now())
		n := len(a.attempts)
		a.mu.Unlock()
		if a.answer(w, n) {
			a.accepted <- r.body
		}
	default:
		inSession(nil)(w, r)
	}
}

func (a *asker) times() []time.Time {
	synctest.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.attempts
}

func declines() *handled { return &handled{result: &mcp.ElicitResult{Action: mcp.ElicitActionDecline}} }

func accept(w *rawResponse) bool {
	w.WriteHeader(http.StatusAccepted)
	return true
}

func refuse(w *rawResponse, status int, after string) bool {
	if after != "" {
		w.Header().Set("Retry-After", after)
	}
	w.status(status, "", "")
	return false
}

func TestResponseIsSentUntilItIsAccepted(t *testing.T) {
	for name, c := range map[string]struct {
		fail  func(w *rawResponse)
		delay time.Duration // before the second attempt
	}{
		"bad gateway":            {func(w *rawResponse) { refuse(w, 502, "") }, time.Second},
		"unavailable":            {func(w *rawResponse) { refuse(w, 503, "") }, time.Second},
		"unavailable for a time": {func(w *rawResponse) { refuse(w, 503, "4") }, 4 * time.Second},
		"unavailable for long":   {func(w *rawResponse) { refuse(w, 503, "9999") }, 30 * time.Second},
		"too many requests":      {func(w *rawResponse) { refuse(w, 429, "2") }, 2 * time.Second},
		"broken connection":      {func(w *rawResponse) { w.cut() }, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				a := newAsker(func(w *rawResponse, attempt int) bool {
					if attempt < 3 {
						c.fail(w)
						return false
					}
					return accept(w)
				})
				s := newFakeServer(t, a.serve)
				conn := s.handshake(client.Options{JSONRPC: jsonrpc.Options{Handler: declines(), Timeout: 5 * time.Minute}})
				text, err := callWeather(t.Context(), conn)
				require.NoError(t, err)
				require.Equal(t, "sunny", text)
				times := a.times()
				require.Len(t, times, 3)
				require.Equal(t, c.delay, times[1].Sub(times[0]))
				require.GreaterOrEqual(t, times[2].Sub(times[1]), c.delay)
				last := s.find("POST answer")
				require.JSONEq(t, declined, last.body)
				require.Equal(t, "session-1", last.Header.Get("Mcp-Session-Id"))
			})
		})
	}
}

func TestResponseIsSentAfterServerIsReachable(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		a := newAsker(func(w *rawResponse, _ int) bool { return accept(w) })
		s := newFakeServer(t, a.serve)
		refused := 0
		reachable := s.client.Transport
		s.client.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
			if r.ContentLength == int64(len(declined)) && refused < 2 {
				refused++
				return nil, errors.New("connection refused")
			}
			return reachable.RoundTrip(r)
		})
		text, err := callWeather(t.Context(), s.handshake(client.Options{JSONRPC: jsonrpc.Options{Handler: declines()}}))
		require.NoError(t, err)
		require.Equal(t, "sunny", text)
		require.Equal(t, 2, refused)
	})
}

func TestLostResponseIsReported(t *testing.T) {
	for name, c := range map[string]struct {
		status   int
		attempts int
		want     string
	}{
		"not acceptable": {400, 1, "400 Bad Request"},
		"no session":     {404, 1, "the server has ended the session"},
		"unavailable":    {503, 4, "503 Service Unavailable"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				a := newAsker(func(w *rawResponse, _ int) bool { return refuse(w, c.status, "") })
				s := newFakeServer(t, a.serve)
				var errs errorList
				conn := s.handshake(client.Options{
					JSONRPC: jsonrpc.Options{Handler: declines(), OnError: errs.add},
					Backoff: client.Backoff{MaxAttempts: 3},
				})
				_, err := callWeather(t.Context(), conn)
				require.Error(t, err, "the timeout of the call")
				require.Len(t, a.times(), c.attempts)
				reported := errs.take()
				require.Len(t, reported, 1)
				require.ErrorContains(t, reported[0], "response to request id 7 lost: ")
				require.ErrorContains(t, reported[0], c.want)
			})
		})
	}
}

// A transport that asks a person to log in must not do so for each attempt.
func TestResponseWithFailedLoginIsSentOnce(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		a := newAsker(func(w *rawResponse, _ int) bool { return refuse(w, http.StatusUnauthorized, "") })
		s := newFakeServer(t, a.serve)
		base := s.client.Transport
		s.client.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
			res, err := base.RoundTrip(r)
			if err == nil && res.StatusCode == http.StatusUnauthorized {
				res.Body.Close()
				return nil, errors.New("login declined")
			}
			return res, err
		})
		var errs errorList
		_, err := callWeather(t.Context(), s.handshake(client.Options{JSONRPC: jsonrpc.Options{Handler: declines(), OnError: errs.add}}))
		require.Error(t, err)
		require.Len(t, a.times(), 1)
		require.ErrorContains(t, errs.take()[0], "login declined")
	})
}

func TestCloseDoesNotWaitForUnacceptedResponse(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		a := newAsker(func(w *rawResponse, _ int) bool { return refuse(w, 503, "") })
		s := newFakeServer(t, a.serve)
		var errs errorList
		conn := s.handshake(client.Options{JSONRPC: jsonrpc.Options{Handler: declines(), OnError: errs.add}})
		startWeather(t.Context(), conn)
		require.Len(t, a.times(), 1)
		begun := time.Now()
		require.NoError(t, conn.Close())
		require.Zero(t, time.Since(begun))
		require.Len(t, a.times(), 1)
	})
}

func TestLegacySSEResponseIsSentUntilItIsAccepted(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		l := newLegacyServer(t, "x")
		serve, refusals := l.serve, 0
		accepted := make(chan string, 1)
		l.serve = func(w *rawResponse, r *sentRequest) {
			switch {
			case r.String() == "POST tools/call":
				l.say <- elicitation
				w.status(202, "", "")
			case r.String() == "POST answer" && refusals < 2:
				refusals++
				refuse(w, 503, "2")
			case r.String() == "POST answer":
				accepted <- r.body
				w.status(202, "", "")
			default:
				serve(w, r)
			}
		}
		conn := l.connectLegacy(client.Options{JSONRPC: jsonrpc.Options{Handler: &handledAnywhere{declines()}}})
		startWeather(t.Context(), conn)
		require.JSONEq(t, declined, <-accepted)
		require.Equal(t, 2, refusals)
	})
}

// handledAnywhere handles messages that have another transport context.
type handledAnywhere struct{ *handled }

func (h *handledAnywhere) Handle(context.Context, *peer.Inbound) (peer.Reply, error) {
	return peer.Reply{Result: h.result}, nil
}

// refusing serves calls after it has refused them for a number of times.
func refusing(times int, status int, header func(h http.Header)) func(w *rawResponse, r *sentRequest) {
	return func(w *rawResponse, r *sentRequest) {
		if times > 0 {
			times--
			header(w.Header())
			w.status(status, "", "")
			return
		}
		w.json(weatherResult)
	}
}

func after(value string) func(h http.Header) {
	return func(h http.Header) { h.Set("Retry-After", value) }
}

func TestRefusedRequestIsSentAgain(t *testing.T) {
	inDate := func(base time.Duration) func(h http.Header) {
		return func(h http.Header) {
			now := time.Now().Add(base).UTC()
			h.Set("Date", now.Format(http.TimeFormat))
			h.Set("Retry-After", now.Add(10*time.Second).Format(http.TimeFormat))
		}
	}
	for name, c := range map[string]struct {
		status   int
		header   func(h http.Header)
		min, max time.Duration
	}{
		"seconds":             {503, after("3"), 3 * time.Second, 4 * time.Second},
		"too many requests":   {429, after("3"), 3 * time.Second, 4 * time.Second},
		"date":                {503, inDate(0), 10 * time.Second, 13 * time.Second},
		"date of other clock": {503, inDate(-time.Hour), 10 * time.Second, 13 * time.Second},
		"past":                {503, after("Fri, 01 Jan 1999 15:04:05 GMT"), 100 * time.Millisecond, 125 * time.Millisecond},
		"at once":             {503, after("0"), 100 * time.Millisecond, 125 * time.Millisecond},
		"longest":             {503, after("30"), 30 * time.Second, 38 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				s := newFakeServer(t, refusing(1, c.status, c.header))
				begun := time.Now()
				text, err := callWeather(t.Context(), s.connect(client.Options{}))
				require.NoError(t, err)
				require.Equal(t, "sunny", text)
				require.GreaterOrEqual(t, time.Since(begun), c.min)
				require.LessOrEqual(t, time.Since(begun), c.max)
				requests := s.got
				require.Len(t, requests, 2)
				require.Equal(t, requests[0].body, requests[1].body)
				require.Equal(t, requests[0].Header, requests[1].Header)
			})
		})
	}
}

func TestRequestIsNotSentAgain(t *testing.T) {
	for name, c := range map[string]struct {
		status   int
		header   func(h http.Header)
		timeout  time.Duration
		deadline time.Duration
		attempts int
	}{
		"without Retry-After":      {503, func(http.Header) {}, 0, 0, 1},
		"with another status":      {502, after("1"), 0, 0, 1},
		"with an invalid value":    {503, after("soon"), 0, 0, 1},
		"with a negative value":    {503, after("-1"), 0, 0, 1},
		"after longer than a cap":  {503, after("31"), 0, 0, 1},
		"after an overflow":        {503, after("99999999999999999999"), 0, 0, 1},
		"after its timeout":        {503, after("3"), 2 * time.Second, 0, 1},
		"after its deadline":       {503, after("3"), 0, 2 * time.Second, 1},
		"more than a limited time": {503, after("1"), 0, 0, 3},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				s := newFakeServer(t, refusing(100, c.status, c.header))
				ctx := t.Context()
				if c.deadline > 0 {
					limited, cancel := context.WithTimeout(ctx, c.deadline)
					defer cancel()
					ctx = limited
				}
				var opts []peer.CallOption
				if c.timeout > 0 {
					opts = append(opts, peer.WithTimeout(c.timeout))
				}
				begun := time.Now()
				_, err := callWeather(ctx, s.connect(client.Options{Backoff: client.Backoff{MaxAttempts: 2}}), opts...)
				var e *client.HTTPError
				require.ErrorAs(t, err, &e)
				require.Equal(t, c.status, e.Status)
				require.Len(t, s.requests(), c.attempts)
				if c.attempts == 1 {
					require.Zero(t, time.Since(begun))
				}
				time.Sleep(time.Minute)
				require.Len(t, s.requests(), c.attempts)
			})
		})
	}
}

func TestCancelledCallIsNotSentAgain(t *testing.T) {
	for name, opts := range map[string][]peer.CallOption{
		"with notification":    nil,
		"without notification": {peer.WithoutCancelNotification()},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				s := newFakeServer(t, refusing(100, 503, after("5")))
				ctx, cancel := context.WithCancel(t.Context())
				call := startWeather(ctx, s.connect(client.Options{}), opts...)
				require.False(t, call.over())
				cancel()
				require.True(t, call.over())
				require.ErrorIs(t, call.err, context.Canceled)
				time.Sleep(time.Minute)
				require.Len(t, s.requests(), 1)
			})
		})
	}
}

func TestCloseEndsWaitOfRefusedCall(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newFakeServer(t, refusing(100, 503, after("20")))
		c := s.connect(client.Options{})
		call := startWeather(t.Context(), c)
		begun := time.Now()
		require.NoError(t, c.Close())
		require.True(t, call.over())
		require.Error(t, call.err)
		require.Zero(t, time.Since(begun))
	})
}

func TestTenThousandRefusedCalls(t *testing.T) {
	n := 10_000
	if testing.Short() || raceEnabled {
		n = 500
	}
	inBubble(t, func(t *testing.T) {
		var mu sync.Mutex
		seen := make(map[string]bool)
		s := newFakeServer(t, nil)
		s.skipValidation = true
		s.serve = func(w *rawResponse, r *sentRequest) {
			mu.Lock()
			first := !seen[string(r.rpc.ID)]
			seen[string(r.rpc.ID)] = true
			mu.Unlock()
			if first {
				refuse(w, 429, "1")
				return
			}
			w.json(weatherResult)
		}
		c := s.connect(client.Options{})
		var calls sync.WaitGroup
		for range n {
			calls.Go(func() { // ends with the call
				if text, err := callWeather(t.Context(), c); err != nil || text != "sunny" {
					t.Errorf("result %q, error %v", text, err)
				}
			})
		}
		calls.Wait()
		require.Len(t, s.requests(), 2*n)
	})
}

func TestRefusedHandshakeContinues(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		refused := make(map[string]int)
		var mu sync.Mutex
		serve := inSession(func(w *rawResponse, r *sentRequest) { w.json(weatherResult) })
		s := newFakeServer(t, func(w *rawResponse, r *sentRequest) {
			mu.Lock()
			refused[r.String()]++
			first := refused[r.String()] == 1
			mu.Unlock()
			if first && r.Method == http.MethodPost {
				refuse(w, 503, "2")
				return
			}
			serve(w, r)
		})
		c := s.handshake(client.Options{})
		_, err := callWeather(t.Context(), c)
		require.NoError(t, err)
		require.NoError(t, c.InitializedErr())
		for _, message := range []string{"POST initialize", "POST notifications/initialized", "POST tools/call"} {
			require.Equal(t, 2, count(s.requests(), message), message)
		}
	})
}

func TestRefusedNotificationIsSentAgain(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		attempts := 0
		s := newFakeServer(t, inSession(func(w *rawResponse, _ *sentRequest) {
			switch attempts++; attempts {
			case 1:
				w.Header().Set("Retry-After", "2")
				w.status(http.StatusServiceUnavailable, "", "")
			case 2:
				w.WriteHeader(http.StatusAccepted)
			default:
				w.status(http.StatusBadGateway, "", "")
			}
		}))
		conn := s.handshake(client.Options{})
		notify := func() error { return conn.Notify(t.Context(), &mcp.RootsListChangedNotification{}) }
		require.NoError(t, notify())
		require.Equal(t, 2, attempts)
		require.NoError(t, notify(), "a notification has no error")
		require.Equal(t, 3, attempts, "the server may have handled it")
	})
}

func TestStreamsWaitAsServerAsks(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var times []time.Time
		s := newFakeServer(t, breakAfterEvent(0, func(w *rawResponse, r *sentRequest) {
			if times = append(times, time.Now()); len(times) == 1 {
				refuse(w, 503, "50")
				return
			}
			w.stream()
			w.event(w.answer(weatherResult))
		}))
		_, err := callWeather(t.Context(), s.handshake(client.Options{}))
		require.NoError(t, err)
		require.Len(t, times, 2)
		require.Equal(t, 50*time.Second, times[1].Sub(times[0]))
	})
}

func TestLegacySSERefusedMessagesAreSentAgain(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		l := newLegacyServer(t, "x")
		serve := l.serve
		refusals, streamRefused := 0, false
		l.serve = func(w *rawResponse, r *sentRequest) {
			if r.Method == http.MethodPost && refusals < 2 || r.Method == http.MethodGet && !streamRefused {
				refusals++
				streamRefused = true
				refuse(w, 429, "3")
				return
			}
			serve(w, r)
		}
		c := l.connectLegacy(client.Options{})
		begun := time.Now()
		text, err := callWeather(t.Context(), c)
		require.NoError(t, err)
		require.Equal(t, "sunny", text)
		require.GreaterOrEqual(t, time.Since(begun), 6*time.Second)
		require.Equal(t, []string{"GET", "GET", "POST tools/call", "POST tools/call"}, l.requests())

		refusals = 0
		ctx, cancel := context.WithCancel(t.Context())
		call := startWeather(ctx, c)
		cancel()
		require.True(t, call.over())
		time.Sleep(time.Minute)
		require.Equal(t, 3, count(l.requests(), "POST tools/call"), "two for the first call")
	})
}

// The trace of a caller still receives what happens.
func TestRetriesAreTraced(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newFakeServer(t, refusing(2, 503, after("1")))
		attempts := 0
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { attempts++ }})
		_, err := callWeather(ctx, s.connect(client.Options{}))
		require.NoError(t, err)
		require.Equal(t, 3, attempts, fmt.Sprint(s.requests()))
	})
}
