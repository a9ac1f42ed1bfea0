package jsonrpc

// workers are goroutines that handle requests, each of them one after another: a
// stack that has grown once is worth keeping.
//
// A request waits for nothing but a worker that has been woken to come. That one
// takes a request and, if others wait, has another worker woken before it handles
// its own; so no request waits until a handler returns. Workers that are done
// meanwhile take what they find. In a crowd, few have to be woken.
//
// The connection's state guards them.
type workers struct {
	waiting []*exchange // in their order, from first on
	first   int
	idle    []*worker
	coming  bool // one has been woken and has not come yet; always, while requests wait
}

// worker is one of them.
type worker struct {
	wake chan struct{} // holds one; closed when the connection is
}

// mostIdle is how many workers are kept for reuse.
const mostIdle = 64

// put has a request wait.
func (w *workers) put(x *exchange) {
	if w.first > 0 && len(w.waiting) == cap(w.waiting) {
		n := copy(w.waiting, w.waiting[w.first:])
		clear(w.waiting[n:])
		w.waiting, w.first = w.waiting[:n], 0
	}
	w.waiting = append(w.waiting, x)
}

// take returns the request that has waited longest, nil where none waits.
func (w *workers) take() *exchange {
	if w.first == len(w.waiting) {
		return nil
	}
	x := w.waiting[w.first]
	w.waiting[w.first] = nil
	if w.first++; w.first == len(w.waiting) {
		w.waiting, w.first = w.waiting[:0], 0
	}
	return x
}

// call returns a worker to wake, nil where there is no need to. It may be one that
// is still to be started: that one's wake is nil.
func (w *workers) call() *worker {
	if w.coming || len(w.waiting) == 0 {
		return nil
	}
	w.coming = true
	n := len(w.idle)
	if n == 0 {
		return new(worker)
	}
	who := w.idle[n-1]
	w.idle = w.idle[:n-1]
	return who
}

// rest has a worker wait to be woken, unless enough others do.
func (w *workers) rest(who *worker) bool {
	if len(w.idle) >= mostIdle {
		return false
	}
	w.idle = append(w.idle, who)
	return true
}

// dismiss ends the workers that rest.
func (w *workers) dismiss() {
	for _, who := range w.idle {
		close(who.wake)
	}
	w.idle = nil
}

// rouse wakes a worker, if there is one to wake.
func (c *Conn) rouse(who *worker) {
	switch {
	case who == nil:
	case who.wake != nil:
		who.wake <- struct{}{}
	default:
		who.wake = make(chan struct{}, 1)
		go c.work(who) // ends when enough others rest, and with the connection
	}
}

func (c *Conn) work(who *worker) {
	defer c.tasks.Done()
	for done := false; ; {
		t := c.state.turn(who, done)
		c.rouse(t.other)
		switch {
		case t.x != nil:
			t.x.serve()
			done = true
		case !t.rests:
			return
		default:
			if _, open := <-who.wake; !open {
				return
			}
			done = false
		}
	}
}

// turn is what a worker is to do next.
type turn struct {
	x     *exchange // to be handled
	rests bool      // there is nothing to do
	other *worker   // to be woken before anything else
}

// turn tells a worker what to do next. It is done with a request, or it comes.
func (s *state) turn(who *worker, done bool) (t turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if done {
		s.left()
	} else {
		s.workers.coming = false
	}
	if t.x = s.workers.take(); t.x == nil {
		t.rests = !s.isClosed && s.workers.rest(who)
		return t
	}
	t.other = s.call(t.x.conn)
	return t
}

// call is that of the workers. One that is to be started counts as a task from now
// on. The lock is held.
func (s *state) call(c *Conn) *worker {
	who := s.workers.call()
	if who != nil && who.wake == nil {
		c.tasks.Add(1)
	}
	return who
}
