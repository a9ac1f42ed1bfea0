package connection

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/budget"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// ErrClosing is the cause of the contexts of handlers that are cancelled because their
// [Endpoint] shuts down.
var ErrClosing = errors.New("server is shutting down")

// Endpoint is a part of a server that serves clients over one transport, such as a handler of
// package streamable. Its methods are called concurrently.
type Endpoint interface {
	// Shutdown refuses new requests and waits for those in flight until ctx ends. Then it cancels
	// them.
	Shutdown(ctx context.Context) error
	// Stats returns the present numbers.
	Stats() EndpointStats
	// Sessions returns descriptions of the sessions, in no order.
	Sessions() []SessionInfo
}

// Endpoints are the endpoints of a server. The server shuts them down when it is shut down.
type Endpoints interface {
	// Add adds an endpoint. It returns an error if the server has been shut down.
	Add(e Endpoint) error
	// Remove removes an endpoint that has been shut down.
	Remove(e Endpoint)
}

// Dispatcher returns d, so that a dispatcher can be served like a server.
func (d *Dispatcher) Dispatcher() *Dispatcher { return d }

// Attach adds an endpoint that serves the dispatcher to the endpoints of its server. If the server has
// been shut down, it returns an error, and the endpoint must not serve. A dispatcher without
// [DispatcherOptions].Endpoints has no server.
func (d *Dispatcher) Attach(e Endpoint) error {
	if d.opts.Endpoints == nil {
		return nil
	}
	return d.opts.Endpoints.Add(e)
}

// Detach removes an endpoint that ends before its server.
func (d *Dispatcher) Detach(e Endpoint) {
	if d.opts.Endpoints != nil {
		d.opts.Endpoints.Remove(e)
	}
}

// Logger returns [DispatcherOptions].Logger.
func (d *Dispatcher) Logger() *slog.Logger { return d.opts.Logger }

// Outgoing returns [DispatcherOptions].Outgoing.
func (d *Dispatcher) Outgoing() []func(peer.Outbound) peer.Outbound { return d.opts.Outgoing }

// EndpointStats are numbers for the operator of an endpoint.
type EndpointStats struct {
	// Sessions is the number of sessions, also of those whose handshake goes on.
	Sessions int
	// Requests is the number of requests that are being handled, without subscriptions.
	Requests int
	// Streams is the number of open streams that belong to no other request: subscriptions,
	// and streams that a client has opened with GET.
	Streams int
	// Events is the number of stored events, and EventBytes their size. They are 0 if the
	// store is not in memory.
	Events, EventBytes int
	// Refused is how often a limit has refused a request or dropped a message, by the name of
	// the option. It has the names of limits that have done so.
	Refused map[string]int64
	// Budget is the budget that the endpoint uses.
	Budget *budget.Budget
}

// SessionInfo describes a session.
type SessionInfo struct {
	// ID is the id of the session. A client with the id and the principal can use the session,
	// so it must be kept secret.
	ID string
	// Principal is the principal that has begun the session, or the empty string.
	Principal string
	// Client is the unverified name and version of the client. It is nil if they are unknown.
	Client *mcp.Implementation
	// Revision is the revision of the session.
	Revision wire.Revision
	// Idle is how long the session was not used, exact to a minute. It is 0 while it is in use.
	Idle time.Duration
	// Requests are the requests that are being handled.
	Requests []peer.RequestInfo
	// Connection is the server's end of the session. A program can send notifications on it.
	Connection *Connection
}
