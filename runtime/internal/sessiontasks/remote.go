package sessiontasks

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/engine"
	"github.com/mcpwright/mcp/runtime/internal/outbound"
	"github.com/mcpwright/mcp/runtime/internal/revisions"
	"github.com/mcpwright/mcp/runtime/internal/sealed"
	"github.com/mcpwright/mcp/runtime/internal/taskrecords"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// storedQuestion is an open question in the record of its task. Any process that receives a request for the result
// of the task can send the question, and stores the response here for the process that runs the task.
type storedQuestion struct {
	ID         string          `json:"id"`
	Method     string          `json:"method"`
	Params     json.RawMessage `json:"params,omitempty"`
	Timeout    *time.Duration  `json:"timeout,omitempty"`
	MaxTimeout bool            `json:"maxTimeout,omitempty"`
	Asker      storedAsker     `json:"asker,omitzero"` // the only request that sends the question; zero if none does
	Result     json.RawMessage `json:"result,omitempty"`
	Error      *storedError    `json:"error,omitempty"`
}

// storedAsker is a request for the result of a task.
type storedAsker struct {
	Worker  string `json:"worker"` // of the process that handles the request
	Request string `json:"request"`
}

// maxQuestion limits the bytes of the params of a stored question. Only requests at the process of the task send
// a larger one.
const maxQuestion = 256 << 10

// storableQuestion returns the stored form of a question, or nil if only the process of the task can send it: a
// question about a task of a client must reach that client.
func (x *task) storableQuestion(req peer.Message, opts []peer.CallOption) *storedQuestion {
	switch req.Method() {
	case mcp.MethodElicit, mcp.MethodCreateMessage, mcp.MethodListRoots:
	default:
		return nil
	}
	params, ok := WithTask(req, nil).(wire.Params)
	if x.stored == "" || !ok {
		return nil
	}
	var o peer.CallOptions
	for _, set := range opts {
		set(&o)
	}
	if o.Frame == nil {
		o.Frame = revisions.Frame(mcp.Revision20251125)
	}
	raw, err := wire.AppendParams(nil, o.Frame, params)
	if err != nil || len(raw) > maxQuestion {
		return nil
	}
	return &storedQuestion{ID: rand.Text(), Method: req.Method(), Params: raw, Timeout: o.Timeout, MaxTimeout: o.UseMaxTimeout}
}

func (q *storedQuestion) answered() bool { return q.Result != nil || q.Error != nil }

// decode decodes the response into res, or returns its error.
func (q *storedQuestion) decode(res wire.Value) error {
	if q.Error != nil {
		return &peer.Error{Code: q.Error.Code, Message: q.Error.Message, Data: q.Error.Data}
	}
	return wire.Decode(q.Result, revisions.Frame(mcp.Revision20251125), res)
}

// question returns an open question, or nil.
func (s *storedTask) question(id string) *storedQuestion {
	i := slices.IndexFunc(s.Questions, func(q *storedQuestion) bool { return q.ID == id })
	if i < 0 {
		return nil
	}
	return s.Questions[i]
}

// setOpen stores the questions that are open. It does not change those that are stored already.
func (s *storedTask) setOpen(open []*storedQuestion) {
	list := make([]*storedQuestion, len(open))
	for i, q := range open {
		if list[i] = s.question(q.ID); list[i] == nil {
			list[i] = q
		}
	}
	s.Questions = list
}

// changeQuestion changes an open question that has no response, and returns it. It returns nil if there is no such
// question. The function change reports whether it has changed the question.
func (s *shared) changeQuestion(ctx context.Context, owner, id, question string, change func(*storedQuestion) bool) (q *storedQuestion, err error) {
	_, err = taskrecords.Change(ctx, s.tasks, owner, id, func(rec *record) error {
		q = rec.State.question(question)
		if q == nil || q.answered() || !change(q) {
			return taskrecords.ErrUnchanged
		}
		return nil
	})
	if errors.Is(err, engine.ErrNone) {
		return nil, nil
	}
	return q, err
}

// mayReplace reports whether a request for the result may send a question in place of another request: the other one does
// not exist, or its process is gone. A request that has just arrived replaces every other one, because the client may
// have lost the connection of an earlier request.
func (s *shared) mayReplace(ctx context.Context, other storedAsker, arrives bool) (bool, error) {
	if arrives || other == (storedAsker{}) {
		return true, nil
	}
	return s.worker.Gone(ctx, other.Worker)
}

// claim makes a request for the result the only one that sends a question, in place of another one. It returns false
// if the question is not open, or if a third request sends it.
func (s *shared) claim(ctx context.Context, owner, id, question string, a, other storedAsker) (bool, error) {
	q, err := s.changeQuestion(ctx, owner, id, question, func(q *storedQuestion) bool {
		if q.Asker != other || a == other {
			return false
		}
		q.Asker = a
		return true
	})
	return err == nil && q != nil && !q.answered() && q.Asker == a, err
}

// unclaim lets other requests for the result send a question. If the engine cannot be reached, only a request that
// arrives later sends it.
func (s *shared) unclaim(ctx context.Context, owner, id, question string, a storedAsker) {
	_, _ = s.changeQuestion(context.WithoutCancel(ctx), owner, id, question, func(q *storedQuestion) bool {
		if q.Asker != a {
			return false
		}
		q.Asker = storedAsker{}
		return true
	})
}

// remoteRequest is a request for the result of a task that another process runs.
type remoteRequest struct {
	table     *Table
	owner, id string
	self      storedAsker
	back      peer.Outbound
	seen      bool // the record was read: the request has not just arrived
}

