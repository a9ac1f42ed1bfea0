// Package rounds lets the handler of a request ask the client in straight-line
// code, whether the revision being spoken has requests for that or answers the
// request with the questions and has it come again.
//
// [New] reads the rules that a server has for all of its requests. A
// [connection.Dispatcher] serves them by these, and a request whose handler asks for it
// gets a [Round]:
//
//	rules, err := rounds.New(rounds.Options{Audience: info.Name})
//	...
//	opts.Rounds = rules
//	kernel := connection.NewDispatcher(&opts)
//
// A server keeps nothing between two rounds. What the next one has to know and
// the client does not bring by itself travels as request state, sealed and bound
// to the request that it belongs to.
package rounds

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/eras"
	"github.com/mcpwright/mcp/runtime/internal/limit"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// What the rules say where the options do not.
const (
	DefaultExpiry    = 10 * time.Minute
	DefaultMaxRounds = 10
	DefaultMaxState  = 64 << 10
)

// Handler handles a request in a round, as that of a [peer.Route] does.
type Handler = func(context.Context, peer.Message) (wire.Value, error)

// Options of a server's rounds. The zero value works for one process. A negative
// bound is none.
type Options struct {
	// Keys seal the request state, the first one all that is new. Nil is a
	// random key of the process.
	Keys [][]byte
	// Expiry is how long a client may take for one round; 0 is
	// [DefaultExpiry].
	Expiry time.Duration
	// MaxRounds is how often a request may be answered with questions; 0 is
	// [DefaultMaxRounds].
	MaxRounds int
	// MaxState bounds the request state in bytes; 0 is [DefaultMaxState].
	MaxState int
	// Audience is the server that state is for: another one with the same
	// keys does not take it.
	Audience string
	// Pick finds the handler of a request that has another than its method:
	// nothing stands between the round and what it returns. Nil is the
	// method's.
	Pick func(ctx context.Context, req peer.Message) (Handler, error)
	// Kept tells whether the request state of a request has not left this
	// process: it does not expire. Nil is no.
	Kept func(in *peer.Inbound) bool
	// Logger takes what clients are not told; nil is [slog.Default].
	Logger *slog.Logger
}

// Rules are what all rounds of a server have in common. They are safe for
// concurrent use.
type Rules struct {
	opts    Options
	sealer  *sealer
	unknown sync.Once // for the log of keys that are missing
}

// New reads the options. It fails where they make no sense.
func New(o Options) (*Rules, error) {
	o.Expiry = limit.Time(o.Expiry, DefaultExpiry)
	o.MaxRounds = limit.Count(o.MaxRounds, DefaultMaxRounds)
	o.MaxState = limit.Count(o.MaxState, DefaultMaxState)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Keys == nil {
		o.Keys = [][]byte{processKey()}
	}
	sealer, err := newSealer(o.Keys)
	if err != nil {
		return nil, err
	}
	return &Rules{opts: o, sealer: sealer}, nil
}

// Begin implements [connection.Rounds].
func (r *Rules) Begin(ctx context.Context, in *peer.Inbound) connection.Round {
	return &Round{rules: r, conn: connection.FromContext(ctx), reports: !in.Token.IsZero()}
}

// Serve implements [connection.Rounds]. A handler that asks nothing has nothing else of
// this below it, and no round.
func (r *Rules) Serve(ctx context.Context, in *peer.Inbound, req peer.Message, handler Handler) (res wire.Value, err error) {
	conn := connection.FromContext(ctx)
	if conn == nil {
		return nil, errLost
	}
	defer end(ctx) // also when the handler panics
	inAnswer := answersAsk(conn)
	if inAnswer {
		if req, err = r.begin(ctx, in, req); err != nil {
			return nil, err
		}
	}
	if pick := r.opts.Pick; pick != nil {
		var picked Handler
		if picked, err = pick(ctx, req); picked != nil {
			handler = picked
		}
	}
	if err == nil {
		res, err = handler(ctx, req)
	}
	ask := asks(res, err)
	switch {
	case inAnswer:
		if b := end(ctx); b != nil || ask != nil {
			return r.Begin(ctx, in).(*Round).finish(ctx, in, b, ask, res, err)
		}
	case ask != nil:
		if round := From(ctx); round != nil {
			return round.bridge(ctx, req, ask, handler)
		}
		return nil, errLost
	}
	return res, err
}

// answersAsk tells whether questions travel in answers, and not by requests.
func answersAsk(conn *connection.Connection) bool {
	return !eras.Handshake(conn.State().Revision())
}

var errLost = errors.New("the context of the request was lost on its way through the middleware")

// end ends the round of a request, if it has begun. It returns the book, which does
// not change any more, nil where there is none.
func end(ctx context.Context) *book {
	if r, begun := connection.EndRound(ctx).(*Round); begun {
		return r.close()
	}
	return nil
}

// From returns the round of the request whose handler ctx was given to, nil where
// there is none.
func From(ctx context.Context) *Round {
	r, _ := connection.RoundFromContext(ctx).(*Round)
	return r
}

// frames are how messages of each revision are written.
var frames = func() []wire.Frame {
	list := make([]wire.Frame, len(mcp.Revisions))
	for i, r := range mcp.Revisions {
		list[i].Revision = r.Revision
	}
	return list
}()
