package streamable

import (
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/verified"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
)

// Options are the options of a [Handler]. The zero value, and nil, are safe to
// serve with. A limit that is zero has its default, a negative one is none.
type Options struct {
	// Principal names the caller of a request as somebody in front of the
	// handler has verified it, empty for nobody. Sessions belong to their
	// principal: to another one they do not exist. Nil is whom a guard of
	// package auth has let in, and nobody where there is none.
	Principal func(*http.Request) string
	// Hosts are names that requests may be addressed to, such as
	// "mcp.example.com" or "10.0.0.1:8080"; a name without a port stands for
	// all of them. A handler that listens on a loopback address accepts
	// loopback names besides and nothing else, so that no website can reach
	// it by pointing a name of its own there. Elsewhere an empty list accepts
	// all names. "*" accepts all names everywhere.
	Hosts []string
	// Origins are the web pages that may send requests, such as
	// "https://app.example.com", besides those that the server itself serves
	// and, on a loopback address, those of the same machine. "*" stands for
	// all. Programs that are no browsers send no origin and need none. The
	// headers that let a page of another origin read an answer are not this
	// handler's to set.
	Origins []string

	// Stateless gives clients of the revisions with a handshake no sessions:
	// each request stands alone, any replica can serve it, and nothing can
	// be asked of the client. A log level that it sets is accepted and
	// forgotten: the next request has logs of every level.
	Stateless bool
	// JSONResponse answers with plain JSON and never with a stream, except for
	// subscriptions. Notifications sent while a request is handled are
	// dropped, and its client cannot be asked for anything.
	JSONResponse bool
	// Polling lets handlers end the stream of their answer early, see
	// [TransportContext.EndStream]. It costs each request of a session a goroutine.
	Polling bool
	// Events keeps what was sent in sessions, for clients that lost a stream
	// to come back for the rest. Nil is a [MemoryStore] with its defaults.
	Events EventStore
	// DisableResumption gives events no ids, so that no stream can be resumed. Events
	// then keeps only what waits for the client to open its stream.
	DisableResumption bool

	// MaxBody is how many bytes a request may have. Default 4 MiB.
	MaxBody int
	// MaxUploads is how many bodies of more than 16 KiB are read at a time, if
	// as many requests may be in flight. Default 64.
	MaxUploads int
	// MaxUploadsPerPrincipal is the same for each principal that has a name.
	// Default 16.
	MaxUploadsPerPrincipal int
	// MaxInFlight is how many requests and notifications outside sessions are
	// handled at a time. Default 4,096; in a session it is 256, see Dispatch.
	MaxInFlight int
	// MaxInFlightPerPrincipal is the same for each principal that has a name, its
	// subscriptions included. Default 256.
	MaxInFlightPerPrincipal int
	// MaxSubscriptionStreams is how many subscriptions there are at a time. Default 1,024.
	MaxSubscriptionStreams int
	// MaxSessions is how many sessions there are at a time. Default 10,000.
	MaxSessions int
	// MaxSessionsPerPrincipal is the same for each principal that has a name.
	// Default 100.
	MaxSessionsPerPrincipal int
	// SessionIdleTimeout is how long a session lives that nobody uses. Default 30 min.
	SessionIdleTimeout time.Duration

	// KeepAlive is how long a stream may be silent before something without
	// meaning is sent on it, and how long an answer may take before it
	// becomes a stream. Default 15 s.
	KeepAlive time.Duration
	// WriteTimeout is how long a client may take to accept an event, or an
	// answer of more than 2 KiB. A shorter one is sent by net/http, which does
	// not wait before a client has left a great many of them unread, and then
	// has no bound. Default 30 s.
	WriteTimeout time.Duration
	// RetryInterval is how long clients are asked to wait before they come back for
	// the rest of a stream. Default 1 s.
	RetryInterval time.Duration

	// Connection sets up the connections. What it says of the channel, the
	// session and the revision is the handler's to fill in.
	Connection connection.Options
	// JSONRPC up the dispatchers of sessions. What it says of handlers,
	// frames and transports is the handler's to fill in.
	JSONRPC jsonrpc.Options
	// Logger takes what nobody else is told. Nil is [slog.Default].
	Logger *slog.Logger

	held func() // says once that a middleware holds streams back
}

// complete returns a copy of o with the defaults filled in.
func (o *Options) complete() Options {
	var full Options
	if o != nil {
		full = *o
	}
	fill(&full.MaxBody, 4<<20)
	fill(&full.MaxInFlight, 4096)
	fill(&full.MaxInFlightPerPrincipal, 256)
	fill(&full.MaxUploads, 64)
	fill(&full.MaxUploadsPerPrincipal, 16)
	fill(&full.MaxSubscriptionStreams, 1024)
	fill(&full.MaxSessions, 10_000)
	fill(&full.MaxSessionsPerPrincipal, 100)
	fill(&full.SessionIdleTimeout, 30*time.Minute)
	fill(&full.KeepAlive, 15*time.Second)
	fill(&full.WriteTimeout, 30*time.Second)
	fill(&full.RetryInterval, time.Second)
	if full.Principal == nil {
		full.Principal = verified.Principal
	}
	if full.Logger == nil {
		full.Logger = slog.Default()
	}
	full.held = sync.OnceFunc(func() {
		full.Logger.Warn("streams are held back until they end: a middleware's http.ResponseWriter has neither Flush nor Unwrap")
	})
	if full.Connection.Logger == nil {
		full.Connection.Logger = full.Logger
	}
	if full.JSONRPC.Logger == nil {
		full.JSONRPC.Logger = full.Logger
	}
	if full.Events == nil {
		full.Events = NewMemoryStore(nil)
	}
	return full
}

// fill sets a value that is not set.
func fill[T int | time.Duration](v *T, byDefault T) {
	if *v == 0 {
		*v = byDefault
	}
}

// within tells whether one more fits a limit.
func within(n, limit int) bool { return limit < 0 || n < limit }
