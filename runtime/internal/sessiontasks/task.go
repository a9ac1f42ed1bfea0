package sessiontasks

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/budget"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/failure"
	"github.com/mcpwright/mcp/runtime/internal/revisions"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// task is a request that continues after its response was sent.
type task struct {
	table  *Table
	id     string
	owner  any
	number uint64 // among the tasks of the owner
	ttl    time.Duration
	expiry *time.Timer // nil if the task is stored forever

	ctx       context.Context // of the handler
	cancel    context.CancelCauseFunc
	conn      *connection.Connection
	in        peer.Inbound
	questions chan *question // requests of the handler, for the requester of the result
	done      chan struct{}  // closed when the task has ended

	onChange func(*State) // or nil; called with the lock of the table

	sending sync.Mutex // held while a status notification is sent, so that they are in order
	report  progressReport

	stored   string // the owner in the record of the task; "" if it has none. It is set before the run
	reported string // the message in the record; used only while the lease is renewed

	// The lock of the table guards these fields. After the end, result and err do not change.
	status           mcp.TaskStatus
	statusMessage    string
	created, updated time.Time
	asked            int                 // open questions
	shown            []*storedQuestion   // the open questions that are stored
	results          []*resultRequest    // open, in the order of their arrival
	removed          bool                // from the table
	returned         bool                // the handler has returned
	settled          bool                // the requester has the result, or has cancelled the task
	held             *budget.Reservation // of the request, and then of the result
	result           json.RawMessage
	err              *peer.Error
}

// finished reports whether the task has ended. The caller holds the lock of the table.
func (x *task) finished() bool {
	switch x.status {
	case mcp.TaskStatusCompleted, mcp.TaskStatusFailed, mcp.TaskStatusCancelled:
		return true
	}
	return false
}

// become sets the status. The caller holds the lock of the table.
func (x *task) become(s mcp.TaskStatus, message string) {
	x.status, x.statusMessage, x.updated = s, message, time.Now()
	x.changed()
}

// State is the state of a task when it has changed.
type State struct {
	ID                string
	Status            mcp.TaskStatus
	Message           string
	Created, Updated  time.Time
	TTL, PollInterval time.Duration // as in Options
}

// changed calls onChange. The caller holds the lock of the table.
func (x *task) changed() {
	if x.onChange != nil {
		x.onChange(&State{x.id, x.status, x.statusMessage, x.created, x.updated, x.ttl, x.table.opts.PollInterval})
	}
}

// end ends a task unless it has ended. The caller holds the lock of the table.
func (x *task) end(s mcp.TaskStatus, message string, cause error) {
	if x.finished() {
		return
	}
	x.become(s, message)
	x.cancel(cause)
	close(x.done)
}

// message returns the state of the task. The caller holds the lock of the table.
func (x *task) message(poll time.Duration) mcp.Task {
	m := mcp.Task{
		TaskID: x.id, Status: x.status, StatusMessage: x.statusMessage,
		CreatedAt: formatTime(x.created), LastUpdatedAt: formatTime(x.updated),
	}
	if x.status == mcp.TaskStatusWorking {
		m.StatusMessage = x.report.message()
	}
	if x.ttl >= 0 {
		m.TTL = new(x.ttl.Milliseconds())
	}
	if poll > 0 {
		m.PollInterval = new(poll.Milliseconds())
	}
	return m
}

func formatTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

// state returns the state of the task.
func (x *task) state() mcp.Task {
	x.table.mu.Lock()
	defer x.table.mu.Unlock()
	return x.message(x.table.opts.PollInterval)
}

// related returns a frame that adds the metadata of the task to a message.
func (x *task) related(f *wire.Frame) *wire.Frame { return related(f, x.id) }

// relatedOptions returns the options of a message with the metadata of the task.
func (x *task) relatedOptions(opts []peer.CallOption) []peer.CallOption {
	var o peer.CallOptions
	for _, set := range opts {
		set(&o)
	}
	if o.Frame == nil {
		o.Frame = revisions.Frame(mcp.Revision20251125)
	}
	return append(opts[:len(opts):len(opts)], peer.WithFrame(x.related(o.Frame)))
}

// run calls the handler of the request and stores its outcome.
func (x *task) run() {
	defer x.table.runs.Done()
	err := failure.ErrExited
	var reply peer.Reply
	defer func() { x.finish(reply, err) }() // also runs if the handler ends the goroutine
	reply, err = x.serve()
}

func (x *task) serve() (reply peer.Reply, err error) {
	defer failure.Recover(&err)
	return x.table.opts.Dispatcher().Serve(x.ctx, x.conn, &x.in)
}

// taskOutcome is the end of a task.
type taskOutcome struct {
	status mcp.TaskStatus
	text   string // the status message
	result json.RawMessage
	err    *peer.Error
}

