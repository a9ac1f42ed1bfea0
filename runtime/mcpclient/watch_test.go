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
	"github.com/mcpwright/mcp/runtime/wire"
)

// subscribable makes a server open to the subscriptions of sessions. What it is
// told is noted.
func subscribable(s *server) chan string {
	told := make(chan string, 20)
	mcp.HandleSubscribe(&s.mux, func(_ context.Context, req *mcp.SubscribeRequest) (*mcp.EmptyResult, error) {
		told <- "+" + req.URI
		if req.URI == "no:" {
			return nil, &peer.Error{Code: mcp.CodeInvalidParams, Message: "no such thing"}
		}
		return &mcp.EmptyResult{}, nil
	})
	mcp.HandleUnsubscribe(&s.mux, func(_ context.Context, req *mcp.UnsubscribeRequest) (*mcp.EmptyResult, error) {
		told <- "-" + req.URI
		return &mcp.EmptyResult{}, nil
	})
	return told
}

func TestASessionIsWatchedBySubscribing(t *testing.T) {
	leaks.Check(t)
	for _, r := range mcp.Revisions[:4] {
		s := newServer(r.Revision)
		told := subscribable(s)
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
				require.Equal(t, "+a:1", <-told)
				require.Equal(t, "+a:2", <-told)
				require.NoError(t, s.session().SendResourceUpdated(t.Context(), &mcp.ResourceUpdatedNotification{URI: "a:2/part"}))
				require.Equal(t, "a:2/part", <-updates)

				go func() { uri, _, _ := other(); updates <- uri }() // ends with the first change
				synchronise(t, c)
				for other := ""; other == ""; { // until the other watches, too
					require.NoError(t, s.session().SendResourceUpdated(t.Context(), &mcp.ResourceUpdatedNotification{URI: "a:2"}))
					select {
					case other = <-updates:
					default:
					}
				}
				stop()
				require.Equal(t, "-a:1", <-told, "somebody else still watches the other one")
				stopOther()
				require.Equal(t, "-a:2", <-told)
				require.Empty(t, told)
			})
		}
	}
}

// synchronise waits until the server has handled what was sent before.
func synchronise(t testing.TB, c *mcpclient.Client) {
	t.Helper()
	require.NoError(t, c.Connection().Ping(t.Context()))
}

func TestAGapInTheStreamOfASessionMayHideChanges(t *testing.T) {
	leaks.Check(t)
	h := newKit(nil).Handler(nil)
	cuts := make(chan context.CancelFunc, 2)
	to := judgedURL(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			ctx, cut := context.WithCancel(r.Context())
			defer cut()
			cuts <- cut
			r = r.WithContext(ctx)
		}
		if r.Header.Get("Last-Event-ID") != "" {
			w.WriteHeader(http.StatusBadRequest) // as if there had been too many since
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

func TestWatchingEndsWithTheContextOrTheClient(t *testing.T) {
	leaks.Check(t)
	for name, opts := range map[string]mcpclient.Options{
		"session": {Mode: mcpclient.Handshake}, "streams": {Mode: mcpclient.NoHandshake},
	} {
		t.Run(name, func(t *testing.T) {
			s := listenable(newServer())
			told := subscribable(s)
			begun := func() {
				if opts.Mode == mcpclient.Handshake {
					<-told
					return
				}
				(<-s.opened).ack(t)
			}
			c, err := mcpclient.Connect(t.Context(), s.overPipe(t), &opts)
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			go func() { begun(); cancel() }() // ends when the server has been asked
			for range c.Watch(ctx, "a:1") {
				t.Error("nothing has changed")
			}
			go func() { // ends with the client
				if opts.Mode == mcpclient.Handshake {
					<-told // the end of the first
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

func TestAServerMayRefuseToBeWatched(t *testing.T) {
	leaks.Check(t)
	refused := func(c *mcpclient.Client, uri string) (err error) {
		for _, err = range c.Watch(t.Context(), uri) {
			require.Error(t, err)
		}
		return err
	}
	s := newServer()
	subscribable(s)
	c := connect(t, mcpclient.InProcess(s), &mcpclient.Options{Mode: mcpclient.Handshake})
	require.ErrorContains(t, refused(c, "no:"), "no such thing")

	c = connect(t, mcpclient.InProcess(newServer()), nil)
	require.ErrorContains(t, refused(c, "a:"), "Method not found")

	s = listenable(newServer())
	c = connect(t, mcpclient.InProcess(s), nil)
	go func() { // ends when the server has been asked
		st := <-s.opened
		st.filter.ResourceSubscriptions = nil
		st.ack(t)
	}()
	require.ErrorContains(t, refused(c, "a:"), `watch "a:": the server does not tell of changes of this resource`)
}

func TestAStreamThatBreaksIsOpenedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := listenable(newServer())
		c := connect(t, mcpclient.InProcess(s), nil)
		var seen []string
		ctx, cancel := context.WithCancel(t.Context())
		go func() { // ends with the test's part
			first := <-s.opened
			first.ack(t)
			first.updated(t, "a:1")
			first.finish <- errors.New("trouble that is none of the client's business")
			second := <-s.opened
			second.ack(t)
			synctest.Wait()
			second.updated(t, "a:2")
			synctest.Wait()
			second.finish <- nil // even in order: the client still watches
			third := <-s.opened
			third.ack(t)
			synctest.Wait()
			cancel()
		}()
		for uri, err := range c.Watch(ctx, "a:1", "a:2") {
			require.NoError(t, err)
			seen = append(seen, uri)
		}
		require.Equal(t, []string{"a:1", "a:1", "a:2", "a:2", "a:1", "a:2"}, seen, "after a gap anything may have changed")
	})
}

// Whoever has handlers for changes is told that there may have been some after a
// gap.
func TestTheSubscriptionForHandlersIsOpenedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := listenable(newServer())
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

func TestAServerThatDoesNotAgreeToTellOfChangesIsUsedAllTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		connect(t, mcpclient.InProcess(listenable(newServer())), &mcpclient.Options{
			Logger:            silent,
			OnToolListChanged: func(context.Context, *mcp.ToolListChangedNotification) error { return nil },
		})
		require.Equal(t, 10*time.Second, time.Since(begun))
	})
}

func TestConnectingWaitsForNoAgreementLongerThanItMay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, heard := listenable(newServer()), make(chan string, 1)
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

func TestAServerThatIsBusyAtFirstIsListenedToLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, heard := listenable(newServer()), make(chan string, 9)
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
		for range 2 { // one that may have been missed, and the server's
			require.Equal(t, mcp.MethodToolListChanged, <-heard)
		}
		require.NoError(t, c.Close())
	})
}

