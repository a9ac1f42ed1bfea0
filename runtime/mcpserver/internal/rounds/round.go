package rounds

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/outbound"
	"github.com/mcpwright/mcp/runtime/internal/revisions"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Round contains the questions of one request and their responses. It is safe for concurrent
// use.
type Round struct {
	rules   *Rules
	conn    *connection.Connection
	reports bool // the client has requested progress reports

	closed bool       // the handler has returned
	mu     sync.Mutex // guards the following fields; no other lock is taken while it is held
	data   *roundData // nil if there is none yet
}

var _ connection.Round = (*Round)(nil)

// From returns the round of the request whose handler received ctx, or nil.
func From(ctx context.Context) *Round {
	r, _ := connection.RoundFromContext(ctx).(*Round)
	return r
}

// roundData is the data of a round. Most requests need none.
type roundData struct {
	state    state                    // from the round before, and for the next round
	hasState bool                     // the request has brought state
	fresh    mcp.InputResponses       // the responses that the request has brought
	used     map[string]bool          // the keys of those that a question has requested
	counts   map[string]int           // how often each question was asked, by name
	keys     map[string]named         // the questions by key
	open     mcp.InputRequests        // the questions without response
	repeat   bool                     // the request must be repeated, even without open questions
	unnamed  bool                     // the client does not have the name of the chain yet
	invalid  error                    // why a response was rejected; the rounds are counted then
	running  map[string]chan struct{} // the steps that run; closed when they are done
	waiting  map[string]error         // the steps that have an open question
}

// named is a question. Its name is chosen by the handler, or derived from its content.
type named struct {
	name string
	sum  digest
}

// frames define how messages of each revision are encoded.
var frames = func() []wire.Frame {
	list := make([]wire.Frame, len(mcp.Revisions))
	for i, r := range mcp.Revisions {
		list[i].Revision = r.Revision
	}
	return list
}()

// frame defines how messages of the client's revision are encoded.
func (r *Round) frame() *wire.Frame { return frameOf(r.conn) }

func frameOf(conn *connection.Connection) *wire.Frame {
	return &frames[conn.State().Revision().Index()]
}

// asksInResponses reports whether questions are sent in responses, and not as requests.
func asksInResponses(conn *connection.Connection) bool {
	return !revisions.Handshake(conn.State().Revision())
}

// open sets the data that the request has brought.
func (r *Round) open(b *roundData) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.data = b
}

// update calls change with the data of the round. It returns false if the handler has
// returned.
func (r *Round) update(change func(*roundData)) (open bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	if r.data == nil {
		r.data = new(roundData)
	}
	change(r.data)
	return true
}

// Later reports whether the request continues one that was answered with questions.
func (r *Round) Later() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.data != nil && (r.data.hasState || r.data.fresh != nil)
}

// Asks reports whether the response contains questions, whatever the handler returns.
func (r *Round) Asks() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.data != nil && r.data.asks()
}

func (b *roundData) asks() bool { return len(b.open) > 0 || b.repeat }

// End implements [connection.Round].
func (r *Round) End() { r.close() }

// close ends the round and returns its data, which do not change any more, or nil.
func (r *Round) close() *roundData {
	r.mu.Lock()
	r.closed = true
	b := r.data
	r.mu.Unlock()
	return b
}

// Ask implements [connection.Round]. It ignores the end of ctx: if a handler asks several
// questions concurrently and one fails, the others are part of the same round.
func (r *Round) Ask(ctx context.Context, q *connection.Question, res wire.Value) error {
	params, err := wire.AppendParams(nil, r.frame(), q.Message)
	if err != nil {
		return fmt.Errorf("ask %q: %w", q.Method(), err)
	}
	sum, err := digestOf(r.scope(ctx).text(), q.Method(), params)
	if err != nil {
		return fmt.Errorf("ask %q: %w", q.Method(), err)
	}
	key, brought, err := r.lookUp(q, sum)
	if err != nil {
		return err
	}
	if brought != nil {
		if err = r.read(brought, q, res); err == nil {
			return r.recordResponse(q, key, entry{sum, brought})
		}
		r.askedAgain(ctx, q.Message, err)
		r.update(func(b *roundData) { b.invalid = err })
	}
	return r.recordQuestion(ctx, q, key, sum, params)
}

// Retry implements [connection.Round]. It repeats a question that was sent as a request,
// at most as often as there may be rounds.
func (r *Round) Retry(ctx context.Context, req peer.Message, err error, again func() error) error {
	for range r.rules.opts.MaxRounds - 1 {
		r.askedAgain(ctx, req, err)
		if err = again(); !outbound.IsInvalidResponse(err) {
			return err
		}
	}
	r.logAbandoned(ctx, req.Method(), err)
	return fmt.Errorf("%w: %w", errRounds, err)
}

func (r *Round) askedAgain(ctx context.Context, req peer.Message, err error) {
	r.rules.opts.Logger.DebugContext(ctx, "invalid response, question is repeated", "method", req.Method(), "error", err)
}

