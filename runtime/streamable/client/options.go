package client

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"time"

	"github.com/mcpwright/mcp/runtime/internal/limit"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable/internal/mcphttp"
)

// Options are the options of a client. The zero value works for handshake revisions.
// For stateless revisions, JSONRPC.Frame must return the revision of each request.
type Options struct {
	// JSONRPC contains the handler of messages from the server, limits, timeouts, and
	// the frame of each message. Its field Client is always set. Its MaxMessage limits
	// a JSON body or an event; a longer one fails the call that it belongs to. The
	// default is 16 MiB.
	JSONRPC jsonrpc.Options
	// HTTPClient sends the HTTP requests. Nil means a client without a timeout of
	// responses, which detects dead connections. A Timeout in the HTTP client would end
	// streams.
	//
	// The Transport of the HTTP client is responsible for authorization, such as the
	// transport of package auth. If it needs more time than the timeout of the call, it
	// can report an interim response (1xx) with [net/http/httptrace], which restarts
	// the timeout.
	//
	// Redirects are followed only within the origin and only if they keep the method,
	// whatever the HTTP client allows.
	HTTPClient *http.Client
	// Header contains headers of each HTTP request. [peer.WithHeader] adds headers to a
	// call. Neither can change the headers that the protocol defines.
	Header http.Header
	// HeaderFunc returns headers that replace those of Header in one HTTP request. The
	// context of a request for a call has the values of the context of the call. It may
	// be called concurrently, and nil means that there are none.
	HeaderFunc func(context.Context) http.Header
	// ToolHeaders returns the headers that repeat arguments of a tool call, in
	// revisions that have such headers. Nil means none. An error fails the call. It may
	// be called concurrently.
	ToolHeaders func(tool string, arguments json.RawMessage) (http.Header, error)
	// Backoff defines how often and when broken streams are resumed and messages are
	// sent again.
	Backoff Backoff
	// DisableStandaloneStream disables the standalone stream of a handshake session, on
	// which the server sends messages that belong to no call: notifications of changes,
	// and requests of its own.
	DisableStandaloneStream bool
	// OnSessionLost is called once for each session that the server has ended. The
	// caller may begin another session with initialize. It is called in its own
	// goroutine. Nil means that nothing is called.
	OnSessionLost func(error)
	// OnEventsLost is called when the standalone stream is open again but could not be
	// resumed: messages that the server sent in between are lost. It is called in its
	// own goroutine. Nil means that nothing is called.
	OnEventsLost func()
}

const (
	defaultMaxMessage    = 16 << 20
	defaultAcceptTimeout = 60 * time.Second
)

// complete returns a copy of o with defaults. A nil o has only defaults.
func (o *Options) complete() Options {
	var full Options
	if o != nil {
		full = *o
	}
	d := &full.JSONRPC
	d.Client = true
	d.MaxMessage = limit.Count(d.MaxMessage, defaultMaxMessage)
	if d.Logger == nil {
		d.Logger = slog.Default()
	}
	if d.Transport == nil {
		d.Transport = peer.NewTransportContext(mcphttp.Kind, true, nil, "")
	}
	full.Backoff = full.Backoff.complete()
	return full
}

// acceptTimeout returns the timeout of a message that has no response.
func (o *Options) acceptTimeout() time.Duration {
	if o.JSONRPC.Timeout > 0 {
		return o.JSONRPC.Timeout
	}
	return defaultAcceptTimeout
}

// reportError passes an error that belongs to no call to OnError, or logs it.
func (o *Options) reportError(err error) {
	if f := o.JSONRPC.OnError; f != nil {
		f(err)
		return
	}
	o.JSONRPC.Logger.Warn("transport error", "error", err)
}
