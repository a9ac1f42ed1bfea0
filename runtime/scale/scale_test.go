package scale_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/engine"
)

func TestAnyReplicaServesAnySession(t *testing.T) {
	run(t, 3, func(t *testing.T, f *fleet) {
		s := f.open(0, "alice")
		s.requireServedBy(0, 0)
		s.requireServedBy(0, 1)
		s.requireServedBy(0, 2)
		before := f.replicas[0].engine.trips.Load() + f.replicas[1].engine.trips.Load()
		for range 100 {
			s.requireServedBy(0, 0)
			s.requireServedBy(0, 1)
		}
		require.Equal(t, before, f.replicas[0].engine.trips.Load()+f.replicas[1].engine.trips.Load(), "requests do not use the engine")
		require.Equal(t, http.StatusNoContent, s.do(s.request(2, http.MethodDelete, "")).status)
		for i := range 3 {
			require.Equal(t, http.StatusNotFound, s.call(i, "where", 0).status)
		}
	})
}

func TestResponsesToQuestionsReachTheOwner(t *testing.T) {
	run(t, 3, func(t *testing.T, f *fleet) {
		s := f.open(0, "alice")
		st := s.stream(s.request(1, http.MethodPost, s.callBody("ask", 0)))
		question := st.next().data
		require.Contains(t, question, "elicitation/create")
		a := s.post(2, `{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{}}}`)
		require.Equal(t, http.StatusAccepted, a.status, a.body)
		require.Contains(t, st.next().data, "replica 0: accept")
		st.rest()
	})
}

func TestAnotherReplicaTakesASessionOver(t *testing.T) {
	run(t, 3, func(t *testing.T, f *fleet) {
		s := f.open(0, "alice")
		require.Equal(t, http.StatusOK, s.post(1, `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"`+resource+`"}}`).status)
		f.replicas[0].kill()
		a := s.call(1, "where", 0)
		require.Equal(t, http.StatusServiceUnavailable, a.status, "the lease has not ended")
		require.Equal(t, "1", a.header.Get("Retry-After"))
		time.Sleep(lease + lease/4)
		s.requireServedBy(1, 1)
		s.requireServedBy(1, 2)

		st := s.get(2, "")
		require.NoError(t, f.replicas[1].server.ResourceUpdated(t.Context(), resource))
		require.Contains(t, st.next().data, resource, "the subscription is still there")
		st.close()

		f.replicas[1].kill()
		time.Sleep(lease + lease/4)
		s.requireServedBy(2, 2)
	})
}

func TestTakeoverNeedsFewChanges(t *testing.T) {
	run(t, 2, func(t *testing.T, f *fleet) {
		s := f.open(0, "")
		require.Equal(t, http.StatusOK, s.call(0, "log", 10).status)
		f.replicas[0].kill()
		time.Sleep(lease + lease/4)
		before := f.replicas[1].engine.puts.Load()
		s.requireServedBy(1, 1)
		require.LessOrEqual(t, f.replicas[1].engine.puts.Load()-before, int64(2))
	})
}

func TestStreamIsResumedAtAnotherReplica(t *testing.T) {
	run(t, 2, func(t *testing.T, f *fleet) {
		s := f.open(0, "")
		require.Equal(t, http.StatusOK, s.post(0, `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"`+resource+`"}}`).status)
		notify := func(i int) {
			require.NoError(t, f.replicas[i].server.ResourceUpdated(t.Context(), resource))
			synctest.Wait() // notifications that wait are sent once
		}
		st := s.get(0, "")
		notify(0)
		notify(0)
		require.Equal(t, "0-1", st.next().id)
		last := st.next().id
		require.Equal(t, "0-2", last)
		st.close()
		notify(0)
		notify(0)
		f.replicas[0].kill()
		time.Sleep(lease + lease/4)
		st = s.get(1, last)
		require.Equal(t, "0-3", st.next().id)
		require.Equal(t, "0-4", st.next().id)
		notify(1)
		require.Equal(t, "0-5", st.next().id)
		st.close()
	})
}

func TestLostCallFailsWithItsID(t *testing.T) {
	run(t, 2, func(t *testing.T, f *fleet) {
		s := f.open(0, "")
		st := s.stream(s.request(0, http.MethodPost, s.callBody("wait", 2)))
		last := st.next().id
		<-f.replicas[0].waiting
		f.replicas[0].kill()
		st.rest()
		time.Sleep(lease + lease/4)

		st = s.get(1, last)
		require.Equal(t, http.StatusOK, st.status)
		require.Contains(t, st.next().data, "notifications/message", "the second message was stored")
		lost := st.next().data
		require.Contains(t, lost, `"id":"call-1"`)
		require.Contains(t, lost, `"reason":"owner-lost"`)
		require.Empty(t, st.rest())
	})
}

