package mcpclient_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/internal/leaks"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable"
	"github.com/mcpwright/mcp/runtime/wire"
)

// enableSubscribe adds handlers of resources/subscribe to a server. It returns the received requests.
func enableSubscribe(s *server) chan string {
	received := make(chan string, 20)
	mcp.HandleSubscribe(&s.mux, func(_ context.Context, req *mcp.SubscribeRequest) (*mcp.EmptyResult, error) {
		received <- "+" + req.URI
		if req.URI == "no:" {
			return nil, &peer.Error{Code: mcp.CodeInvalidParams, Message: "no such thing"}
		}
		return &mcp.EmptyResult{}, nil
	})
	mcp.HandleUnsubscribe(&s.mux, func(_ context.Context, req *mcp.UnsubscribeRequest) (*mcp.EmptyResult, error) {
		received <- "-" + req.URI
		return &mcp.EmptyResult{}, nil
	})
	return received
}

func TestWatchSession(t *testing.T) {
	leaks.Check(t)
	for _, r := range mcp.Revisions[:4] {
		s := newServer(r.Revision)
		received := enableSubscribe(s)
		for way, to := range s.ways(t) {
			t.Run(r.Revision.String()+" "+way, func(t *testing.T) {
				c := connect(t, to, nil)
				next, stop := iter.Pull2(c.Watch(t.Context(), "a:1", "a:2"))
				other, stopOther := iter.Pull2(c.Watch(t.Context(), "a:2"))
				updates := make(chan string)
				go func() { // ends with the first change
					uri, err, _ := next()
					updates <- uri
					if err != nil {
						t.Error(err)
					}
				}()
				require.Equal(t, "+a:1", <-received)
				require.Equal(t, "+a:2", <-received)
				require.NoError(t, s.session().SendResourceUpdated(t.Context(), &mcp.ResourceUpdatedNotification{URI: "a:2/part"}))
				require.Equal(t, "a:2/part", <-updates)

				go func() { uri, _, _ := other(); updates <- uri }() // ends with the first change
				synchronise(t, c)
				for other := ""; other == ""; { // until the other iteration has begun
					require.NoError(t, s.session().SendResourceUpdated(t.Context(), &mcp.ResourceUpdatedNotification{URI: "a:2"}))
					select {
					case other = <-updates:
					default:
					}
				}
				stop()
				require.Equal(t, "-a:1", <-received, "the other resource is still watched")
				stopOther()
				require.Equal(t, "-a:2", <-received)
				require.Empty(t, received)
			})
		}
	}
}

// synchronise waits until the server has handled earlier messages.
func synchronise(t testing.TB, c *mcpclient.Client) {
	t.Helper()
	require.NoError(t, c.Connection().Ping(t.Context()))
}

func TestLostEventsNotifyWatchers(t *testing.T) {
	leaks.Check(t)
	h := streamable.NewHandler(newKit(nil), nil)
	cuts := make(chan context.CancelFunc, 2)
	to := validatedURL(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			ctx, cut := context.WithCancel(r.Context())
			defer cut()
			cuts <- cut
			r = r.WithContext(ctx)
		}
		if r.Header.Get("Last-Event-ID") != "" {
			w.WriteHeader(http.StatusBadRequest) // as if the events were no longer stored
			return
		}
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		h.ServeHTTP(w, r)
		if bytes.Contains(body, []byte(mcp.MethodSubscribe)) {
			(<-cuts)()
		}
	}))
	to.HTTP.Backoff.InitialDelay = time.Millisecond
	lists := make(chan string, 9)
	c := connect(t, to, &mcpclient.Options{Mode: mcpclient.Handshake, OnToolListChanged: func(context.Context, *mcp.ToolListChangedNotification) error {
		lists <- "tools"
		return nil
	}})
	next, stop := iter.Pull2(c.Watch(t.Context(), "note:1"))
	defer stop()
	uri, err, _ := next()
	require.NoError(t, err)
	require.Equal(t, "note:1", uri)
	require.Equal(t, "tools", <-lists)
}

