package scale_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestIdleSessionMovesToItsStream(t *testing.T) {
	run(t, 3, func(t *testing.T, f *fleet) {
		s := f.open(0, "ann")
		require.Equal(t, http.StatusOK, s.post(0, `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"`+resource+`"}}`).status)
		st := s.get(1, "")
		require.Equal(t, http.StatusOK, st.status)
		for at := range 3 {
			s.requireServedBy(1, at)
		}
		require.NoError(t, f.replicas[1].server.ResourceUpdated(t.Context(), resource))
		e := st.next()
		require.Contains(t, e.data, resource)
		st.close()
		time.Sleep(time.Second)
		st = s.get(2, e.id)
		s.requireServedBy(1, 2)
		require.Equal(t, http.StatusOK, st.status, "a session moves at most once in a lease")
		st.close()
		time.Sleep(lease)
		st = s.get(2, e.id)
		s.requireServedBy(2, 0)
		require.NoError(t, f.replicas[2].server.ResourceUpdated(t.Context(), resource))
		next := st.next()
		require.Contains(t, next.data, resource)
		require.NotEqual(t, e.id, next.id, "the event before does not come again")
		st.close()
	})
}

// A client need not repeat a request because its session moves.
func TestRequestsDuringMoveAreServed(t *testing.T) {
	run(t, 3, func(t *testing.T, f *fleet) {
		for range 60 {
			s := f.open(0, "ann")
			opened := make(chan *stream, 1)
			go func() { opened <- s.get(1, "") }() // ends when the stream is open
			answers := make(chan answer)
			for i := range 12 {
				go func() { answers <- s.post(i%3, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, i+1)) }() // ends with the response
			}
			for range 12 {
				a := <-answers
				require.Equal(t, http.StatusOK, a.status, a.body)
			}
			st := <-opened
			require.Equal(t, http.StatusOK, st.status)
			st.close()
		}
	})
}

func TestSessionInUseDoesNotMove(t *testing.T) {
	run(t, 2, func(t *testing.T, f *fleet) {
		s := f.open(0, "ann")
		body := s.callBody("wait", 0)
		done := make(chan answer, 1)
		go func() { done <- s.post(0, body) }() // ends with proceed
		<-f.replicas[0].waiting
		st := s.get(1, "")
		require.Equal(t, http.StatusOK, st.status, "the request is forwarded")
		s.requireServedBy(0, 1)
		close(f.replicas[0].proceed)
		require.Contains(t, (<-done).body, "waited")
		st.close()
	})
}

func TestSessionWithTasksDoesNotMove(t *testing.T) {
	for _, user := range []string{"ann", ""} {
		run(t, 2, func(t *testing.T, f *fleet) {
			s := f.open(0, user)
			id := s.beginTask(0, "nap")
			st := s.get(1, "")
			s.requireServedBy(0, 1)
			st.close()
			require.Contains(t, s.about(1, "tasks/result", id), "slept well")
		})
	}
}

func TestStreamThatStartsAgainDoesNotMove(t *testing.T) {
	run(t, 2, func(t *testing.T, f *fleet) {
		s := f.open(0, "ann")
		st := s.subscribe(0)
		require.NoError(t, f.replicas[0].server.ResourceUpdated(t.Context(), resource))
		st.next()
		st.close()
		time.Sleep(time.Second)
		st = s.get(1, "") // after a move, the event would come again
		s.requireServedBy(0, 1)
		require.NoError(t, f.replicas[0].server.ResourceUpdated(t.Context(), resource))
		st.next()
		st.close()
		require.Empty(t, st.rest())
	})
}

func TestOthersDoNotMoveASession(t *testing.T) {
	run(t, 2, func(t *testing.T, f *fleet) {
		s := f.open(0, "ann")
		stranger := &session{fleet: f, id: s.id, user: "bob", version: s.version}
		require.Equal(t, http.StatusNotFound, stranger.get(1, "").status)
		s.requireServedBy(0, 1)
		r := s.request(0, http.MethodGet, "")
		r.Header.Set("Mcp-Move", "AAAAAAAAAAAAA") // not the signature of a replica
		st := s.stream(r)
		require.Equal(t, http.StatusOK, st.status)
		s.requireServedBy(0, 0)
		st.close()
	})
}

func TestMovingSessionSurvivesLostReplies(t *testing.T) {
	run(t, 2, func(t *testing.T, f *fleet) {
		for each := 1; each < 5; each++ {
			s := f.open(0, "ann")
			for _, r := range f.replicas {
				r.engine.loseReplies(each)
			}
			st := s.get(1, "")
			require.Equal(t, http.StatusOK, st.status)
			require.Equal(t, http.StatusOK, s.call(0, "where", 0).status)
			st.close()
			for _, r := range f.replicas {
				r.engine.loseReplies(0)
			}
		}
	})
}
