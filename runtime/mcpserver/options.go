package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/limit"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/stdio"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Options are the options of a server. The zero value, and nil, work. A negative
// limit is none.
type Options struct {
	// Instructions tell a model how to use this server; empty is none.
	Instructions string
	// OmitServerInfo leaves out of results who wrote them, in the revisions that
	// have it in each of them.
	OmitServerInfo bool
	// Capabilities are what is declared beyond what follows from the
	// registrations: Logging, for example, where handlers send log messages,
	// without which those are dropped. A member that is set here is declared
	// as it is, even if nothing of its kind is registered yet.
	Capabilities mcp.ServerCapabilities
	// Extensions are the extensions of the protocol that the program serves,
	// by identifier, each with its settings, an object; nil is {}. Clients of
	// revisions that have no extensions find them among the experimental
	// capabilities.
	Extensions map[string]json.RawMessage
	// Revisions are what is served; nil is every revision there is.
	Revisions []wire.Revision
	// Middleware wraps the handling of every message that comes in, known or
	// not, the first one outermost.
	Middleware []peer.Middleware
	// Outgoing wraps the way out of every message that is sent to a client,
	// the first one outermost. It is behind the checks: what they refuse or
	// drop never gets there. A question that travels in an answer passes in
	// each round of its request, also when it has been answered, and leaves
	// behind what metadata it was given on the way.
	Outgoing []func(peer.Outbound) peer.Outbound
	// Questions is about questions to clients whose revision has them travel in
	// answers.
	Questions QuestionOptions
	// Tasks let calls that take long go on as tasks; nil does not.
	Tasks *TaskOptions

	// Filter tells whether a caller may know of something registered. What it
	// hides is not listed and behaves as if it did not exist. It is asked for
	// every item of a list and before every use, and must be quick; nil shows
	// everything to everybody. Who calls is in s.Transport().Principal(), or
	// wherever the transport's own type has it.
	Filter func(ctx context.Context, s *mcp.ServerSession, item Item) bool
	// PageSize is how many items a page of a list has; 0 is 1,000. Most
	// clients never ask for a second page.
	PageSize int
	// CacheHints tell clients how long they may take an answer as fresh, by
	// method: that of a list, of discover or of reading a resource. Methods
	// that are not here have answers that are stale at once, and so has a
	// request that asked its client first.
	CacheHints map[string]CacheHint

	// AllowUnknownArguments leaves schemas that are made of Go types open:
	// arguments that a tool does not know are ignored. Otherwise they are
	// refused, so that a model learns of a misspelling.
	AllowUnknownArguments bool
	// TypeSchemas are the schemas of Go types that have JSON of their own
	// making, in place of those that would be made of them.
	TypeSchemas map[reflect.Type]json.RawMessage
	// StrictContent makes it an error to answer a client with content that its
	// revision does not know. Otherwise it gets the nearest that it knows.
	StrictContent bool
	// AllowTraversal lets URIs match resource templates where "..", or the "."
	// of a variable, is a part of a path. Otherwise they match none.
	AllowTraversal bool

	// Bus carries events to the other replicas of this server; nil is none.
	Bus Bus
	// Affects tells whether a change of one resource is of interest to
	// those who watch another, such as a folder that it is in. It is asked for
	// everybody who listens, must be quick, and must not use the server. Nil
	// is when the two are the same. Who may watch the one hears of the other
	// by its URI, whether or not Visible shows it to him.
	Affects func(changed, watched string) bool
	// MaxSubscriptionStreams bounds the streams of subscriptions that are open at a
	// time; 0 is 1,024. One more is answered with an error.
	MaxSubscriptionStreams int
	// MaxSubscriptions bounds the resources that a session or a stream may
	// watch; 0 is 1,024.
	MaxSubscriptions int
	// MaxQueuedNotifications bounds the events that wait for a client that does not read,
	// each once; 0 is 1,024. One more ends a stream, with the reason. A session
	// with a handshake misses it, and the log says so.
	MaxQueuedEvents int

	// Stdio is about the pipes of [Server.ServeStdio] and
	// [Server.ServeStreams]: limits, timeouts. Its Dispatch is also for
	// [Server.InProcess].
	Stdio stdio.ServeOptions
	// Logger takes what nobody else is told; nil is [slog.Default].
	Logger *slog.Logger
}

// CacheHint says how a client may keep an answer. See [Options].CacheHints.
type CacheHint struct {
	// TTL is how long the answer is fresh.
	TTL time.Duration
	// Public lets clients share the answer among their users. It has no effect
	// where [Options].Filter makes lists differ.
	Public bool
}

// Kind says what something registered is.
type Kind string

// The kinds of what can be registered.
const (
	KindTool     Kind = "tool"
	KindResource Kind = "resource"
	KindTemplate Kind = "resource template"
	KindPrompt   Kind = "prompt"
	KindMethod   Kind = "method" // [Options].Filter is not asked for one
)

// Item names something registered.
type Item struct {
	// Kind is what it is.
	Kind Kind
	// Name is the name of a tool, prompt or method, the URI of a resource, the
	// text of a template.
	Name string
}

const (
	defaultPageSize  = 1000
	defaultListeners = 1024
	defaultWatched   = 1024
	defaultWaiting   = 1024
)

// complete fills in what is not set. It panics on what makes no sense.
func (o *Options) complete() {
	o.PageSize = limit.Count(o.PageSize, defaultPageSize)
	o.MaxSubscriptionStreams = limit.Count(o.MaxSubscriptionStreams, defaultListeners)
	o.MaxSubscriptions = limit.Count(o.MaxSubscriptions, defaultWatched)
	o.MaxQueuedEvents = limit.Count(o.MaxQueuedEvents, defaultWaiting)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Stdio.JSONRPC.Logger == nil {
		o.Stdio.JSONRPC.Logger = o.Logger
	}
	for method, hint := range o.CacheHints {
		if info := mcp.MethodByName(method); info == nil || info.Cacheable == 0 {
			panic(fmt.Sprintf("mcpserver: cache hint: answers to %q have none", method))
		}
		if hint.TTL < 0 {
			panic(fmt.Sprintf("mcpserver: cache hint for %q: a TTL of %s", method, hint.TTL))
		}
	}
}
