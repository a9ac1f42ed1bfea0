package scale_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/engine"
	"github.com/mcpwright/mcp/runtime/scale"
)

func TestForwardedRequestsPassTheGuardOfTheOwner(t *testing.T) {
	run(t, 2, func(t *testing.T, f *fleet) {
		s := f.open(0, "alice")
		s.requireServedBy(0, 1)
		f.replicas[0].guard.Store(func(*http.Request) bool { return false })
		require.Equal(t, http.StatusForbidden, s.call(1, "where", 0).status)
	})
}

func TestHeaderOfForwardedRequestsGrantsNothing(t *testing.T) {
	run(t, 2, func(t *testing.T, f *fleet) {
		s := f.open(0, "alice")
		hops := make(chan string, 1)
		f.replicas[0].guard.Store(func(r *http.Request) bool {
			hops <- r.Header.Get("Mcp-Hop")
			return true
		})
		s.requireServedBy(0, 1)
		hop := <-hops
		require.NotEmpty(t, hop)
		f.replicas[0].guard.Store(func(*http.Request) bool { return true })
		call := func(at int, user, hop string) int {
			r := s.request(at, http.MethodPost, s.callBody("where", 0))
			r.Header.Set("X-User", user)
			r.Header.Set("Mcp-Hop", hop)
			return s.do(r).status
		}
		require.Equal(t, http.StatusOK, call(0, "alice", hop))
		require.Equal(t, http.StatusNotFound, call(0, "mallory", hop))
		require.Equal(t, http.StatusOK, call(1, "alice", hop), "it is the header for another replica, and is ignored")
		require.Equal(t, http.StatusOK, call(1, "alice", "invented"))
	})
}

func TestForwardedRequestsAreNotForwardedAgain(t *testing.T) {
	run(t, 2, func(t *testing.T, f *fleet) {
		s := f.open(0, "alice")
		hops := make(chan string, 1)
		f.replicas[0].guard.Store(func(r *http.Request) bool {
			hops <- r.Header.Get("Mcp-Hop")
			return true
		})
		s.requireServedBy(0, 1)
		f.replicas[0].guard.Store(func(*http.Request) bool { return true })
		f.replicas[0].isolate(true)
		time.Sleep(lease + lease/4)
		s.requireServedBy(1, 1)
		f.replicas[0].isolate(false)
		time.Sleep(lease / 2)
		r := s.request(0, http.MethodPost, s.callBody("where", 0))
		r.Header.Set("Mcp-Hop", <-hops)
		require.Equal(t, http.StatusMisdirectedRequest, s.do(r).status)
	})
}

func TestOtherPrincipalsDoNotReachASession(t *testing.T) {
	run(t, 3, func(t *testing.T, f *fleet) {
		s := f.open(0, "alice")
		requireNotFound := func(replicas ...int) {
			t.Helper()
			for _, at := range replicas {
				for _, user := range []string{"mallory", ""} {
					other := *s
					other.user = user
					require.Equal(t, http.StatusNotFound, other.call(at, "where", 0).status)
					require.Equal(t, http.StatusNotFound, other.do(other.request(at, http.MethodGet, "")).status)
					require.Equal(t, http.StatusNotFound, other.do(other.request(at, http.MethodDelete, "")).status)
				}
			}
		}
		requireNotFound(0, 1, 2)
		f.replicas[0].kill()
		requireNotFound(1, 2)
		time.Sleep(lease + lease/4)
		version := func() uint64 {
			r, err := f.memory.Get(t.Context(), f.replicas[0].engine.sessionKeys()[0])
			require.NoError(t, err)
			return r.Version
		}
		before := version()
		requireNotFound(1, 2)
		require.Equal(t, before, version(), "another principal does not cause a takeover")
		s.requireServedBy(1, 1)
		requireNotFound(1, 2)
	})
}

func TestAnotherPrincipalCannotTriggerATakeover(t *testing.T) {
	run(t, 2, func(t *testing.T, f *fleet) {
		s := f.open(0, "alice")
		f.replicas[0].kill()
		time.Sleep(lease + lease/4)
		key := f.replicas[0].engine.sessionKeys()[0]
		before, err := f.memory.Get(t.Context(), key)
		require.NoError(t, err)
		puts := f.replicas[1].engine.puts.Load()
		for _, user := range []string{"mallory", ""} {
			other := *s
			other.user = user
			require.Equal(t, http.StatusNotFound, other.call(1, "where", 0).status)
			require.Equal(t, http.StatusNotFound, other.get(1, "").status)
			require.Equal(t, http.StatusNotFound, other.end(1).status)
		}
		after, err := f.memory.Get(t.Context(), key)
		require.NoError(t, err)
		require.Equal(t, before, after)
		require.Equal(t, puts, f.replicas[1].engine.puts.Load())
		s.requireServedBy(1, 1)
	})
}

// tag returns the name of the replica in the id of a session.
func (s *session) tag() string { return strings.Split(s.id, ".")[1] }

