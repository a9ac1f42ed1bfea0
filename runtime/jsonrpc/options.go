package jsonrpc

import (
	"log/slog"
	"sync"
	"time"

	"github.com/mcpwright/mcp/runtime/budget"
	"github.com/mcpwright/mcp/runtime/internal/failure"
	"github.com/mcpwright/mcp/runtime/internal/limit"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Options configure a [Conn] or an [InProcessConn]. The zero value is valid. A limit that is
// zero has its default; a negative limit is no limit. Functions may be called concurrently.
type Options struct {
	// Handler handles the requests and notifications of the peer. Nil answers every request
	// with "method not found" and drops notifications.
	Handler peer.Handler
	// Frame returns how messages of a method are encoded and, for a request, how its response
	// is decoded. [peer.CallOptions] override it. Nil uses the form of all revisions.
	Frame func(method string) *wire.Frame
	// Inline reports whether requests of a method are handled in the goroutine that delivers
	// them. Then nothing after such a request is processed until it is answered, and a
	// handler that waits for its peer blocks forever. Nil reports true only for "initialize".
	// A transport with a goroutine for each message may return true for all methods.
	Inline func(method string) bool
	// MaxInFlight limits the requests of the peer that are handled at a time. Further
	// requests, except pings, are answered with an error. Default 256.
	MaxInFlight int
	// MaxQueuedNotifications limits the notifications that wait for the one being handled.
	// Together they may be as long as four messages of MaxMessage bytes. Further
	// notifications are dropped, and OnError is called. Default 1,024.
	MaxQueuedNotifications int
	// MaxMessage limits the bytes of a message from the peer. Default 4 MiB.
	MaxMessage int
	// Budget limits the bytes of the peer's requests, and of the responses to them, together with
	// those of other connections. Responses of the peer are not limited: they were asked for. Nil
	// is [budget.Default].
	Budget *budget.Budget
	// Timeout limits how long a call waits for its response, unless the call has a timeout of
	// its own. Progress reports restart it; they are sent for calls with [peer.OnProgress].
	// At the client's end the timeout is suspended while a request of the server is being
	// handled: it may be a question to the user on behalf of the call. Default 60 s.
	Timeout time.Duration
	// MaxTimeout limits how long a call waits in total, regardless of progress reports. If a
	// call has a longer timeout of its own, that timeout is the limit. A call whose timeout is
	// negative has no limit. Default 10 min.
	MaxTimeout time.Duration
	// LastID is the last id that a previous connection used in the same session; see
	// [Conn.CloseIdle]. The ids of calls continue from there.
	LastID int64
	// Client reports whether this is the client's end. A server answers unreadable messages
	// that it cannot attribute to a request; a client only reports them.
	Client bool
	// Batches reports whether messages may arrive in batches, as in revision 2025-03-26. Nil
	// reports false.
	Batches func() bool
	// Read reads one message. Nil is [wire.ReadMessage]. It may decode the params of a request
	// into the type that the handler takes, see [wire.ReadMessageInto], and then returns the
	// frame that it used. Messages are read in the order of their arrival.
	Read func(data []byte) (wire.Message, *wire.Frame, error)
	// OnRequest is called with each request before any handler, in the order of arrival and
	// before any message that arrives later is processed. It is also called for requests that
	// are refused afterwards. It must not wait and must not retain its argument.
	OnRequest func(in *peer.Inbound)
	// OnUnanswered is called for each request that gets no response because its sender
	// cancelled it.
	OnUnanswered func(id wire.RequestID)
	// Unordered reports whether messages may arrive in another order than they were sent in,
	// and ids are not reused. Then a cancellation is also applied to a request that arrives
	// shortly after it.
	Unordered bool
	// OnError is called with errors that belong to no call: unreadable messages, errors that
	// the peer reports without an id, and dropped notifications. Nil logs them.
	OnError func(error)
	// OnLimit is called with the name of a limit whenever a message is refused or dropped because
	// of it. The name is the name of a field of the Options. It must not wait.
	OnLimit func(limit string)

	// Logger receives errors that no caller sees. Nil is [slog.Default].
	Logger *slog.Logger
	// InterceptNotification is called with each notification before the handler, in the order
	// of arrival and before any message that arrives later is processed. It must not wait and
	// must not retain its argument. If it reports true, the handler is not called.
	InterceptNotification func(in *peer.Inbound) (consumed bool)
	// Transport is what handlers see of the transport, unless a [Source] overrides it. An
	// [InProcessConn] always uses it. Nil has the kind "direct" for an InProcessConn and
	// "pipe" for a Conn, and can send requests.
	Transport peer.TransportContext
	// Strict makes an [InProcessConn] encode and decode each message as Frame defines, like a
	// connection over a wire.
	Strict bool
	// Debug makes an [InProcessConn] return the cause of an internal error to its caller, in
	// the chain of the error.
	Debug bool
}

const (
	defaultMaxInFlight            = 256
	defaultMaxQueuedNotifications = 1024
	defaultMaxMessage             = 4 << 20
	defaultTimeout                = 60 * time.Second
	defaultMaxTimeout             = 10 * time.Minute
)

// withDefaults returns a copy of o with the defaults. Nil is allowed.
func (o *Options) withDefaults(kind string) Options {
	var full Options
	if o != nil {
		full = *o
	}
	full.MaxInFlight = limit.Count(full.MaxInFlight, defaultMaxInFlight)
	full.MaxQueuedNotifications = limit.Count(full.MaxQueuedNotifications, defaultMaxQueuedNotifications)
	full.MaxMessage = limit.Count(full.MaxMessage, defaultMaxMessage)
	if full.Budget == nil {
		full.Budget = budget.Default()
	}
	if full.Timeout == 0 {
		full.Timeout = defaultTimeout
	}
	if full.MaxTimeout == 0 {
		full.MaxTimeout = defaultMaxTimeout
	}
	if full.Logger == nil {
		full.Logger = slog.Default()
	}
	if full.Inline == nil {
		full.Inline = func(method string) bool { return method == methodInitialize }
	}
	if full.Frame == nil {
		full.Frame = func(string) *wire.Frame { return nil }
	}
	if full.Transport == nil {
		full.Transport = peer.NewTransportContext(kind, true, nil, "")
	}
	return full
}

// timeouts returns the timeouts of a call with options of its own.
func (o *Options) timeouts(own *peer.CallOptions) timeouts {
	t := timeouts{o.Timeout, o.MaxTimeout}
	switch {
	case own.Timeout != nil:
		t.idle = *own.Timeout
		if t.total >= 0 {
			t.total = max(t.total, t.idle)
		}
	case own.UseMaxTimeout && t.idle >= 0:
		t.idle = t.total
	}
	if t.idle < 0 {
		t.total = -1
	}
	return t
}

// frame returns how messages of a method are encoded and their responses decoded.
func (o *Options) frame(method string, own *wire.Frame) *wire.Frame {
	if own != nil {
		return own
	}
	return o.Frame(method)
}

// revision returns the revision of a frame, which may be nil.
func revision(f *wire.Frame) (r wire.Revision) {
	if f != nil {
		r = f.Revision
	}
	return r
}

// intercept calls InterceptNotification and reports whether it consumed the notification.
func (o *Options) intercept(in *peer.Inbound) (consumed bool) {
	if f := o.InterceptNotification; f != nil {
		failure.LogPanics(o.Logger, "InterceptNotification", func() { consumed = f(in) })
	}
	return consumed
}

// requestArrived calls OnRequest.
func (o *Options) requestArrived(in *peer.Inbound) {
	if f := o.OnRequest; f != nil {
		failure.LogPanics(o.Logger, "OnRequest", func() { f(in) })
	}
}

// requestUnanswered calls OnUnanswered.
func (o *Options) requestUnanswered(id wire.RequestID) {
	if f := o.OnUnanswered; f != nil {
		failure.LogPanics(o.Logger, "OnUnanswered", func() { f(id) })
	}
}

// limitExceeded calls OnLimit.
func (o *Options) limitExceeded(limit string) {
	if f := o.OnLimit; f != nil {
		failure.LogPanics(o.Logger, "OnLimit", func() { f(limit) })
	}
}

// report calls OnError.
func (o *Options) report(err error) {
	if o.OnError == nil {
		o.Logger.Warn("unusable message from the peer", "error", err)
		return
	}
	failure.LogPanics(o.Logger, "OnError", func() { o.OnError(err) })
}

// callOptions applies opts. It does not allocate, because options write to a pooled value.
func callOptions(opts []peer.CallOption) (o peer.CallOptions) {
	if len(opts) == 0 {
		return o
	}
	work := optionsPool.Get().(*peer.CallOptions)
	for _, opt := range opts {
		opt(work)
	}
	o, *work = *work, o
	optionsPool.Put(work)
	return o
}

var optionsPool = sync.Pool{New: func() any { return new(peer.CallOptions) }}
