package streamable

import (
	"context"
	"net/url"
	"sync"
	"time"

	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/wire"
)

// clientCore is what the clients of both transports are made of.
type clientCore struct {
	opts  ClientOptions
	to    *url.URL
	bad   error // of the URL
	http  *clientHTTP
	conn  *jsonrpc.Conn
	state clientState

	life context.Context // ends when the client is closed
	end  context.CancelFunc
	once sync.Once
	done chan struct{} // closed when nothing is left
}

// begin makes the core of a client whose messages go to w.
func (c *clientCore) begin(serverURL string, opts *ClientOptions, w jsonrpc.Writer) {
	c.opts, c.done = opts.complete(), make(chan struct{})
	c.to, c.bad = parseEndpoint(serverURL)
	c.life, c.end = context.WithCancel(context.Background())
	c.http = newClientHTTP(&c.opts)
	c.state.exchanges = make(map[wire.RequestID]*clientExchange)
	c.conn = jsonrpc.New(w, &c.opts.JSONRPC)
}

// Conn is the dispatcher that carries the messages.
func (c *clientCore) Conn() *jsonrpc.Conn { return c.conn }

// InitializedErr tells why the server has not accepted "notifications/initialized", when
// that was last sent in the session. It is nil where the server has.
func (c *clientCore) InitializedErr() error { return c.state.begun() }

// Done is closed when the client is, and nothing of it is left.
func (c *clientCore) Done() <-chan struct{} { return c.done }

const (
	// clientGoodbye is how long handlers may take to end when a client closes.
	clientGoodbye = 5 * time.Second
	// clientFarewell is how long the end of the session may take.
	clientFarewell = 2 * time.Second
)

// close ends all that is under way, and waits until nothing is left. A session
// that has not ended is ended by endSession.
func (c *clientCore) close(endSession func(clientSession)) {
	c.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), clientGoodbye)
		defer cancel()
		c.conn.Shutdown(ctx, nil)
		session, alive := c.state.close()
		c.end()
		if alive {
			endSession(session)
		}
		c.state.tasks.Wait()
		c.conn.Shutdown(ctx, nil) // for what was waiting for the server
		c.http.close()
		close(c.done)
	})
	<-c.done
}
