// Package peer has the SDKs that are measured, each behind the same small
// interface, and the floor: the least that a program could do.
//
// Another SDK is one more file with a type that implements Peer (embed
// Unsupported, override what it can do), and one more line in All.
package peer

import (
	"context"
	"errors"
	"io"
	"net/http"
)

// All lists what is measured. The floor comes first, for the others are
// compared with it, and our own next.
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

// ByName finds a peer, nil where there is none.
func ByName(name string) Peer {
	for _, p := range All() {
		if p.Name() == name {
			return p
		}
	}
	return nil
}

// ErrUnsupported says that an SDK has nothing for a workload.
var ErrUnsupported = errors.New("unsupported by this peer")

// A Peer is one SDK, or one way of using it.
type Peer interface {
	// Name is how tables call it.
	Name() string
	// Work says what is done to the arguments of a tool call.
	Work() string
	// Pair joins the SDK's own client and server, handshake done.
	Pair(ctx context.Context, via Via) (Pair, error)
	// ServeLines serves one message a line until r ends.
	ServeLines(ctx context.Context, r io.ReadCloser, w io.WriteCloser) error
	// HTTP is the SDK's streamable HTTP handler, answering with JSON.
	HTTP(mode Mode) (http.Handler, error)
	// Codec is how the SDK writes and reads whole messages.
	Codec() (Codec, error)
	// Fanout subscribes n sessions to ResourceURI. The function got is called
	// for each notification that arrives at any of them.
	Fanout(ctx context.Context, via Via, n int, got func()) (*Fanout, error)
}

// Via is how client and server of a pair are joined.
type Via string

const (
	// Pipe is one message a line over in-memory pipes.
	Pipe Via = "pipe"
	// Memory is the SDK's own way within a process, encoded or not.
	Memory Via = "memory"
)

// A Pair is a client and a server that know each other.
type Pair interface {
	// Greet calls the tool "greet" and returns its text.
	Greet(ctx context.Context, name string, count int) (string, error)
	// Ask calls the tool "ask", whose handler asks the client for a name with
	// a form. The text is "Hello, " and the name.
	Ask(ctx context.Context) (string, error)
	// Close ends both.
	Close() error
}

// Mode is what a streamable HTTP server serves.
type Mode string

const (
	// Stateful is 2025-11-25 with sessions.
	Stateful Mode = "stateful"
	// Stateless is 2025-11-25 without.
	Stateless Mode = "stateless"
	// Modern is 2026-07-28.
	Modern Mode = "2026"
)

// A Codec writes and reads whole JSON-RPC messages the way its SDK does on the
// wire, envelope and payload.
type Codec interface {
	// Encoder returns a function that appends the message to a buffer, or
	// returns one of its own.
	Encoder(Kind) (func(buf []byte) ([]byte, error), error)
	// Decoder returns a function that reads the message.
	Decoder(Kind) (func(data []byte) error, error)
}

// A Fanout is a server with many subscribers.
type Fanout struct {
	// Notify tells all of them.
	Notify func(ctx context.Context) error
	// Close ends them.
	Close func()
}

// Unsupported is embedded by peers that do only a part of the work.
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