func TestFinishedCallIsResumedAtAnotherReplica(t *testing.T) {
	run(t, 2, func(t *testing.T, f *fleet) {
		s := f.open(0, "")
		st := s.stream(s.request(0, http.MethodPost, s.callBody("log", 3)))
		last := st.next().id
		require.Len(t, st.rest(), 3)
		f.replicas[0].kill()
		time.Sleep(lease + lease/4)
		st = s.get(1, last)
		list := st.rest()
		require.Len(t, list, 3)
		require.Equal(t, 2, logData(t, list[0]))
		require.Contains(t, list[2], "logged")
	})
}

func TestForwardedCallFailsWhenItsOwnerIsKilled(t *testing.T) {
	run(t, 2, func(t *testing.T, f *fleet) {
		s := f.open(0, "")
		done := make(chan answer, 8)
		body := s.callBody("wait", 0)
		go func() { done <- s.post(1, body) }() // ends when the owner is killed
		<-f.replicas[0].waiting
		f.replicas[0].kill()
		a := <-done
		require.Equal(t, http.StatusBadGateway, a.status, a.body)
		require.Contains(t, a.body, `"id":"call-1"`)
		require.Contains(t, a.body, `"reason":"owner-lost"`)
	})
}

func TestSlowOwnerIsFenced(t *testing.T) {
	run(t, 2, func(t *testing.T, f *fleet) {
		s := f.open(0, "")
		require.Equal(t, http.StatusOK, s.post(0, `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"`+resource+`"}}`).status)
		old := s.get(0, "")
		require.NoError(t, f.replicas[0].server.ResourceUpdated(t.Context(), resource))
		require.Equal(t, "0-1", old.next().id)
		f.replicas[0].isolate(true)
		time.Sleep(lease + lease/4)
		s.requireServedBy(0, 0) // nothing needs to be stored
		s.requireServedBy(1, 1)

		f.replicas[0].isolate(false)
		require.NoError(t, f.replicas[0].server.ResourceUpdated(t.Context(), resource))
		require.Empty(t, old.rest(), "the previous owner sends no event, and ends its streams")
		require.NoError(t, f.replicas[1].server.ResourceUpdated(t.Context(), resource))
		st := s.get(0, "0-1")
		require.Equal(t, "0-2", st.next().id)
		st.close()
		s.requireServedBy(1, 0)
	})
}

func TestOwnerThatWasStoppedChecksItsSessions(t *testing.T) {
	run(t, 2, func(t *testing.T, f *fleet) {
		s := f.open(0, "")
		old := s.get(0, "")
		f.replicas[0].isolate(true)
		time.Sleep(lease + lease/4)
		s.requireServedBy(1, 1)
		f.replicas[0].isolate(false)
		time.Sleep(lease / 2)
		require.Empty(t, old.rest())
		s.requireServedBy(1, 0)
	})
}

// A process that was stopped has a renewal of its lease that began before. It must not serve its sessions until
// the renewal has failed.
func TestOwnerThatWasStoppedServesNothingDuringARenewal(t *testing.T) {
	run(t, 2, func(t *testing.T, f *fleet) {
		s := f.open(0, "")
		f.replicas[0].engine.hangs.Store(true)
		time.Sleep(lease + lease/4)
		s.requireServedBy(1, 1)
		time.Sleep(lease/4 - 1500*time.Millisecond) // a renewal begins each quarter of a lease: this one fails in half a second
		f.replicas[0].engine.hangs.Store(false)
		s.requireServedBy(1, 0)
	})
}

// A replica decides that an owner is gone, and is slow to write that. The owner returns meanwhile, and keeps its session.
func TestOwnerThatReturnsDuringATakeoverKeepsItsSession(t *testing.T) {
	run(t, 2, func(t *testing.T, f *fleet) {
		s := f.open(0, "")
		f.replicas[0].isolate(true)
		time.Sleep(lease + lease/4)
		returns := func() {
			f.replicas[0].isolate(false)
			time.Sleep(lease/4 + time.Second/10)
			s.requireServedBy(0, 0)
		}
		f.replicas[1].engine.onPut.Store(&returns)
		s.requireServedBy(0, 1)
		s.requireServedBy(0, 0)
	})
}

