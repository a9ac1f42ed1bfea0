// Package enginelink connects a client with an engine over a connection that fails, for tests of engines.
package enginelink

import (
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Link is a proxy. Its connections end with the test.
type Link struct {
	target func() (net.Conn, error)

	mu    sync.Mutex
	lose  bool // the response to the next request is lost
	cut   bool
	conns map[net.Conn]bool
	held  chan struct{} // closed when data pass again; nil if they do
}

// New starts a link to a server, and returns it with its address.
func New(t *testing.T, target func() (net.Conn, error)) (*Link, string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	l := &Link{target: target, conns: make(map[net.Conn]bool)}
	var all sync.WaitGroup
	all.Go(func() { // ends when the listener is closed
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			all.Go(func() { l.serve(c) }) // ends with the connection
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		l.Hold(false)
		l.Cut(true)
		all.Wait()
	})
	return l, listener.Addr().String()
}

// LoseResponse makes the link end a connection after the next data for the server has arrived there. The response is
// lost.
func (l *Link) LoseResponse() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lose = true
}

// Cut ends all connections and refuses new ones, or ends that.
func (l *Link) Cut(cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = cut
	for c := range l.conns {
		_ = c.Close()
	}
}

// Hold makes data wait, or ends that.
func (l *Link) Hold(held bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case held && l.held == nil:
		l.held = make(chan struct{})
	case !held && l.held != nil:
		close(l.held)
		l.held = nil
	}
}

// wait waits until data pass.
func (l *Link) wait() {
	l.mu.Lock()
	held := l.held
	l.mu.Unlock()
	if held != nil {
		<-held
	}
}

// add adds a connection, or closes it if the link is cut.
func (l *Link) add(c net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut {
		_ = c.Close()
		return false
	}
	l.conns[c] = true
	return true
}

func (l *Link) remove(c net.Conn) {
	_ = c.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, c)
}

func (l *Link) serve(client net.Conn) {
	if !l.add(client) {
		return
	}
	defer l.remove(client)
	server, err := l.target()
	if err != nil || !l.add(server) {
		return
	}
	defer l.remove(server)
	silent := make(chan struct{}) // closed when responses are lost
	var both sync.WaitGroup
	both.Go(func() { // ends with one of the connections
		defer client.Close()
		copyData(client, server, func() bool {
			l.wait()
			select {
			case <-silent:
				return false
			default:
				return true
			}
		})
	})
	defer both.Wait()
	defer server.Close()
	copyData(server, client, func() bool {
		l.wait()
		if l.take() {
			close(silent)
			defer time.AfterFunc(readTime, func() { _ = client.Close() })
		}
		return true
	})
}

// readTime is the time in which the server reads data. If the connection ended before, the system would discard them.
const readTime = 50 * time.Millisecond

// take reports whether the response to the next data is lost.
func (l *Link) take() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	lost := l.lose
	l.lose = false
	return lost
}

// copyData copies data until one of the connections ends. Data for which pass returns false are lost.
func copyData(to, from net.Conn, pass func() bool) {
	buffer := make([]byte, 16<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 && pass() {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