func (t *Table) newRemoteRequest(ctx context.Context, owner, id string) *remoteRequest {
	return &remoteRequest{table: t, owner: owner, id: id, self: t.newAsker(), back: channelOf(ctx)}
}

// newAsker returns the name of a request for a result in records.
func (t *Table) newAsker() storedAsker {
	if t.shared == nil {
		return storedAsker{}
	}
	return storedAsker{t.shared.worker.Tag(), rand.Text()}
}

// askOpen sends the first open question of a record that no other request sends, and stores the response.
func (r *remoteRequest) askOpen(ctx context.Context, rec *record) error {
	arrives := !r.seen
	r.seen = true
	for _, q := range rec.State.Questions {
		if q.answered() {
			continue
		}
		if free, err := r.table.shared.mayReplace(ctx, q.Asker, arrives); err != nil {
			return r.table.unavailable(ctx, err)
		} else if !free {
			continue
		}
		req, err := q.request()
		if err != nil {
			return r.table.unavailable(ctx, err)
		}
		if connection.FromContext(ctx).Check(req) != nil {
			if q.Asker != (storedAsker{}) {
				continue // another client responds
			}
			return errElsewhere
		}
		if asked, err := r.ask(ctx, q, req); asked || err != nil {
			return err
		}
	}
	return nil
}

// request returns the request that the question sends.
func (q *storedQuestion) request() (req peer.Message, err error) {
	var params wire.Params
	switch q.Method {
	case mcp.MethodElicit:
		m := new(mcp.ElicitRequest)
		req, params = m, m
	case mcp.MethodCreateMessage:
		m := new(mcp.CreateMessageRequest)
		req, params = m, m
	default:
		m := new(mcp.ListRootsRequest)
		req, params = m, m
	}
	return req, wire.DecodeParams(q.Params, revisions.Frame(mcp.Revision20251125), params)
}

// ask sends a question if no other request does, and stores the response. It reports whether it has sent it.
func (r *remoteRequest) ask(ctx context.Context, q *storedQuestion, req peer.Message) (asked bool, err error) {
	s := r.table.shared
	if err := s.worker.Begin(ctx); err != nil { // its lease shows that the question has an asker
		return false, r.table.unavailable(ctx, err)
	}
	defer s.worker.End()
	claimed, err := s.claim(ctx, r.owner, r.id, q.ID, r.self, q.Asker)
	if err != nil {
		return false, r.table.unavailable(ctx, err)
	}
	if !claimed {
		return false, nil
	}
	asking, cancel := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() { // ends with asking
		defer close(watched)
		r.watch(asking, cancel, q.ID)
	}()
	raw := new(outbound.RawResult)
	err = r.back.Call(asking, req, raw, q.options(r.id)...)
	ended := asking.Err() != nil
	cancel()
	<-watched
	if err != nil && ended {
		s.unclaim(ctx, r.owner, r.id, q.ID, r.self)
		return true, context.Cause(ctx)
	}
	return true, r.store(ctx, q.ID, raw.JSON, err)
}

// options returns the options of the request.
func (q *storedQuestion) options(id string) []peer.CallOption {
	opts := []peer.CallOption{peer.WithFrame(related(revisions.Frame(mcp.Revision20251125), id))}
	if q.Timeout != nil {
		opts = append(opts, peer.WithTimeout(*q.Timeout))
	}
	if q.MaxTimeout {
		opts = append(opts, peer.WithMaxTimeout())
	}
	return opts
}

// watch calls cancel when the task waits for a question no longer, or another request sends it.
func (r *remoteRequest) watch(ctx context.Context, cancel context.CancelFunc, question string) {
	for sealed.Sleep(ctx, r.table.pollInterval()) {
		rec, err := r.table.fetch(ctx, r.owner, r.id)
		if err != nil && !errors.Is(err, engine.ErrNone) {
			continue // the engine may respond later
		}
		if err != nil || rec.Worker == "" {
			cancel()
			return
		}
		if q := rec.State.question(question); q == nil || q.Asker != r.self {
			cancel()
			return
		}
	}
}

// store stores the response to a question, if this request still is the only one that sends it. While the engine
// cannot be reached, it tries again until ctx ends.
func (r *remoteRequest) store(ctx context.Context, question string, result json.RawMessage, failed error) error {
	for delay := firstDelay; ; delay = min(2*delay, maxDelay) {
		_, err := r.table.shared.changeQuestion(ctx, r.owner, r.id, question, func(q *storedQuestion) bool {
			if q.Asker != r.self {
				return false
			}
			q.Result, q.Error = result, storedErrorOf(failed)
			return true
		})
		switch {
		case err == nil:
			return nil
		case errors.Is(err, taskrecords.ErrTooLarge):
			result, failed = nil, &peer.Error{Code: mcp.CodeInternal, Message: "The response is too large to be passed to the process of the task"}
		case !sealed.Sleep(ctx, delay):
			return r.table.unavailable(ctx, err)
		}
	}
}

// storedErrorOf returns the stored form of an error, or nil for none.
func storedErrorOf(err error) *storedError {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*peer.Error](err); ok {
		return &storedError{e.Code, e.Message, e.Data}
	}
	return &storedError{Code: mcp.CodeInternal, Message: err.Error()}
}

// pollInterval returns the time between two reads of a record that another process changes.
func (t *Table) pollInterval() time.Duration { return max(t.opts.PollInterval, minPollInterval) }
