package chaos

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"
)

// property is a promise to clients.
type property string

const (
	callsEndOnce      property = "each call ends once"
	effectsOnce       property = "a call has effects at most once"
	eventsArriveOnce  property = "an accepted event arrives once, or a gap is reported"
	eventsInOrder     property = "events arrive in their order"
	eventsOfOwnStream property = "a client receives only events of its streams"
	oneOwner          property = "an epoch of a session has one owner"
	epochsRise        property = "epochs of a session do not fall"
	sessionsStay      property = "a connection keeps its session"
	changesArrive     property = "a subscriber is notified of a change"
	ownQuestions      property = "a response reaches only its question"
	ownSessions       property = "another principal does not find a session"
	endedSessions     property = "a session that was ended stays ended"
	allRecover        property = "calls succeed after the last fault"
	nothingLeft       property = "nothing is left at the end"
)

// violation is a promise that a history breaks.
type violation struct {
	property property
	text     string
}

func (v violation) String() string { return fmt.Sprintf("%s: %s", v.property, v.text) }

// checker has the observations of a history by what they are about.
type checker struct {
	calls     map[string]*callHistory
	streams   map[string]*streamHistory
	owners    map[epoch]string
	sessions  map[string]string // by connection
	ended     map[string]int64  // when a client has ended a session
	questions map[string]*question
	touches   map[string]*change
	watchers  map[string]*watcher // by client
	end       int64               // of the history

	alone       map[string]*isolation // by replica; "" for all
	engineFault int64                 // the time of the begin or the end of the last one
	found       []violation
}

type epoch struct {
	session string
	number  uint32
}

// callHistory is what clients and replicas have observed of a call.
type callHistory struct {
	client     string
	began, end int64
	ends       int
	result     string
	text       string
	session    string
	starts     []observation
	alone      bool // it was executed by a replica that may have been without the engine
}

// streamHistory is what clients and replicas have observed of a stream.
type streamHistory struct {
	sent, stored map[int]int64 // times, by the number of the event
	senders      map[int]string
	arrived      []observation
	lastSent     int
	gap          bool
	closed       bool // the client has ended the session, perhaps before all events had arrived
}

type question struct{ call, client string }

// change is a change of the note. Published is 0 if the replica got an error, or ended.
type change struct{ began, published int64 }

// watcher is what a client has observed of its subscription to the note.
type watcher struct {
	notified []int64 // times
	ends     []int64 // when the subscription or the connection has ended
}

// check returns the promises that a history breaks. The observations are in the order of their times.
func check(history []observation) []violation {
	c := &checker{
		calls: make(map[string]*callHistory), streams: make(map[string]*streamHistory), owners: make(map[epoch]string),
		sessions: make(map[string]string), ended: make(map[string]int64), questions: make(map[string]*question),
		touches: make(map[string]*change), watchers: make(map[string]*watcher), alone: make(map[string]*isolation),
	}
	for i := range history {
		c.add(&history[i])
		c.end = history[i].At
	}
	for id, call := range c.calls {
		c.checkCall(id, call)
	}
	for id, s := range c.streams {
		c.checkStream(id, s)
	}
	c.checkEpochs(history)
	c.checkChanges()
	return c.found
}

func (c *checker) report(p property, format string, args ...any) {
	c.found = append(c.found, violation{p, fmt.Sprintf(format, args...)})
}

func (c *checker) call(id string) *callHistory {
	if c.calls[id] == nil {
		c.calls[id] = new(callHistory)
	}
	return c.calls[id]
}

func (c *checker) stream(id string) *streamHistory {
	if c.streams[id] == nil {
		c.streams[id] = &streamHistory{sent: make(map[int]int64), stored: make(map[int]int64), senders: make(map[int]string)}
	}
	return c.streams[id]
}

