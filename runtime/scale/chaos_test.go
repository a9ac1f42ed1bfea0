package scale_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// outcome has the messages that a client has received for a call of the tool "effect".
type outcome struct {
	call     string   // the id of the call
	messages []string // data of all messages, in the order of their arrival
	ended    bool     // a response has arrived, or the server has refused the call
	result   bool     // the response is the result of the tool
	unknown  bool     // the connection broke, and the stream could not be resumed
	gap      bool     // the server has reported that events are missing
	lost     bool     // the server does not have the session
	refused  bool     // the server has not handled the call
}

// history has the effects and the outcomes of a run.
type history struct {
	mu       sync.Mutex
	effects  map[string]int // how often the tool has run, by call
	outcomes []outcome
}

func (h *history) effect(call string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.effects == nil {
		h.effects = make(map[string]int)
	}
	h.effects[call]++
}

func (h *history) add(o outcome) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.outcomes = append(h.outcomes, o)
}

// check returns an error if the history breaks a promise. Messages may be missing only if the engine had
// faults.
func (h *history) check(engineFaults bool) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, o := range h.outcomes {
		n := h.effects[o.call]
		switch {
		case n > 1:
			return fmt.Errorf("%s: %d effects", o.call, n)
		case o.refused && n != 0:
			return fmt.Errorf("%s: an effect of a call that was refused", o.call)
		case o.result && n != 1:
			return fmt.Errorf("%s: a result without an effect", o.call)
		case !o.ended && !o.unknown:
			return fmt.Errorf("%s: no end", o.call)
		case o.lost:
			return fmt.Errorf("%s: the session is lost", o.call)
		case o.gap && !engineFaults:
			return fmt.Errorf("%s: a gap", o.call)
		}
		if err := o.checkMessages(engineFaults); err != nil {
			return fmt.Errorf("%s: %w: %q", o.call, err, o.messages)
		}
	}
	return nil
}

const messagesPerCall = 3

// checkMessages checks that each message arrived once and in order.
func (o *outcome) checkMessages(engineFaults bool) error {
	last := 0
	for _, data := range o.messages {
		var n int
		call, number, _ := strings.Cut(data, "/")
		if _, err := fmt.Sscan(number, &n); err != nil || call != o.call {
			return errors.New("message of another call")
		}
		if n <= last {
			return errors.New("message out of order, or twice")
		}
		if n != last+1 && !engineFaults {
			return errors.New("message missing")
		}
		last = n
	}
	if o.result && last != messagesPerCall && !engineFaults {
		return errors.New("message missing")
	}
	return nil
}

func TestCheckerFindsWrongHistories(t *testing.T) {
	right := func() *history {
		return &history{effects: map[string]int{"a": 1, "c": 1}, outcomes: []outcome{
			{call: "a", messages: []string{"a/1", "a/2", "a/3"}, ended: true, result: true},
			{call: "b", ended: true, refused: true},
			{call: "c", messages: []string{"c/1"}, ended: true},
			{call: "d", unknown: true},
		}}
	}
	require.NoError(t, right().check(false))
	for name, change := range map[string]func(*history){
		"2 effects":                         func(h *history) { h.effects["a"] = 2 },
		"an effect of a call that was":      func(h *history) { h.effects["b"] = 1 },
		"a result without an effect":        func(h *history) { delete(h.effects, "a") },
		"no end":                            func(h *history) { h.outcomes[2].ended = false },
		"a gap":                             func(h *history) { h.outcomes[2].gap = true },
		"the session is lost":               func(h *history) { h.outcomes[2].lost = true },
		"message of another call":           func(h *history) { h.outcomes[2].messages[0] = "a/1" },
		"message out of order, or twice":    func(h *history) { h.outcomes[0].messages[1] = "a/1" },
		`message missing: ["a/1" "a/3"]`:    func(h *history) { h.outcomes[0].messages = []string{"a/1", "a/3"} },
		`message missing: ["a/1" "a/2"]`:    func(h *history) { h.outcomes[0].messages = []string{"a/1", "a/2"} },
		`c: message missing: ["c/2"]`:       func(h *history) { h.outcomes[2].messages = []string{"c/2"} },
		`out of order, or twice: ["a/2" "a`: func(h *history) { h.outcomes[0].messages = []string{"a/2", "a/1"} },
	} {
		h := right()
		change(h)
		require.ErrorContains(t, h.check(strings.HasPrefix(name, "out of")), name)
	}
}

// storm is a run with random faults.
type storm struct {
	*fleet
	random  *rand.Rand
	history history

	mu   sync.Mutex
	live []int // indexes of replicas that clients reach
}

// choose returns a random replica.
func (s *storm) choose() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live[s.random.IntN(len(s.live))]
}

func (s *storm) remove(i int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, at := range s.live {
		if at == i {
			s.live = append(s.live[:k:k], s.live[k+1:]...)
		}
	}
}

