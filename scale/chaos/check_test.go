package chaos

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// rightHistory returns a history that breaks no promise. It has a call with two events, a call whose replica was
// lost, a call with a question, events of the standalone stream before and after a takeover, and a session that its
// client ends.
func rightHistory() []observation {
	const a, b, session = "client-1.1", "client-5.1", "session 1"
	list := []observation{
		{Kind: began, Client: a, Call: "call 1"},
		{Kind: started, Call: "call 1", Session: session, Replica: "replica-0.1"},
		{Kind: sending, Stream: "call 1", Number: 1},
		{Kind: stored, Stream: "call 1", Number: 1},
		{Kind: sending, Stream: "call 1", Number: 2},
		{Kind: stored, Stream: "call 1", Number: 2},
		{Kind: arrived, Client: a, Stream: "call 1", Number: 1},
		{Kind: arrived, Client: a, Stream: "call 1", Number: 2},
		{Kind: ended, Client: a, Call: "call 1", Result: resultOK, Text: "call 1"},

		{Kind: began, Client: a, Call: "call 2"},
		{Kind: started, Call: "call 2", Session: session, Replica: "replica-0.1"},
		{Kind: sending, Stream: a, Number: 1},
		{Kind: stored, Stream: a, Number: 1},
		{Kind: sending, Stream: a, Number: 2},
		{Kind: arrived, Client: a, Stream: a, Number: 1},
		{Kind: failed, Replica: "replica-0", Text: "kill"},
		{Kind: ended, Client: a, Call: "call 2", Result: resultOwnerLost, Text: "gone"},
		{Kind: healed, Replica: "replica-0", Text: "kill"},

		{Kind: began, Client: a, Call: "call 3"},
		{Kind: ended, Client: a, Call: "call 3", Result: resultRefused, Text: "503"},
		{Kind: stored, Stream: a, Number: 1, Replica: "replica-1.1"}, // by the next owner, when it takes over
		{Kind: stored, Stream: a, Number: 2, Replica: "replica-1.1"}, // the first owner has dropped it

		{Kind: began, Client: a, Call: "call 4"},
		{Kind: asked, Call: "call 4", Nonce: "nonce 4"},
		{Kind: replied, Client: a, Nonce: "nonce 4"},
		{Kind: responded, Call: "call 4", Nonce: "nonce 4", Text: "nonce 4"},
		{Kind: started, Call: "call 4", Session: session, Epoch: 1, Replica: "replica-1.1"},
		{Kind: sending, Stream: a, Number: 3},
		{Kind: stored, Stream: a, Number: 3},
		{Kind: ended, Client: a, Call: "call 4", Result: resultOK, Text: "call 4"},
		{Kind: arrived, Client: a, Stream: a, Number: 3},
		{Kind: intruded, Client: a, Session: session, Status: http.StatusNotFound},
		{Kind: rested, Client: a, Result: resultOK},

		{Kind: began, Client: b, Call: "call 5"},
		{Kind: started, Call: "call 5", Session: "session 5", Replica: "replica-1.1"},
		{Kind: sending, Stream: b, Number: 1},
		{Kind: stored, Stream: b, Number: 1},
		{Kind: ended, Client: b, Call: "call 5", Result: resultOK, Text: "call 5"},
		{Kind: closed, Client: b, Session: "session 5"}, // before the event has arrived
		{Kind: probed, Client: b, Session: "session 5", Status: http.StatusNotFound},
		{Kind: left, Text: "sessions", Replica: "replica-1"},
	}
	for i := range list {
		list[i].At = int64(i + 1)
	}
	return list
}

func TestRightHistory(t *testing.T) { require.Empty(t, check(rightHistory())) }

// requireViolation changes the right history, and requires that it breaks a promise.
func requireViolation(t *testing.T, p property, text string, change func([]observation) []observation) {
	t.Helper()
	var texts []string
	for _, v := range check(change(rightHistory())) {
		if v.property == p {
			texts = append(texts, v.text)
		}
	}
	require.Contains(t, texts, text)
}