// add adds an observation, and checks it as far as the earlier ones suffice.
func (c *checker) add(o *observation) {
	switch o.Kind {
	case began:
		call := c.call(o.Call)
		call.client, call.began = o.Client, o.At
	case ended:
		call := c.call(o.Call)
		call.ends, call.end, call.result, call.text = call.ends+1, o.At, o.Result, o.Text
	case started:
		c.addStart(o)
	case sending:
		s := c.stream(o.Stream)
		s.sent[o.Number], s.senders[o.Number], s.lastSent = o.At, o.Replica, o.Number
	case stored:
		c.addStored(o)
	case arrived:
		s := c.stream(o.Stream)
		s.arrived = append(s.arrived, *o)
	case gap:
		c.stream(o.Client).gap = true
	case asked, replied, responded:
		c.addQuestion(o)
	case touching, touched, noticed:
		c.addChange(o)
	case intruded:
		if !hidden(o.Status) {
			c.report(ownSessions, "session %q: status %d", o.Session, o.Status)
		}
	case closed:
		c.stream(o.Client).closed = true
		if o.Session == "" { // the server may still have the session
			c.watcher(o.Client).end(o.At)
			return
		}
		c.ended[o.Session] = o.At
	case failed, healed:
		c.addFault(o)
	case probed:
		if !hidden(o.Status) && !c.call(probeCall(o.Session)).alone {
			c.report(endedSessions, "session %q: status %d", o.Session, o.Status)
		}
	case rested:
		if o.Result != resultOK {
			c.report(allRecover, "%s: %s: %s", o.Client, o.Result, o.Text)
		}
	case left:
		if o.Number > 0 {
			c.report(nothingLeft, "%d %s %s", o.Number, o.Text, o.Replica)
		}
	}
}

// hidden reports whether a response does not show that a session exists. While a replica cannot find
// the session, it refuses all requests in the same way.
func hidden(status int) bool {
	switch status {
	case 0, http.StatusNotFound, http.StatusBadGateway, http.StatusServiceUnavailable:
		return true
	}
	return false
}

// addStart adds the execution of a call.
func (c *checker) addStart(o *observation) {
	call := c.call(o.Call)
	call.starts = append(call.starts, *o)
	call.alone = c.isAlone(o)
	if o.Session == "" {
		return
	}
	call.session = o.Session
	at := epoch{o.Session, o.Epoch}
	if owner, has := c.owners[at]; has && owner != o.Replica {
		c.report(oneOwner, "session %q, epoch %d: %s and %s", o.Session, o.Epoch, owner, o.Replica)
	}
	c.owners[at] = o.Replica
	if session, has := c.sessions[call.client]; has && call.client != "" && session != o.Session {
		c.report(sessionsStay, "%s had %q and has %q", call.client, session, o.Session)
	}
	c.sessions[call.client] = o.Session
	if at, has := c.ended[o.Session]; has && (call.began == 0 || call.began > at) && !call.alone {
		c.report(endedSessions, "session %q: call %q was executed", o.Session, o.Call)
	}
}

// addFault adds the begin or the end of a fault.
func (c *checker) addFault(o *observation) {
	i := c.alone[o.Replica]
	if i == nil {
		i = new(isolation)
		c.alone[o.Replica] = i
	}
	if i.add(o); o.Replica == "" {
		c.engineFault = o.At
		for _, i := range c.alone {
			i.addEngineFault(o)
		}
	}
	i.addPause(o, c.engineFault)
}

// isAlone reports whether the replica of an execution may have been without the engine. It then continues its sessions,
// also if another one has taken them over, or has ended them.
func (c *checker) isAlone(o *observation) bool {
	slot, _, _ := strings.Cut(o.Replica, ".")
	return c.alone[slot].has(o.At) || c.alone[""].has(o.At)
}

func (c *checker) addQuestion(o *observation) {
	q := c.questions[o.Nonce]
	switch {
	case o.Kind == asked: // again in each round of a stateless call
		c.questions[o.Nonce] = &question{call: o.Call, client: c.call(o.Call).client}
	case q == nil:
		c.report(ownQuestions, "question %q was never asked", o.Nonce)
	case o.Kind == replied && q.client != o.Client:
		c.report(ownQuestions, "question %q of %s reached %s", o.Nonce, q.client, o.Client)
	case o.Kind == responded && (o.Text != o.Nonce || o.Call != q.call):
		c.report(ownQuestions, "question %q of call %q got the response %q in call %q", o.Nonce, q.call, o.Text, o.Call)
	}
}

