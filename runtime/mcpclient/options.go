package mcpclient

import (
	"context"
	"log/slog"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/limit"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/tasks"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Options are the options of a [Client]. The zero value works, and so does nil; a
// limit or timeout that is negative is none. What the client declares that it can
// do follows from the handlers given, which are called concurrently.
type Options struct {
	// Info says who this client is. Without a name it is that of the running
	// program.
	Info mcp.Implementation

	// Mode says which era to speak; [Auto] finds out.
	Mode Mode
	// Revision is the one revision to speak, with no other in its place; the
	// zero Revision leaves the choice to Mode.
	Revision wire.Revision
	// LastRevision is the revision that the server spoke when it was met last. It is
	// tried before anything else, which saves asking; where it turns out
	// wrong, nothing is lost but the try.
	LastRevision wire.Revision
	// ProbeTimeout is how long a server may take to say which revisions it
	// speaks before it counts as one that never learned to. Default 10 s.
	ProbeTimeout time.Duration

	// OnElicit asks the user for input. The params are a form, and with
	// ElicitURLs also a URL to visit, which the handler must show in full and
	// open only if the user agrees.
	OnElicit func(ctx context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error)
	// ElicitURLs tells that OnElicit deals with URLs, too.
	ElicitURLs bool
	// OnCreateMessage lets the program's language model write a message. The user
	// should have a say in it; [ErrRejected] is the answer of one who refuses.
	OnCreateMessage func(ctx context.Context, req *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error)
	// SamplingTools tells that OnCreateMessage gives the model the tools of the request.
	SamplingTools bool
	// SamplingContext tells that OnCreateMessage adds context of the program's servers
	// where the request wants it.
	SamplingContext bool
	// Roots are the folders and files in which the server is meant to work;
	// nil offers none. See [Client.SetRoots].
	Roots []mcp.Root
	// OnListRoots says the same at the time it is asked, in place of Roots.
	OnListRoots func(ctx context.Context, req *mcp.ListRootsRequest) (*mcp.ListRootsResult, error)

	// OnLog takes the log messages of the server. Handlers of notifications
	// are called one after another, in the order in which the server sent
	// them; their errors are only logged.
	OnLog func(ctx context.Context, n *mcp.LoggingMessageNotification) error
	// LogLevel is the least severe level that OnLog wants. Default info.
	LogLevel mcp.LoggingLevel
	// OnToolListChanged is told that the server has other tools now. Since
	// 2026-07-28 the client keeps a subscription open for this handler and
	// the next two.
	OnToolListChanged func(ctx context.Context, n *mcp.ToolListChangedNotification) error
	// OnPromptListChanged is told that the server has other prompts now.
	OnPromptListChanged func(ctx context.Context, n *mcp.PromptListChangedNotification) error
	// OnResourceListChanged is told that the server has other resources now.
	OnResourceListChanged func(ctx context.Context, n *mcp.ResourceListChangedNotification) error
	// OnElicitComplete is told that the user is done at a URL, by servers of
	// 2025-11-25.
	OnElicitComplete func(ctx context.Context, n *mcp.ElicitationCompleteNotification) error
	// Handlers registers handlers of more messages: those of extensions, and
	// progress or task notifications as they come. It is called once.
	Handlers func(mux *peer.Mux)

	// Capabilities are declared beside those that follow from the handlers:
	// extensions, and what Handlers deals with.
	Capabilities mcp.ClientCapabilities

	// Middleware wraps the handling of what the server sends, the first one
	// outermost. What belongs to a [Subscription] goes there.
	Middleware []peer.Middleware
	// Outgoing wraps the way out of everything that is sent, the first one
	// outermost. What a cache answers is not sent.
	Outgoing []func(peer.Outbound) peer.Outbound
	// Strict refuses to send what needs a capability that the server did not
	// declare.
	Strict bool

	// Timeout is how long a call waits for its answer unless it says
	// otherwise. Progress reports begin the wait anew; they come to calls with
	// [peer.OnProgress]. It does not run while the user is asked for the server.
	// Default 60 s.
	Timeout time.Duration
	// MaxTimeout is how long a call waits whatever is reported meanwhile. A
	// call that asks for a longer timeout has that as its maximum, and one
	// whose timeout is negative has none. Default 10 min.
	MaxTimeout time.Duration
	// MaxMessage is how many bytes a message of the server may have. Default
	// 4 MiB, over HTTP 16 MiB.
	MaxMessage int
	// MaxInFlight is how many of the server's requests are handled at a time;
	// one more is answered with an error. Of the questions in an answer as many
	// are put at a time, and the others wait. Default 256.
	MaxInFlight int
	// MaxQueuedNotifications is how many of its notifications may wait for the one being
	// handled. One more is dropped, and the Logger told. Default 1,024.
	MaxQueuedNotifications int
	// ManualInput leaves the questions in answers to the caller, who finds
	// them as an *[mcp.InputRequiredError].
	ManualInput bool
	// MaxRounds is how often one call answers questions. Default 10.
	MaxRounds int
	// Tasks lets servers of 2026-07-28 answer the call of a tool with a task, the
	// extension [tasks.Name]. The call then goes on until the task has come to its
	// end, as long as its context does, and no timeout ends it. What a task asks
	// is answered by this client, also for [Client.Forward] and with ManualInput.
	Tasks bool
	// OnTask is told how far a task has come, whenever the client looks.
	OnTask func(ctx context.Context, t *tasks.Task)
	// Cache says how answers are kept.
	Cache CacheOptions

	// Restarts is how often in a row a server that has ended, or whose connection
	// has, is started anew; one that has run for a minute begins the count anew.
	// What it was sent and had not answered fails all the
	// same. Calls that come later wait, at most as long as for an answer, and
	// what is listened to is listened to again. Default never, negative is
	// always.
	Restarts int
	// KeepAlive is how often to look for a sign of life, in the revisions that
	// have one; three times without count as the end. Default never.
	KeepAlive time.Duration

	// Logger takes what nobody else is told; nil is [slog.Default].
	Logger *slog.Logger
}

// A Mode says which era a client may speak.
type Mode int

const (
	// Auto speaks the newest revision that the server does.
	Auto Mode = iota
	// NoHandshake speaks revisions without a handshake only.
	NoHandshake
	// Handshake speaks revisions with a handshake only.
	Handshake
)

const (
	defaultProbeTimeout = 10 * time.Second
	defaultMaxRounds    = 10
	defaultMaxInFlight  = 256
)

// complete returns a copy of o with the defaults filled in.
func (o *Options) complete() Options {
	var full Options
	if o != nil {
		full = *o
	}
	if full.Info.Name == "" {
		full.Info.Name = programName()
	}
	full.ProbeTimeout = limit.Time(full.ProbeTimeout, defaultProbeTimeout)
	full.MaxRounds = limit.Count(full.MaxRounds, defaultMaxRounds)
	full.MaxInFlight = limit.Count(full.MaxInFlight, defaultMaxInFlight)
	if full.LogLevel == "" {
		full.LogLevel = mcp.LoggingLevelInfo
	}
	if full.Logger == nil {
		full.Logger = slog.Default()
	}
	return full
}