func (s *storm) replace() {
	s.add(nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live = append(s.live, len(s.replicas)-1)
}

// fault makes a replica fail, and ends the fault.
func (s *storm) fault(kind string) {
	i := s.choose()
	r := s.replica(i)
	switch kind {
	case "kill":
		s.remove(i)
		r.kill()
		s.replace()
	case "shutdown":
		ended := make(chan struct{})
		go func() { // ends when the sessions have moved
			defer close(ended)
			_ = r.node.Shutdown(s.t.Context())
		}()
		time.Sleep(time.Second)
		s.remove(i)
		<-ended
		r.kill()
		s.replace()
	case "isolate":
		r.isolate(true)
		time.Sleep(2 * lease)
		r.isolate(false)
	case "cut":
		r.cut.Store(true)
		time.Sleep(lease / 2)
		r.cut.Store(false)
	case "lose":
		r.engine.loseReplies(3)
		time.Sleep(lease)
		r.engine.loseReplies(0)
	case "outage":
		for _, r := range s.replicas {
			r.engine.full.Store(true)
		}
		time.Sleep(4 * time.Second)
		for _, r := range s.replicas {
			r.engine.full.Store(false)
		}
	}
}

// try sends a request to random replicas until one has handled it.
func (s *session) try(st *storm, request func(at int) *http.Request) (*http.Response, error) {
	for range 200 {
		res, err := s.client.Do(request(st.choose()))
		op, ok := errors.AsType[*net.OpError](err)
		switch {
		case ok && op.Op == "dial":
		case err == nil && res.StatusCode == http.StatusServiceUnavailable:
			res.Body.Close()
			time.Sleep(time.Second)
		default:
			return res, err
		}
	}
	return nil, errors.New("refused too often")
}

// effect calls the tool "effect" and resumes its stream until it ends.
func (s *session) effect(st *storm) (o outcome) {
	body := s.callBody("effect", messagesPerCall)
	o.call = fmt.Sprintf("%s call-%d", s.user, s.calls)
	res, err := s.try(st, func(at int) *http.Request { return s.request(at, http.MethodPost, body) })
	last := ""
	for range 100 {
		if err == nil {
			s.read(res, &o, &last)
		}
		if o.ended || last == "" {
			break
		}
		res, err = s.try(st, func(at int) *http.Request {
			r := s.request(at, http.MethodGet, "")
			r.Header.Set("Last-Event-ID", last)
			return r
		})
	}
	o.unknown = !o.ended
	return o
}

// read reads a response to a call.
func (s *session) read(res *http.Response, o *outcome, last *string) {
	defer res.Body.Close()
	switch res.StatusCode {
	case http.StatusNotFound:
		o.lost, o.ended = true, true
		return
	case http.StatusBadRequest:
		o.gap, o.ended = true, true
		return
	}
	e := event{}
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch {
		case strings.HasPrefix(name, "{"):
			o.receive(s, lines.Text())
		case name == "id":
			e.id = value
		case name == "data":
			e.data = value
		case name == "":
			if e.id != "" {
				*last = e.id
			}
			if e.data != "" {
				o.receive(s, e.data)
			}
			e = event{}
		}
	}
}

// receive receives a message.
func (o *outcome) receive(s *session, data string) {
	if _, rest, ok := strings.Cut(data, `"data":"`); ok && strings.Contains(data, "notifications/message") {
		text, _, _ := strings.Cut(rest, `"`)
		o.messages = append(o.messages, text)
		return
	}
	if !strings.Contains(data, fmt.Sprintf(`"id":"call-%d"`, s.calls)) {
		o.messages = append(o.messages, "response of another call")
	}
	o.ended, o.result = true, strings.Contains(data, `"text":"done"`)
}

// TestRandomFaults runs clients while replicas fail, and checks what the clients have received.
func TestRandomFaults(t *testing.T) {
	seeds := 10
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		for _, mix := range []struct {
			name   string
			kinds  []string
			faults bool
		}{
			{"replicas", []string{"kill", "shutdown", "cut"}, false},
			{"engine", []string{"lose", "outage", "isolate", "kill"}, true},
		} {
			t.Run(fmt.Sprintf("%s/%d", mix.name, seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { runStorm(t, uint64(seed), mix.kinds, mix.faults) })
			})
		}
	}
}

func runStorm(t *testing.T, seed uint64, kinds []string, engineFaults bool) {
	st := &storm{random: rand.New(rand.NewPCG(seed, 0))}
	st.fleet = newFleet(t, 0, nil)
	st.onEffect = st.history.effect
	defer st.end()
	for range 4 {
		st.replace()
	}
	time.Sleep(lease + time.Second)
	stop, cancel := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	for i := range 6 {
		s := st.open(i%4, fmt.Sprintf("user %d", i))
		clients.Go(func() { // ends with the last call after cancel
			for stop.Err() == nil {
				st.history.add(s.effect(st))
				time.Sleep(500 * time.Millisecond)
			}
		})
	}
	for range 8 {
		st.mu.Lock()
		kind, pause := kinds[st.random.IntN(len(kinds))], time.Duration(st.random.IntN(20000))*time.Millisecond
		st.mu.Unlock()
		time.Sleep(pause)
		st.fault(kind)
	}
	cancel()
	clients.Wait()
	require.NoError(t, st.history.check(engineFaults))
	results := 0
	for _, o := range st.history.outcomes {
		if o.result {
			results++
		}
	}
	require.Greater(t, results, len(st.history.outcomes)/2)
	t.Logf("%d calls, %d results", len(st.history.outcomes), results)
}
