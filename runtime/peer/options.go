package peer

import (
	"net/http"
	"time"

	"github.com/mcpwright/mcp/runtime/wire"
)

// CallOptions are what one call may ask of whatever carries it. The zero value
// asks for nothing.
type CallOptions struct {
	// ID is the request id to use. Zero lets the channel choose one.
	ID wire.RequestID
	// Timeout bounds the wait for the answer. Nil is the channel's default,
	// zero a timeout that has already passed, negative no limit.
	Timeout *time.Duration
	// UseMaxTimeout waits, where Timeout is nil, as long as the channel waits at most.
	UseMaxTimeout bool
	// OnProgress is called with each progress report about the request, one
	// at a time and never after the call has returned. In process it is the
	// reporting handler that calls it, and waits for it.
	OnProgress func(Progress)
	// OnLog is called with each log message about the request, by a channel
	// that knows which those are. The client kit has the option that sets it.
	OnLog func(Notification)
	// WithoutCancelNotification stops the channel from telling the peer when the caller
	// gives up waiting.
	NoCancelNotification bool
	// Header is added to the request where the transport has headers.
	Header http.Header
	// Frame is how the message is written and its answer read. Nil leaves
	// that to the channel.
	Frame *wire.Frame
	// Key names the request where it travels as a question inside a result.
	// Empty lets the channel choose one.
	Key string

	standalone bool
}

// A CallOption changes the options of a call. Options are bound to a view with
// its With method, so that they stay out of signatures.
type CallOption func(*CallOptions)

// WithID sends the request under an id of the caller's choosing. Using an id
// that is in flight already is an error, and so is one whose JSON is longer than
// 128 bytes: peers need not accept that.
func WithID(id wire.RequestID) CallOption { return func(o *CallOptions) { o.ID = id } }

// WithTimeout bounds the wait for the answer. Zero has already passed; negative is
// no limit.
func WithTimeout(d time.Duration) CallOption { return func(o *CallOptions) { o.Timeout = &d } }

// WithMaxTimeout waits for the answer as long as the channel waits at most, unless
// [WithTimeout] says how long: for what a person is asked.
func WithMaxTimeout() CallOption { return func(o *CallOptions) { o.UseMaxTimeout = true } }

// OnProgress asks the peer for progress reports and hands them to f.
func OnProgress(f func(Progress)) CallOption { return func(o *CallOptions) { o.OnProgress = f } }

// WithoutCancelNotification lets the peer go on with the request when the caller stops
// waiting for it.
func WithoutCancelNotification() CallOption {
	return func(o *CallOptions) { o.NoCancelNotification = true }
}

// WithHeader adds headers to the request where the transport has them.
func WithHeader(h http.Header) CallOption { return func(o *CallOptions) { o.Header = h } }

// WithFrame writes the message and reads its answer as f has it. A channel that
// checks what is sent, such as a session, says so itself: only it knows which
// revision the peer speaks, where that differs from message to message. What the
// caller says counts more.
func WithFrame(f *wire.Frame) CallOption { return func(o *CallOptions) { o.Frame = f } }

// WithKey names the request where it travels as a question inside a result: the
// client answers under that name. It does nothing where the request travels on
// its own.
func WithKey(key string) CallOption { return func(o *CallOptions) { o.Key = key } }

// Standalone makes a session's view use the connection's standalone channel in
// place of the channel of the request being handled. It acts when it is bound
// with [With]; an Outbound never sees it.
func Standalone() CallOption { return func(o *CallOptions) { o.standalone = true } }

// Progress is one report about a request under way.
type Progress struct {
	// Progress grows with every report.
	Progress float64
	// Total is what Done will reach, nil where nobody knows.
	Total *float64
	// Message says in words what is going on. It may be empty.
	Message string
}