// storeTime is the time in which a replica stores an event or drops it, with some delay.
const storeTime = 8 * time.Second

// addStored adds an event that was accepted. Later owners of a session store its events again, also if the sender has
// dropped one because the engine did not respond. The sender may itself be a later owner. It sends the next event
// after it has stored or dropped the one before.
func (c *checker) addStored(o *observation) {
	s := c.stream(o.Stream)
	first := s.stored[o.Number] == 0 && s.senders[o.Number] == o.Replica
	if first && s.lastSent == o.Number && o.At-s.sent[o.Number] < int64(storeTime) {
		s.stored[o.Number] = o.At
	}
}

func (c *checker) watcher(client string) *watcher {
	if c.watchers[client] == nil {
		c.watchers[client] = new(watcher)
	}
	return c.watchers[client]
}

func (w *watcher) end(at int64) { w.ends = append(w.ends, at) }

// addChange adds a change of the note, or a notification of one.
func (c *checker) addChange(o *observation) {
	switch {
	case o.Kind == touching:
		c.touches[o.Call] = &change{began: o.At}
	case o.Kind == touched && c.touches[o.Call] != nil:
		c.touches[o.Call].published = o.At
	case o.Kind == noticed && o.Text != "":
		c.watcher(o.Client).end(o.At)
	case o.Kind == noticed:
		w := c.watcher(o.Client)
		w.notified = append(w.notified, o.At)
	}
}

// noticeTime is the time in which a subscriber is notified of a change, also if its replica is stopped meanwhile.
const noticeTime = time.Minute

// checkChanges checks that each subscriber is notified of each change. A subscription has begun when there was a
// notification before. A notification may be about several changes.
func (c *checker) checkChanges() {
	within := func(times []int64, from, to int64) bool {
		i, _ := slices.BinarySearch(times, from)
		return i < len(times) && times[i] <= to
	}
	for call, t := range c.touches {
		for client, w := range c.watchers {
			last := t.published + int64(noticeTime)
			began := within(w.notified, 0, t.began) && !within(w.ends, lastBefore(w.notified, t.began), t.began)
			if t.published > 0 && began && !within(w.notified, t.began, last) && !within(w.ends, t.began, last) && last < c.end {
				c.report(changesArrive, "%s was not notified of the change by call %q", client, call)
			}
		}
	}
}

// lastBefore returns the last time before another one.
func lastBefore(times []int64, at int64) int64 {
	if i, _ := slices.BinarySearch(times, at); i > 0 {
		return times[i-1]
	}
	return 0
}

// checkCall checks the ends and the effects of a call.
func (c *checker) checkCall(id string, call *callHistory) {
	n := len(call.starts)
	switch {
	case n == 0 && call.began == 0: // a request that found no session
	case call.began == 0: // a request that imitates a call
		if _, has := c.ended[call.session]; !has {
			c.report(ownSessions, "call %q was executed by %s", id, call.starts[0].Replica)
		}
	case call.ends != 1:
		c.report(callsEndOnce, "call %q of %s has %d ends", id, call.client, call.ends)
	case n > 1:
		c.report(effectsOnce, "call %q was executed %d times, at last by %s", id, n, call.starts[n-1].Replica)
	case call.result == resultOK && n != 1:
		c.report(effectsOnce, "call %q has a result, but was not executed", id)
	case call.result == resultRefused && n != 0:
		c.report(effectsOnce, "call %q was refused, but was executed by %s", id, call.starts[0].Replica)
	case call.result == resultOK && call.text != id:
		c.report(ownQuestions, "call %q has the result of call %q", id, call.text)
	}
}