// A renewal that takes longer than the lease does not hold it: another replica may have replaced this one meanwhile.
func TestOwnerWithALateRenewalChecksItsSessions(t *testing.T) {
	run(t, 2, func(t *testing.T, f *fleet) {
		s := f.open(0, "")
		key := "m/" + s.tag()
		r, err := f.memory.Get(t.Context(), key)
		require.NoError(t, err)
		f.replicas[0].engine.down.Store(true)
		time.Sleep(lease - 2*time.Second)
		f.replicas[0].engine.down.Store(false)
		f.replicas[0].engine.hangs.Store(true)
		time.Sleep(lease / 4)
		_ = f.memory.Delete(t.Context(), key, r.Version) // as the engine does at the end of the lease
		s.requireServedBy(1, 1)
		f.replicas[0].engine.hangs.Store(false)
		time.Sleep(lease / 4)
		s.requireServedBy(1, 0)
	})
}

// A full engine can be read. An owner that was stopped cannot renew its lease there, but finds that it has lost its
// sessions.
func TestOwnerThatWasStoppedChecksItsSessionsInAFullEngine(t *testing.T) {
	run(t, 2, func(t *testing.T, f *fleet) {
		s := f.open(0, "")
		f.replicas[0].engine.full.Store(true)
		time.Sleep(lease + lease/4)
		s.requireServedBy(0, 0)
		s.requireServedBy(1, 1)
		s.requireServedBy(1, 0)
	})
}

// An owner that is cut off from the engine and from other replicas serves its sessions. It must leave what belongs
// to the next owner to that one.
func TestOwnerWithoutEngineLeavesQuestionsAndStreamsOfTheNextOwner(t *testing.T) {
	run(t, 2, func(t *testing.T, f *fleet) {
		s := f.open(0, "")
		f.replicas[0].isolate(true)
		time.Sleep(lease + lease/4)
		st := s.stream(s.request(1, http.MethodPost, s.callBody("ask", 0)))
		question := st.next()
		require.Contains(t, question.data, `"id":4294967297`)
		s.requireServedBy(0, 0)
		const response = `{"jsonrpc":"2.0","id":4294967297,"result":{"action":"accept","content":{}}}`
		require.Equal(t, http.StatusServiceUnavailable, s.post(0, response).status)
		for _, last := range []string{question.id, "0-1", ""} {
			resumed := s.get(0, last)
			require.Equal(t, http.StatusServiceUnavailable, resumed.status, last)
			resumed.close()
		}
		require.Equal(t, http.StatusAccepted, s.post(1, response).status)
		require.Contains(t, st.next().data, "replica 1: accept")
		st.rest()
	})
}

func TestTwoReplicasDoNotTakeOverTogether(t *testing.T) {
	run(t, 3, func(t *testing.T, f *fleet) {
		s := f.open(0, "")
		f.replicas[0].kill()
		time.Sleep(lease + lease/4)
		done := make(chan answer, 8)
		for i := range 8 {
			body := s.callBody("where", 0)
			go func() { done <- s.post(1+i%2, body) }() // ends with the response
		}
		first := ""
		for range 8 {
			a := <-done
			require.Equal(t, http.StatusOK, a.status, a.body)
			_, where, _ := cutResult(a.body)
			if first == "" {
				first = where
			}
			require.Equal(t, first, where)
		}
	})
}

func TestShutdownHandsSessionsOver(t *testing.T) {
	run(t, 2, func(t *testing.T, f *fleet) {
		idle, busy := f.open(0, ""), f.open(0, "")
		require.Equal(t, http.StatusOK, idle.post(0, `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"`+resource+`"}}`).status)
		st := idle.get(0, "")
		done := make(chan answer, 8)
		body := busy.callBody("wait", 0)
		go func() { done <- busy.post(1, body) }() // ends with the response
		<-f.replicas[0].waiting
		ended := make(chan error, 1)
		go func() { ended <- f.replicas[0].node.Shutdown(t.Context()) }() // ends with the call
		require.Empty(t, st.rest(), "the stream of an idle session ends")
		synctest.Wait()
		require.Equal(t, http.StatusServiceUnavailable, idle.call(0, "where", 0).status, "no other replica has the session yet")
		idle.requireServedBy(1, 1)
		idle.requireServedBy(1, 0)
		busy.requireServedBy(0, 1)
		close(f.replicas[0].proceed)
		require.Contains(t, (<-done).body, "waited")
		require.NoError(t, <-ended)
		busy.requireServedBy(1, 1)
		_, a := f.tryOpen(0, "")
		require.Equal(t, http.StatusServiceUnavailable, a.status)
		st = idle.get(1, "")
		require.NoError(t, f.replicas[1].server.ResourceUpdated(t.Context(), resource))
		require.Contains(t, st.next().data, resource)
		st.close()
	})
}

