package streamable

import (
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/mcpwright/mcp/runtime/budget"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/limit"
	"github.com/mcpwright/mcp/runtime/internal/verified"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
)

// Options are the options of a [Handler]. Nil and the zero value are safe to use. A
// limit that is zero has its default; a negative one means no limit. Functions may be
// called concurrently.
type Options struct {
	// Principal returns the name of the caller of a request, as verified by middleware
	// in front of the handler, or "" for an anonymous caller. A session can be used
	// only by the principal that began it; others get the status 404. Nil uses the
	// caller that a guard of package auth has verified, or "" without a guard.
	Principal func(*http.Request) string
	// Hosts are the names that requests may have in their header Host, such as
	// "mcp.example.com" or "10.0.0.1:8080". A name without a port allows all ports. On
	// a loopback address, the handler accepts only these and loopback names, which
	// prevents attacks by DNS rebinding. On other addresses, an empty list accepts all
	// names. "*" accepts all names on all addresses.
	Hosts []string
	// Origins are the web pages that may send requests, such as
	// "https://app.example.com". Pages of the server itself may always send requests
	// and, on a loopback address, pages of the same machine. "*" accepts all pages.
	// Programs other than browsers send no origin and need no entry. The handler sets
	// no CORS headers, which let pages of other origins read a response.
	Origins []string

	// Stateless disables sessions for clients of handshake revisions: each request is
	// independent and can be served by any replica, but handlers cannot send requests
	// to the client. A log level that the client sets is accepted and ignored: later
	// requests have log messages of all levels.
	Stateless bool
	// JSONResponse makes all responses plain JSON instead of streams, except for
	// subscriptions. Notifications that a handler sends during a request are dropped,
	// and it cannot send requests to the client.
	JSONResponse bool
	// Polling allows handlers to end the stream of a response early with
	// [TransportContext.EndStream]. It needs one more goroutine for each request of a
	// session.
	Polling bool
	// Events stores the messages of sessions, so that clients can resume a broken
	// stream. Nil means a [MemoryStore] with the default limits.
	Events EventStore
	// DisableResumption omits the ids of events, so that streams cannot be resumed.
	// Events then stores only messages that wait for the client to open its standalone
	// stream.
	DisableResumption bool

	// NewSessionID returns the id of a session that a request is about to begin, for
	// example with a prefix by which a proxy finds the replica. It must be unique, hard
	// to guess, and consist of visible ASCII characters; otherwise the request gets the
	// status 500. Nil means a random id. Sharing has its own ids.
	NewSessionID func(*http.Request) string
	// MayDelete is called when the client of a session asks to end it, before the session
	// ends. If it returns false, it has written the response, and the session continues.
	// Nil ends the session.
	MayDelete func(http.ResponseWriter, *http.Request) bool
	// Sharing lets other replicas continue the sessions. Nil means that a session is lost
	// when the process ends. Package scale has an implementation.
	Sharing Sharing

	// MaxBody limits the bytes of a request. Default 4 MiB.
	MaxBody int
	// MaxUploads limits the bodies of more than 16 KiB that are being read. MaxInFlight
	// limits them, too. A quarter is reserved for named principals that have no other
	// such body. Default 64.
	MaxUploads int
	// MaxUploadsPerPrincipal limits the bodies of more than 16 KiB that are being read
	// from one named principal. Default 16.
	MaxUploadsPerPrincipal int
	// MaxInFlight limits the requests and notifications outside sessions that are being
	// handled, and likewise the requests of all sessions together. Default 4,096.
	// JSONRPC has the limit of each session, 256 by default.
	MaxInFlight int
	// MaxInFlightPerPrincipal limits the requests of one named principal that are being
	// handled. Notifications and subscriptions outside sessions count, too. Default 256.
	MaxInFlightPerPrincipal int
	// MaxSubscriptionStreams limits the open subscriptions. Default 1,024.
	MaxSubscriptionStreams int
	// MaxSessions limits the sessions. Default 10,000.
	MaxSessions int
	// MaxSessionsPerPrincipal limits the sessions of one named principal. Default 100.
	MaxSessionsPerPrincipal int
	// SessionIdleTimeout ends a session that was not used for that long. A handler that
	// waits for the response of a client without an open connection does not use the
	// session. Default 30 min.
	SessionIdleTimeout time.Duration

	// KeepAlive is the time after which a comment is sent on an idle stream, and after
	// which the response to a slow request becomes a stream. Default 15 s. A negative
	// value disables both.
	KeepAlive time.Duration
	// WriteTimeout limits the time for a client to accept an event, or a response of
	// more than 2 KiB. Shorter responses are written by net/http without a timeout; a
	// write blocks only if the client has left very many of them unread. Default 30 s.
	WriteTimeout time.Duration
	// RetryInterval is the time that clients are asked to wait before they resume a
	// stream. Default 1 s.
	RetryInterval time.Duration

	// Connection contains the options of connections. The handler sets the channel, the
	// session and the revision.
	Connection connection.Options
	// JSONRPC contains the options of the JSON-RPC connections of sessions. The handler
	// sets the handler, the frame and the transport. The budget is also used outside
	// sessions.
	JSONRPC jsonrpc.Options
	// Logger receives errors that no caller gets. Nil means [slog.Default].
	Logger *slog.Logger

	unflushed func() // logs once that streams cannot be flushed
	refused   *limit.Refusals
}

