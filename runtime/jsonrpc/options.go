package jsonrpc

import (
	"log/slog"
	"sync"
	"time"

	"github.com/mcpwright/mcp/runtime/internal/limit"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Options are the options of a dispatcher. The zero value works; a limit that is
// zero has its default, a negative one is none. Functions are called from several
// goroutines.
type Options struct {
	// Handler handles what the peer sends. Nil answers every request with
	// "method not found" and drops notifications.
	Handler peer.Handler
	// Frame tells how a message of a method is written and, for a request, how
	// its answer is read, where [peer.CallOptions] do not say. Nil is the form
	// of all revisions.
	Frame func(method string) *wire.Frame
	// Inline names the requests that are handled in the goroutine that
	// delivers them, so that nothing after them is looked at before they are
	// answered. A handler that waits for its peer inline waits forever. Nil is
	// "initialize" alone; a transport with a goroutine for each message may
	// want them all.
	Inline func(method string) bool
	// Logger takes what nobody else is told. Nil is [slog.Default].
	Logger *slog.Logger
	// MaxInFlight is how many of the peer's requests are handled at a time;
	// one more is answered with an error, unless it is a ping. Default 256.
	MaxInFlight int
	// MaxQueuedNotifications is how many notifications may wait for the one being handled;
	// together they may be as long as four messages of MaxMessage bytes. One
	// more is dropped, and OnError told. Default 1,024.
	MaxQueuedNotifications int
	// MaxMessage is how many bytes a message from the peer may have. Default
	// 4 MiB.
	MaxMessage int
	// Timeout is how long a call waits for its answer, unless it says
	// otherwise. Progress reports begin the wait anew; they come to calls with
	// [peer.OnProgress]. At the client's end it does not run while a request of the
	// server's is being handled: somebody may have been asked something for the
	// call. Default 60 s, negative is no limit.
	Timeout time.Duration
	// MaxTimeout is how long a call waits whatever is reported meanwhile. A
	// call that asks for a longer timeout has that as its maximum, and one
	// whose timeout is negative has none. Default 10 min, negative is no limit.
	MaxTimeout time.Duration
	// LastID is the last id that a connection before this one has used in the
	// same session, see [Conn.CloseIdle]. Ids of calls go on from there.
	LastID int64
	// Client tells that this is the client's end. A server answers messages
	// that it cannot attribute to a request; a client only reports them.
	Client bool
	// Batches tells whether several messages may come in one array, as in
	// revision 2025-03-26. Nil is never.
	Batches func() bool
	// Read reads one message, as [wire.ReadMessage] does, and that is what nil
	// stands for. It may read the params of a request into what its handler takes,
	// see [wire.ReadMessageInto], and then returns the frame that it did so with. It
	// is called in the order of the messages' arrival.
	Read func(data []byte) (wire.Message, *wire.Frame, error)
	// InterceptNotification sees each notification before the handler does, in the order
	// of their arrival and before anything that arrives later. It must not
	// wait, and must not keep what it gets. True keeps the notification from
	// the handler.
	InterceptNotification func(in *peer.Inbound) (consumed bool)
	// OnRequest sees each request before any handler does, one that is then refused
	// as well, in the order of their arrival and before anything that arrives later
	// is looked at. It must not wait, and must not keep what it gets.
	OnRequest func(in *peer.Inbound)
	// OnUnanswered is told about each request that ends without an answer,
	// because its sender cancelled it.
	OnUnanswered func(id wire.RequestID)
	// Unordered tells that messages may arrive in another order than they were
	// sent in, and that ids are not used again: a cancellation then counts for a
	// request that comes soon after it, too.
	Unordered bool
	// OnError is told about what belongs to no call: messages that cannot be
	// read, errors that the peer reports without an id, notifications dropped.
	OnError func(error)
	// Transport is what handlers see of the transport where an [Source] does
	// not say, and always with a [InProcessConn]. Nil has the kind "direct" for a
	// Direct, "pipe" otherwise, and lets requests through.
	Transport peer.TransportContext
	// Strict makes a [InProcessConn] write and read each message as Frame has it, as
	// if there were a wire.
	Strict bool
	// Debug makes a [InProcessConn] hand callers the cause of an internal error, in
	// the chain of the error that they get anyway.
	Debug bool
}

const (
	defaultMaxInFlight = 256
	defaultMaxWaiting  = 1024
	defaultMaxMessage  = 4 << 20
	defaultTimeout     = 60 * time.Second
	defaultMaxTimeout  = 10 * time.Minute
)

// complete returns a copy of o with the defaults filled in.
func (o *Options) complete(kind string) Options {
	var full Options
	if o != nil {
		full = *o
	}
	full.MaxInFlight = limit.Count(full.MaxInFlight, defaultMaxInFlight)
	full.MaxQueuedNotifications = limit.Count(full.MaxQueuedNotifications, defaultMaxWaiting)
	full.MaxMessage = limit.Count(full.MaxMessage, defaultMaxMessage)
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
		full.Transport = peer.NewTransport(kind, true, nil, "")
	}
	return full
}

// patience is how long a call waits: for an answer or the next report, and at
// most. Negative is for as long as it takes.
type patience struct{ idle, most time.Duration }

// patience returns what a call's own options make of the dispatcher's.
func (o *Options) patience(own *peer.CallOptions) patience {
	p := patience{o.Timeout, o.MaxTimeout}
	switch {
	case own.Timeout != nil:
		p.idle = *own.Timeout
		if p.most >= 0 {
			p.most = max(p.most, p.idle)
		}
	case own.UseMaxTimeout && p.idle >= 0:
		p.idle = p.most
	}
	if p.idle < 0 {
		p.most = -1
	}
	return p
}

// callOptions returns what opts come to. It allocates nothing: options work on
// a value that is used again.
func callOptions(opts []peer.CallOption) (o peer.CallOptions) {
	if len(opts) == 0 {
		return o
	}
	work := workspaces.Get().(*peer.CallOptions)
	for _, opt := range opts {
		opt(work)
	}
	o, *work = *work, o
	workspaces.Put(work)
	return o
}

var workspaces = sync.Pool{New: func() any { return new(peer.CallOptions) }}

// frame is how a message of a method is written, and its answer read.
func (o *Options) frame(method string, own *wire.Frame) *wire.Frame {
	if own != nil {
		return own
	}
	return o.Frame(method)
}

// arrives tells the hook of a request that has arrived.
func (o *Options) arrives(in *peer.Inbound) {
	if f := o.OnRequest; f != nil {
		contain(o.Logger, "arrival hook", func() { f(in) })
	}
}

// report tells OnError, which may fail as it likes.
func (o *Options) report(err error) {
	if o.OnError == nil {
		o.Logger.Warn("peer sent something of no use", "error", err)
		return
	}
	contain(o.Logger, "error observer", func() { o.OnError(err) })
}

// contain calls f and keeps a panic from going further.
func contain(log *slog.Logger, what string, f func()) {
	defer func() {
		if r := recover(); r != nil {
			err := newPanic(r)
			log.Error(what+" panicked", "panic", err.value, "stack", err.stack)
		}
	}()
	f()
}