func TestShutdownHandsOverASessionThatIsBeingTakenOver(t *testing.T) {
	run(t, 3, func(t *testing.T, f *fleet) {
		s := f.open(0, "")
		f.replicas[0].kill()
		time.Sleep(lease + lease/4)
		ended := make(chan error, 1)
		shutdown := func() {
			go func() { ended <- f.replicas[1].node.Shutdown(t.Context()) }() // ends when the session has moved
			time.Sleep(time.Second)
		}
		f.replicas[1].engine.onPut.Store(&shutdown)
		s.call(1, "where", 0)
		require.NoError(t, <-ended)
		s.requireServedBy(2, 2)
		s.requireServedBy(2, 1)
	})
}

func TestEventsArriveOnceIfRepliesOfTheEngineAreLost(t *testing.T) {
	for _, each := range []int{2, 3, 5} {
		run(t, 2, func(t *testing.T, f *fleet) {
			f.replicas[0].engine.loseReplies(each)
			f.replicas[1].engine.loseReplies(each)
			s := f.open(0, "")
			st := s.stream(s.request(0, http.MethodPost, s.callBody("log", 50)))
			first := st.next().id
			require.Len(t, st.rest(), 50)
			f.replicas[0].kill()
			time.Sleep(lease + lease/4)
			list := s.get(1, first).rest()
			require.Len(t, list, 50)
			for i, data := range list[:49] {
				require.Equal(t, i+2, logData(t, data))
			}
		})
	}
}

func TestEventArrivesIfTheEngineDoesNotRespond(t *testing.T) {
	run(t, 1, func(t *testing.T, f *fleet) {
		st := f.open(0, "").subscribe(0)
		f.replicas[0].engine.silent.Store(true)
		require.NoError(t, f.replicas[0].server.ResourceUpdated(t.Context(), resource))
		require.Contains(t, st.next().data, "resources/updated")
		st.close()
	})
}

func TestEngineThatEndsEntriesDoesNotStopEvents(t *testing.T) {
	run(t, 2, func(t *testing.T, f *fleet) {
		s := f.open(0, "")
		require.Contains(t, s.call(0, "log", 1).body, "logged")
		time.Sleep(20 * time.Minute)
		s.requireServedBy(0, 1)
		time.Sleep(20 * time.Minute)
		s.requireServedBy(0, 1)
		time.Sleep(25 * time.Minute)
		a := s.call(0, "log", 1)
		require.Contains(t, a.body, "notifications/message")
	})
}

func TestEngineThatCannotBeReached(t *testing.T) {
	run(t, 2, func(t *testing.T, f *fleet) {
		s := f.open(0, "")
		s.requireServedBy(0, 1)
		for _, r := range f.replicas {
			r.engine.down.Store(true)
		}
		s.requireServedBy(0, 0)
		s.requireServedBy(0, 1)
		a := s.call(0, "log", 1)
		require.NotContains(t, a.body, "notifications/message", "the event cannot be stored")
		require.Contains(t, a.body, "logged")
		require.Contains(t, s.call(0, "ask", 0).body, "isError")
		_, a = f.tryOpen(0, "")
		require.Equal(t, http.StatusServiceUnavailable, a.status)
		require.Equal(t, "1", a.header.Get("Retry-After"))
		require.Contains(t, a.body, "init")
		time.Sleep(lease + 90*time.Second)
		a = s.call(0, "where", 0)
		require.Equal(t, http.StatusServiceUnavailable, a.status, "the grace time is over")
		require.Equal(t, "1", a.header.Get("Retry-After"))
		for _, r := range f.replicas {
			r.engine.down.Store(false)
		}
		time.Sleep(lease / 2)
		s.requireServedBy(0, 0)
		s.requireServedBy(0, 1)
		require.Contains(t, s.call(0, "log", 1).body, "notifications/message")
		f.open(1, "")
	})
}

