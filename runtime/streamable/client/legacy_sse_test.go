package client_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable/client"
	"github.com/mcpwright/mcp/runtime/wire"
)

// legacyServer is a server of HTTP+SSE. It sends the messages of the channel say.
type legacyServer struct {
	*fakeServer
	say  chan string
	hang bool // it does not respond to POST requests
}

// newLegacyServer starts a server whose endpoint event contains endpoint.
func newLegacyServer(t *testing.T, endpoint string) *legacyServer {
	l := &legacyServer{say: make(chan string, 10)}
	l.fakeServer = newFakeServer(t, func(w *rawResponse, r *sentRequest) {
		switch {
		case r.Method == "GET" && endpoint == "":
			w.status(404, "", "")
		case r.Method == "GET":
			w.stream()
			w.write("event: endpoint\r\ndata: %s\r\n\r\n", endpoint)
			l.stream(w, r)
		case l.hang:
			<-r.Context().Done()
		default:
			if r.rpc.Method == "tools/call" {
				l.say <- w.answer(weatherResult)
			}
			w.status(202, "", "Accepted")
		}
	})
	return l
}

func (l *legacyServer) stream(w *rawResponse, r *sentRequest) {
	for {
		select {
		case m := <-l.say:
			if m == "cut" {
				w.cut()
			}
			w.write("event: message\ndata: %s\n\n", m)
		case <-r.Context().Done():
			return
		}
	}
}

func (l *legacyServer) connectLegacy(opts client.Options) *client.LegacySSE {
	opts.HTTPClient = l.client
	opts.JSONRPC.Frame = func(string) *wire.Frame { return &wire.Frame{Revision: mcp.Revision20241105} }
	opts.JSONRPC.Logger = slog.New(slog.DiscardHandler)
	c := client.NewLegacySSE(fakeURL, &opts)
	l.t.Cleanup(func() { require.NoError(l.t, c.Close()) })
	return c
}

func TestLegacySSEPostsToEndpoint(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newLegacyServer(t, "/messages?session=1")
		h := &handled{result: &mcp.EmptyResult{}}
		c := s.connectLegacy(client.Options{JSONRPC: jsonrpc.Options{Handler: h}})
		c.SetRevision(mcp.Revision20241105)
		require.Empty(t, s.requests(), "nothing was sent")
		for range 3 {
			text, err := callWeather(t.Context(), c)
			require.NoError(t, err)
			require.Equal(t, "sunny", text)
		}
		require.NoError(t, c.Notify(t.Context(), &mcp.InitializedNotification{}))
		s.say <- `{"jsonrpc":"2.0","id":0,"method":"ping"}`
		require.Equal(t, []string{"ping "}, h.take())
		require.Equal(t, `{"jsonrpc":"2.0","id":0,"result":{}}`, s.find("POST answer").body)
		require.Equal(t, "/messages?session=1", s.find("POST tools/call").URL.String())
		require.Equal(t, 1, count(s.requests(), "GET"))
		require.NoError(t, c.Close())
		<-c.Done()
		_, err := callWeather(t.Context(), c)
		require.ErrorAs(t, err, new(*peer.ClosedError))
	})
}

func TestLegacySSEEndsWithStream(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newLegacyServer(t, "messages")
		lost, reported := new(errorList), new(errorList)
		c := s.connectLegacy(client.Options{OnSessionLost: lost.add, JSONRPC: jsonrpc.Options{OnError: reported.add, MaxMessage: 1000}})
		_, err := callWeather(t.Context(), c)
		require.NoError(t, err)
		require.Equal(t, "/messages", s.find("POST tools/call").URL.Path)
		s.say <- strings.Repeat("x", 1001)
		s.say <- "x"
		require.Len(t, reported.take(), 2)
		_, err = callWeather(t.Context(), c)
		require.NoError(t, err, "an invalid event is skipped")

		s.hang = true
		call := startWeather(t.Context(), c)
		s.say <- "cut"
		require.True(t, call.over())
		require.ErrorAs(t, call.err, new(*peer.ClosedError))
		require.ErrorContains(t, call.err, "unexpected EOF")
		require.Len(t, lost.take(), 1)
		_, err = callWeather(t.Context(), c)
		require.ErrorAs(t, err, new(*peer.ClosedError))
		require.Len(t, s.requests(), 4)
	})
}