// find returns the first observation of a kind with a call, a stream or a nonce.
func find(t *testing.T, list []observation, k kind, about string) *observation {
	t.Helper()
	for i := range list {
		if o := &list[i]; o.Kind == k && (o.Call == about || o.Stream == about || o.Nonce == about) {
			return o
		}
	}
	require.Fail(t, "no such observation")
	return nil
}

// without removes the observations for which drop returns true.
func without(list []observation, drop func(*observation) bool) (rest []observation) {
	for i := range list {
		if !drop(&list[i]) {
			rest = append(rest, list[i])
		}
	}
	return rest
}

// add adds an observation at the end.
func add(o observation) func([]observation) []observation {
	return func(list []observation) []observation {
		o.At = list[len(list)-1].At + 1
		return append(list, o)
	}
}

// set changes the first observation of a kind.
func set(t *testing.T, k kind, about string, f func(*observation)) func([]observation) []observation {
	return func(list []observation) []observation {
		f(find(t, list, k, about))
		return list
	}
}

func TestCallWithoutAnEnd(t *testing.T) {
	requireViolation(t, callsEndOnce, `call "call 1" of client-1.1 has 0 ends`, func(list []observation) []observation {
		return without(list, func(o *observation) bool { return o.Kind == ended && o.Call == "call 1" })
	})
}

func TestCallWithTwoEnds(t *testing.T) {
	requireViolation(t, callsEndOnce, `call "call 1" of client-1.1 has 2 ends`, add(observation{Kind: ended, Call: "call 1", Result: resultOK, Text: "call 1"}))
}

func TestCallWithTwoEffects(t *testing.T) {
	requireViolation(t, effectsOnce, `call "call 2" was executed 2 times, at last by replica-1.1`,
		add(observation{Kind: started, Call: "call 2", Session: "session 1", Epoch: 1, Replica: "replica-1.1"}))
}

// A replica drops an event that its engine stores late, loses the session, and takes it over again.
func TestDroppedEventOfALaterOwner(t *testing.T) {
	const second = int64(time.Second)
	list := []observation{
		{At: 1, Kind: began, Client: "client-1.1", Call: "call 1"},
		{At: 2, Kind: started, Call: "call 1", Session: "session 1", Replica: "replica-0.1"},
		{At: 1 * second, Kind: sending, Stream: "call 1", Number: 1, Replica: "replica-0.1"},
		{At: 2 * second, Kind: stored, Stream: "call 1", Number: 1, Replica: "replica-0.1"},
		{At: 90 * second, Kind: ended, Client: "client-1.1", Call: "call 1", Result: resultOK, Text: "call 1"},
	}
	require.Len(t, check(list), 1)
	list[3].At = 60 * second
	require.Empty(t, check(list))
	list[3].At = 2 * second
	next := observation{At: second, Kind: sending, Stream: "call 1", Number: 2, Replica: "replica-0.1"}
	require.Empty(t, check(append(list[:3:3], append([]observation{next}, list[3:]...)...)))
}

func TestResultWithoutAnEffect(t *testing.T) {
	requireViolation(t, effectsOnce, `call "call 1" has a result, but was not executed`, func(list []observation) []observation {
		return without(list, func(o *observation) bool { return o.Kind == started && o.Call == "call 1" })
	})
}

func TestEffectOfARefusedCall(t *testing.T) {
	requireViolation(t, effectsOnce, `call "call 3" was refused, but was executed by replica-1.1`,
		add(observation{Kind: started, Call: "call 3", Session: "session 1", Epoch: 1, Replica: "replica-1.1"}))
}

func TestStoredEventThatDoesNotArrive(t *testing.T) {
	for _, stream := range []string{"call 1", "client-1.1"} {
		requireViolation(t, eventsArriveOnce, `event 1 of "`+stream+`" did not arrive`, func(list []observation) []observation {
			return without(list, func(o *observation) bool { return o.Kind == arrived && o.Stream == stream && o.Number == 1 })
		})
	}
}

func TestLastEventThatDoesNotArrive(t *testing.T) {
	requireViolation(t, eventsArriveOnce, `event 3 of "client-1.1" did not arrive`, func(list []observation) []observation {
		return without(list, func(o *observation) bool { return o.Kind == arrived && o.Number == 3 })
	})
}

