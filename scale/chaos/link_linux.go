package chaos

import (
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// link is a connection between two processes that can fail: a proxy for TCP.
type link struct {
	listener net.Listener
	greets   bool // sends a byte when it is connected, so that dialLink notices a cut

	mu      sync.Mutex
	target  string // "" refuses connections
	state   linkState
	delay   time.Duration // of each part of the data
	lose    int           // each lose-th part for the target arrives there, and the connection ends without a response; 0 for none
	parts   int           // for the target, since lose was set
	conns   map[net.Conn]bool
	changed chan struct{} // closed at the next change
	closed  bool
}

// linkState is the state of a link.
type linkState int

const (
	linkWorks  linkState = iota
	linkBreaks           // connections end, and new ones are refused
	linkSilent           // data waits, as if packets were lost
)

// newLink starts a link without a target. The caller closes it.
func newLink(greets bool) (*link, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &link{listener: listener, greets: greets, conns: make(map[net.Conn]bool), changed: make(chan struct{})}
	go l.accept() // ends with close
	return l, nil
}

func (l *link) address() string { return l.listener.Addr().String() }

// close ends the link and its connections.
func (l *link) close() {
	_ = l.listener.Close()
	l.change(func() {
		l.closed = true
		l.endConnections()
	})
}

// change changes the link, and wakes the goroutines that wait for a change.
func (l *link) change(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
	close(l.changed)
	l.changed = make(chan struct{})
}

// setTarget sets the address to which the link leads.
func (l *link) setTarget(address string) { l.change(func() { l.target = address }) }

// setDelay sets the time by which data arrives late.
func (l *link) setDelay(d time.Duration) { l.change(func() { l.delay = d }) }

// loseEach makes the link end a connection after each n-th part of the data for the target, when the target has
// received it. The response is lost. 0 ends that.
func (l *link) loseEach(n int) { l.change(func() { l.lose, l.parts = n, 0 }) }

// loses reports whether the response to the next part of the data is lost.
func (l *link) loses() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lose == 0 {
		return false
	}
	l.parts++
	return l.parts%l.lose == 0
}

// set sets the state of the link.
func (l *link) set(state linkState) {
	l.change(func() {
		l.state = state
		if state == linkBreaks {
			l.endConnections()
		}
	})
}

// endConnections closes all connections. The caller holds the lock.
func (l *link) endConnections() {
	for c := range l.conns {
		_ = c.Close()
	}
	clear(l.conns)
}

func (l *link) accept() {
	for {
		c, err := l.listener.Accept()
		if err != nil {
			return
		}
		if l.add(c) {
			go l.serve(c) // ends with one of the two connections, or with close
		}
	}
}

// add adds a connection, or closes it if the link refuses it.
func (l *link) add(c net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.state == linkBreaks {
		_ = c.Close()
		return false
	}
	l.conns[c] = true
	return true
}

func (l *link) remove(c net.Conn) {
	_ = c.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, c)
}

// serve connects a connection with the target.
func (l *link) serve(from net.Conn) {
	defer l.remove(from)
	if !l.wait() {
		return
	}
	l.mu.Lock()
	target := l.target
	l.mu.Unlock()
	to, err := net.Dial("tcp", target)
	if err != nil || !l.add(to) {
		return
	}
	defer l.remove(to)
	if l.greets {
		if _, err := from.Write(greeting); err != nil {
			return
		}
	}
	var both sync.WaitGroup
	var silent atomic.Bool                        // the data of the target is lost
	both.Go(func() { l.send(to, from, &silent) }) // ends with one of the connections
	l.copy(from, to, func(to net.Conn, data []byte) bool {
		if silent.Load() {
			return true
		}
		_, err := to.Write(data)
		return err == nil
	})
	both.Wait()
}

// wait waits until data may pass. It returns false if the link is closed or refuses connections.
func (l *link) wait() bool {
	for {
		l.mu.Lock()
		state, closed, changed := l.state, l.closed, l.changed
		l.mu.Unlock()
		switch {
		case closed || state == linkBreaks:
			return false
		case state == linkWorks:
			return true
		}
		<-changed
	}
}

// late waits for the delay of the link.
func (l *link) late() {
	l.mu.Lock()
	delay := l.delay
	l.mu.Unlock()
	if delay > 0 {
		<-time.After(delay)
	}
}

// readTime is the time in which a target reads data. If the connection ended before, the system would discard them.
const readTime = 50 * time.Millisecond

// send copies data to the target. If a response is lost, it sets silent and ends the connection.
func (l *link) send(to, from net.Conn, silent *atomic.Bool) {
	l.copy(to, from, func(to net.Conn, data []byte) bool {
		lost := l.loses()
		if lost {
			silent.Store(true)
		}
		_, err := to.Write(data)
		if lost {
			<-time.After(readTime)
		}
		return err == nil && !lost
	})
}

// copy copies data with a function until one of the connections ends, or the function returns false. Then it ends
// both.
func (l *link) copy(to, from net.Conn, write func(to net.Conn, data []byte) bool) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 16<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if l.late(); !l.wait() {
				return
			}
			if !write(to, buffer[:n]) {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// greeting is the first byte of a link that greets.
var greeting = []byte{'+'}

// dialLink connects to the target of a link that greets. It fails as if there were no link in between.
func dialLink(ctx context.Context, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	_, err = io.ReadFull(c, make([]byte, len(greeting)))
	if !stop() || err != nil {
		_ = c.Close()
		return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: c.RemoteAddr(), Err: errNoGreeting}
	}
	return c, nil
}
