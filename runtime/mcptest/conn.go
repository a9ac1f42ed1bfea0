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
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Conn is a connection to the server being tested. Its methods are all that a
// client can ask; where an answer asks for input, the client's handlers give it
// and the request is sent again. It is safe for concurrent use.
type Conn struct {
	mcp.ServerPeer
	// Connection is what the client knows about the server. Requests sent
	// through it are sent once: answers that ask for input come as an
	// [*mcp.InputRequiredError].
	Connection *connection.Connection

	revision wire.Revision
	caps     *mcp.ClientCapabilities
	server   mcp.Implementation
	pipe     *pipe
	dispatch *jsonrpc.Conn
	done     chan struct{} // closed when nothing is read any more
	close    sync.Once
	closed   error
}

// Revision is the revision being spoken.
func (c *Conn) Revision() wire.Revision { return c.revision }

// Server says who the server is, as far as it does.
func (c *Conn) Server() mcp.Implementation { return c.server }

// Capabilities are what the server declared. They are not to be changed.
func (c *Conn) Capabilities() *mcp.ServerCapabilities {
	return c.Connection.State().ServerCapabilities()
}

// read reads what the server sends.
func (c *Conn) read(r io.Reader) {
	c.done = make(chan struct{})
	go func() { // ends when the server closes its end, which Close sees to
		defer close(c.done)
		_ = c.dispatch.ReadLines(context.Background(), r, jsonrpc.Source{}) // calls fail when it ends
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		c.dispatch.Shutdown(ctx, errors.New("the server closed its output"))
	}()
}

// begin learns who the server is and what it can do.
func (c *Conn) begin(ctx context.Context, info mcp.Implementation) error {
	if handshake(c.revision) {
		return c.shakeHands(ctx, info)
	}
	res, err := c.Discover(ctx, &mcp.DiscoverRequest{})
	if err != nil {
		return err
	}
	if res.Meta != nil && res.Meta.ServerInfo != nil {
		c.server = *res.Meta.ServerInfo
	}
	c.Connection.State().SetServerCapabilities(&res.Capabilities)
	return nil
}

func (c *Conn) shakeHands(ctx context.Context, info mcp.Implementation) error {
	res, err := c.Initialize(ctx, &mcp.InitializeRequest{
		ProtocolVersion: c.revision.String(), ClientInfo: info, Capabilities: *c.caps,
	})
	switch {
	case err != nil:
		return err
	case res.ProtocolVersion != c.revision.String():
		return fmt.Errorf("the server speaks %q instead", res.ProtocolVersion)
	}
	c.server = res.ServerInfo
	c.Connection.State().SetServerCapabilities(&res.Capabilities)
	return c.Initialized(ctx, &mcp.InitializedNotification{})
}

// Close ends the connection and waits until the server has ended, which is an
// error if it takes too long, or if the server calls it one. It may be called
// more than once.
func (c *Conn) Close() error {
	c.close.Do(func() { c.closed = c.end() })
	return c.closed
}

func (c *Conn) end() error {
	c.pipe.Close()
	defer c.pipe.cancel()
	select {
	case <-c.pipe.ended:
	case <-time.After(patience):
		c.pipe.cancel()
		c.pipe.PipeReader.Close()
		<-c.done
		return fmt.Errorf("the server has not ended %v after its input did", patience)
	}
	<-c.done
	if err := c.pipe.err; err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, io.ErrClosedPipe) {
		return fmt.Errorf("the server ended with an error: %w", err)
	}
	return nil
}