func TestWatchEndsWithContextOrClient(t *testing.T) {
	leaks.Check(t)
	for name, opts := range map[string]mcpclient.Options{
		"session": {Mode: mcpclient.Handshake}, "streams": {Mode: mcpclient.NoHandshake},
	} {
		t.Run(name, func(t *testing.T) {
			s := enableSubscriptions(newServer())
			received := enableSubscribe(s)
			begun := func() {
				if opts.Mode == mcpclient.Handshake {
					<-received
					return
				}
				(<-s.opened).ack(t)
			}
			c, err := mcpclient.Connect(t.Context(), s.overPipe(t), &opts)
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			go func() { begun(); cancel() }() // ends when the server has received the request
			for range c.Watch(ctx, "a:1") {
				t.Error("unexpected change")
			}
			go func() { // ends with the client
				if opts.Mode == mcpclient.Handshake {
					<-received // the first unsubscribe
				}
				begun()
				if err := c.Close(); err != nil {
					t.Error(err)
				}
			}()
			n := 0
			for _, err := range c.Watch(t.Context(), "a:1") {
				n++
				require.ErrorAs(t, err, new(*peer.ClosedError))
			}
			require.Equal(t, 1, n)
			<-c.Done()
		})
	}
}

func TestServerRejectsWatch(t *testing.T) {
	leaks.Check(t)
	refused := func(c *mcpclient.Client, uri string) (err error) {
		for _, err = range c.Watch(t.Context(), uri) {
			require.Error(t, err)
		}
		return err
	}
	s := newServer()
	enableSubscribe(s)
	c := connect(t, mcpclient.InProcess(s), &mcpclient.Options{Mode: mcpclient.Handshake})
	require.ErrorContains(t, refused(c, "no:"), "no such thing")

	c = connect(t, mcpclient.InProcess(newServer()), nil)
	require.ErrorContains(t, refused(c, "a:"), "Method not found")

	s = enableSubscriptions(newServer())
	c = connect(t, mcpclient.InProcess(s), nil)
	go func() { // ends when the server has received the request
		st := <-s.opened
		st.filter.ResourceSubscriptions = nil
		st.ack(t)
	}()
	require.ErrorContains(t, refused(c, "a:"), `watch "a:": server does not send updates of this resource`)
}

func TestWatchReopensSubscription(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := enableSubscriptions(newServer())
		c := connect(t, mcpclient.InProcess(s), nil)
		var seen []string
		ctx, cancel := context.WithCancel(t.Context())
		go func() { // ends with the steps below
			first := <-s.opened
			first.ack(t)
			first.updated(t, "a:1")
			first.finish <- errors.New("test error")
			second := <-s.opened
			second.ack(t)
			synctest.Wait()
			second.updated(t, "a:2")
			synctest.Wait()
			second.finish <- nil // without an error
			third := <-s.opened
			third.ack(t)
			synctest.Wait()
			cancel()
		}()
		for uri, err := range c.Watch(ctx, "a:1", "a:2") {
			require.NoError(t, err)
			seen = append(seen, uri)
		}
		require.Equal(t, []string{"a:1", "a:1", "a:2", "a:2", "a:1", "a:2"}, seen, "all URIs are yielded after a gap")
	})
}

// Handlers of changes are called after a gap, because changes may have been missed.
func TestHandlerSubscriptionIsReopened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := enableSubscriptions(newServer())
		heard := make(chan string, 9)
		ends := make(chan *stream)
		go func() { // ends with the second subscription
			for range 2 {
				st := <-s.opened
				st.ack(t)
				ends <- st
			}
		}()
		connected := make(chan *mcpclient.Client)
		go func() { // ends when connected
			connected <- connect(t, mcpclient.InProcess(s), &mcpclient.Options{
				Logger:                silent,
				OnToolListChanged:     func(_ context.Context, n *mcp.ToolListChangedNotification) error { heard <- n.Method(); return nil },
				OnPromptListChanged:   func(_ context.Context, n *mcp.PromptListChangedNotification) error { heard <- n.Method(); return nil },
				OnResourceListChanged: func(_ context.Context, n *mcp.ResourceListChangedNotification) error { heard <- n.Method(); return nil },
			})
		}()
		first := <-ends
		c := <-connected
		require.Empty(t, heard)
		first.finish <- errors.New("trouble")
		<-ends
		synctest.Wait()
		require.Len(t, heard, 3)
		require.Nil(t, c.Err())
	})
}

func TestConnectWithoutAcknowledgement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		connect(t, mcpclient.InProcess(enableSubscriptions(newServer())), &mcpclient.Options{
			Logger:            silent,
			OnToolListChanged: func(context.Context, *mcp.ToolListChangedNotification) error { return nil },
		})
		require.Equal(t, 10*time.Second, time.Since(begun))
	})
}

func TestContextLimitsWaitForAcknowledgement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, heard := enableSubscriptions(newServer()), make(chan string, 1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun := time.Now()
		c, err := mcpclient.Connect(ctx, mcpclient.InProcess(s), &mcpclient.Options{
			Logger:            silent,
			OnToolListChanged: func(_ context.Context, n *mcp.ToolListChangedNotification) error { heard <- n.Method(); return nil },
		})
		require.NoError(t, err)
		defer c.Close()
		require.Equal(t, time.Second, time.Since(begun))
		late := <-s.opened
		late.ack(t)
		late.send(t, &mcp.ToolListChangedNotification{Meta: late.meta()})
		require.Equal(t, "notifications/tools/list_changed", <-heard)
	})
}

func TestHandlerSubscriptionIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, heard := enableSubscriptions(newServer()), make(chan string, 9)
		go func() { // ends with the second subscription
			(<-s.opened).finish <- &peer.Error{Code: mcp.CodeInternal, Message: "busy"}
			st := <-s.opened
			st.ack(t)
			st.send(t, &mcp.ToolListChangedNotification{Meta: st.meta()})
		}()
		c := connect(t, mcpclient.InProcess(s), &mcpclient.Options{
			Logger:            silent,
			OnToolListChanged: func(_ context.Context, n *mcp.ToolListChangedNotification) error { heard <- n.Method(); return nil },
		})
		for range 2 { // an assumed change and the server's
			require.Equal(t, mcp.MethodToolListChanged, <-heard)
		}
		require.NoError(t, c.Close())
	})
}

func TestBackoffIfSubscriptionsEndAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := enableSubscriptions(newServer())
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		opened := 0
		go func() { // ends with the context
			for ctx.Err() == nil {
				select {
				case st := <-s.opened:
					opened++
					st.ack(t)
					st.finish <- nil
				case <-ctx.Done():
				}
			}
		}()
		connect(t, mcpclient.InProcess(s), &mcpclient.Options{
			Logger:            silent,
			OnToolListChanged: func(context.Context, *mcp.ToolListChangedNotification) error { return nil },
		})
		<-ctx.Done()
		synctest.Wait()
		require.Equal(t, 17, opened, "7 in the first 6.3 s, then one each 5 s")
	})
}

// lines receives the lines of a log.
type lines chan string

func (l lines) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}

func TestLostHandlerSubscriptionIsLogged(t *testing.T) {
	for _, refused := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s, said := enableSubscriptions(newServer()), make(lines, 9)
			go func() { // ends with the second subscription
				st := <-s.opened
				st.ack(t)
				st.finish <- nil
				if refused {
					st = <-s.opened
					st.finish <- &peer.Error{Code: mcp.CodeInvalidParams, Message: "no more of that"}
				}
			}()
			c := connect(t, mcpclient.InProcess(s), &mcpclient.Options{
				Logger:            slog.New(slog.NewTextHandler(said, &slog.HandlerOptions{Level: slog.LevelWarn})),
				OnToolListChanged: func(context.Context, *mcp.ToolListChangedNotification) error { return nil },
			})
			synctest.Wait()
			if refused {
				line := <-said
				require.Contains(t, line, "subscription for handlers lost")
				require.Contains(t, line, "no more of that")
			}
			require.NoError(t, c.Close())
			synctest.Wait()
			require.Empty(t, said, "Close is not logged")
		})
	}
}

func TestNoHandlerSubscriptionWithoutCapability(t *testing.T) {
	leaks.Check(t)
	never := func(context.Context, *mcp.ToolListChangedNotification) error { panic("unexpected call") }
	c := connect(t, mcpclient.InProcess(newServer()), &mcpclient.Options{Logger: silent, OnToolListChanged: never})
	require.True(t, c.NoHandshake())
	s := newServer()
	s.caps = mcp.ServerCapabilities{}
	connect(t, mcpclient.InProcess(s), &mcpclient.Options{Logger: silent, OnToolListChanged: never})
}

// slowEnd is a connection whose calls fail before it is done, as with a command.
type slowEnd struct {
	*jsonrpc.InProcessConn
	over chan struct{}
}

func (l *slowEnd) Done() <-chan struct{} { return l.over }

func TestOneHandlerSubscriptionAfterRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newKit(nil)
		var last *jsonrpc.InProcessConn
		to := mcpclient.Dial("kit", func(_ context.Context, opts *jsonrpc.Options) (mcpclient.Conn, error) {
			last = s.InProcess(opts)
			l := &slowEnd{last, make(chan struct{})}
			go func() { // ends with the link
				<-l.InProcessConn.Done()
				time.Sleep(time.Second)
				close(l.over)
			}()
			return l, nil
		})
		heard := make(chan struct{}, 99)
		c := connect(t, to, &mcpclient.Options{
			Restarts: -1, Logger: silent,
			OnToolListChanged: func(context.Context, *mcp.ToolListChangedNotification) error { heard <- struct{}{}; return nil },
		})
		require.True(t, c.NoHandshake())
		for range 3 {
			last.Close()
			time.Sleep(time.Minute)
			require.Len(t, heard, 1, "a change is assumed")
			<-heard
		}
		s.RemoveTools("greet")
		synctest.Wait()
		require.Len(t, heard, 1)
	})
}

