package streamable

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"time"

	"github.com/mcpwright/mcp/runtime/internal/limit"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
)

// ClientOptions are the options of a client. The zero value works for revisions
// with a handshake; for others, Dispatch.Frame has to say the revision of each
// request.
type ClientOptions struct {
	// JSONRPC up the dispatcher: the handler of what the server sends,
	// limits, timeouts, the frame of each message. Its Client is set. Its
	// MaxMessage, here 16 MiB by default, bounds a JSON body and an event of
	// a stream alike: a longer one fails the call that it belongs to.
	JSONRPC jsonrpc.Options
	// HTTPClient makes the HTTP requests; nil is one of the client's own, with
	// patience for slow answers and none for dead servers. A Timeout in it
	// would end streams. Authorization is the business of its Transport, such as
	// that of package auth, which may take its time: an interim response (1xx), also
	// one that it only tells [net/http/httptrace] of, begins the wait for the answer
	// anew.
	// Redirects are followed only within the origin, and only where they keep
	// the method, whatever it says.
	HTTPClient *http.Client
	// Header is sent with each HTTP request. A call adds to it with
	// [peer.WithHeader]. What the protocol itself says in headers, neither
	// can change.
	Header http.Header
	// ToolHeaders returns the headers that repeat arguments of a tool call,
	// in revisions that have them; nil is none. An error fails the call.
	ToolHeaders func(tool string, arguments json.RawMessage) (http.Header, error)
	// Backoff says how broken streams are taken up again.
	Backoff Backoff
	// DisableStandaloneStream does without the stream on which a handshake session brings
	// what belongs to no call of ours: changes, and questions of the server
	// on its own account.
	DisableStandaloneStream bool
	// OnSessionLost is told, once for each session, that the server has ended it: a
	// new initialize may begin another. It runs in a goroutine of its own.
	OnSessionLost func(error)
	// OnEventsLost is told that the stream which belongs to no call is open again, but
	// does not go on where it ended: what the server said in between is lost.
	// It runs in a goroutine of its own.
	OnEventsLost func()
}

const (
	defaultMostBytes  = 16 << 20
	defaultOneWayTime = 60 * time.Second
)

// complete returns a copy of o with the defaults filled in.
func (o *ClientOptions) complete() ClientOptions {
	var full ClientOptions
	if o != nil {
		full = *o
	}
	d := &full.JSONRPC
	d.Client = true
	d.MaxMessage = limit.Count(d.MaxMessage, defaultMostBytes)
	if d.Logger == nil {
		d.Logger = slog.Default()
	}
	if d.Transport == nil {
		d.Transport = peer.NewTransportContext(Kind, true, nil, "")
	}
	full.Backoff = full.Backoff.complete()
	return full
}

// oneWay is how long the server may take to accept a message that it does not
// answer.
func (o *ClientOptions) oneWay() time.Duration {
	if o.JSONRPC.Timeout > 0 {
		return o.JSONRPC.Timeout
	}
	return defaultOneWayTime
}

// report tells OnError of what belongs to no call.
func (o *ClientOptions) report(err error) {
	if f := o.JSONRPC.OnError; f != nil {
		f(err)
		return
	}
	o.JSONRPC.Logger.Warn("trouble beside the calls to the server", "error", err)
}
