// Package wiretrace observes the messages between a client and a server of the Model
// Context Protocol.
//
// A program that copies bytes passes each part to a [Pipe] or an [Exchange] before it
// copies the part. These never block and never change bytes. The [Recorder] decodes,
// pairs, validates and masks the messages in a goroutine of its own, and passes an
// [Event] for each message to a function.
package wiretrace

import (
	"strings"
	"sync"
	"time"

	"github.com/mcpwright/mcp/runtime/mcptest"
)

// Options configures a [Recorder].
type Options struct {
	// OnEvent is called with each event, from one goroutine.
	OnEvent func(*Event)
	// OnIdle is called from the same goroutine when no message waits. It may be nil.
	OnIdle func()
	// MaxMessage limits the bytes of a message that are stored. A longer message is
	// clipped, and not validated. Zero is 4 MiB.
	MaxMessage int
	// MaxWaiting limits the bytes of messages that wait for OnEvent. Further messages are
	// lost, which [Recorder.Lost] counts. Zero is 32 MiB.
	MaxWaiting int
	// Mask replaces secrets. Nil is [NewMask] without values.
	Mask *Mask
}

// Recorder observes messages. It is safe for concurrent use.
type Recorder struct {
	opts      Options
	validator *mcptest.HTTPValidator

	mu      sync.Mutex
	ready   *sync.Cond
	queue   []job
	waiting int // bytes in the queue and in the current job
	lost    int
	closed  bool
	// decoding counts the bodies that have ended and are still decoded.
	decoding int
	opened   int // pipes and sessions
	// exchanges counts the exchanges of HTTP.
	exchanges int
	endpoints []string // paths for messages of the transport HTTP+SSE
	done      chan struct{}

	// The goroutine of run owns the fields below.
	count    int                       // events
	sessions map[string]*connection    // by session id
	legacy   map[string]*legacySession // by the URL for messages
	order    []string                  // session ids and such URLs, the oldest first
}

// job is work for the goroutine of a recorder.
type job struct {
	size int
	run  func()
}

// batchDelay is the time in which a recorder collects messages before it observes them.
// Without it, the goroutine would wake up for each message, which delays the copy.
const batchDelay = 10 * time.Millisecond

// jobSize is what a job needs in addition to its message.
const jobSize = 512

// NewRecorder returns a recorder. Close it.
func NewRecorder(opts Options) *Recorder {
	if opts.MaxMessage == 0 {
		opts.MaxMessage = 4 << 20
	}
	if opts.MaxWaiting == 0 {
		opts.MaxWaiting = 32 << 20
	}
	if opts.Mask == nil {
		opts.Mask = NewMask()
	}
	r := &Recorder{opts: opts, validator: mcptest.NewHTTPValidator(), done: make(chan struct{}), sessions: map[string]*connection{}, legacy: map[string]*legacySession{}}
	r.ready = sync.NewCond(&r.mu)
	go r.run() // ends after Close, when the queue is empty
	return r
}

// run runs jobs in order.
func (r *Recorder) run() {
	defer close(r.done)
	for {
		r.mu.Lock()
		for len(r.queue) == 0 && (!r.closed || r.decoding > 0) {
			r.ready.Wait()
		}
		if !r.closed {
			r.mu.Unlock()
			time.Sleep(batchDelay)
			r.mu.Lock()
		}
		jobs := r.queue
		r.queue = nil
		r.mu.Unlock()
		if len(jobs) == 0 {
			return
		}
		for i, j := range jobs {
			jobs[i] = job{} // releases the message
			j.run()
			r.mu.Lock()
			r.waiting -= j.size
			r.mu.Unlock()
		}
		r.idle()
	}
}

// idle calls OnIdle if no message waits.
func (r *Recorder) idle() {
	r.mu.Lock()
	waits := len(r.queue) > 0
	r.mu.Unlock()
	if !waits && r.opts.OnIdle != nil {
		r.opts.OnIdle()
	}
}

// add adds a job. It returns false if too much waits already, or after Close.
func (r *Recorder) add(size int, run func()) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	size += jobSize
	if r.closed && r.decoding == 0 || r.waiting+size > r.opts.MaxWaiting {
		r.lost++
		return false
	}
	r.waiting += size
	if r.queue = append(r.queue, job{size, run}); len(r.queue) == 1 {
		r.ready.Signal()
	}
	return true
}

// decode counts a body that has ended and is still decoded.
func (r *Recorder) decode() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.decoding++
}

// decoded counts the end of decoding a body.
func (r *Recorder) decoded() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.decoding--
	r.ready.Signal()
}

// lose counts a lost message.
func (r *Recorder) lose() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lost++
}

// Lost returns how many messages were not passed to OnEvent, because OnEvent was too
// slow.
func (r *Recorder) Lost() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lost
}

// Close passes the messages that wait to OnEvent, and ends the recorder. It reports
// whether that was complete within the timeout.
func (r *Recorder) Close(timeout time.Duration) bool {
	r.mu.Lock()
	r.closed = true
	r.ready.Signal()
	r.mu.Unlock()
	select {
	case <-r.done:
		return true
	case <-time.After(timeout):
		return false
	}
}

// open returns the number of a new connection.
func (r *Recorder) open() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.opened++
	return r.opened
}

// emit numbers an event, and passes it to OnEvent.
func (r *Recorder) emit(e *Event) {
	r.count++
	e.N = r.count
	r.opts.OnEvent(e)
}

// session returns the connection of a session. A new session has the given connection, or
// a new one.
func (r *Recorder) session(id string, c *connection) *connection {
	if found := r.sessions[id]; found != nil {
		return found
	}
	if c == nil {
		c = r.newConnection(r.open())
	}
	r.sessions[id] = c
	r.remember(id)
	return c
}

// remember limits the sessions.
func (r *Recorder) remember(id string) {
	if r.order = append(r.order, id); len(r.order) > maxSessions {
		r.forget(r.order[0])
		r.order = r.order[1:]
	}
}

// forget forgets a session.
func (r *Recorder) forget(id string) {
	r.validator.Forget(id)
	delete(r.sessions, id)
	if path, ok := strings.CutPrefix(id, legacyPrefix); ok {
		delete(r.legacy, path)
	}
}

// legacyPrefix begins the entry of a URL of the transport HTTP+SSE in the order.
const legacyPrefix = "sse "