func TestReportedGap(t *testing.T) {
	list := without(rightHistory(), func(o *observation) bool { return o.Kind == arrived && o.Number == 3 })
	require.Empty(t, check(add(observation{Kind: gap, Client: "client-1.1"})(list)))
}

func TestEventOfABrokenCallMayBeMissing(t *testing.T) {
	list := without(rightHistory(), func(o *observation) bool { return o.Kind == arrived && o.Stream == "call 1" && o.Number == 2 })
	o := find(t, list, ended, "call 1")
	o.Result, o.Text = resultUnknown, "broken"
	require.Empty(t, check(list))
}

func TestEventThatArrivesTwice(t *testing.T) {
	requireViolation(t, eventsArriveOnce, `event 1 of "client-1.1" arrived twice`, add(observation{Kind: arrived, Client: "client-1.1", Stream: "client-1.1", Number: 1}))
}

func TestEventsInTheWrongOrder(t *testing.T) {
	for _, stream := range []string{"call 1", "client-1.1"} {
		last := map[string]int{"call 1": 2, "client-1.1": 3}[stream]
		requireViolation(t, eventsInOrder, fmt.Sprintf(`event %d of %q arrived too early`, last, stream), func(list []observation) []observation {
			for i := range list {
				if o := &list[i]; o.Kind == arrived && o.Stream == stream {
					o.Number = last + 1 - o.Number
				}
			}
			return list
		})
	}
}

func TestEventOfAnotherClient(t *testing.T) {
	requireViolation(t, eventsOfOwnStream, `event 1 of "call 1" reached client-2.1`, add(observation{Kind: arrived, Client: "client-2.1", Stream: "call 1", Number: 1}))
	requireViolation(t, eventsOfOwnStream, `event 1 of "client-1.1" reached client-2.1`, add(observation{Kind: arrived, Client: "client-2.1", Stream: "client-1.1", Number: 1}))
}

func TestEventThatWasNeverSent(t *testing.T) {
	requireViolation(t, eventsOfOwnStream, `event 9 of "client-1.1" was never sent`, add(observation{Kind: arrived, Client: "client-1.1", Stream: "client-1.1", Number: 9}))
}

func TestTwoOwnersInAnEpoch(t *testing.T) {
	requireViolation(t, oneOwner, `session "session 1", epoch 0: replica-0.1 and replica-2.1`, set(t, started, "call 2", func(o *observation) { o.Replica = "replica-2.1" }))
}

func TestEpochThatFalls(t *testing.T) {
	fall := func(list []observation) []observation {
		find(t, list, started, "call 1").Epoch = 1
		find(t, list, started, "call 4").Epoch = 1
		return list
	}
	const text = `call "call 2" was executed in epoch 0 of session "session 1", after epoch 1`
	requireViolation(t, epochsRise, text, fall)
	list := fall(rightHistory())
	list = append([]observation{{Kind: failed, Replica: "replica-0", Text: "cut from the engine", Alone: true}}, list...)
	for _, v := range check(list) {
		require.NotEqual(t, epochsRise, v.property, "the replica cannot know that there is another owner")
	}
}

func TestEpochThatFallsAfterAPause(t *testing.T) {
	history := func() []observation {
		list := []observation{
			{Kind: failed, Replica: "replica-0", Text: paused},
			{Kind: failed, Text: "engine killed"},
			{Kind: healed, Text: "engine killed"},
			{Kind: began, Client: "client-1.1", Call: "call 1"},
			{Kind: started, Call: "call 1", Session: "session 1", Epoch: 1, Replica: "replica-1.1"},
			{Kind: ended, Call: "call 1", Client: "client-1.1", Result: resultOK, Text: "call 1"},
			{Kind: healed, Replica: "replica-0", Text: paused},
			{Kind: began, Client: "client-1.1", Call: "call 2"},
			{Kind: started, Call: "call 2", Session: "session 1", Replica: "replica-0.1"},
			{Kind: ended, Call: "call 2", Client: "client-1.1", Result: resultUnknown},
		}
		for i := range list {
			list[i].At = int64(i + 1)
		}
		return list
	}
	require.Empty(t, check(history()), "the replica does not reach the engine at once")
	list := history()
	found := check(append(list[:1:1], list[3:]...))
	require.Len(t, found, 1)
	require.Equal(t, epochsRise, found[0].property, "nothing has broken the connection to the engine")
	list[8].At, list[9].At = int64(time.Minute), int64(time.Minute)+1
	found = check(list)
	require.Len(t, found, 1)
	require.Equal(t, epochsRise, found[0].property, "the replica had the time to reach the engine")
}