// The record of a replica is valid only under its own key: a writer of the engine cannot direct requests, which may
// contain credentials, to another replica by moving a record.
func TestAddressesComeOnlyFromTheRecordOfTheReplica(t *testing.T) {
	run(t, 3, func(t *testing.T, f *fleet) {
		s, other := f.open(0, "alice"), f.open(2, "alice")
		from, err := f.memory.Get(t.Context(), "m/"+other.tag())
		require.NoError(t, err)
		to, err := f.memory.Get(t.Context(), "m/"+s.tag())
		require.NoError(t, err)
		_, err = f.memory.Put(t.Context(), "m/"+s.tag(), from.Data, to.Version, time.Hour)
		require.NoError(t, err)
		f.replicas[2].guard.Store(func(*http.Request) bool {
			t.Error("the request was forwarded to another replica")
			return false
		})
		require.Equal(t, http.StatusServiceUnavailable, s.call(1, "where", 0).status)
	})
}

func TestAddressesNeverComeFromIDs(t *testing.T) {
	run(t, 2, func(t *testing.T, f *fleet) {
		s := f.open(0, "alice")
		before := f.replicas[0].engine.trips.Load()
		f.replicas[0].guard.Store(func(*http.Request) bool {
			t.Error("the request was forwarded")
			return false
		})
		_, signature, _ := strings.Cut(s.id, "."+s.tag()+".")
		for _, tag := range []string{"replica-0", "replica-0:80", "http://replica-0", "replica0", "AAAAAAAA"} {
			other := *s
			other.id = strings.Repeat("A", 25) + "." + tag + "." + signature
			require.Equal(t, http.StatusNotFound, other.call(1, "where", 0).status, tag)
		}
		require.Equal(t, before, f.replicas[0].engine.trips.Load())
	})
}

func TestOtherPrincipalsDoNotSeeThatASessionMoves(t *testing.T) {
	run(t, 2, func(t *testing.T, f *fleet) {
		s := f.open(0, "alice")
		require.NoError(t, f.replicas[0].node.Shutdown(t.Context()))
		other := *s
		other.user = "mallory"
		require.Equal(t, http.StatusNotFound, other.call(0, "where", 0).status)
		require.Equal(t, http.StatusNotFound, other.call(1, "where", 0).status)
		s.requireServedBy(1, 1)
	})
}

func TestInventedSessionIDsDoNotReachTheEngine(t *testing.T) {
	run(t, 2, func(t *testing.T, f *fleet) {
		s := f.open(0, "alice")
		random, rest, _ := strings.Cut(s.id, ".")
		tag, signature, _ := strings.Cut(rest, ".")
		before := f.replicas[1].engine.trips.Load()
		for _, id := range []string{
			"invented", "..", random, random + "." + tag, random + "." + tag + ".", random + ".AAAAAAAA." + signature,
			strings.Repeat("A", len(random)) + "." + tag + "." + signature, s.id + "A", s.id + ".A", "127.0.0.1:80." + tag + "." + signature,
		} {
			other := *s
			other.id = id
			require.Equal(t, http.StatusNotFound, other.call(1, "where", 0).status, id)
		}
		require.Equal(t, before, f.replicas[1].engine.trips.Load())
	})
}

func TestEngineContainsNothingReadable(t *testing.T) {
	run(t, 1, func(t *testing.T, f *fleet) {
		s := f.open(0, "alice")
		require.Equal(t, http.StatusOK, s.post(0, `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"`+resource+`"}}`).status)
		require.Contains(t, s.call(0, "log", 1).body, "notifications/message")
		random, _, _ := strings.Cut(s.id, ".")
		var all strings.Builder
		for key, list := range f.replicas[0].engine.written {
			all.WriteString(key)
			for _, data := range list {
				all.Write(data)
			}
		}
		for _, secret := range []string{random, "alice", resource, "notifications", "replica-0", "2025-11-25"} {
			require.NotContains(t, all.String(), secret)
		}
	})
}

func TestRecordsCannotBeMovedToOtherSessions(t *testing.T) {
	run(t, 2, func(t *testing.T, f *fleet) {
		f.open(0, "alice")
		alice := f.replicas[0].engine.sessionKeys()[0]
		s := f.open(0, "mallory")
		keys := f.replicas[0].engine.sessionKeys()
		mallory := keys[0]
		if mallory == alice {
			mallory = keys[1]
		}
		f.replicas[0].kill()
		time.Sleep(lease + lease/4)
		from, err := f.memory.Get(t.Context(), alice)
		require.NoError(t, err)
		to, err := f.memory.Get(t.Context(), mallory)
		require.NoError(t, err)
		_, err = f.memory.Put(t.Context(), mallory, from.Data, to.Version, time.Hour)
		require.NoError(t, err)
		for _, user := range []string{"alice", "mallory"} {
			s.user = user
			require.Equal(t, http.StatusServiceUnavailable, s.call(1, "where", 0).status)
		}
	})
}

