package sessiontasks

import (
	"context"
	"slices"
	"sync"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/sealed"
	"github.com/mcpwright/mcp/runtime/internal/taskrecords"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// task implements [peer.BackChannel] for its handler: the channel of the request ends with the
// response, which was sent before the handler began.
var _ peer.BackChannel = (*task)(nil)

// IsRun reports whether a message is a request that a task runs, and not a message of the peer.
func IsRun(in *peer.Inbound) bool {
	_, runs := in.Back.(*task)
	return runs
}

// question is a request of a handler to the peer.
type question struct {
	ctx    context.Context
	req    peer.Message
	res    wire.Value
	opts   []peer.CallOption
	err    chan error // capacity 1; errNotTaken if the question must be asked again
	shared *sharedQuestion
}

// sharedQuestion is a question that is in the record of its task. Other processes may respond to it.
type sharedQuestion struct {
	stored   *storedQuestion
	response chan *storedQuestion // capacity 1; from another process

	// The lock of the table guards these fields. They are set while a request at this process sends the question.
	asker storedAsker
	lose  func() // ends the sending: a request at another process sends the question
}

// Call implements [peer.Outbound]. The request is sent on the channel of a request for the result
// of the task, when there is one. Meanwhile the task requires input.
func (x *task) Call(ctx context.Context, req peer.Message, res wire.Value, opts ...peer.CallOption) error {
	var following sync.WaitGroup
	defer following.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	q := question{ctx: ctx, req: req, res: res, opts: opts}
	var response <-chan *storedQuestion
	if stored := x.storableQuestion(req, opts); stored != nil {
		q.shared = &sharedQuestion{stored: stored, response: make(chan *storedQuestion, 1)}
		response = q.shared.response
	}
	x.open(q.shared)
	defer x.close(q.shared)
	if q.shared != nil {
		following.Go(func() { x.follow(ctx, q.shared) }) // ends with ctx
	}
	for {
		offered := q
		offered.err = make(chan error, 1)
		select {
		case x.questions <- &offered:
		case got := <-response:
			return got.decode(res)
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-x.ctx.Done():
			return context.Cause(x.ctx)
		}
		select {
		case err := <-offered.err:
			if err != errNotTaken {
				return err
			}
		case got := <-response:
			cancel()
			if err := <-offered.err; err == nil {
				return nil
			}
			return got.decode(res)
		}
	}
}

// open adds a question to the open ones, and changes the status accordingly. The argument is nil for a question
// that is not stored.
func (x *task) open(q *sharedQuestion) {
	x.changeQuestions(1, q, func() {
		if n := len(x.results); n > 0 {
			q.stored.Asker = x.results[n-1].asker
		}
		x.shown = append(x.shown, q.stored)
	})
}

// close removes a question from the open ones.
func (x *task) close(q *sharedQuestion) {
	x.changeQuestions(-1, q, func() {
		x.shown = slices.DeleteFunc(x.shown, func(s *storedQuestion) bool { return s == q.stored })
	})
}

// changeQuestions changes the number of open questions, and the status accordingly. It calls change with the lock of
// the table if the question is stored.
func (x *task) changeQuestions(n int, q *sharedQuestion, change func()) {
	t := x.table
	t.mu.Lock()
	before := x.asked > 0
	x.asked += n
	changed := before != (x.asked > 0) && !x.finished()
	if changed {
		status := mcp.TaskStatusWorking
		if x.asked > 0 {
			status = mcp.TaskStatusInputRequired
		}
		x.become(status, "")
	}
	if q != nil {
		change()
	}
	t.mu.Unlock()
	if changed || q != nil {
		x.storeStatus()
	}
	if changed {
		x.notifyStatus()
	}
}

// follow reads the record of the task until another process has responded to a question, or ctx ends.
func (x *task) follow(ctx context.Context, q *sharedQuestion) {
	t := x.table
	for sealed.Sleep(ctx, t.pollInterval()) {
		rec, err := taskrecords.Get[storedTask](ctx, t.shared.tasks, x.stored, x.id)
		if err != nil {
			continue // the engine may respond later
		}
		if rec.Worker != t.shared.worker.Tag() {
			t.adopt(x, rec)
			return
		}
		switch stored := rec.State.question(q.stored.ID); {
		case stored == nil:
			x.storeStatus() // the engine could not be reached before
		case stored.answered():
			q.response <- stored
			return
		default:
			x.keepClaim(ctx, q, stored.Asker)
		}
	}
}

// keepClaim ends the sending of a question at this process if another request sends it.
func (x *task) keepClaim(ctx context.Context, q *sharedQuestion, other storedAsker) {
	t := x.table
	t.mu.Lock()
	asker, lose := q.asker, q.lose
	t.mu.Unlock()
	switch {
	case lose == nil || asker == other:
	case other == (storedAsker{}): // the engine could not be reached before
		_, _ = t.shared.claim(ctx, x.stored, x.id, q.stored.ID, asker, other)
	default:
		lose()
	}
}

// ask sends a question on the channel of a request for the result. If ctx ends before there is a
// response, the question must be asked again.
func (x *task) ask(ctx context.Context, r *resultRequest, back peer.Outbound, q *question) {
	asking, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(q.ctx, func() { cancel(context.Cause(q.ctx)) })()
	defer context.AfterFunc(x.ctx, func() { cancel(context.Cause(x.ctx)) })()
	if !x.beginAsking(asking, r, q.shared, func() { cancel(errNotTaken) }) {
		q.err <- errNotTaken
		return
	}
	err := back.Call(asking, q.req, q.res, x.relatedOptions(q.opts)...)
	if err != nil && (ctx.Err() != nil || context.Cause(asking) == errNotTaken) {
		err = errNotTaken
	}
	x.endAsking(ctx, r, q.shared, err)
	q.err <- err
}

// beginAsking waits until no request at another process sends a question, and reports whether this request sends it.
// The function lose is called when it sends it no longer. A process without its engine sends questions.
func (x *task) beginAsking(ctx context.Context, r *resultRequest, q *sharedQuestion, lose func()) bool {
	if q == nil {
		return true
	}
	for !x.claimed(ctx, r, q) {
		if !sealed.Sleep(ctx, x.table.pollInterval()) {
			return false
		}
	}
	x.table.mu.Lock()
	defer x.table.mu.Unlock()
	q.asker, q.lose = r.asker, lose
	return true
}

// claimed reports whether a request at this process may send a question: no request at another process does, or the
// engine cannot be reached.
func (x *task) claimed(ctx context.Context, r *resultRequest, q *sharedQuestion) bool {
	s, arrives := x.table.shared, !r.tried[q]
	r.tried[q] = true
	rec, err := taskrecords.Get[storedTask](ctx, s.tasks, x.stored, x.id)
	if err != nil {
		return ctx.Err() == nil
	}
	stored := rec.State.question(q.stored.ID)
	switch {
	case stored == nil:
		return true // it could not be stored
	case stored.answered():
		return false
	}
	free, err := s.mayReplace(ctx, stored.Asker, arrives)
	if err == nil && free || stored.Asker == r.asker {
		free, err = s.claim(ctx, x.stored, x.id, stored.ID, r.asker, stored.Asker)
	}
	return free || err != nil && ctx.Err() == nil
}

// endAsking ends the sending of a question.
func (x *task) endAsking(ctx context.Context, r *resultRequest, q *sharedQuestion, err error) {
	if q == nil {
		return
	}
	x.table.mu.Lock()
	q.lose = nil
	x.table.mu.Unlock()
	if err == errNotTaken {
		x.table.shared.unclaim(ctx, x.stored, x.id, q.stored.ID, r.asker)
	}
}

// Notify implements [peer.Outbound], on the connection's own channel.
func (x *task) Notify(ctx context.Context, n peer.Notification, opts ...peer.CallOption) error {
	if x.ctx.Err() != nil {
		return nil // the task has ended
	}
	return x.conn.Options().Outbound.Notify(ctx, n, x.relatedOptions(opts)...)
}

// Progress implements [peer.BackChannel]. The message becomes the status message of the task.
func (x *task) Progress(ctx context.Context, p peer.Progress) error {
	if !x.report.advance(p) || x.in.Token.IsZero() {
		return nil
	}
	return x.Notify(ctx, &mcp.ProgressNotification{
		ProgressToken: x.in.Token, Progress: p.Progress, Total: p.Total, Message: p.Message,
	})
}

// progressReport is the latest progress report of a task.
type progressReport struct {
	mu       sync.Mutex // guards the fields below
	reported bool
	last     float64
	text     string
}

// advance stores a report. It returns false if the progress is not greater than before.
func (r *progressReport) advance(p peer.Progress) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p.Message != "" {
		r.text = clip(p.Message)
	}
	if r.reported && p.Progress <= r.last {
		return false
	}
	r.reported, r.last = true, p.Progress
	return true
}

func (r *progressReport) message() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text
}
