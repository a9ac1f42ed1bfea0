package mcptest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/capabilities"
	"github.com/mcpwright/mcp/runtime/internal/revisions"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Conn is a connection to the server under test. Its methods send all requests and
// notifications that a client can send. If a result requests input, the handlers of
// the client provide it and the request is sent again. A Conn is safe for concurrent
// use.
type Conn struct {
	mcp.ServerPeer
	// Connection is the client's state of the connection. Requests that are sent
	// with it are sent once: if a result requests input, the error is an
	// [*mcp.InputRequiredError].
	Connection *connection.Connection

	revision wire.Revision
	caps     *mcp.ClientCapabilities
	server   mcp.Implementation
	advice   string // the server's instructions
	pipe     *pipe
	dispatch *jsonrpc.Conn
	done     chan struct{} // closed when the reader has stopped
	close    sync.Once
	closed   error
}

// Revision returns the protocol revision of the connection.
func (c *Conn) Revision() wire.Revision { return c.revision }

// ServerInfo returns the name and version of the server. It is the zero
// Implementation if the server has sent none.
func (c *Conn) ServerInfo() mcp.Implementation { return c.server }

// ServerCapabilities returns the capabilities that the server has declared. The caller
// must not change them.
func (c *Conn) ServerCapabilities() *mcp.ServerCapabilities {
	return c.Connection.State().ServerCapabilities()
}

// Close ends the connection and waits until the server has stopped. It returns an
// error if the server fails, or does not stop within 5 seconds. Later calls return
// the same error.
func (c *Conn) Close() error {
	c.close.Do(func() { c.closed = c.shutdown() })
	return c.closed
}

func (c *Conn) shutdown() error {
	c.pipe.Close()
	defer c.pipe.cancel()
	select {
	case <-c.pipe.ended:
	case <-time.After(closeTimeout):
		c.pipe.cancel()
		c.pipe.PipeReader.Close()
		<-c.done
		return fmt.Errorf("the server did not stop within %v after its input was closed", closeTimeout)
	}
	<-c.done
	if err := c.pipe.err; err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, io.ErrClosedPipe) {
		return fmt.Errorf("the server failed: %w", err)
	}
	return nil
}

// read starts to read the messages of the server.
func (c *Conn) read(r io.Reader) {
	c.done = make(chan struct{})
	go func() { // ends when the server closes its output, which Close causes
		defer close(c.done)
		_ = c.dispatch.ReadLines(context.Background(), r, jsonrpc.Source{}) // calls fail when it ends
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		c.dispatch.Shutdown(ctx, errors.New("the server closed its output"))
	}()
}

// begin completes the handshake, or requests the server's information in a stateless
// revision.
func (c *Conn) begin(ctx context.Context, info mcp.Implementation) error {
	if revisions.Handshake(c.revision) {
		return c.initialize(ctx, info)
	}
	res, err := c.Discover(ctx, &mcp.DiscoverRequest{})
	if err != nil {
		return err
	}
	if res.Meta != nil && res.Meta.ServerInfo != nil {
		c.server = *res.Meta.ServerInfo
	}
	c.advice = res.Instructions
	c.Connection.State().SetServerCapabilities(&res.Capabilities)
	return nil
}

func (c *Conn) initialize(ctx context.Context, info mcp.Implementation) error {
	caps := *c.caps
	if err := capabilities.EncodeExtensions(caps.Extensions, &caps.Extra); err != nil {
		return err
	}
	res, err := c.Initialize(ctx, &mcp.InitializeRequest{
		ProtocolVersion: c.revision.String(), ClientInfo: info, Capabilities: caps,
	})
	switch {
	case err != nil:
		return err
	case res.ProtocolVersion != c.revision.String():
		return fmt.Errorf("the server selected the revision %q", res.ProtocolVersion)
	}
	capabilities.DecodeExtensions(&res.Capabilities.Extensions, &res.Capabilities.Extra)
	c.server, c.advice = res.ServerInfo, res.Instructions
	c.Connection.State().SetServerCapabilities(&res.Capabilities)
	return c.Initialized(ctx, &mcp.InitializedNotification{})
}

// maxRounds limits how often the server may request input during one call.
const maxRounds = 10

// inputOutbound sends requests, and provides the input that results request.
type inputOutbound struct {
	peer.Outbound
	mux *peer.Mux
}

// Call implements [peer.Outbound].
func (o *inputOutbound) Call(ctx context.Context, req peer.Message, res wire.Value, opts ...peer.CallOption) error {
	for range maxRounds {
		err := o.Outbound.Call(ctx, req, res, opts...)
		required, ok := errors.AsType[*mcp.InputRequiredError](err)
		if !ok {
			return err
		}
		responses, err := o.respond(ctx, required.Result.InputRequests)
		if err != nil {
			return err
		}
		again := mcp.WithInput(req, responses, required.Result.RequestState)
		if again == nil {
			return required
		}
		req = again
	}
	return fmt.Errorf("call %q: the server has requested input %d times", req.Method(), maxRounds)
}

// respond returns the responses of the client's handlers to input requests.
func (o *inputOutbound) respond(ctx context.Context, requests mcp.InputRequests) (mcp.InputResponses, error) {
	if len(requests) == 0 {
		return nil, nil // the request is only to be sent again
	}
	responses := mcp.InputResponses{}
	for key, r := range requests {
		req, ok := r.(peer.Message)
		if !ok {
			return nil, fmt.Errorf("input request %q: unknown method", key)
		}
		var route peer.Route
		if o.mux != nil {
			route, _ = o.mux.Route(req.Method())
		}
		if route.Serve == nil {
			return nil, fmt.Errorf("input request %q: no handler for %q", key, req.Method())
		}
		res, err := route.Serve(ctx, req)
		if err != nil {
			return nil, fmt.Errorf("input request %q: %w", key, err)
		}
		if responses[key], ok = res.(mcp.InputResponse); !ok {
			return nil, fmt.Errorf("input request %q: unexpected response type %T", key, res)
		}
	}
	return responses, nil
}

// pipe is the client's end of the streams of a server.
type pipe struct {
	*io.PipeReader
	*io.PipeWriter
	cancel context.CancelFunc
	ended  chan struct{} // closed when the server has stopped
	err    error         // result of ServeStreams; read it after ended is closed
}

// startServer serves a server on a pipe in memory.
func startServer(ctx context.Context, s Server) *pipe {
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p := &pipe{PipeReader: fromServer, PipeWriter: toServer, cancel: cancel, ended: make(chan struct{})}
	go func() { // ends when the server stops, which Conn.Close waits for
		defer close(p.ended)
		p.err = s.ServeStreams(ctx, in, out)
		in.Close()
		out.Close()
	}()
	return p
}

// Close closes the input of the server.
func (p *pipe) Close() error { return p.PipeWriter.Close() }
