// Package pipes connects clients to one server in memory. It works in a bubble of package
// [testing/synctest], which fails the test if a goroutine does not end.
//
//	network := pipes.New()
//	go server.Serve(network)
//	client := &http.Client{Transport: &http.Transport{DialContext: network.Dial}}
package pipes

import (
	"context"
	"errors"
	"net"
	"sync"
)

// Network is a [net.Listener] that accepts the connections of Dial.
type Network struct {
	incoming chan net.Conn
	done     chan struct{}
	once     sync.Once
}

// New returns a network without a server.
func New() *Network { return &Network{incoming: make(chan net.Conn), done: make(chan struct{})} }

// Accept implements [net.Listener].
func (n *Network) Accept() (net.Conn, error) {
	select {
	case c := <-n.incoming:
		return c, nil
	case <-n.done:
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener]. Dial fails afterwards.
func (n *Network) Close() error {
	n.once.Do(func() { close(n.done) })
	return nil
}

// Addr implements [net.Listener].
func (n *Network) Addr() net.Addr { return &net.UnixAddr{Name: "pipes"} }

// Dial connects to the server and ignores the address. It waits until the server accepts.
func (n *Network) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	clientEnd, serverEnd := net.Pipe()
	select {
	case n.incoming <- serverEnd:
		return clientEnd, nil
	case <-n.done:
		return nil, errors.New("connection refused")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