// checkStream checks the events of a stream.
func (c *checker) checkStream(id string, s *streamHistory) {
	count := make(map[int]int)
	last := 0
	for _, o := range s.arrived {
		count[o.Number]++
		last = max(last, o.Number)
		switch _, sent := s.sent[o.Number]; {
		case c.streamOwner(id) != o.Client:
			c.report(eventsOfOwnStream, "event %d of %q reached %s", o.Number, id, o.Client)
		case !sent:
			c.report(eventsOfOwnStream, "event %d of %q was never sent", o.Number, id)
		case count[o.Number] == 2 && !s.gap:
			c.report(eventsArriveOnce, "event %d of %q arrived twice", o.Number, id)
		}
	}
	for number := range s.stored {
		if count[number] == 0 && !s.gap && c.mustArrive(id, number, last) {
			c.report(eventsArriveOnce, "event %d of %q did not arrive", number, id)
		}
	}
	c.checkOrder(id, s)
}

// streamOwner returns the client of a stream.
func (c *checker) streamOwner(id string) string {
	if call := c.calls[id]; call != nil {
		return call.client
	}
	return id
}

// mustArrive reports whether a stored event must have arrived, if the event with the number last has
// arrived. The stream of a call may break if the call fails, and a client may end its session.
func (c *checker) mustArrive(id string, number, last int) bool {
	if number < last {
		return true
	}
	if call := c.calls[id]; call != nil {
		return call.result == resultOK
	}
	return !c.streams[id].closed
}

// checkOrder checks that an event does not arrive after one that was sent later.
func (c *checker) checkOrder(id string, s *streamHistory) {
	if s.gap {
		return
	}
	earliest := int64(math.MaxInt64) // when the first of the later events was stored
	for i := len(s.arrived) - 1; i >= 0; i-- {
		number := s.arrived[i].Number
		if at, has := s.stored[number]; has {
			if s.sent[number] > earliest {
				c.report(eventsInOrder, "event %d of %q arrived too early", number, id)
			}
			earliest = min(earliest, at)
		}
	}
}

// reconnects is the time in which a replica reaches the engine again.
const reconnects = 3 * time.Second

// isolation is the time in which replicas may be without the engine. Nil is no time.
type isolation struct {
	faults int
	until  int64
	paused int64 // when the last pause began
	waits  bool  // it could not reach the engine when the last fault of the engine began
}

// add adds the begin or the end of a fault.
func (i *isolation) add(o *observation) {
	switch {
	case !o.Alone:
	case o.Kind == failed:
		i.faults++
	default:
		i.faults--
		i.until = o.At + int64(reconnects)
	}
}

// addPause adds the begin or the end of a pause. If the connection to the engine broke meanwhile, the replica needs a
// moment to reach the engine again.
func (i *isolation) addPause(o *observation, engineFault int64) {
	switch {
	case o.Text != paused:
	case o.Kind == failed:
		i.paused = o.At
	case engineFault >= i.paused:
		i.until = max(i.until, o.At+int64(reconnects))
	}
}

// addEngineFault adds the begin or the end of a fault of the engine. A replica that was without the engine, and had not
// reached it again when the fault began, reaches it after the fault.
func (i *isolation) addEngineFault(o *observation) {
	switch {
	case o.Kind == failed:
		i.waits = i.has(o.At)
	case i.waits:
		i.until = max(i.until, o.At+int64(reconnects))
	}
}

func (i *isolation) has(at int64) bool { return i != nil && (i.faults > 0 || at <= i.until) }

// checkEpochs checks that a call is not executed in an earlier epoch than a call of the session that had
// ended before, except by a replica without the engine.
func (c *checker) checkEpochs(history []observation) {
	highest := make(map[string]uint32) // of calls that have ended, by session
	expected := make(map[string]uint32)
	for i := range history {
		o := &history[i]
		switch call := c.calls[o.Call]; o.Kind {
		case began:
			expected[o.Call] = highest[c.calls[o.Call].session]
		case ended:
			if call.result == resultOK && len(call.starts) > 0 {
				highest[call.session] = max(highest[call.session], call.starts[0].Epoch)
			}
		case started:
			if o.Epoch < expected[o.Call] && !call.alone {
				c.report(epochsRise, "call %q was executed in epoch %d of session %q, after epoch %d", o.Call, o.Epoch, o.Session, expected[o.Call])
			}
		}
	}
}