// A replica that was cut off from the engine has not reached it again when the engine stops.
func TestEpochThatFallsAfterTwoFaults(t *testing.T) {
	const second = int64(time.Second)
	list := []observation{
		{At: 1 * second, Kind: failed, Replica: "replica-0", Text: "cut from the engine", Alone: true},
		{At: 2 * second, Kind: began, Client: "client-1.1", Call: "call 1"},
		{At: 3 * second, Kind: started, Call: "call 1", Session: "session 1", Epoch: 1, Replica: "replica-1.1"},
		{At: 4 * second, Kind: ended, Call: "call 1", Client: "client-1.1", Result: resultOK, Text: "call 1"},
		{At: 5 * second, Kind: healed, Replica: "replica-0", Text: "cut from the engine", Alone: true},
		{At: 6 * second, Kind: failed, Text: "engine stopped"},
		{At: 20 * second, Kind: healed, Text: "engine stopped"},
		{At: 21 * second, Kind: began, Client: "client-1.1", Call: "call 2"},
		{At: 22 * second, Kind: started, Call: "call 2", Session: "session 1", Replica: "replica-0.1"},
		{At: 30 * second, Kind: ended, Call: "call 2", Client: "client-1.1", Result: resultUnknown},
	}
	require.Empty(t, check(list))
	list[5].At = 9 * second
	found := check(list)
	require.Len(t, found, 1)
	require.Equal(t, epochsRise, found[0].property, "the replica had the time to reach the engine before it stopped")
}

func TestConnectionThatLosesItsSession(t *testing.T) {
	requireViolation(t, sessionsStay, `client-1.1 had "session 1" and has "session 2"`, set(t, started, "call 4", func(o *observation) { o.Session = "session 2" }))
}

func TestQuestionThatReachesAnotherClient(t *testing.T) {
	requireViolation(t, ownQuestions, `question "nonce 4" of client-1.1 reached client-2.1`, set(t, replied, "nonce 4", func(o *observation) { o.Client = "client-2.1" }))
}

func TestResponseToAnotherQuestion(t *testing.T) {
	requireViolation(t, ownQuestions, `question "nonce 4" of call "call 4" got the response "nonce 1" in call "call 4"`,
		set(t, responded, "nonce 4", func(o *observation) { o.Text = "nonce 1" }))
	requireViolation(t, ownQuestions, `question "nonce 4" of call "call 4" got the response "nonce 4" in call "call 1"`,
		set(t, responded, "nonce 4", func(o *observation) { o.Call = "call 1" }))
	requireViolation(t, ownQuestions, `question "nonce 9" was never asked`, add(observation{Kind: replied, Client: "client-1.1", Nonce: "nonce 9"}))
}

func TestResultOfAnotherCall(t *testing.T) {
	requireViolation(t, ownQuestions, `call "call 1" has the result of call "call 4"`, set(t, ended, "call 1", func(o *observation) { o.Text = "call 4" }))
}

func TestSessionThatAnotherPrincipalFinds(t *testing.T) {
	for _, status := range []int{http.StatusOK, http.StatusAccepted, http.StatusBadRequest, http.StatusConflict, http.StatusMisdirectedRequest} {
		list := add(observation{Kind: intruded, Session: "session 1", Status: status})(rightHistory())
		require.Len(t, check(list), 1)
		require.Equal(t, ownSessions, check(list)[0].property)
	}
}

func TestCallOfAnotherPrincipal(t *testing.T) {
	requireViolation(t, ownSessions, `call "intrusion" was executed by replica-1.1`,
		add(observation{Kind: started, Call: "intrusion", Session: "session 2", Replica: "replica-1.1"}))
}

