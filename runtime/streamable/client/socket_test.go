package client_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable/client"
	"github.com/mcpwright/mcp/runtime/wire"
)

// testTimeout limits the wait for things that usually happen at once.
const testTimeout = 20 * time.Second

// requireNoClientGoroutines fails the test if goroutines of a client or of its HTTP transport are
// left at its end.
func requireNoClientGoroutines(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		require.Eventually(t, func() bool { return clientGoroutines() == "" }, testTimeout, time.Millisecond, "%v", clientGoroutines())
	})
}

func clientGoroutines() string {
	buf := make([]byte, 1<<20)
	var found []string
	for stack := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		_, by, _ := strings.Cut(stack, "created by ")
		for _, of := range []string{"github.com/mcpwright/mcp/runtime/streamable/client.", "github.com/mcpwright/mcp/runtime/jsonrpc.", "net/http.(*Transport)"} {
			if strings.HasPrefix(by, of) {
				found = append(found, stack)
			}
		}
	}
	return strings.Join(found, "\n\n")
}

// serveSocket serves on a real socket.
func serveSocket(t *testing.T, serve func(w *rawResponse, r *sentRequest)) *httptest.Server {
	t.Helper()
	f := &fakeServer{t: t, serve: serve}
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return s
}

func TestDefaultTransportEndsWithClient(t *testing.T) {
	requireNoClientGoroutines(t)
	s := serveSocket(t, inSession(func(w *rawResponse, r *sentRequest) {
		w.stream()
		w.event(w.answer(weatherResult))
	}))
	c := client.New(s.URL, &client.Options{JSONRPC: jsonrpc.Options{Frame: sessionFrame}})
	defer c.Close()
	beginSession(t, c)
	var calls sync.WaitGroup
	for range 50 {
		calls.Go(func() {
			text, err := callWeather(t.Context(), c)
			require.NoError(t, err)
			require.Equal(t, "sunny", text)
		})
	}
	calls.Wait()
}

func TestServerCrashFailsCalls(t *testing.T) {
	requireNoClientGoroutines(t)
	began := make(chan struct{}, 20)
	s := serveSocket(t, func(w *rawResponse, r *sentRequest) {
		w.stream()
		w.write(`data: {"jsonrpc":"2.0",`)
		began <- struct{}{}
		<-r.Context().Done()
	})
	c := client.New(s.URL, &client.Options{JSONRPC: jsonrpc.Options{Frame: statelessFrame}})
	defer c.Close()
	var calls sync.WaitGroup
	for range 20 {
		calls.Go(func() {
			_, err := callWeather(t.Context(), c)
			require.ErrorIs(t, err, client.ErrNoResponse)
		})
	}
	for range 20 {
		<-began
	}
	s.CloseClientConnections()
	calls.Wait()
	s.Close()
	_, err := callWeather(t.Context(), c)
	require.ErrorContains(t, err, "connect")
	require.NotErrorAs(t, err, new(*peer.ClosedError), "the client can be used again")
}

func TestManyCallsShareAnHTTP2Connection(t *testing.T) {
	requireNoClientGoroutines(t)
	arrived := make(chan string, 40)
	s := httptest.NewUnstartedServer(&fakeServer{t: t, serve: func(w *rawResponse, r *sentRequest) {
		arrived <- r.RemoteAddr
		if r.Header.Get("X-Slow") != "" {
			<-r.Context().Done()
			return
		}
		w.stream()
		w.event(w.answer(weatherResult))
	}})
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	c := client.New(s.URL, &client.Options{HTTPClient: s.Client(), JSONRPC: jsonrpc.Options{Frame: statelessFrame}})
	defer c.Close()
	_, err := callWeather(t.Context(), c)
	require.NoError(t, err)
	one := <-arrived

	ctx, cancel := context.WithCancel(t.Context())
	var slow, quick sync.WaitGroup
	for range 20 {
		slow.Go(func() {
			_, err := callWeather(ctx, c, peer.WithHeader(http.Header{"X-Slow": {"yes"}}))
			require.ErrorIs(t, err, context.Canceled)
		})
		quick.Go(func() {
			_, err := callWeather(t.Context(), c)
			require.NoError(t, err)
		})
	}
	quick.Wait()
	for range 40 {
		require.Equal(t, one, <-arrived)
	}
	cancel()
	slow.Wait()
}

func TestCancelledCallsDoNotAffectOthers(t *testing.T) {
	requireNoClientGoroutines(t)
	s := serveSocket(t, inSession(func(w *rawResponse, r *sentRequest) {
		w.stream()
		w.write("id: 1\ndata:\n\n")
		if r.Header.Get("X-Slow") != "" {
			<-r.Context().Done()
			return
		}
		w.event(w.answer(weatherResult))
	}))
	c := client.New(s.URL, &client.Options{JSONRPC: jsonrpc.Options{Frame: sessionFrame}})
	defer c.Close()
	beginSession(t, c)
	var calls sync.WaitGroup
	for i := range 100 {
		calls.Go(func() {
			if i%2 == 0 {
				_, err := callWeather(t.Context(), c)
				require.NoError(t, err)
				return
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*time.Millisecond)
			defer cancel()
			_, err := callWeather(ctx, c, peer.WithHeader(http.Header{"X-Slow": {"yes"}}))
			require.ErrorIs(t, err, context.DeadlineExceeded)
		})
	}
	calls.Wait()
}

func BenchmarkCall(b *testing.B) {
	for name, serve := range map[string]func(w *rawResponse){
		"json":   func(w *rawResponse) { w.json(weatherResult) },
		"stream": func(w *rawResponse) { w.stream(); w.event(w.answer(weatherResult)) },
	} {
		b.Run(name, func(b *testing.B) {
			s := httptest.NewServer(&fakeServer{serve: func(w *rawResponse, r *sentRequest) { serve(w) }})
			defer s.Close()
			c := client.New(s.URL, &client.Options{JSONRPC: jsonrpc.Options{Frame: statelessFrame}})
			defer c.Close()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := callWeather(b.Context(), c); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCallWithoutAServer(b *testing.B) {
	for _, frame := range []func(string) *wire.Frame{statelessFrame, sessionFrame} {
		f := frame("")
		b.Run(f.Revision.String(), func(b *testing.B) {
			header := http.Header{"Content-Type": {"application/json"}}
			c := client.New(fakeURL, &client.Options{
				JSONRPC: jsonrpc.Options{Frame: func(string) *wire.Frame { return f }},
				HTTPClient: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
					var body [1000]byte
					n, _ := r.Body.Read(body[:])
					_, id, _ := strings.Cut(string(body[:n]), `"id":`)
					id, _, _ = strings.Cut(id, ",")
					answer := `{"jsonrpc":"2.0","id":` + id + `,` + weatherResult + `}`
					return &http.Response{StatusCode: 200, Header: header, ContentLength: int64(len(answer)), Body: io.NopCloser(strings.NewReader(answer))}, nil
				})},
			})
			defer c.Close()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := callWeather(b.Context(), c); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
