package mcpclient

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/capabilities"
	"github.com/mcpwright/mcp/runtime/internal/limit"
	"github.com/mcpwright/mcp/runtime/internal/revisions"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/tasks"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Options configures a [Client]. Nil and the zero value have the defaults. A negative limit or
// timeout means none. The client declares the capabilities that its handlers provide. Handlers
// are called concurrently.
type Options struct {
	// Info describes this client to the server. The default name is the name of the executable.
	Info mcp.Implementation

	// Mode limits the revisions that the client uses. Default [Auto].
	Mode Mode
	// Revision is the only revision that the client uses. If it is zero, Mode decides.
	Revision wire.Revision
	// LastRevision is the revision that the server used the last time. The client tries it first,
	// which saves a request. If the server does not support it any more, the client tries others.
	LastRevision wire.Revision
	// ProbeTimeout limits the wait for the response to server/discover. Afterwards the client
	// tries initialize. Default 10 s.
	ProbeTimeout time.Duration

	// OnElicit asks the user for input. The params contain a form. If ElicitURLs is set, they may
	// contain a URL instead: the handler must show it in full and open it only if the user agrees.
	OnElicit func(ctx context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error)
	// ElicitURLs declares that OnElicit supports URLs.
	ElicitURLs bool
	// OnCreateMessage generates a message with the program's language model. The user should be
	// able to refuse; the handler then returns [ErrRejected].
	OnCreateMessage func(ctx context.Context, req *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error)
	// SamplingTools declares that OnCreateMessage passes the tools of the request to the model.
	SamplingTools bool
	// SamplingContext declares that OnCreateMessage adds context of the program's servers if the
	// request asks for it.
	SamplingContext bool
	// Roots lists the files and folders in which the server should work. Nil declares no roots.
	// [Client.SetRoots] replaces them.
	Roots []mcp.Root
	// OnListRoots returns the roots when the server requests them. Roots is not used then.
	OnListRoots func(ctx context.Context, req *mcp.ListRootsRequest) (*mcp.ListRootsResult, error)

	// OnLog receives the log messages of the server. Handlers of notifications are called one at a
	// time, in the order in which the server sent the notifications. Their errors are only logged.
	OnLog func(ctx context.Context, n *mcp.LoggingMessageNotification) error
	// LogLevel is the lowest level of the messages for OnLog. Default info.
	LogLevel mcp.LoggingLevel
	// OnToolListChanged is called when the server's list of tools has changed. In revisions since
	// 2026-07-28 the client opens a subscription for this handler and the next two.
	OnToolListChanged func(ctx context.Context, n *mcp.ToolListChangedNotification) error
	// OnPromptListChanged is called when the server's list of prompts has changed.
	OnPromptListChanged func(ctx context.Context, n *mcp.PromptListChangedNotification) error
	// OnResourceListChanged is called when the server's list of resources has changed.
	OnResourceListChanged func(ctx context.Context, n *mcp.ResourceListChangedNotification) error
	// OnElicitComplete is called when the user has finished at a URL. Only servers of 2025-11-25
	// send this notification.
	OnElicitComplete func(ctx context.Context, n *mcp.ElicitationCompleteNotification) error
	// Handlers registers more handlers: for messages of extensions and for progress and task
	// notifications. It is called once.
	Handlers func(mux *peer.Mux)

	// Capabilities are declared in addition to the capabilities of the handlers above: for
	// extensions and for messages that Handlers registers.
	Capabilities mcp.ClientCapabilities

	// Middleware wraps the handling of the server's messages; the first is outermost. It does not
	// see notifications of a [Subscription].
	Middleware []peer.Middleware
	// Outgoing wraps the sending of messages; the first is outermost. It does not see requests
	// whose response is in the cache.
	Outgoing []func(peer.Outbound) peer.Outbound
	// Strict refuses to send requests that require a capability which the server did not declare.
	Strict bool

	// Timeout limits the wait of a call for its response, unless the call has a timeout of its own.
	// A progress notification restarts it; the client requests progress only for calls with
	// [peer.OnProgress]. It does not run while this client handles input requests of the server.
	// Default 60 s.
	Timeout time.Duration
	// MaxTimeout limits the wait of a call in total, including progress. If a call has a longer
	// timeout, that is its maximum. A call with a negative timeout has no maximum. Default 10 min.
	MaxTimeout time.Duration
	// MaxMessage limits the size of the server's messages in bytes. Default 4 MiB, over HTTP 16 MiB.
	MaxMessage int
	// MaxInFlight limits the number of the server's requests that are handled concurrently. More
	// requests get an error. It also limits the input requests of one result that are handled
	// concurrently; the others wait. Default 256.
	MaxInFlight int
	// MaxQueuedNotifications limits the number of notifications that wait to be handled. More
	// notifications are dropped and logged. Default 1,024.
	MaxQueuedNotifications int
	// ManualInput returns input requests of the server to the caller as an
	// *[mcp.InputRequiredError] instead of calling the handlers.
	ManualInput bool
	// MaxRounds limits how often one call answers input requests. Default 10.
	MaxRounds int
	// MaxQuestions limits the input requests that one call answers in all rounds together. Default
	// 100.
	MaxQuestions int
	// Tasks allows servers of 2026-07-28 to return a task from a tool call, by the extension
	// [tasks.Name]. The call then waits until the task has finished. Only its context limits it: no
	// timeout applies. The handlers of this client answer input requests of the task, also for
	// calls of [Client.Forward] and with ManualInput. In 2025-11-25 a client decides what becomes
	// a task: this one asks for a task if the tool requires it, and for calls with
	// [mcp.CallToolRequest].Task.
	Tasks bool
	// OnTask is called with the state of a task whenever the client has received it.
	OnTask func(ctx context.Context, t *tasks.Task)
	// Cache configures the cache of results.
	Cache CacheOptions

	// Restarts limits how often in a row the client restarts a server that has exited or dials a
	// connection that has ended. The count starts again after a minute of operation. Calls without
	// a response fail. Later calls wait for the new connection, for at most their timeout.
	// Subscriptions are opened again. Default none, negative is no limit.
	Restarts int
	// KeepAlive is the interval of pings, in handshake revisions. The connection ends after three
	// pings without a response. Default no pings.
	KeepAlive time.Duration

	// Logger receives errors that no caller receives. Nil is [slog.Default].
	Logger *slog.Logger
}