func TestEventsCannotBeMovedOrReplayed(t *testing.T) {
	run(t, 2, func(t *testing.T, f *fleet) {
		other := f.open(0, "mallory")
		require.Contains(t, other.call(0, "log", 3).body, "notifications/message")
		foreign := f.replicas[0].engine.sessionKeys()[0]
		s := f.open(0, "alice")
		st := s.stream(s.request(0, http.MethodPost, s.callBody("log", 3)))
		first := st.next().id
		st.rest()
		f.replicas[0].kill()
		keys := f.replicas[0].engine.sessionKeys()
		own := keys[0]
		if own == foreign {
			own = keys[1]
		}
		for _, from := range []string{foreign, own} {
			list, err := f.memory.Read(t.Context(), from, 0)
			require.NoError(t, err)
			for _, entry := range list {
				all, err := f.memory.Read(t.Context(), own, 0)
				require.NoError(t, err)
				_, err = f.memory.Append(t.Context(), own, entry.Data, all[len(all)-1].Number, time.Hour)
				require.NoError(t, err)
			}
		}
		time.Sleep(lease + lease/4)
		list := s.get(1, first).rest()
		require.Len(t, list, 3)
		require.Equal(t, 2, logData(t, list[0]))
		require.Equal(t, 3, logData(t, list[1]))
		require.Contains(t, list[2], "logged")
	})
}

// A writer of the engine replaces a log by the fence of a later epoch and the events of an earlier one.
func TestEventsAreBoundToTheirEpoch(t *testing.T) {
	run(t, 3, func(t *testing.T, f *fleet) {
		s := f.open(0, "alice")
		st := s.stream(s.request(0, http.MethodPost, s.callBody("log", 2)))
		first := st.next().id
		st.rest()
		key := f.replicas[0].engine.sessionKeys()[0]
		early, err := f.memory.Read(t.Context(), key, 0)
		require.NoError(t, err)
		f.replicas[0].kill()
		time.Sleep(lease + lease/4)
		s.requireServedBy(1, 1)
		f.replicas[1].kill()
		list, err := f.memory.Read(t.Context(), key, 0)
		require.NoError(t, err)
		require.NoError(t, f.memory.Drop(t.Context(), key))
		last, err := f.memory.Append(t.Context(), key, list[len(list)-1].Data, 0, time.Hour)
		require.NoError(t, err)
		for _, entry := range early {
			last, err = f.memory.Append(t.Context(), key, entry.Data, last, time.Hour)
			require.NoError(t, err)
		}
		time.Sleep(lease + lease/4)
		s.requireServedBy(2, 2)
		for _, data := range s.get(2, first).rest() {
			require.NotContains(t, data, "notifications/message")
		}
	})
}

func TestReplicasWithOtherKeysShareNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 2, func(i int, o *scale.Options) {
			if i == 1 {
				o.Keys = [][]byte{[]byte("another key of thirty-two bytes!")}
			}
		})
		defer f.end()
		s := f.open(0, "alice")
		require.Equal(t, http.StatusNotFound, s.call(1, "where", 0).status)
	})
}

func TestKeysAreReplacedWhileReplicasRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before, after := keys[0], []byte("the new key of thirty-two bytes!")
		steps := [][][]byte{{before}, {before, after}, {after, before}, {after}}
		f := newFleet(t, 4, func(i int, o *scale.Options) { o.Keys = steps[i] })
		defer f.end()
		time.Sleep(lease + time.Second)
		for i := range 3 { // two steps at a time are in use
			for _, pair := range [][2]int{{i, i + 1}, {i + 1, i}} {
				s := f.open(pair[0], "")
				s.requireServedBy(pair[0], pair[1])
			}
		}
		s := f.open(1, "")
		require.Contains(t, s.call(1, "log", 1).body, "notifications/message")
		f.replicas[1].kill()
		time.Sleep(lease + lease/4)
		s.requireServedBy(2, 2)
	})
}

func TestInvalidOptions(t *testing.T) {
	for text, o := range map[string]scale.Options{
		`address "" is not`:                     {Keys: keys},
		`address "10.0.0.7:80" is not`:          {Address: "10.0.0.7:80", Keys: keys},
		`address "http://a/path" is not`:        {Address: "http://a/path", Keys: keys},
		"no keys":                               {Address: "http://a"},
		"key 0 has 5 bytes, want at least 32":   {Address: "http://a", Keys: [][]byte{[]byte("short")}},
		"lease of 1ms is shorter than a second": {Address: "http://a", Keys: keys, Lease: time.Millisecond},
	} {
		_, err := scale.NewNode(new(engine.Memory), new(engine.Memory), &o)
		require.ErrorContains(t, err, text)
	}
}

func TestEngineMissingAtStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := &faultyEngine{Memory: new(engine.Memory)}
		broken.down.Store(true)
		_, err := scale.NewNode(broken, broken, &scale.Options{Address: "http://a", Keys: keys})
		require.ErrorIs(t, err, errDown)
		require.ErrorContains(t, err, "the engine refused the record of this replica")
	})
}
