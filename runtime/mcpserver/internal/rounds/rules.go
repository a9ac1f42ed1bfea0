package rounds

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/limit"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Options configure the rounds of a server. The zero value is valid if the server is one
// process. A negative limit means no limit.
type Options struct {
	// Keys encrypt the request state. The first key encrypts, and every key decrypts. Nil
	// means a random key of the process.
	Keys [][]byte
	// Expiry limits the time between a question and its response. Zero means [DefaultExpiry].
	Expiry time.Duration
	// MaxRounds limits how often a request may be answered with questions. Zero means
	// [DefaultMaxRounds].
	MaxRounds int
	// MaxState limits the size of the request state in bytes. Zero means [DefaultMaxState].
	MaxState int
	// ServerName is the server that the request state belongs to. Another server with the same
	// keys rejects it.
	ServerName string
	// Pick returns the handler of a request that its method does not determine, and nil for
	// other requests. Nothing is called between the round and that handler. Nil means that
	// there are none.
	Pick func(ctx context.Context, req peer.Message) (Handler, error)
	// IsStateLocal reports whether the request state of a request has never left this process.
	// Such state does not expire. Nil means that it never does.
	IsStateLocal func(in *peer.Inbound) bool
	// Logger receives errors that are not sent to clients. Nil means [slog.Default].
	Logger *slog.Logger
}

// The default limits.
const (
	DefaultExpiry    = 10 * time.Minute
	DefaultMaxRounds = 10
	DefaultMaxState  = 64 << 10
)

// Handler handles a request in a round, like the handler of a [peer.Route].
type Handler = func(context.Context, peer.Message) (wire.Value, error)

// Rules apply to all rounds of a server. They are safe for concurrent use.
type Rules struct {
	opts    Options
	sealer  func() *sealer
	unknown sync.Once // logs unknown keys once
}

// New returns the rules of a server. It returns an error if the options are invalid.
func New(o Options) (*Rules, error) {
	o.Expiry = limit.Time(o.Expiry, DefaultExpiry)
	o.MaxRounds = limit.Count(o.MaxRounds, DefaultMaxRounds)
	o.MaxState = limit.Count(o.MaxState, DefaultMaxState)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Keys == nil {
		return &Rules{opts: o, sealer: processSealer}, nil
	}
	s, err := newSealer(o.Keys)
	if err != nil {
		return nil, err
	}
	return &Rules{opts: o, sealer: func() *sealer { return s }}, nil
}

// Errors that are sent to clients. The reasons are logged.
var (
	errState  = &peer.Error{Code: mcp.CodeInvalidParams, Message: "Invalid request state"}
	errRounds = &peer.Error{Code: mcp.CodeInternal, Message: "Too many rounds of questions"}
	errSize   = &peer.Error{Code: mcp.CodeInternal, Message: "Request state is too large"}
)

var errNothing = errors.New("handler returned an empty request for input")

var errLost = errors.New("middleware replaced the context of the request")

var errTooLong = errors.New("state is too long")

var errReturned = errors.New("handler has returned")