// answer returns the result for its requester, or the error.
func (o *taskOutcome) answer() (json.RawMessage, error) {
	switch {
	case o.err != nil:
		return nil, o.err
	case o.result != nil:
		return o.result, nil
	}
	return nil, invalid("task was cancelled and has no result")
}

// outcomeOf returns the outcome of a task whose handler has returned.
func (x *task) outcomeOf(reply peer.Reply, err error) *taskOutcome {
	out := &taskOutcome{status: mcp.TaskStatusCompleted}
	if err == nil {
		out.result, err = x.encode(reply)
	}
	if res, ok := reply.Result.(*mcp.CallToolResult); err == nil && ok && res.IsError {
		out.status, out.text = mcp.TaskStatusFailed, mcp.TextOf(res.Content)
	}
	if err != nil {
		out.result, out.err = nil, failure.ForPeer(failure.Log(x.ctx, x.table.opts.Logger, &x.in, err, true))
		out.status, out.text = mcp.TaskStatusFailed, out.err.Message
	}
	return out
}

// finish stores the outcome of the handler, unless the task has ended before.
func (x *task) finish(reply peer.Reply, err error) {
	out := x.outcomeOf(reply, err)
	t := x.table
	t.mu.Lock()
	switch {
	case !x.finished():
		if full := x.hold(len(out.result)); full != nil {
			out = &taskOutcome{status: mcp.TaskStatusFailed, text: full.Message, err: full}
		}
	case context.Cause(x.ctx) == errShutdown:
		out = &taskOutcome{status: mcp.TaskStatusFailed, text: errStopped.Message, err: errStopped}
	default:
		out = &taskOutcome{status: mcp.TaskStatusCancelled}
	}
	t.mu.Unlock()
	if x.stored != "" {
		out = t.save(x, out)
	}
	t.mu.Lock()
	ended := x.finished()
	if ended {
		x.held.Release()
	} else {
		x.result, x.err = out.result, out.err
		x.end(out.status, clip(out.text), nil)
	}
	x.in.Params, x.returned = nil, true // the params may be large
	t.endRun(x)
	t.release(x)
	t.mu.Unlock()
	if !ended {
		x.notifyStatus()
	}
}

// errTooLarge is the outcome of a task whose result exceeds the budget.
var errTooLarge = &peer.Error{Code: mcp.CodeInternal, Message: "The result was dropped: too many bytes are stored for clients"}

// hold counts the bytes of the result in place of the request. It returns an error if the budget does
// not allow them. The caller holds the lock of the table.
func (x *task) hold(bytes int) *peer.Error {
	held, err := x.table.opts.Budget.Resize(x.held, x.principal(), bytes)
	if err != nil {
		x.held.Release()
		return errTooLarge
	}
	x.held = held
	return nil
}

// principal returns the principal of the peer that has created the task, or "".
func (x *task) principal() string {
	if x.in.Transport == nil {
		return ""
	}
	return x.in.Transport.Principal()
}

// encode encodes the result of the handler, which may call methods of the program.
func (x *task) encode(reply peer.Reply) (raw json.RawMessage, err error) {
	defer failure.Recover(&err)
	if reply.Result == nil {
		return nil, failure.ResultError{Err: failure.ErrNoResult}
	}
	if raw, err = wire.Append(nil, x.related(reply.Frame), reply.Result); err != nil {
		return nil, failure.ResultError{Err: err}
	}
	return raw, nil
}

// maxStatusMessage limits the bytes of a status message.
const maxStatusMessage = 1000

func clip(text string) string {
	if len(text) <= maxStatusMessage {
		return text
	}
	end := maxStatusMessage
	for end > 0 && text[end]&0xC0 == 0x80 { // not within a character
		end--
	}
	return text[:end]
}

// notifyStatus sends the current status to the peer that has created the task. It must not be
// called with the lock of the table.
func (x *task) notifyStatus() {
	x.sending.Lock()
	defer x.sending.Unlock()
	s := x.state()
	_ = x.conn.Notify(context.WithoutCancel(x.ctx), &mcp.TaskStatusNotification{
		TaskID: s.TaskID, Status: s.Status, StatusMessage: s.StatusMessage, CreatedAt: s.CreatedAt,
		LastUpdatedAt: s.LastUpdatedAt, TTL: s.TTL, PollInterval: s.PollInterval,
	}) // an error means that the peer is not notified, which the protocol permits
}

// outcome returns the result of a task that has ended, or the error for its requester.
func (x *task) outcome() (json.RawMessage, error) {
	x.table.mu.Lock()
	defer x.table.mu.Unlock()
	x.settled = true
	switch {
	case x.err != nil:
		return nil, x.err
	case x.result != nil:
		return x.result, nil
	case x.removed:
		return nil, unknownTask(x.id)
	}
	return nil, invalid("task was cancelled and has no result")
}

// errNotTaken is the result of a question whose channel ended before the response.
var errNotTaken = errors.New("requester of the result has gone")