func TestEngineThatIsFull(t *testing.T) {
	run(t, 2, func(t *testing.T, f *fleet) {
		s := f.open(0, "")
		f.replicas[0].engine.full.Store(true)
		require.NotContains(t, s.call(0, "log", 1).body, "notifications/message")
		a := s.post(0, `{"jsonrpc":"2.0","id":7,"method":"resources/subscribe","params":{"uri":"`+resource+`"}}`)
		require.Equal(t, http.StatusServiceUnavailable, a.status)
		require.Contains(t, a.body, `"id":7`)
		f.replicas[0].engine.full.Store(false)
		require.Contains(t, s.call(0, "log", 1).body, "notifications/message")
	})
}

func TestEndedSessionStaysEndedIfTheEngineCannotBeReached(t *testing.T) {
	run(t, 2, func(t *testing.T, f *fleet) {
		s := f.open(0, "")
		f.replicas[0].engine.down.Store(true)
		for range 2 {
			a := s.end(1)
			require.Equal(t, http.StatusServiceUnavailable, a.status, "its record remains in the engine")
			require.Equal(t, "1", a.header.Get("Retry-After"))
			require.Equal(t, http.StatusNotFound, s.call(0, "where", 0).status)
			require.Equal(t, http.StatusNotFound, s.call(1, "where", 0).status)
		}
		f.replicas[0].engine.down.Store(false)
		require.Equal(t, http.StatusNotFound, s.end(1).status)
		time.Sleep(lease)
		f.replicas[0].kill()
		time.Sleep(2 * lease)
		require.Equal(t, http.StatusNotFound, s.call(1, "where", 0).status)
	})
}

// end ends the session through a replica.
func (s *session) end(at int) answer { return s.do(s.request(at, http.MethodDelete, "")) }

func TestSessionThatEndedElsewhereIsNotFoundAtFormerOwners(t *testing.T) {
	run(t, 3, func(t *testing.T, f *fleet) {
		moved := f.open(0, "")
		moved.get(1, "").close()
		moved.requireServedBy(1, 0)
		lost := f.open(0, "")
		f.replicas[0].isolate(true)
		time.Sleep(lease + lease/4)
		lost.requireServedBy(1, 1)
		f.replicas[0].isolate(false)
		time.Sleep(lease / 2)
		for _, s := range []*session{moved, lost} {
			require.Equal(t, http.StatusNoContent, s.end(1).status)
			for i := range f.replicas {
				require.Equal(t, http.StatusNotFound, s.call(i, "where", 0).status)
				require.Equal(t, http.StatusNotFound, s.end(i).status)
			}
		}
	})
}

// An owner that does not reach the engine cannot know whether another replica has taken its session over.
func TestOwnerWithoutLeaseDoesNotEndASession(t *testing.T) {
	run(t, 2, func(t *testing.T, f *fleet) {
		s := f.open(0, "")
		f.replicas[0].isolate(true)
		time.Sleep(lease + lease/4)
		s.requireServedBy(0, 0)
		require.Equal(t, http.StatusServiceUnavailable, s.end(0).status)
		s.requireServedBy(1, 1)
		require.Equal(t, http.StatusServiceUnavailable, s.end(0).status)
		f.replicas[0].isolate(false)
		time.Sleep(lease / 4)
		require.Equal(t, http.StatusNoContent, s.end(0).status)
		for i := range f.replicas {
			require.Equal(t, http.StatusNotFound, s.call(i, "where", 0).status)
		}
	})
}

func TestSessionThatIsTakenOverWhileItEndsEndsAtItsNextOwner(t *testing.T) {
	run(t, 2, func(t *testing.T, f *fleet) {
		s := f.open(0, "")
		go s.call(0, "slow", 0) // ends after 5 s, also if it is cancelled
		synctest.Wait()
		ended := make(chan answer, 1)
		go func() { ended <- s.end(0) }() // ends after the call
		synctest.Wait()
		key := "m/" + s.tag()
		r, err := f.memory.Get(t.Context(), key)
		require.NoError(t, err)
		require.NoError(t, f.memory.Delete(t.Context(), key, r.Version)) // as if the owner had been stopped for a lease
		s.requireServedBy(1, 1)
		require.Equal(t, http.StatusNoContent, (<-ended).status)
		for i := range f.replicas {
			require.Equal(t, http.StatusNotFound, s.call(i, "where", 0).status)
		}
	})
}

