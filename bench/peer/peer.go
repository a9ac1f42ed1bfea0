// Package peer implements one small interface for each measured SDK, and for the floor, a program that
// does the least possible work.
//
// To add an SDK, add a file with a type that implements Peer, and a line in All. Embed Unsupported and
// override the methods that the SDK supports.
package peer

import (
	"context"
	"errors"
	"io"
	"net/http"
)

// All lists the peers: first the floor, which the others are compared with, then this module.
func All() []Peer {
	return []Peer{
		floor{},
		&ours{name: "mcpwright"},
		&ours{name: "mcpwright raw", raw: true},
		&mcpGo{name: "mcp-go"},
		&mcpGo{name: "mcp-go validating", validate: true},
		&goSDK{name: "go-sdk"},
		&goSDK{name: "go-sdk raw", raw: true},
	}
}

// ByName returns a peer, or nil.
func ByName(name string) Peer {
	for _, p := range append(All(), Traced()...) {
		if p.Name() == name {
			return p
		}
	}
	return nil
}

// ErrUnsupported is returned if an SDK does not support a workload.
var ErrUnsupported = errors.New("unsupported by this peer")

// A Peer is one SDK, or one way of using it.
type Peer interface {
	// Name is the name in tables.
	Name() string
	// Work describes how the arguments of a tool call are handled.
	Work() string
	// Pair connects the SDK's own client and server, and completes the handshake.
	Pair(ctx context.Context, via Via) (Pair, error)
	// ServeLines serves one message per line until r ends.
	ServeLines(ctx context.Context, r io.ReadCloser, w io.WriteCloser) error
	// HTTP returns the SDK's streamable HTTP handler, which responds with JSON.
	HTTP(mode Mode) (http.Handler, error)
	// Codec returns the SDK's codec of whole messages.
	Codec() (Codec, error)
	// Fanout subscribes n sessions to ResourceURI. The function got is called
	// for each notification that arrives at any of them.
	Fanout(ctx context.Context, via Via, n int, got func()) (*Fanout, error)
}

// Via is the connection between client and server of a pair.
type Via string

const (
	// Pipe is one message per line over in-memory pipes.
	Pipe Via = "pipe"
	// Memory is the SDK's own connection within a process, encoded or not.
	Memory Via = "memory"
)

// A Pair is a client and a server that are connected.
type Pair interface {
	// Greet calls the tool "greet" and returns its text.
	Greet(ctx context.Context, name string, count int) (string, error)
	// Ask calls the tool "ask", whose handler asks the client for a name with a form. It returns
	// "Hello, " and the name.
	Ask(ctx context.Context) (string, error)
	// Close ends both.
	Close() error
}

// Mode is the revision of a streamable HTTP server, with or without sessions.
type Mode string

const (
	// Stateful is 2025-11-25 with sessions.
	Stateful Mode = "stateful"
	// Stateless is 2025-11-25 without sessions.
	Stateless Mode = "stateless"
	// Modern is 2026-07-28.
	Modern Mode = "2026"
	// Large is Stateless with 1,000 more tools, and a tool with a long text.
	Large Mode = "large"
)

// A Codec writes and reads whole JSON-RPC messages as its SDK does on the wire.
type Codec interface {
	// Encoder returns a function that appends the message to a buffer, or returns a buffer of its own.
	Encoder(Kind) (func(buf []byte) ([]byte, error), error)
	// Decoder returns a function that reads the message.
	Decoder(Kind) (func(data []byte) error, error)
}

// A Fanout is a server with many subscribers.
type Fanout struct {
	// Notify sends a notification to all subscribers.
	Notify func(ctx context.Context) error
	// Close ends the subscribers.
	Close func()
}

// Unsupported is embedded by peers that support some workloads only.
type Unsupported struct{}

// Pair implements Peer.
func (Unsupported) Pair(context.Context, Via) (Pair, error) { return nil, ErrUnsupported }

// ServeLines implements Peer.
func (Unsupported) ServeLines(context.Context, io.ReadCloser, io.WriteCloser) error {
	return ErrUnsupported
}

// HTTP implements Peer.
func (Unsupported) HTTP(Mode) (http.Handler, error) { return nil, ErrUnsupported }

// Codec implements Peer.
func (Unsupported) Codec() (Codec, error) { return nil, ErrUnsupported }

// Fanout implements Peer.
func (Unsupported) Fanout(context.Context, Via, int, func()) (*Fanout, error) {
	return nil, ErrUnsupported
}