// logAbandoned logs why a request failed before all of its questions were answered.
func (r *Round) logAbandoned(ctx context.Context, method string, err error) {
	r.rules.opts.Logger.WarnContext(ctx, "request abandoned while it asked for input", "method", method, "error", err)
}

// read decodes a response and validates it against the question.
func (r *Round) read(answer json.RawMessage, q *connection.Question, res wire.Value) error {
	if err := wire.Decode(answer, r.frame(), res); err != nil {
		return err
	}
	return q.Check(res)
}

// lookUp returns the key of a question and its response, or nil.
func (r *Round) lookUp(q *connection.Question, sum digest) (key string, answer json.RawMessage, err error) {
	open := r.update(func(b *roundData) {
		if key, err = b.key(q.Key, sum); err == nil {
			answer = b.answer(key, sum, r.frame())
		}
	})
	if !open {
		return "", nil, &peer.NoBackChannelError{Method: q.Method(), Returned: true}
	}
	return key, answer, err
}

// recordResponse records that a question was answered.
func (r *Round) recordResponse(q *connection.Question, key string, e entry) error {
	open := r.update(func(b *roundData) {
		put(&b.state.asked, key, e)
		put(&b.used, key, true)
	})
	if !open {
		return &peer.NoBackChannelError{Method: q.Method(), Returned: true}
	}
	return nil
}

// recordQuestion records an open question. It records a copy, because the caller may reuse its
// message.
func (r *Round) recordQuestion(ctx context.Context, q *connection.Question, key string, sum digest, params []byte) error {
	form := wire.AppendString([]byte(`{"method":`), q.Method())
	form = append(append(append(form, `,"params":`...), params...), '}')
	question, err := mcp.UnmarshalInputRequest(form)
	if err != nil {
		return fmt.Errorf("ask %q: %w", q.Method(), err)
	}
	own := r.scope(ctx)
	open := r.update(func(b *roundData) {
		put(&b.state.asked, key, entry{sum: sum})
		put(&b.open, key, question)
		own.left()
	})
	if !open {
		return &peer.NoBackChannelError{Method: q.Method(), Returned: true}
	}
	return &mcp.InputRequiredError{Result: &mcp.InputRequiredResult{
		InputRequests: mcp.InputRequests{key: question},
	}}
}

// key returns the key of the next question. A name identifies one question. Equal questions
// are numbered. A name that looks like such a key is accepted unless it conflicts.
func (b *roundData) key(name string, sum digest) (string, error) {
	q := named{cmp.Or(name, sum.String()), sum}
	n := b.counts[q.name] + 1
	key := nth(q.name, n)
	for _, k := range []string{q.name, key} {
		if other, has := b.keys[k]; has && other != q {
			return "", fmt.Errorf("ask: key %q belongs to another question", k)
		}
	}
	put(&b.counts, q.name, n)
	put(&b.keys, key, q)
	return key, nil
}

// answer returns the response to a question, or nil. A response from an earlier round remains
// valid. If the request has brought state, a response counts only if the state contains its
// question.
func (b *roundData) answer(key string, sum digest, f *wire.Frame) json.RawMessage {
	asked, known := b.state.asked[key]
	known = known && (asked.sum == sum || asked.sum == digest{})
	switch fresh := b.fresh[key]; {
	case known && asked.answer != nil:
		return asked.answer
	case fresh != nil && (known || !b.hasState):
		return written(f, fresh)
	}
	return nil
}

// written returns the JSON of a response, or nil if it cannot be encoded.
func written(f *wire.Frame, answer mcp.InputResponse) json.RawMessage {
	raw, err := wire.Append(nil, f, answer)
	if err != nil {
		return nil
	}
	return raw
}

// put adds to a map, which may be nil.
func put[K comparable, V any](m *map[K]V, k K, v V) {
	if *m == nil {
		*m = make(map[K]V)
	}
	(*m)[k] = v
}

// scope is one run of a step. Questions in it are numbered separately, because they are not
// asked any more when the step has succeeded.
type scope struct {
	round  *Round
	around *scope // nil if the step is not part of another
	name   string
	path   string // the names from the outermost step to this one
	asks   bool   // a question is open; guarded by Round.mu
}

// scopeKey is the context key of the scope.
type scopeKey struct{}

// scope returns the step of this round whose context ctx is, or nil.
func (r *Round) scope(ctx context.Context) *scope {
	if s, _ := ctx.Value(scopeKey{}).(*scope); s != nil && s.round == r {
		return s
	}
	return nil
}

// text identifies the scope. It is empty outside of steps.
func (s *scope) text() string {
	if s == nil {
		return ""
	}
	return s.path
}

// within reports whether the scope is part of a step with the name.
func (s *scope) within(name string) bool {
	return s != nil && (s.name == name || s.around.within(name))
}

// left records that a question is open. The caller holds Round.mu.
func (s *scope) left() {
	for ; s != nil; s = s.around {
		s.asks = true
	}
}
