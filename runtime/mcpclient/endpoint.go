package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync/atomic"

	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/stdio"
	"github.com/mcpwright/mcp/runtime/wire"
)

// An Endpoint is where a server is and how it is reached: [URL], [Command],
// [InProcess], [Streams], [Dial] or [LegacySSE].
type Endpoint interface {
	// dial opens a link. The context is for the life of the link.
	dial(ctx context.Context, w *wiring) (Conn, error)
	// name is what errors and logs call the server.
	name() string
}

// A Link carries messages to one server and brings its own back.
type Conn interface {
	peer.Outbound
	// Done is closed when the link is over, whoever ended it.
	Done() <-chan struct{}
	// Close ends the link and waits until nothing of it is left.
	Close() error
}

// A Link may have more to say than a Link must.
type (
	// waiter is a link that knows why it ended. Wait returns when it has.
	waiter interface{ Wait() error }
	// settler is a link that wants to know the revision being spoken.
	settler interface{ SetRevision(wire.Revision) }
	// listener is a link that opens a stream of its own for what the server
	// says on its own account. Listening is closed when the server has
	// answered the request for it.
	listener interface{ Listening() <-chan struct{} }
	// beginner is a link that knows what kept the server from hearing that the
	// session begins, nil where nothing did.
	beginner interface{ InitializedErr() error }
	// lingering is a link that gives its server time to end. After closeWithin it
	// is closed; the server has no more time than ctx.
	lingering interface{ closeWithin(ctx context.Context) }
	// relating is a link on which a message that belongs to a call is
	// delivered with the values of that call's context.
	relating interface{ relates() }
)

// wiring is what a link is to be connected to at this end.
type wiring struct {
	dispatch    jsonrpc.Options
	toolHeaders func(tool string, arguments json.RawMessage) (http.Header, error)
	lost        func(error) // the server has ended the session
	gap         func()      // some of what it said on its own account is missing
}

// Command is a server that runs as a child of this process and is spoken to
// over its standard input and output.
func Command(path string, args ...string) *CommandEndpoint {
	return &CommandEndpoint{Command: stdio.Command{Path: path, Args: args}}
}

// CommandEndpoint is the [Endpoint] that [Command] makes. Its fields may be set
// before it is used.
type CommandEndpoint struct {
	// Command is the program. Its environment holds little of ours: see
	// [stdio.Command].
	stdio.Command
	// Start says how the child is treated. Its Dispatch is not used.
	Start stdio.StartOptions
}

func (e *CommandEndpoint) name() string { return e.Path }

func (e *CommandEndpoint) dial(ctx context.Context, w *wiring) (Conn, error) {
	opts := e.Start
	opts.JSONRPC = w.dispatch
	p, err := stdio.Start(ctx, e.Command, &opts)
	if err != nil {
		return nil, err
	}
	return processLink{p}, nil
}

// processLink is a child as a Conn.
type processLink struct{ *stdio.Process }

func (l processLink) inFlight() connection.InFlight { return l.Conn().InFlight() }

func (l processLink) closeWithin(ctx context.Context) { l.Shutdown(ctx) }

// Streams is a server at the other end of two streams of bytes, such as those
// of a socket, with one message on each line. Closing the client closes both.
// There is one connection to it and no other.
func Streams(in io.ReadCloser, out io.WriteCloser) Endpoint {
	var used atomic.Bool
	return Dial("streams", func(ctx context.Context, opts *jsonrpc.Options) (Conn, error) {
		if used.Swap(true) {
			return nil, errors.New("the streams have been used before")
		}
		return newStreamLink(ctx, in, out, opts), nil
	})
}

// Dial is a server reached by a transport of the program's own. The function
// opens a link on which messages go out as the options say, and to whose
// handler they come in; the context is for the life of the link. The name is
// for errors and logs.
//
// A link may have more methods: Wait() error tells why it ended, when it has;
// Settle([wire.Revision]) is told the revision of a session.
func Dial(name string, open func(ctx context.Context, opts *jsonrpc.Options) (Conn, error)) Endpoint {
	return &dialer{name, open}
}

type dialer struct {
	title string
	open  func(context.Context, *jsonrpc.Options) (Conn, error)
}

func (e *dialer) name() string { return e.title }

func (e *dialer) dial(ctx context.Context, w *wiring) (Conn, error) { return e.open(ctx, &w.dispatch) }