func TestWatchContinuesAfterRestart(t *testing.T) {
	leaks.Check(t)
	s := enableSubscriptions(newServer())
	c := connect(t, s.overPipe(t), &mcpclient.Options{Restarts: 2, Logger: silent})
	var seen []string
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { // ends with the third subscription
		<-s.opened
		s.breakPipes() // before the acknowledgement
		second := <-s.opened
		second.ack(t)
		second.updated(t, "a:2")
		(<-s.opened).ack(t)
	}()
	for uri, err := range c.Watch(ctx, "a:1", "a:2") {
		require.NoError(t, err)
		switch seen = append(seen, uri); len(seen) {
		case 1:
			s.breakPipes()
		case 3:
			cancel()
		}
	}
	require.Equal(t, []string{"a:2", "a:1", "a:2"}, seen)
	require.NoError(t, c.Err())
}

func TestWatchEndsIfNewSessionRejectsIt(t *testing.T) {
	leaks.Check(t)
	old := greeter(mcp.Revision20251125)
	received := enableSubscribe(old)
	s := serve(t, old)
	c := connect(t, mcpclient.URL(s.url), &mcpclient.Options{Logger: silent})
	ended := make(chan error, 1)
	go func() { // ends with the error
		for uri, err := range c.Watch(t.Context(), "a:1") {
			if err != nil {
				ended <- err
			} else {
				t.Error("unexpected change", uri)
			}
		}
	}()
	require.Equal(t, "+a:1", <-received)
	s.instead(func(w http.ResponseWriter, _ *http.Request, m *wire.Message) bool {
		if m.Method == mcp.MethodSubscribe {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		return m.Method == mcp.MethodSubscribe
	})
	s.forget()
	greet(t, c)
	require.ErrorContains(t, <-ended, "503")
}

// The server must not receive unsubscribe after the subscribe of a new iteration.
func TestWatchDuringUnsubscribe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		var received []string
		leaving := make(chan struct{})
		mcp.HandleSubscribe(&s.mux, func(context.Context, *mcp.SubscribeRequest) (*mcp.EmptyResult, error) {
			received = append(received, "+")
			return &mcp.EmptyResult{}, nil
		})
		mcp.HandleUnsubscribe(&s.mux, func(context.Context, *mcp.UnsubscribeRequest) (*mcp.EmptyResult, error) {
			<-leaving
			received = append(received, "-")
			return &mcp.EmptyResult{}, nil
		})
		c := connect(t, mcpclient.InProcess(s), &mcpclient.Options{Mode: mcpclient.Handshake})
		changes := make(chan string)
		watch := func() (stop context.CancelFunc) {
			ctx, cancel := context.WithCancel(t.Context())
			next, _ := iter.Pull2(c.Watch(ctx, "a:1"))
			go func() { // ends with ctx
				for uri, _, more := next(); more; uri, _, more = next() {
					changes <- uri
				}
			}()
			synctest.Wait()
			return cancel
		}
		first := watch()
		first()
		synctest.Wait()
		defer watch()()
		close(leaving)
		synctest.Wait()
		require.Equal(t, []string{"+", "-", "+"}, received)
		require.NoError(t, s.session().SendResourceUpdated(t.Context(), &mcp.ResourceUpdatedNotification{URI: "a:1"}))
		require.Equal(t, "a:1", <-changes)
	})
}

func TestPartsOfResources(t *testing.T) {
	for watched, parts := range map[string][]string{
		"file:///a1":  {"file:///a1", "file:///a1/b", "file:///a1?b", "file:///a1#b"},
		"file:///a1/": {"file:///a1/", "file:///a1/b"},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer()
			enableSubscribe(s)
			c := connect(t, mcpclient.InProcess(s), &mcpclient.Options{Mode: mcpclient.Handshake})
			var changes []string
			go func() { // ends with the client
				for uri := range c.Watch(t.Context(), watched) {
					changes = append(changes, uri)
				}
			}()
			synctest.Wait()
			for _, uri := range append([]string{"file:///a10", "file:///a", "file:///a1%20"}, parts...) {
				require.NoError(t, s.session().SendResourceUpdated(t.Context(), &mcp.ResourceUpdatedNotification{URI: uri}))
			}
			synctest.Wait()
			require.Equal(t, parts, changes)
			require.NoError(t, c.Close())
		})
	}
}
