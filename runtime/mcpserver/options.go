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

// Options configure a server. The zero value and a nil pointer are ready to use.
//
// In each limit zero means the default, which the comment states, and a negative value means
// no limit. Functions may be called concurrently.
type Options struct {
	// Instructions describe for a model how to use this server. Clients may add them to the
	// model's prompt. Empty means that none are sent.
	Instructions string
	// OmitServerInfo omits the name and version of the server from results, in the stateless
	// revisions, whose results contain them.
	OmitServerInfo bool
	// Capabilities are declared in addition to those that follow from the registrations. For
	// example, Logging must be set if handlers send log messages, which are dropped otherwise.
	// A member that is set here is declared as it is, even if nothing of its kind is
	// registered yet.
	Capabilities mcp.ServerCapabilities
	// Extensions are the extensions of the protocol that the program serves, by identifier.
	// Each value contains the settings, a JSON object; nil means {}. They are declared in
	// every revision. The extension for tasks belongs to [Options].Tasks.
	Extensions map[string]json.RawMessage
	// Revisions are the protocol revisions that the server accepts. Nil means all that this
	// module supports.
	Revisions []wire.Revision
	// RequireInitialized refuses the requests of a session until its client has sent
	// notifications/initialized, except for ping. By default they are handled as soon as the
	// initialize request has succeeded, because some clients do not wait, and some never send
	// the notification. The option has no effect on clients without a session.
	RequireInitialized bool
	// Middleware wraps the handling of every incoming message, including messages of unknown
	// methods. The first element is the outermost.
	Middleware []peer.Middleware
	// Hooks are called at the begin and end of sessions, for each request, and for each
	// registration.
	Hooks Hooks
	// Outgoing wraps the sending of every message to a client. The first element is the
	// outermost. It receives only messages that have passed the checks of the session.
	//
	// In the stateless revisions a question is part of a response. It passes through Outgoing
	// in each round of its request, even after it has been answered, and metadata that
	// Outgoing adds to it is not sent.
	Outgoing []func(peer.Outbound) peer.Outbound
	// Questions configures questions to clients of the stateless revisions, which are sent in
	// responses.
	Questions QuestionOptions
	// Tasks allows calls that take long to continue as tasks. It is an Options of package
	// runtime/tasks:
	//
	//	server := mcpserver.New(info, &mcpserver.Options{Tasks: &tasks.Options{StartAfter: 2 * time.Second}})
	//
	// Nil disables tasks.
	Tasks TaskOptions

	// Filter reports whether a caller may access a registered item. Hidden items are not
	// listed, and requests for them fail as if they were not registered. Filter is called for
	// every item of a list and before every use, so it must be fast. Nil shows all items to
	// all callers. The caller's identity is in s.Transport().Principal(), or in the
	// transport's own type.
	Filter func(ctx context.Context, s *mcp.ServerSession, item Item) bool
	// ToolScopes are the OAuth scopes that calls of tools require, by name. A call whose
	// caller lacks one of them does not reach the tool. Over HTTP it gets status 403 and a
	// challenge with the scopes, as with RequireScopes of package auth. A call without a
	// caller that a guard has verified has no scopes. See [Server.Scopes].
	ToolScopes map[string][]string
	// HideToolsByScope omits tools from the list if the caller lacks one of their ToolScopes.
	// Calls of these tools still get the challenge.
	HideToolsByScope bool
	// PageSize is the maximum number of items in one page of a list. Zero means 1,000. Many
	// clients never request a second page.
	PageSize int
	// CacheHints state how long clients may cache responses, by method: list methods,
	// server/discover, resources/read, skills/list and skills/get. Without a hint, and after a request that asked its
	// client for input, a response must not be cached. [New] panics if another method is named
	// or a TTL is negative.
	CacheHints map[string]CacheHint

	// Validation is how the arguments of tools are validated. The default is [ValidateStrict].
	Validation Validation
	// ToolValidation replaces Validation for single tools, by name.
	ToolValidation map[string]Validation
	// UncheckedResults sends results of raw tools that do not match the OutputSchema of the
	// tool. The protocol forbids such results, and clients may refuse them.
	UncheckedResults bool
	// AllowUnknownArguments makes schemas that are inferred from Go types accept unknown
	// arguments, which are then ignored. By default they are rejected, so that a model notices
	// a misspelling.
	AllowUnknownArguments bool
	// TypeSchemas are the JSON schemas of Go types that implement their own JSON encoding.
	// They replace the schemas that would be inferred.
	TypeSchemas map[reflect.Type]json.RawMessage
	// ExposeErrors sends the texts of all errors of handlers to clients, as other SDKs do. By
	// default a client gets an id for an error that is not made for it, and the log contains the
	// id and the text. Texts of errors may contain secrets. Panics are never sent.
	ExposeErrors bool
	// StrictContent makes a request fail if its result has content that the client's revision
	// does not define. By default such content is replaced by the closest kind that the
	// revision defines.
	StrictContent bool
	// AllowTraversal lets URIs match resource templates even if a path segment is "..", or a
	// variable's value has a segment ".". By default such URIs match no template.
	AllowTraversal bool

	// Bus carries events between the replicas of this server. Nil means that there is one
	// replica.
	Bus Bus
	// Affects reports whether the subscribers of the resource with the URI watched must be
	// notified when the resource with the URI changed has changed, for example because watched
	// is a folder that contains it. The arguments always differ: subscribers of changed itself
	// are always notified. The notification contains the URI changed, even if Filter hides
	// that resource from the subscriber.
	//
	// Affects is called for every subscribed URI on each change, so it must be fast. It must
	// not call methods of the server. Nil means that no resource affects another.
	Affects func(changed, watched string) bool
	// MaxSubscriptionStreams limits the subscription streams that are open at the same time,
	// of all clients together. Zero means 1,024. A request for another stream fails.
	MaxSubscriptionStreams int
	// MaxSubscriptions limits the resources that one session, or one stream, may be subscribed
	// to. Zero means 1,024. A request for more fails.
	MaxSubscriptions int
	// MaxQueuedEvents limits the events that are queued for one client that reads slowly.
	// Equal events are queued once. Zero means 1,024. When the queue is full, a subscription
	// stream ends with an error; a session loses the event, which is logged.
	MaxQueuedEvents int

	// Stdio configures [Server.ServeStdio], [Server.ServeStreams] and [Server.Serve]. Its
	// JSONRPC options also apply to [Server.InProcess].
	Stdio stdio.ServeOptions
	// Logger receives errors that are not returned to any caller. Nil means [slog.Default].
	Logger *slog.Logger
}