// A Mode selects the revisions that a client may use.
type Mode int

const (
	// Auto uses the newest revision that the server supports.
	Auto Mode = iota
	// NoHandshake uses only stateless revisions.
	NoHandshake
	// Handshake uses only handshake revisions.
	Handshake
)

const (
	defaultProbeTimeout = 10 * time.Second
	defaultMaxRounds    = 10
	defaultMaxQuestions = 100
	defaultMaxInFlight  = 256
)

// complete returns a copy of o with the defaults and with all capabilities to declare.
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
	full.MaxQuestions = limit.Count(full.MaxQuestions, defaultMaxQuestions)
	full.MaxInFlight = limit.Count(full.MaxInFlight, defaultMaxInFlight)
	if full.LogLevel == "" {
		full.LogLevel = mcp.LoggingLevelInfo
	}
	if full.Logger == nil {
		full.Logger = slog.Default()
	}
	full.declareCapabilities()
	return full
}

// declareCapabilities adds the capabilities of the handlers to o.Capabilities.
func (o *Options) declareCapabilities() {
	caps := &o.Capabilities
	if o.OnElicit != nil {
		caps.Elicitation = &mcp.ElicitationCapability{Form: map[string]json.RawMessage{}}
		if o.ElicitURLs {
			caps.Elicitation.URL = map[string]json.RawMessage{}
		}
	}
	if o.OnCreateMessage != nil {
		caps.Sampling = new(mcp.SamplingCapability)
		if o.SamplingTools {
			caps.Sampling.Tools = map[string]json.RawMessage{}
		}
		if o.SamplingContext {
			caps.Sampling.Context = map[string]json.RawMessage{}
		}
	}
	if o.Roots != nil || o.OnListRoots != nil {
		caps.Roots = &mcp.RootsCapability{ListChanged: true}
	}
	if o.Tasks {
		extensions := map[string]map[string]json.RawMessage{tasks.Name: {}}
		maps.Copy(extensions, caps.Extensions)
		caps.Extensions = extensions
	}
}

func programName() string {
	if exe, err := os.Executable(); err == nil {
		return filepath.Base(exe)
	}
	return "mcpclient"
}

// check validates the options that every request contains, so that errors appear in Connect.
func (o *Options) check() error {
	for _, r := range mcp.Revisions {
		f := &wire.Frame{Revision: r.Revision}
		if _, err := wire.Append(nil, f, &o.Info); err != nil {
			return fmt.Errorf("options: Info: %w", err)
		}
		if _, err := wire.Append(nil, f, &o.Capabilities); err != nil {
			return fmt.Errorf("options: capabilities: %w", err)
		}
	}
	if err := capabilities.CheckExtensions(o.Capabilities.Extensions); err != nil {
		return fmt.Errorf("options: capabilities: %w", err)
	}
	return checkRoots(o.Roots)
}

func checkRoots(roots []mcp.Root) error {
	for _, r := range roots {
		if !strings.HasPrefix(r.URI, "file://") {
			return fmt.Errorf("root %q: URI must begin with %q", r.URI, "file://")
		}
	}
	return nil
}

// metadata returns the entries that describe this client in the metadata of each request, in a
// stateless revision. The options must have passed check.
func (o *Options) metadata(r wire.Revision) []wire.Entry {
	entries := []wire.Entry{
		{Name: revisions.KeyVersion, Value: wire.AppendString(nil, r.String())},
		{Name: revisions.KeyCapabilities, Value: encoded(r, &o.Capabilities)},
		{Name: revisions.KeyInfo, Value: encoded(r, &o.Info)},
	}
	if o.OnLog != nil {
		entries = append(entries, logLevelEntry(o.LogLevel))
	}
	return entries
}

func encoded(r wire.Revision, v wire.Value) json.RawMessage {
	b, err := wire.Append(nil, revisions.Frame(r), v)
	if err != nil {
		return json.RawMessage("{}")
	}
	return b
}

// allows reports whether the client may use a revision.
func (o *Options) allows(r wire.Revision) bool {
	if o.Revision.Index() >= 0 {
		return r == o.Revision
	}
	switch o.Mode {
	case NoHandshake:
		return !revisions.Handshake(r)
	case Handshake:
		return revisions.Handshake(r)
	}
	return true
}

// firstRevision returns the revision to try first. Last is the revision that the server used
// before, or zero. Only reports whether the options allow no revision of the other kind.
func (o *Options) firstRevision(last wire.Revision) (r wire.Revision, only bool) {
	switch {
	case o.Revision.Index() >= 0:
		return o.Revision, true
	case last.Index() >= 0 && o.allows(last):
		return last, o.Mode != Auto
	case o.Mode == Handshake:
		return revisions.Newest(true), true
	}
	return revisions.Newest(false), o.Mode == NoHandshake
}

// responseTimeout limits the wait for a response even if calls have no timeout.
func (o *Options) responseTimeout() time.Duration {
	if o.Timeout > 0 {
		return o.Timeout
	}
	return time.Minute
}
