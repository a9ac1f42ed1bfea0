package client_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/internal/testlog"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable/client"
)

// askingServer is a server whose tool asks a question. It calls refuse for each POST request with
// a response until that returns false.
func askingServer(t *testing.T, refuse func(w *rawResponse, attempt int) bool) (*fakeServer, *int) {
	answered := make(chan struct{})
	attempts := new(int)
	return newFakeServer(t, func(w *rawResponse, r *sentRequest) {
		switch r.String() {
		case "POST tools/call":
			w.stream()
			w.event(`{"jsonrpc":"2.0","id":7,"method":"ping"}`)
			select {
			case <-answered:
				w.event(w.answer(weatherResult))
			case <-r.Context().Done():
			}
		case "POST answer":
			if *attempts++; refuse(w, *attempts) {
				return
			}
			w.WriteHeader(http.StatusAccepted)
			close(answered)
		default:
			inSession(nil)(w, r)
		}
	}), attempts
}

func answering() client.Options {
	return client.Options{JSONRPC: jsonrpc.Options{Handler: &handled{result: &mcp.EmptyResult{}}}}
}

func TestResponseIsSentAgain(t *testing.T) {
	for name, c := range map[string]struct {
		refuse func(w *rawResponse)
		wait   time.Duration // at least
	}{
		"a proxy without a server": {func(w *rawResponse) { w.status(502, "text/html", "<h1>") }, 3 * time.Second},
		"no connection":            {func(w *rawResponse) { w.cut() }, 3 * time.Second},
		"a delay in seconds": {func(w *rawResponse) {
			w.Header().Set("Retry-After", "7")
			w.status(503, "", "")
		}, 14 * time.Second},
		"a delay as a date": {func(w *rawResponse) {
			w.Header().Set("Retry-After", time.Now().Add(20*time.Second).UTC().Format(http.TimeFormat))
			w.status(429, "", "")
		}, 38 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				s, attempts := askingServer(t, func(w *rawResponse, attempt int) bool {
					if attempt < 3 {
						c.refuse(w)
					}
					return attempt < 3
				})
				conn := s.handshake(answering())
				begun := time.Now()
				text, err := callWeather(t.Context(), conn)
				require.NoError(t, err)
				require.Equal(t, "sunny", text)
				require.Equal(t, 3, *attempts)
				require.GreaterOrEqual(t, time.Since(begun), c.wait)
				require.LessOrEqual(t, time.Since(begun), 2*c.wait)
			})
		})
	}
}

func TestResponseIsNotSentAgainWithoutReason(t *testing.T) {
	for name, c := range map[string]struct {
		status   int
		after    string
		attempts int
	}{
		"refused for good":         {400, "", 1},
		"the session is lost":      {404, "1", 1},
		"a delay that is too long": {503, "86400", 1},
		"after several attempts":   {503, "", 6},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				s, attempts := askingServer(t, func(w *rawResponse, attempt int) bool {
					if c.after != "" {
						w.Header().Set("Retry-After", c.after)
					}
					w.status(c.status, "", "")
					return true
				})
				log := new(testlog.Recorder)
				opts := answering()
				opts.JSONRPC.Logger = log.Logger()
				conn := s.handshake(opts)
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
				defer cancel()
				_, err := callWeather(ctx, conn)
				require.Error(t, err)
				require.Equal(t, c.attempts, *attempts)
				require.Contains(t, log.String(), fmt.Sprint(c.status))
			})
		})
	}
}

func TestCloseEndsRepetitionOfResponse(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, attempts := askingServer(t, func(w *rawResponse, _ int) bool {
			w.Header().Set("Retry-After", "30")
			w.status(503, "", "")
			return true
		})
		conn := s.handshake(answering())
		k := startWeather(t.Context(), conn)
		begun := time.Now()
		require.NoError(t, conn.Close())
		require.Less(t, time.Since(begun), time.Second)
		require.True(t, k.over())
		require.Equal(t, 1, *attempts)
	})
}

func TestRefusedRequestIsSentAgain(t *testing.T) {
	for name, begin := range map[string]func(*fakeServer, client.Options) *client.Client{
		"in a session": (*fakeServer).handshake,
		"stateless":    (*fakeServer).connect,
	} {
		t.Run(name, func(t *testing.T) {
			for _, status := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
				inBubble(t, func(t *testing.T) {
					attempts := 0
					s := newFakeServer(t, inSession(func(w *rawResponse, r *sentRequest) {
						if attempts++; attempts < 3 {
							w.Header().Set("Retry-After", "2")
							w.status(status, "application/json", w.answer(`"error":{"code":-32000,"message":"busy"}`))
							return
						}
						w.json(weatherResult)
					}))
					conn := begin(s, client.Options{})
					begun := time.Now()
					text, err := callWeather(t.Context(), conn)
					require.NoError(t, err)
					require.Equal(t, "sunny", text)
					require.Equal(t, 3, attempts)
					require.GreaterOrEqual(t, time.Since(begun), 6*time.Second)
				})
			}
		})
	}
}

func TestRequestIsNotSentAgainWithoutReason(t *testing.T) {
	for name, c := range map[string]struct {
		status  int
		after   string
		timeout time.Duration // of the call
	}{
		"another status":             {http.StatusBadGateway, "1", time.Minute},
		"no delay":                   {http.StatusServiceUnavailable, "", time.Minute},
		"a delay that is too long":   {http.StatusTooManyRequests, "31", time.Minute},
		"a delay after the deadline": {http.StatusTooManyRequests, "20", 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				attempts := 0
				s := newFakeServer(t, func(w *rawResponse, _ *sentRequest) {
					attempts++
					if c.after != "" {
						w.Header().Set("Retry-After", c.after)
					}
					w.status(c.status, "", "")
				})
				ctx, cancel := context.WithTimeout(t.Context(), c.timeout)
				defer cancel()
				begun := time.Now()
				_, err := callWeather(ctx, s.connect(client.Options{}))
				var refused *client.HTTPError
				require.ErrorAs(t, err, &refused)
				require.Equal(t, c.status, refused.Status)
				require.Equal(t, 1, attempts)
				require.Less(t, time.Since(begun), time.Second)
			})
		})
	}
}

func TestCancelledCallIsNotSentAgain(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		attempts := 0
		s := newFakeServer(t, func(w *rawResponse, _ *sentRequest) {
			attempts++
			w.Header().Set("Retry-After", "2")
			w.status(http.StatusTooManyRequests, "", "")
		})
		conn := s.connect(client.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		k := startWeather(ctx, conn)
		cancel()
		require.True(t, k.over())
		require.ErrorIs(t, k.err, context.Canceled)
		_, err := callWeather(t.Context(), conn, peer.WithTimeout(time.Second))
		require.Error(t, err)
		time.Sleep(time.Hour)
		require.Equal(t, 2, attempts)
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

func TestResumptionHonorsRetryAfter(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		attempts := 0
		s := newFakeServer(t, breakAfterEvent(0, func(w *rawResponse, r *sentRequest) {
			if attempts++; attempts == 1 {
				w.Header().Set("Retry-After", "60")
				w.status(http.StatusServiceUnavailable, "", "")
				return
			}
			w.stream()
			w.event(w.answer(weatherResult))
		}))
		conn := s.handshake(client.Options{})
		begun := time.Now()
		k := startWeather(t.Context(), conn)
		<-k.done
		require.GreaterOrEqual(t, time.Since(begun), time.Minute)
		synctest.Wait()
	})
}