func TestLegacySSEEndpointMustHaveOriginOfStream(t *testing.T) {
	for endpoint, want := range map[string]string{
		"http://evil.test/mcp":         "another origin",
		"https://server.test/mcp":      "another origin",
		"//server.test:8080/mcp":       "another origin",
		"http://server.test:80/other":  "",
		"http://user@SERVER.test/mcp2": "",
		"::":                           "is no URL",
	} {
		t.Run(endpoint, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				s := newLegacyServer(t, endpoint)
				_, err := callWeather(t.Context(), s.connectLegacy(client.Options{}))
				if want == "" {
					require.NoError(t, err)
					return
				}
				require.ErrorAs(t, err, new(*peer.ClosedError))
				require.ErrorContains(t, err, want)
				require.Equal(t, []string{"GET"}, s.requests())
			})
		})
	}
}

func TestLegacySSENeedsStream(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		_, err := callWeather(t.Context(), newLegacyServer(t, "").connectLegacy(client.Options{}))
		var e *client.HTTPError
		require.ErrorAs(t, err, &e)
		require.Equal(t, 404, e.Status)
	})
	inBubble(t, func(t *testing.T) {
		s := newLegacyServer(t, "x")
		s.serve = func(w *rawResponse, _ *sentRequest) { w.status(200, "text/html", "") }
		_, err := callWeather(t.Context(), s.connectLegacy(client.Options{}))
		require.ErrorContains(t, err, `content type "text/html"`)
	})
	inBubble(t, func(t *testing.T) {
		c := client.NewLegacySSE("ftp://x", nil)
		_, err := callWeather(t.Context(), c)
		require.ErrorContains(t, err, `scheme "ftp"`)
		require.NoError(t, c.Close())
	})
}

func TestLegacySSEWithoutEndpointPostsNothing(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newLegacyServer(t, "x")
		s.serve = func(w *rawResponse, r *sentRequest) {
			w.stream()
			<-r.Context().Done()
		}
		c := s.connectLegacy(client.Options{})
		_, err := callWeather(t.Context(), c, peer.WithTimeout(time.Second))
		require.ErrorAs(t, err, new(*peer.TimeoutError))
		_, err = callWeather(t.Context(), c, peer.WithTimeout(time.Hour))
		require.ErrorContains(t, err, "no endpoint event from the server")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.NoError(t, c.Notify(ctx, &mcp.InitializedNotification{}))
		waiting := startWeather(t.Context(), c)
		require.NoError(t, c.Close())
		require.True(t, waiting.over())
		require.Equal(t, []string{"GET"}, s.requests())
	})
}

func TestLegacySSEInitializedErr(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newLegacyServer(t, "x")
		serve, busy := s.serve, true
		s.serve = func(w *rawResponse, r *sentRequest) {
			if r.Method == "POST" && busy {
				busy = false
				w.status(503, "", "")
				return
			}
			serve(w, r)
		}
		c := s.connectLegacy(client.Options{})
		_ = c.Notify(t.Context(), &mcp.InitializedNotification{})
		var e *client.HTTPError
		require.ErrorAs(t, c.InitializedErr(), &e)
		require.Equal(t, 503, e.Status)
		require.NoError(t, c.Notify(t.Context(), &mcp.InitializedNotification{}))
		require.NoError(t, c.InitializedErr())
	})
}

func TestLegacySSERefusedPostFailsCall(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newLegacyServer(t, "x")
		serve := s.serve
		s.serve = func(w *rawResponse, r *sentRequest) {
			if r.rpc.Method == "ping" {
				w.status(400, "application/json", fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":1,"message":"no"}}`, r.rpc.ID))
				return
			}
			serve(w, r)
		}
		c := s.connectLegacy(client.Options{})
		_, err := peer.SendRequest(t.Context(), c, &mcp.PingRequest{})
		var e *client.HTTPError
		require.ErrorAs(t, err, &e)
		require.Equal(t, 400, e.Status)
		require.NotNil(t, c.Conn())
		_, err = callWeather(t.Context(), c)
		require.NoError(t, err)
	})
}