// complete returns a copy of o with defaults. A nil o has only defaults.
func (o *Options) complete() Options {
	var full Options
	if o != nil {
		full = *o
	}
	setDefault(&full.MaxBody, 4<<20)
	setDefault(&full.MaxInFlight, 4096)
	setDefault(&full.MaxInFlightPerPrincipal, 256)
	setDefault(&full.MaxUploads, 64)
	setDefault(&full.MaxUploadsPerPrincipal, 16)
	setDefault(&full.MaxSubscriptionStreams, 1024)
	setDefault(&full.MaxSessions, 10_000)
	setDefault(&full.MaxSessionsPerPrincipal, 100)
	setDefault(&full.SessionIdleTimeout, 30*time.Minute)
	setDefault(&full.KeepAlive, 15*time.Second)
	setDefault(&full.WriteTimeout, 30*time.Second)
	setDefault(&full.RetryInterval, time.Second)
	if full.Principal == nil {
		full.Principal = func(r *http.Request) string { return verified.Principal(r.Context()) }
	}
	if full.Logger == nil {
		full.Logger = slog.Default()
	}
	full.refused = new(limit.Refusals)
	full.JSONRPC.OnLimit = full.refused.OfConnections(full.JSONRPC.OnLimit)
	full.unflushed = sync.OnceFunc(func() {
		full.Logger.Warn("streams cannot be flushed: the http.ResponseWriter of a middleware has neither Flush nor Unwrap")
	})
	if full.Connection.Logger == nil {
		full.Connection.Logger = full.Logger
	}
	if full.JSONRPC.Budget == nil {
		full.JSONRPC.Budget = budget.Default()
	}
	if full.JSONRPC.Logger == nil {
		full.JSONRPC.Logger = full.Logger
	}
	if full.Events == nil {
		full.Events = NewMemoryStore(&MemoryOptions{Budget: full.JSONRPC.Budget})
	}
	return full
}

// storesInMemory reports whether storing an event never waits.
func (o *Options) storesInMemory() bool {
	_, ok := o.Events.(*MemoryStore)
	return ok
}

// setDefault sets a value that is zero.
func setDefault[T int | time.Duration](v *T, byDefault T) {
	if *v == 0 {
		*v = byDefault
	}
}

// belowLimit reports whether n is below a limit. A negative limit means no limit.
func belowLimit(n, limit int) bool { return limit < 0 || n < limit }
