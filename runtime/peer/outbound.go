package peer

import (
	"context"
	"iter"
	"time"

	"github.com/mcpwright/mcp/runtime/wire"
)

// Outbound sends messages to the peer. It may be a whole connection, the back channel of one
// request, an Outbound that refuses all messages, or a wrapper around another one. It is safe for
// concurrent use.
type Outbound interface {
	// Call sends req and decodes its result into res, which is the value that req.NewResult
	// returned. The error is or wraps an *[Error] if the peer sent one, and a *[NoBackChannelError]
	// if requests cannot be sent.
	Call(ctx context.Context, req Message, res wire.Value, opts ...CallOption) error

	// Notify sends n. It returns an error if n cannot be encoded, but not if the channel fails.
	Notify(ctx context.Context, n Notification, opts ...CallOption) error
}

// SendRequest sends req and returns its result. The type of the result follows from the type of
// req.
func SendRequest[R wire.Value, Q Request[R]](ctx context.Context, out Outbound, req Q, opts ...CallOption) (R, error) {
	res := req.NewResult()
	if err := out.Call(ctx, req, res, opts...); err != nil {
		var none R
		return none, err
	}
	return res, nil
}

// SendNotification sends n.
func SendNotification(ctx context.Context, out Outbound, n Notification, opts ...CallOption) error {
	return out.Notify(ctx, n, opts...)
}

// With returns an Outbound that applies opts to each message, before the options of the call.
// Without opts it returns out.
func With(out Outbound, opts ...CallOption) Outbound {
	if len(opts) == 0 {
		return out
	}
	var o CallOptions
	for _, opt := range opts {
		opt(&o)
	}
	if o.standalone {
		out = standalone(out)
	}
	return &withOptions{out, opts}
}

// standalone returns the standalone channel of out, or out if there is none. The options of out are
// kept.
func standalone(out Outbound) Outbound {
	switch o := out.(type) {
	case *withOptions:
		return &withOptions{standalone(o.out), o.opts}
	case interface{ Standalone() Outbound }:
		return o.Standalone()
	}
	return out
}

// withOptions is an Outbound that adds options.
type withOptions struct {
	out  Outbound
	opts []CallOption
}

func (w *withOptions) Call(ctx context.Context, req Message, res wire.Value, opts ...CallOption) error {
	return w.out.Call(ctx, req, res, w.join(opts)...)
}

func (w *withOptions) Notify(ctx context.Context, n Notification, opts ...CallOption) error {
	return w.out.Notify(ctx, n, w.join(opts)...)
}

func (w *withOptions) join(opts []CallOption) []CallOption {
	if len(opts) == 0 {
		return w.opts
	}
	return append(w.opts[:len(w.opts):len(w.opts)], opts...)
}

// CallOptions are the options of one call. The zero value uses the defaults of the channel.
type CallOptions struct {
	// ID is the request id. If it is zero, the channel chooses one.
	ID wire.RequestID
	// Timeout limits the wait for the response. Nil is the default of the channel, zero has passed
	// already, and negative is no limit.
	Timeout *time.Duration
	// UseMaxTimeout uses the maximum timeout of the channel, if Timeout is nil.
	UseMaxTimeout bool
	// OnProgress is called with each progress report about the request: one at a time, and never
	// after the call has returned. In process, the handler that reports progress calls it and waits
	// for it.
	OnProgress func(Progress)
	// OnLog is called with each log message about the request, if the channel can relate log
	// messages to requests. The package mcpclient has the option that sets it.
	OnLog func(Notification)
	// NoCancelNotification makes the channel not notify the peer when the caller stops waiting.
	NoCancelNotification bool
	// Header contains HTTP headers that are added to the request, if the transport uses HTTP.
	Header Header
	// Frame defines how the message is encoded and its response decoded. If it is nil, the channel
	// chooses one.
	Frame *wire.Frame
	// Key names the request if it is sent inside a result that asks for input. If it is empty, the
	// channel chooses one.
	Key string

	standalone bool
}

// CallOption sets an option of a call. [With] and the With methods of sessions apply options to all
// messages that are sent with their result.
type CallOption func(*CallOptions)

// WithID sets the id of the request. The call fails if the id is already in use. Peers need not
// accept an id whose JSON is longer than 128 bytes, so such an id is an error, too.
func WithID(id wire.RequestID) CallOption { return func(o *CallOptions) { o.ID = id } }

// WithTimeout limits the wait for the response. Zero has passed already; negative is no limit.
func WithTimeout(d time.Duration) CallOption { return func(o *CallOptions) { o.Timeout = &d } }

// WithMaxTimeout limits the wait for the response to the maximum timeout of the channel, unless
// [WithTimeout] is used. It is for requests that a person answers.
func WithMaxTimeout() CallOption { return func(o *CallOptions) { o.UseMaxTimeout = true } }

// OnProgress requests progress reports. They are passed to f.
func OnProgress(f func(Progress)) CallOption { return func(o *CallOptions) { o.OnProgress = f } }

// WithoutCancelNotification lets the peer continue with the request when the caller stops waiting
// for it.
func WithoutCancelNotification() CallOption {
	return func(o *CallOptions) { o.NoCancelNotification = true }
}

// WithHeader adds HTTP headers to the request, if the transport uses HTTP.
func WithHeader(h map[string][]string) CallOption { return func(o *CallOptions) { o.Header = h } }

// WithFrame defines how the message is encoded and its response decoded. Sessions and other
// channels that validate messages set a frame themselves, because only they know the revision,
// which may differ between messages. The option of the caller takes precedence.
func WithFrame(f *wire.Frame) CallOption { return func(o *CallOptions) { o.Frame = f } }

// WithKey names the request if it is sent inside a result that asks for input: the client responds
// under this name. Otherwise it has no effect.
func WithKey(key string) CallOption { return func(o *CallOptions) { o.Key = key } }

// Standalone makes a session use the connection's standalone channel instead of the channel of the
// request being handled. It has an effect only in [With] and the With methods of sessions.
func Standalone() CallOption { return func(o *CallOptions) { o.standalone = true } }

// Progress is a progress report about a request.
type Progress struct {
	// Progress increases with every report.
	Progress float64
	// Total is the value that Progress reaches at the end. It is nil if that is unknown.
	Total *float64
	// Message describes the progress for people. It may be empty.
	Message string
}

// maxEmptyPages limits the consecutive pages without elements.
const maxEmptyPages = 1000

// Pages iterates over the elements of a paged list. The function fetch returns one page and the
// cursor of the next page, or nil after the last page; set stores a cursor in a request. The
// iteration starts with the page that req requests; nil requests the first page. It stops at the
// first error. It also ends if a cursor is repeated or 1,000 consecutive pages are empty, because
// it might never end otherwise. Pages does not change req.
//
// It is not inlined, because each caller would have the functions that it returns again.
//
//go:noinline
func Pages[Req, T any](req *Req, set func(*Req, *string), fetch func(*Req) ([]T, *string, error)) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		var next Req
		if req != nil {
			next = *req
		}
		seen := make(map[string]bool)
		for empty := 0; ; {
			page, cursor, err := fetch(&next)
			if err != nil {
				yield(nil, err)
				return
			}
			if empty++; len(page) > 0 {
				empty = 0
			}
			for i := range page {
				if !yield(&page[i], nil) {
					return
				}
			}
			if cursor == nil || seen[*cursor] || empty == maxEmptyPages {
				return
			}
			seen[*cursor] = true
			set(&next, cursor)
		}
	}
}
