package connection

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Rounds implements requests whose results may ask the client for input: it calls their handlers
// and sends their questions. It is safe for concurrent use.
type Rounds interface {
	// Serve calls the handler of a request once or several times, with the request or with a
	// changed copy, and returns the result of the request. It calls [EndRound] when the handler
	// cannot ask questions any more.
	Serve(ctx context.Context, in *peer.Inbound, req peer.Message, handler func(context.Context, peer.Message) (wire.Value, error)) (wire.Value, error)
	// Begin returns a new round for a request. It is called when [RoundFromContext] is called
	// for the first time, or when the handler asks its first question. Most requests need no
	// round.
	Begin(ctx context.Context, in *peer.Inbound) Round
}

// A Round contains the questions of one request's handler, and the client's answers. It is safe
// for concurrent use.
type Round interface {
	// Ask asks a question that is sent in the result of the request. If the request contains
	// the answer, Ask decodes it into res. Otherwise it returns an
	// [*mcp.InputRequiredError].
	Ask(ctx context.Context, q *Question, res wire.Value) error
	// Retry repeats a question that was sent as a request of its own, because its response is
	// invalid: the content of a form, for example. Err is the error of the response. Retry may
	// call again several times, which sends the question and returns the error of its
	// response. It returns the last error, or err if it does not call again.
	Retry(ctx context.Context, req peer.Message, err error, again func() error) error
	// End means that no more questions can be asked. It may be called several times.
	End()
}

// Question is a request to the client that is sent in the result of another request.
type Question struct {
	peer.Message
	// Key is the name that the caller has chosen for the question, or empty.
	Key string
	// Check validates an answer.
	Check func(answer wire.Value) error
}

// pendingRound takes the place of a round until it is needed.
type pendingRound struct {
	Round
	rounds Rounds
}

// mayAskInput reports whether the handler of a method may ask for input: in its result, or by
// requests if the revision is a handshake revision and another revision would use the result.
func mayAskInput(info *peer.MethodInfo, f *facts) bool {
	return info != nil && info.MultiRoundTrip != 0 && (f.handshake || info.MultiRoundTrip.Has(f.revision))
}

// errForwarded is the response to a question of a handshake server that a gateway forwards to a
// stateless client. The client answers it with its next call.
var errForwarded = &peer.Error{Code: mcp.CodeInternal, Message: "The question was forwarded to the client, which answers it in its next call"}

// inputResult returns the result that asks for input if err is an [*mcp.InputRequiredError] and
// the revision has such results. It returns other errors unchanged.
func inputResult(info *peer.MethodInfo, err error, r wire.Revision, client bool) (wire.Value, error) {
	e, ok := errors.AsType[*mcp.InputRequiredError](err)
	switch {
	case !ok || e.Result == nil:
		return nil, err
	case client:
		return nil, errForwarded
	case info == nil || !info.MultiRoundTrip.Has(r):
		return nil, cannotAsk(e.Result, r)
	case len(e.Result.InputRequests) == 0 && e.Result.RequestState == nil:
		return nil, errors.New("the result asks for input, but has no input requests and no state")
	}
	return e.Result, nil
}

// cannotAsk returns the error for a result that asks for input in a revision without such results.
// A gateway gets one from its upstream server: the client is informed then.
func cannotAsk(res *mcp.InputRequiredResult, r wire.Revision) error {
	methods := make(map[string]bool)
	for _, req := range res.InputRequests {
		if m, ok := req.(peer.Message); ok {
			methods[m.Method()] = true
		}
	}
	if len(methods) == 0 {
		return fmt.Errorf("the result may not ask for input in revision %s", r)
	}
	sorted := slices.Collect(maps.Keys(methods))
	sort.Strings(sorted)
	return &peer.Error{Code: mcp.CodeInternal, Message: fmt.Sprintf("The request needs input of the client (%s), but the server cannot ask for it in revision %s",
		strings.Join(sorted, ", "), r)}
}