// Validation is how the arguments of a tool are validated against its input schema.
type Validation int

const (
	// ValidateStrict refuses invalid arguments. The model receives a list of the problems.
	ValidateStrict Validation = iota
	// ValidateLenient also accepts arguments that are valid after these changes, with which
	// the handler is called: a string that is exactly a number or a boolean becomes one if the
	// schema requires one, such as "2", and a single value becomes a list of one item if the
	// schema requires a list. Other arguments are refused.
	ValidateLenient
	// ValidateOff passes all arguments to the handlers of raw tools, which validate them
	// themselves. Their input schemas may use what this module cannot compile, such as patterns
	// that only ECMAScript has. For typed tools it is like ValidateStrict.
	ValidateOff
)

// CacheHint states how clients may cache a response. See [Options].CacheHints.
type CacheHint struct {
	// TTL is how long the response is fresh. Zero means that it must not be cached. It must
	// not be negative.
	TTL time.Duration
	// Public allows clients to share the response among their users. It has no effect if
	// [Options].Filter or HideToolsByScope is set, because responses may then differ.
	Public bool
}

// Kind is the kind of a registered item.
type Kind string

// The kinds of registered items.
const (
	KindTool     Kind = "tool"
	KindResource Kind = "resource"
	KindTemplate Kind = "resource template"
	KindPrompt   Kind = "prompt"
	KindMethod   Kind = "method" // never passed to Options.Filter
)

// Item identifies a registered item.
type Item struct {
	// Kind is the kind of the item.
	Kind Kind
	// Name is the name of a tool, prompt or method, the URI of a resource, or the URI template
	// of a resource template.
	Name string
}

// QuestionOptions configure questions to clients of the stateless revisions, which are sent in
// the responses to their requests. The zero value works if the server is one process. In each
// limit a negative value means no limit.
type QuestionOptions struct {
	// SealKeys encrypt the request state that a client returns with its next request. The
	// first key encrypts, and every key decrypts. Each has at least 32 bytes. Nil means a
	// random key of this process.
	//
	// Keys are required if the next request may reach another replica, or this one after a
	// restart; all replicas must then have the same keys. To rotate keys, add the new key at
	// the end on all replicas, then move it to the front, and remove the old key when no
	// request uses it any more, RoundTTL later.
	SealKeys [][]byte
	// RoundTTL limits the time between a question and its response. Zero means 10 minutes. A
	// question of a task stays open for as long as the task exists.
	RoundTTL time.Duration
	// MaxRounds limits how often one request may be answered with questions. In the handshake
	// revisions it limits how often a question is repeated because its response is invalid.
	// Zero means 10. A request that needs more rounds fails.
	MaxRounds int
	// MaxState limits the size of the request state, in bytes. Zero means 64 KiB. A request
	// that needs more fails.
	MaxState int
}

const (
	defaultPageSize               = 1000
	defaultMaxSubscriptionStreams = 1024
	defaultMaxSubscriptions       = 1024
	defaultMaxQueuedEvents        = 1024
)

// Methods of package skills whose results can be cached.
const (
	methodListSkills = "skills/list"
	methodGetSkill   = "skills/get"
)

// complete sets the defaults. It panics on invalid options.
func (o *Options) complete() {
	o.PageSize = limit.Count(o.PageSize, defaultPageSize)
	o.MaxSubscriptionStreams = limit.Count(o.MaxSubscriptionStreams, defaultMaxSubscriptionStreams)
	o.MaxSubscriptions = limit.Count(o.MaxSubscriptions, defaultMaxSubscriptions)
	o.MaxQueuedEvents = limit.Count(o.MaxQueuedEvents, defaultMaxQueuedEvents)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Stdio.JSONRPC.Logger == nil {
		o.Stdio.JSONRPC.Logger = o.Logger
	}
	for method, hint := range o.CacheHints {
		info := mcp.MethodByName(method)
		if (info == nil || info.Cacheable == 0) && method != methodListSkills && method != methodGetSkill {
			panic(fmt.Sprintf("mcpserver: cache hint: responses to %q cannot be cached", method))
		}
		if hint.TTL < 0 {
			panic(fmt.Sprintf("mcpserver: cache hint for %q: negative TTL %s", method, hint.TTL))
		}
	}
}

// validation returns how the arguments of a tool are validated.
func (o *Options) validation(tool string) Validation {
	if v, ok := o.ToolValidation[tool]; ok {
		return v
	}
	return o.Validation
}

// affects reports whether the subscribers of watched must be notified of a change of changed.
func (o *Options) affects(changed, watched string) bool {
	return watched == changed || o.Affects != nil && o.Affects(changed, watched)
}
