package stdio

import (
	"cmp"
	"io"
	"log/slog"
	"time"

	"github.com/mcpwright/mcp/runtime/jsonrpc"
)

// ServeOptions are the options of a server. The zero value works.
type ServeOptions struct {
	// JSONRPC up the dispatcher: limits, timeouts, the revision to
	// write. Its Handler is set by [Serve], and with a [connection.Pipe]
	// its Arrive, Read, Frame and Batches, too; it sees notifications after
	// Intercept.
	JSONRPC jsonrpc.Options
	// Ready, where it is not nil, is given the connection to the client
	// before the first message is read.
	Ready func(*jsonrpc.Conn)
	// Patience is how long requests that are being handled when the client
	// closes the input may take to be answered; after that they are ended.
	// It lets a client write all it wants to know, close the input, and read,
	// as in "printf … | server". Default 1 s, which is less than clients wait
	// before they use force; negative is none at all.
	Patience time.Duration
}

// StartOptions are the options of a client. The zero value works.
type StartOptions struct {
	// JSONRPC up the dispatcher: the handler of what the server asks
	// us, limits, timeouts, the revision to write. Its Client is set by
	// [Start].
	JSONRPC jsonrpc.Options
	// Ready, where it is not nil, is given the child before anything that it
	// wrote is read.
	Ready func(*Process)
	// Stderr receives what the child writes to its standard error, which is
	// free text and no sign of failure. A writer that is too slow misses
	// some and is told how much; the child is never held up. Nil drops it,
	// except for the last lines, which errors show.
	Stderr io.Writer
	// Grace is how long a child may take to end when its standard input has
	// been closed. Default 2 s.
	Grace time.Duration
	// KillAfter is how long it may then take when it was asked to terminate,
	// before it is killed. Default 2 s.
	KillAfter time.Duration
}

const (
	defaultPatience  = time.Second
	defaultGrace     = 2 * time.Second
	defaultKillAfter = 2 * time.Second
)

func (o *StartOptions) grace() time.Duration     { return or(o.Grace, defaultGrace) }
func (o *StartOptions) killAfter() time.Duration { return or(o.KillAfter, defaultKillAfter) }

func (o *ServeOptions) patience() time.Duration {
	if o.Patience < 0 {
		return 0
	}
	return or(o.Patience, defaultPatience)
}

func (o *StartOptions) logger() *slog.Logger { return cmp.Or(o.JSONRPC.Logger, slog.Default()) }

// or is d, or the default where d is not set.
func or(d, byDefault time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return byDefault
}