func TestAServerThatEndsItsSubscriptionsAtOnceIsNotKeptBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := listenable(newServer())
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

// lines are the lines of a log.
type lines chan string

func (l lines) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}

func TestAServerThatEndsItsSubscriptionsForGoodIsLogged(t *testing.T) {
	for _, refused := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s, said := listenable(newServer()), make(lines, 9)
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
				require.Contains(t, line, "server tells of changes no more")
				require.Contains(t, line, "no more of that")
			}
			require.NoError(t, c.Close())
			synctest.Wait()
			require.Empty(t, said, "the program's own end is no news")
		})
	}
}

func TestAServerThatTellsOfNoChangesIsUsedAllTheSame(t *testing.T) {
	leaks.Check(t)
	never := func(context.Context, *mcp.ToolListChangedNotification) error { panic("not to be called") }
	c := connect(t, mcpclient.InProcess(newServer()), &mcpclient.Options{Logger: silent, OnToolListChanged: never})
	require.True(t, c.NoHandshake())
	s := newServer()
	s.caps = mcp.ServerCapabilities{}
	connect(t, mcpclient.InProcess(s), &mcpclient.Options{Logger: silent, OnToolListChanged: never})
}

// slowEnd is a link whose calls fail before it is over, as those to a command do.
type slowEnd struct {
	*jsonrpc.InProcessConn
	over chan struct{}
}

func (l *slowEnd) Done() <-chan struct{} { return l.over }

func TestAfterRestartsThereIsOneSubscriptionForHandlers(t *testing.T) {
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
			require.Len(t, heard, 1, "there may have been a change meanwhile")
			<-heard
		}
		s.RemoveTools("greet")
		synctest.Wait()
		require.Len(t, heard, 1)
	})
}

func TestWatchingGoesOnAfterARestart(t *testing.T) {
	leaks.Check(t)
	s := listenable(newServer())
	c := connect(t, s.overPipe(t), &mcpclient.Options{Restarts: 2, Logger: silent})
	var seen []string
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { // ends with the third subscription
		<-s.opened
		s.breakPipes() // before the server has agreed
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

func TestWatchingEndsWhereANewSessionCannotBeWatched(t *testing.T) {
	leaks.Check(t)
	old := greeter(mcp.Revision20251125)
	told := subscribable(old)
	s := serve(t, old)
	c := connect(t, mcpclient.URL(s.url), &mcpclient.Options{Logger: silent})
	ended := make(chan error, 1)
	go func() { // ends with the error
		for uri, err := range c.Watch(t.Context(), "a:1") {
			if err != nil {
				ended <- err
			} else {
				t.Error("no gap, since nobody watches", uri)
			}
		}
	}()
	require.Equal(t, "+a:1", <-told)
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
