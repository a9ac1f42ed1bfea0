package rounds

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Round is what one request and its handler ask for. It is safe for concurrent use.
type Round struct {
	rules   *Rules
	conn    *connection.Connection
	reports bool // the client wants to hear of progress

	closed bool       // the handler has returned
	mu     sync.Mutex // guards closed and what follows; no other lock is taken under it
	book   *book      // nil while there is nothing to remember
}

var _ connection.Insistent = (*Round)(nil)

// book is what a round remembers. Most need none.
type book struct {
	state   state                    // what the round before left, with what this one adds to it
	sealed  bool                     // the round before left something
	fresh   mcp.InputResponses       // the answers that the request brought
	used    map[string]bool          // those that were asked for
	counts  map[string]int           // how often each question was asked, by name
	keys    map[string]named         // the questions that have a key
	open    mcp.InputRequests        // the questions without answer
	repeat  bool                     // the request has to come again, questions or not
	unnamed bool                     // the client does not know the name of the chain yet
	misfit  error                    // why an answer was none; the rounds are counted then
	running map[string]chan struct{} // the memos being made; closed when they are
	waiting map[string]error         // the memos of which a question is open
}

// named is a question by its name, which the handler chose or its content has,
// and its content.
type named struct {
	name string
	sum  digest
}

// frame is how messages of the revision being spoken are written.
func (r *Round) frame() *wire.Frame { return frameOf(r.conn) }

func frameOf(conn *connection.Connection) *wire.Frame {
	return &frames[conn.State().Revision().Index()]
}

// open opens the book with what the request brought.
func (r *Round) open(b *book) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.book = b
}

// update is the one door to the book. It refuses when the handler has returned.
func (r *Round) update(change func(*book)) (open bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	if r.book == nil {
		r.book = new(book)
	}
	change(r.book)
	return true
}

// Later tells whether the request goes on with one that was answered with
// questions.
func (r *Round) Later() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.book != nil && (r.book.sealed || r.book.fresh != nil)
}

// Asks tells whether the request is answered with questions, whatever its handler
// returns.
func (r *Round) Asks() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.book != nil && r.book.asks()
}

func (b *book) asks() bool { return len(b.open) > 0 || b.repeat }

// End implements [connection.Round].
func (r *Round) End() { r.close() }

// close returns the book, which does not change any more, nil where there is
// none.
func (r *Round) close() *book {
	r.mu.Lock()
	r.closed = true
	b := r.book
	r.mu.Unlock()
	return b
}

// Ask implements [connection.Round]. It does not care whether ctx has ended: a
// question that is put while others fail belongs into the same round.
func (r *Round) Ask(ctx context.Context, q *connection.Question, res wire.Value) error {
	params, err := wire.AppendParams(nil, r.frame(), q.Message)
	if err != nil {
		return fmt.Errorf("ask %q: %w", q.Method(), err)
	}
	sum, err := digestOf(r.scope(ctx).text(), q.Method(), params)
	if err != nil {
		return fmt.Errorf("ask %q: %w", q.Method(), err)
	}
	key, brought, err := r.look(q, sum)
	if err != nil {
		return err
	}
	if brought != nil {
		if err = r.read(brought, q, res); err == nil {
			return r.settle(q, key, entry{sum, brought})
		}
		r.askedAgain(ctx, q.Message, err)
		r.update(func(b *book) { b.misfit = err })
	}
	return r.leave(ctx, q, key, sum, params)
}

// Insist implements [connection.Insistent]: a question is put as often as one
// that travels in the answer could be.
func (r *Round) Insist(ctx context.Context, req peer.Message, err error, again func() error) error {
	for range r.rules.opts.MaxRounds - 1 {
		r.askedAgain(ctx, req, err)
		if err = again(); !connection.BadAnswer(err) {
			return err
		}
	}
	r.givenUp(ctx, req.Method(), err)
	return fmt.Errorf("%w: %w", errRounds, err)
}

func (r *Round) askedAgain(ctx context.Context, req peer.Message, err error) {
	r.rules.opts.Logger.DebugContext(ctx, "answer refused: the question is asked again", "method", req.Method(), "error", err)
}

// read reads an answer as the result of the method asked, and judges it by the
// question.
func (r *Round) read(answer json.RawMessage, q *connection.Question, res wire.Value) error {
	if err := wire.Decode(answer, r.frame(), res); err != nil {
		return err
	}
	return q.Check(res)
}

// look finds the key of a question and the answer to it, nil where there is
// none.
func (r *Round) look(q *connection.Question, sum digest) (key string, answer json.RawMessage, err error) {
	open := r.update(func(b *book) {
		if key, err = b.key(q.Key, sum); err == nil {
			answer = b.answer(key, sum, r.frame())
		}
	})
	if !open {
		return "", nil, &peer.NoBackChannelError{Method: q.Method()}
	}
	return key, answer, err
}

// settle records an answer that was taken.
func (r *Round) settle(q *connection.Question, key string, e entry) error {
	open := r.update(func(b *book) {
		put(&b.state.asked, key, e)
		put(&b.used, key, true)
	})
	if !open {
		return &peer.NoBackChannelError{Method: q.Method()}
	}
	return nil
}

// leave records a question that has no answer. What is recorded is a copy: the
// caller may change its message for the next question.
func (r *Round) leave(ctx context.Context, q *connection.Question, key string, sum digest, params []byte) error {
	form := wire.AppendString([]byte(`{"method":`), q.Method())
	form = append(append(append(form, `,"params":`...), params...), '}')
	question, err := mcp.UnmarshalInputRequest(form)
	if err != nil {
		return fmt.Errorf("ask %q: %w", q.Method(), err)
	}
	own := r.scope(ctx)
	open := r.update(func(b *book) {
		put(&b.state.asked, key, entry{sum: sum})
		put(&b.open, key, question)
		own.left()
	})
	if !open {
		return &peer.NoBackChannelError{Method: q.Method()}
	}
	return &mcp.InputRequiredError{Result: &mcp.InputRequiredResult{
		InputRequests: mcp.InputRequests{key: question},
	}}
}

// key returns the key of one more question. A name stands for one question;
// equal ones are numbered, and a name may look like such a number.
func (b *book) key(name string, sum digest) (string, error) {
	q := named{cmp.Or(name, sum.String()), sum}
	n := b.counts[q.name] + 1
	key := nth(q.name, n)
	for _, k := range []string{q.name, key} {
		if other, has := b.keys[k]; has && other != q {
			return "", fmt.Errorf("ask: the key %q is that of another question", k)
		}
	}
	put(&b.counts, q.name, n)
	put(&b.keys, key, q)
	return key, nil
}

// answer returns the answer to a question, nil where there is none. What was
// answered in a round before stays answered. Where the round before left
// something, an answer to what it did not ask does not count.
func (b *book) answer(key string, sum digest, f *wire.Frame) json.RawMessage {
	asked, known := b.state.asked[key]
	known = known && (asked.sum == sum || asked.sum == digest{})
	switch fresh := b.fresh[key]; {
	case known && asked.answer != nil:
		return asked.answer
	case fresh != nil && (known || !b.sealed):
		return written(f, fresh)
	}
	return nil
}

// written returns an answer as it is on the wire, nil for one that cannot be
// there.
func written(f *wire.Frame, answer mcp.InputResponse) json.RawMessage {
	raw, err := wire.Append(nil, f, answer)
	if err != nil {
		return nil
	}
	return raw
}

// put adds to a map that may not be there yet.
func put[K comparable, V any](m *map[K]V, k K, v V) {
	if *m == nil {
		*m = make(map[K]V)
	}
	(*m)[k] = v
}