func TestRequestDuringTheEndOfASessionDoesNotRestoreIt(t *testing.T) {
	run(t, 2, func(t *testing.T, f *fleet) {
		s := f.open(0, "")
		go s.call(0, "slow", 0) // ends after 5 s, also if it is cancelled
		synctest.Wait()
		ended := make(chan answer, 1)
		go func() { ended <- s.end(0) }()
		synctest.Wait()
		for i := range f.replicas {
			require.Equal(t, http.StatusServiceUnavailable, s.call(i, "where", 0).status)
		}
		require.Equal(t, http.StatusNoContent, (<-ended).status)
		for i := range f.replicas {
			require.Equal(t, http.StatusNotFound, s.call(i, "where", 0).status)
		}
	})
}

func TestRequestThatReadsTheRecordOfAnEndingSessionDoesNotRestoreIt(t *testing.T) {
	run(t, 2, func(t *testing.T, f *fleet) {
		s := f.open(0, "")
		go s.call(0, "slow", 0) // ends after 5 s, also if it is cancelled
		synctest.Wait()
		go s.end(0)
		time.Sleep(3 * time.Second)
		shared := f.replicas[0].engine
		pause := func() { time.Sleep(3 * time.Second) }
		shared.onGet.Store(&pause)
		shared.full.Store(true) // the session ends now, and its record is deleted later
		time.AfterFunc(2500*time.Millisecond, func() { shared.full.Store(false) })
		require.Equal(t, http.StatusServiceUnavailable, s.call(0, "where", 0).status)
		time.Sleep(lease / 4)
		for i := range f.replicas {
			require.Equal(t, http.StatusNotFound, s.call(i, "where", 0).status)
		}
	})
}

func TestEndedSessionStaysEndedIfItsRecordChanges(t *testing.T) {
	run(t, 2, func(t *testing.T, f *fleet) {
		s := f.open(0, "")
		change := func(key string) {
			r, err := f.memory.Get(t.Context(), key)
			require.NoError(t, err)
			_, err = f.memory.Put(t.Context(), key, r.Data, r.Version, time.Hour)
			require.NoError(t, err)
		}
		f.replicas[0].engine.onDelete.Store(&change)
		require.Equal(t, http.StatusNoContent, s.end(0).status)
		for i := range f.replicas {
			require.Equal(t, http.StatusNotFound, s.call(i, "where", 0).status)
		}
	})
}

func TestBatchChangesTheSharedState(t *testing.T) {
	run(t, 2, func(t *testing.T, f *fleet) {
		s := &session{fleet: f, version: "2025-03-26"}
		a := s.post(0, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
		s.id = a.header.Get("Mcp-Session-Id")
		require.Equal(t, http.StatusAccepted, s.post(0, `[{"jsonrpc":"2.0","method":"notifications/initialized"}]`).status)
		batch := `[{"jsonrpc":"2.0","id":2,"method":"ping"},{"jsonrpc":"2.0","id":3,"method":"resources/subscribe","params":{"uri":"` + resource + `"}}]`
		f.replicas[0].engine.full.Store(true)
		require.Equal(t, http.StatusServiceUnavailable, s.post(0, batch).status)
		f.replicas[0].engine.full.Store(false)
		require.Equal(t, http.StatusOK, s.post(0, batch).status)
		f.replicas[0].kill()
		time.Sleep(lease + lease/4)
		s.requireServedBy(1, 1)
		st := s.get(1, "")
		require.NoError(t, f.replicas[1].server.ResourceUpdated(t.Context(), resource))
		require.Contains(t, st.next().data, resource)
		st.close()
	})
}

func TestIdleSessionLeavesTheEngine(t *testing.T) {
	run(t, 2, func(t *testing.T, f *fleet) {
		s := f.open(0, "")
		require.Contains(t, s.call(0, "log", 1).body, "notifications/message")
		time.Sleep(35 * time.Minute)
		require.Equal(t, http.StatusNotFound, s.call(1, "where", 0).status)
		key := f.replicas[0].engine.sessionKeys()[0]
		_, err := f.memory.Get(t.Context(), key)
		require.ErrorIs(t, err, engine.ErrNone)
		list, err := f.memory.Read(t.Context(), key, 0)
		require.NoError(t, err)
		require.Empty(t, list)
	})
}

func TestSessionInUseStaysInTheEngine(t *testing.T) {
	run(t, 2, func(t *testing.T, f *fleet) {
		s := f.open(0, "")
		for range 20 {
			time.Sleep(25 * time.Minute)
			s.requireServedBy(0, 0)
		}
		f.replicas[0].kill()
		time.Sleep(lease + lease/4)
		s.requireServedBy(1, 1)
	})
}