func TestSessionThatReturns(t *testing.T) {
	requireViolation(t, endedSessions, `session "session 5": status 200`, add(observation{Kind: probed, Session: "session 5", Status: http.StatusOK}))
	requireViolation(t, endedSessions, `session "session 5": call "probe of session 5" was executed`,
		add(observation{Kind: started, Call: "probe of session 5", Session: "session 5", Epoch: 2, Replica: "replica-1.1"}))
}

func TestSessionThatReturnsAtAReplicaWithoutTheEngine(t *testing.T) {
	list := rightHistory()
	for _, o := range []observation{
		{Kind: failed, Replica: "replica-1", Text: "cut from the engine", Alone: true},
		{Kind: started, Call: probeCall("session 5"), Session: "session 5", Replica: "replica-1.1"},
		{Kind: probed, Session: "session 5", Status: http.StatusOK},
	} {
		list = add(o)(list)
	}
	require.Empty(t, check(list))
	list[len(list)-3].Replica = "replica-2"
	require.Len(t, check(list), 2)
}

func TestClientThatDoesNotRecover(t *testing.T) {
	requireViolation(t, allRecover, `client-2.1: timeout: no response`, add(observation{Kind: rested, Client: "client-2.1", Result: resultTimeout, Text: "no response"}))
}

func TestThingsThatAreLeft(t *testing.T) {
	requireViolation(t, nothingLeft, `3 goroutines replica-1`, add(observation{Kind: left, Number: 3, Text: "goroutines", Replica: "replica-1"}))
}

func TestReadHistory(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		return file
	}
	first := write("first", `{"at":1,"kind":"began","call":"a"}`+"\n"+`{"at":4,"kind":"ended","call":"a"}`+"\n")
	second := write("second", `{"at":3,"kind":"started","call":"a"}`+"\n")
	list, err := readHistory(first, second)
	require.NoError(t, err)
	require.Equal(t, []observation{{At: 1, Kind: began, Call: "a"}, {At: 3, Kind: started, Call: "a"}, {At: 4, Kind: ended, Call: "a"}}, list)

	_, err = readHistory(write("third", "{"))
	require.ErrorContains(t, err, "third")
	_, err = readHistory(filepath.Join(dir, "missing"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// watched returns the history of a subscriber that is notified of two changes.
func watched() []observation {
	const second = int64(time.Second)
	return []observation{
		{At: second, Kind: noticed, Client: "client-9.1"}, // the subscription has begun
		{At: 2 * second, Kind: touching, Call: "call 1"},
		{At: 3 * second, Kind: noticed, Client: "client-9.1"},
		{At: 4 * second, Kind: touched, Call: "call 1"},
		{At: 5 * second, Kind: touching, Call: "call 2"},
		{At: 6 * second, Kind: touched, Call: "call 2"},
		{At: 7 * second, Kind: noticed, Client: "client-9.1"},
		{At: 99 * second, Kind: left, Text: "sessions"},
	}
}

func TestChangeThatDoesNotArrive(t *testing.T) {
	require.Empty(t, check(watched()))
	list := watched()
	list[6].At, list[6].Kind = 98*int64(time.Second), healed
	require.Equal(t, []violation{{changesArrive, `client-9.1 was not notified of the change by call "call 2"`}}, check(list))
	for name, change := range map[string]func(list []observation){
		"the change was not published": func(list []observation) { list[5].Call = "another call" },
		"the subscription has ended": func(list []observation) {
			list[6] = observation{At: list[6].At, Kind: noticed, Client: "client-9.1", Text: "broken"}
		},
		"the connection has ended": func(list []observation) { list[6] = observation{At: list[6].At, Kind: closed, Client: "client-9.1"} },
		"the subscription began later": func(list []observation) {
			list[0].Kind, list[2].Kind = healed, healed
			list[6].At, list[6].Kind = 98*int64(time.Second), noticed
		},
		"the history ends before":         func(list []observation) { list[6], list[7].At = list[7], 20*int64(time.Second) },
		"the subscription ended long ago": func(list []observation) { list[3] = observation{At: list[3].At, Kind: closed, Client: "client-9.1"} },
	} {
		list := watched()
		list[6].Kind = healed
		change(list)
		require.Empty(t, check(list), name)
	}
}
