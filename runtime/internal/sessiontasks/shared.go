package sessiontasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/engine"
	"github.com/mcpwright/mcp/runtime/internal/revisions"
	"github.com/mcpwright/mcp/runtime/internal/sealed"
	"github.com/mcpwright/mcp/runtime/internal/taskrecords"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// shared stores the tasks of a table in an engine, where other replicas find them. The record of a task is
// its state. The process that runs the task has it in memory too.
type shared struct {
	worker *taskrecords.Worker
	tasks  *taskrecords.Records
	lists  *taskrecords.Records
	life   context.Context // ends when Shutdown does not wait any longer
	end    context.CancelFunc
}

// record is the record of a task.
type record = taskrecords.Record[storedTask]

// storedTask is the state of a task in the engine.
type storedTask struct {
	Task      json.RawMessage   `json:"task"` // an [mcp.Task]
	Result    json.RawMessage   `json:"result,omitempty"`
	Error     *storedError      `json:"error,omitempty"`
	Questions []*storedQuestion `json:"questions,omitempty"` // open ones
}

type storedError struct {
	Code    int64           `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// storedList has the tasks of an owner in the order of their creation.
type storedList struct {
	Last  uint64       `json:"last"` // number of the last task that was created
	Tasks []listedTask `json:"tasks"`
}

type listedTask struct {
	ID     string    `json:"id"`
	Number uint64    `json:"number"`
	Ends   time.Time `json:"ends"`
}

// listID is the id of the record of a list.
const listID = "list"

func newShared(w *taskrecords.Worker) *shared {
	s := &shared{worker: w, tasks: taskrecords.NewRecords(w, "session task"), lists: taskrecords.NewRecords(w, "list of session tasks")}
	s.life, s.end = context.WithCancel(context.Background())
	return s
}

// sessionOwner is the owner of the tasks of a session without a principal. Another replica may continue
// the session.
type sessionOwner string

// sharedOwnerOf is OwnerOf for tasks that are shared.
func sharedOwnerOf(ctx context.Context) any {
	owner := OwnerOf(ctx)
	if conn, ok := owner.(*connection.Connection); ok && conn.SessionID() != "" {
		return sessionOwner(conn.SessionID())
	}
	return owner
}

// recordOwner returns the owner in records. It returns false for the owner of tasks that end with the
// process, such as the peer of a pipe.
func (t *Table) recordOwner(owner any) (string, bool) {
	if t.shared == nil {
		return "", false
	}
	switch owner := owner.(type) {
	case string:
		return "principal " + owner, true
	case sessionOwner:
		return "session " + string(owner), true
	}
	return "", false
}

// set stores the state of a task.
func (s *storedTask) set(m *mcp.Task) (err error) {
	s.Task, err = wire.Append(nil, revisions.Frame(mcp.Revision20251125), m)
	return err
}

// get returns the state of a task.
func (s *storedTask) get() (*mcp.Task, error) {
	m := new(mcp.Task)
	if err := wire.Decode(s.Task, revisions.Frame(mcp.Revision20251125), m); err != nil {
		return nil, fmt.Errorf("record of a task: %w", err)
	}
	return m, nil
}

// become changes the status of a stored task, unless it has ended.
func (s *storedTask) become(status mcp.TaskStatus, message string) error {
	m, err := s.get()
	switch {
	case err != nil:
		return err
	case isFinished(m):
		return taskrecords.ErrUnchanged
	}
	m.Status, m.StatusMessage, m.LastUpdatedAt = status, message, formatTime(time.Now())
	return s.set(m)
}

// share stores a new task that this process is about to run.
func (t *Table) share(ctx context.Context, x *task) error {
	owner, ok := t.recordOwner(x.owner)
	if !ok {
		return nil
	}
	s := t.shared
	if err := s.worker.Begin(ctx); err != nil {
		return err
	}
	rec := &record{Worker: s.worker.Tag(), Ends: x.ends()}
	m := x.state()
	err := rec.State.set(&m)
	if err == nil {
		err = taskrecords.Create(ctx, s.tasks, owner, x.id, rec)
	}
	if err == nil {
		err = s.addToList(ctx, owner, x.id, rec.Ends)
	}
	if err != nil {
		s.worker.End()
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	x.stored = owner
	return nil
}

// endless is how long a task is stored in an engine that has no TTL.
const endless = 365 * 24 * time.Hour

// ends returns when the record of a task ends.
func (x *task) ends() time.Time {
	if x.ttl < 0 {
		return x.created.Add(endless)
	}
	return x.created.Add(x.ttl)
}

// addToList adds a task to the list of its owner, and removes those that have expired.
func (s *shared) addToList(ctx context.Context, owner, id string, ends time.Time) error {
	add := func(rec *taskrecords.Record[storedList]) error {
		l := &rec.State
		now := time.Now()
		l.Tasks = slices.DeleteFunc(l.Tasks, func(x listedTask) bool { return now.After(x.Ends) })
		l.Last++
		l.Tasks = append(l.Tasks, listedTask{id, l.Last, ends})
		if rec.Ends.Before(ends) {
			rec.Ends = ends
		}
		return nil
	}
	for {
		_, err := taskrecords.Change(ctx, s.lists, owner, listID, add)
		if errors.Is(err, engine.ErrNone) {
			rec := new(taskrecords.Record[storedList])
			_ = add(rec)
			err = taskrecords.Create(ctx, s.lists, owner, listID, rec)
		}
		if !errors.Is(err, engine.ErrConflict) {
			return err
		}
	}
}

// fetch returns the record of a task. If the process that runs the task is gone, the task has failed.
func (t *Table) fetch(ctx context.Context, owner, id string) (*record, error) {
	rec, err := taskrecords.Get[storedTask](ctx, t.shared.tasks, owner, id)
	if err != nil {
		return nil, err
	}
	if lost, err := t.isLost(ctx, id, rec.Worker); err != nil || !lost {
		return rec, err
	}
	worker := rec.Worker
	return taskrecords.Change(ctx, t.shared.tasks, owner, id, func(rec *record) error {
		if rec.Worker != worker {
			return taskrecords.ErrUnchanged
		}
		return finishRecord(rec, &taskOutcome{status: mcp.TaskStatusFailed, text: errLost.Message, err: errLost})
	})
}

// isLost reports whether no process runs a task that has a worker.
func (t *Table) isLost(ctx context.Context, id, worker string) (bool, error) {
	switch worker {
	case "":
		return false, nil
	case t.shared.worker.Tag():
		t.mu.Lock()
		defer t.mu.Unlock()
		return !t.running[id], nil
	}
	return t.shared.worker.Gone(ctx, worker)
}

var (
	errLost = &peer.Error{
		Code: mcp.CodeInternal, Message: "The process that ran the task is gone. The task may have had effects", Data: json.RawMessage(`{"reason":"owner-lost"}`),
	}
	errStopped = &peer.Error{
		Code: mcp.CodeInternal, Message: "The server was shut down while the task was running. The task may have had effects", Data: json.RawMessage(`{"reason":"owner-lost"}`),
	}
	errUnavailable = &peer.Error{Code: mcp.CodeInternal, Message: "The task is not available. Try again later"}
)

// finishRecord stores the outcome of a task, unless the task has ended.
func finishRecord(rec *record, out *taskOutcome) error {
	if err := rec.State.become(out.status, clip(out.text)); err != nil {
		return err
	}
	rec.Worker, rec.State.Result, rec.State.Questions = "", out.result, nil
	if out.err != nil {
		rec.State.Error = &storedError{out.err.Code, out.err.Message, out.err.Data}
	}
	return nil
}

const (
	firstDelay = 10 * time.Millisecond // before an outcome is stored again; doubled each time
	maxDelay   = 2 * time.Second
)

// save stores the outcome of a task that this process has run, and returns the outcome that is stored:
// another replica may have ended the task before. While the engine cannot be reached, it tries again.
func (t *Table) save(x *task, out *taskOutcome) *taskOutcome {
	s := t.shared
	defer s.worker.End()
	for delay := firstDelay; ; delay = min(2*delay, maxDelay) {
		rec, err := taskrecords.Change(s.life, s.tasks, x.stored, x.id, func(rec *record) error {
			if rec.Worker != s.worker.Tag() {
				return taskrecords.ErrUnchanged
			}
			return finishRecord(rec, out)
		})
		switch {
		case err == nil:
			if stored, err := rec.State.outcome(); err == nil && stored.status != out.status {
				return stored
			}
			return out
		case errors.Is(err, engine.ErrNone):
			return out
		case errors.Is(err, taskrecords.ErrTooLarge):
			dropped := &peer.Error{Code: mcp.CodeInternal, Message: "The outcome was dropped: " + err.Error()}
			out = &taskOutcome{status: mcp.TaskStatusFailed, text: dropped.Message, err: dropped}
			continue
		}
		isUnreadable := errors.Is(err, sealed.ErrForged) || errors.Is(err, sealed.ErrUnknownKey)
		if isUnreadable || time.Now().After(x.ends()) || !sealed.Sleep(s.life, delay) {
			t.opts.Logger.Warn("could not store the outcome of a task", "error", err)
			return out
		}
	}
}

// outcome returns the outcome of a stored task.
func (s *storedTask) outcome() (*taskOutcome, error) {
	m, err := s.get()
	if err != nil {
		return nil, err
	}
	out := &taskOutcome{status: m.Status, text: m.StatusMessage, result: s.Result}
	if s.Error != nil {
		out.err = &peer.Error{Code: s.Error.Code, Message: s.Error.Message, Data: s.Error.Data}
	}
	return out, nil
}

// openQuestions returns the open questions that are stored.
func (x *task) openQuestions() []*storedQuestion {
	x.table.mu.Lock()
	defer x.table.mu.Unlock()
	return slices.Clone(x.shown)
}

// storeStatus stores the status of a task that this process runs, and its open questions.
func (x *task) storeStatus() {
	if x.stored == "" {
		return
	}
	_, err := taskrecords.Change(x.ctx, x.table.shared.tasks, x.stored, x.id, func(rec *record) error {
		if rec.Worker != x.table.shared.worker.Tag() {
			return taskrecords.ErrUnchanged
		}
		m := x.state()
		if isFinished(&m) {
			return taskrecords.ErrUnchanged // finish stores the outcome
		}
		rec.State.setOpen(x.openQuestions())
		return rec.State.set(&m)
	})
	if err != nil && x.ctx.Err() == nil {
		x.table.opts.Logger.WarnContext(x.ctx, "could not store the status of a task", "error", err)
	}
}

// check looks for tasks of this process that another replica has ended, and stores progress messages.
func (t *Table) check(ctx context.Context) {
	t.mu.Lock()
	var active []*task
	for _, x := range t.tasks {
		if x.stored != "" && !x.finished() && time.Since(x.created) >= time.Second { // a younger record may not be seen yet
			active = append(active, x)
		}
	}
	t.mu.Unlock()
	for _, x := range active {
		if ctx.Err() != nil {
			return
		}
		rec, err := taskrecords.Get[storedTask](ctx, t.shared.tasks, x.stored, x.id)
		switch {
		case err != nil:
		case rec.Worker != t.shared.worker.Tag():
			t.adopt(x, rec)
		case x.report.message() != x.reported:
			x.reported = x.report.message()
			x.storeStatus()
		}
	}
}

// adopt ends a task that another replica has ended.
func (t *Table) adopt(x *task, rec *record) {
	out, err := rec.State.outcome()
	if err != nil {
		return
	}
	t.mu.Lock()
	ended := x.finished()
	if !ended {
		x.result, x.err = out.result, out.err
		x.end(out.status, out.text, errCancelled)
	}
	t.mu.Unlock()
	if !ended {
		x.notifyStatus()
	}
}

// unavailable logs an error of the engine, and returns the error for the requester.
func (t *Table) unavailable(ctx context.Context, err error) error {
	t.opts.Logger.WarnContext(ctx, "could not read or change the record of a task", "error", err)
	return errUnavailable
}

// lookUp returns the state of a task of an owner, or nil if there is none.
func (t *Table) lookUp(ctx context.Context, owner any, id string) (*mcp.Task, error) {
	x := t.find(owner, id)
	key, ok := t.recordOwner(owner)
	if !ok || x != nil && x.hasFinished() {
		return x.stateOrNil(), nil
	}
	rec, err := t.fetch(ctx, key, id)
	switch {
	case err != nil && x != nil, err == nil && x != nil && rec.Worker == t.shared.worker.Tag():
		return x.stateOrNil(), nil // this process runs it
	case errors.Is(err, engine.ErrNone):
		return nil, nil
	case err != nil:
		return nil, t.unavailable(ctx, err)
	case x != nil:
		t.adopt(x, rec)
	}
	return rec.State.get()
}

func (x *task) hasFinished() bool {
	x.table.mu.Lock()
	defer x.table.mu.Unlock()
	return x.finished()
}

// stateOrNil returns the state of a task, or nil for no task.
func (x *task) stateOrNil() *mcp.Task {
	if x == nil {
		return nil
	}
	s := x.state()
	return &s
}

// cancelRecord cancels the record of a task, and returns its state. It returns nil if there is no record.
func (t *Table) cancelRecord(ctx context.Context, owner, id string) (*mcp.Task, error) {
	var before *mcp.Task
	rec, err := taskrecords.Change(ctx, t.shared.tasks, owner, id, func(rec *record) (err error) {
		if before, err = rec.State.get(); err != nil {
			return err
		}
		return finishRecord(rec, &taskOutcome{status: mcp.TaskStatusCancelled})
	})
	switch {
	case errors.Is(err, engine.ErrNone):
		return nil, nil
	case err != nil:
		return nil, t.unavailable(ctx, err)
	case isFinished(before):
		return nil, errEnded(id, before.Status)
	}
	return rec.State.get()
}

// remotePayload waits until a task that another process runs has ended, and returns its result. Meanwhile it sends
// the questions of the task.
func (t *Table) remotePayload(ctx context.Context, owner, id string) (json.RawMessage, error) {
	r := t.newRemoteRequest(ctx, owner, id)
	for {
		rec, err := t.fetch(ctx, owner, id)
		if errors.Is(err, engine.ErrNone) {
			return nil, unknownTask(id)
		}
		if err != nil {
			return nil, t.unavailable(ctx, err)
		}
		out, err := rec.State.outcome()
		switch {
		case err != nil:
			return nil, t.unavailable(ctx, err)
		case rec.Worker == "":
			return out.answer()
		}
		if err := r.askOpen(ctx, rec); err != nil {
			return nil, err
		}
		if !sealed.Sleep(ctx, t.pollInterval()) {
			return nil, context.Cause(ctx)
		}
	}
}

// errElsewhere is the error of a request for a result whose client cannot respond to the question of the task.
var errElsewhere = &peer.Error{
	Code: mcp.CodeInternal, Message: "The task asks a question that this client cannot answer. Request its result in the session that created it",
}

// sharedPage returns the tasks of an owner after a number, and the number of the last one, or 0 if there
// are no more.
func (t *Table) sharedPage(ctx context.Context, owner string, after uint64) (page []mcp.Task, next uint64, err error) {
	page = []mcp.Task{}
	list, err := taskrecords.Get[storedList](ctx, t.shared.lists, owner, listID)
	if errors.Is(err, engine.ErrNone) {
		return page, 0, nil
	}
	if err != nil {
		return nil, 0, t.unavailable(ctx, err)
	}
	for i, item := range list.State.Tasks {
		if item.Number <= after {
			continue
		}
		rec, err := t.fetch(ctx, owner, item.ID)
		if errors.Is(err, engine.ErrNone) {
			continue
		}
		if err != nil {
			return nil, 0, t.unavailable(ctx, err)
		}
		m, err := rec.State.get()
		if err != nil {
			return nil, 0, t.unavailable(ctx, err)
		}
		if page = append(page, *m); len(page) == t.opts.PageSize && i+1 < len(list.State.Tasks) {
			return page, item.Number, nil
		}
	}
	return page, 0, nil
}

// deleteRecord deletes the record of a task that a later one has replaced. The task may be nil.
func (t *Table) deleteRecord(ctx context.Context, x *task) {
	if x == nil || x.stored == "" {
		return
	}
	if err := t.shared.tasks.Delete(ctx, x.stored, x.id); err != nil {
		t.opts.Logger.WarnContext(ctx, "could not delete the record of a task", "error", err)
	}
}
