package tasks

import (
	"encoding/json"
	"fmt"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/taskrecords"
	"github.com/mcpwright/mcp/runtime/wire"
)

// stored is the state of a task in an engine.
type stored struct {
	Task    json.RawMessage            `json:"task"`
	Request json.RawMessage            `json:"request,omitempty"` // of the run; empty after the end
	Rounds  int                        `json:"rounds,omitempty"`
	Keys    map[string]string          `json:"keys,omitempty"`
	Answers map[string]json.RawMessage `json:"answers,omitempty"`
	State   *string                    `json:"state,omitempty"`
}

type record = taskrecords.Record[stored]

// noRun is the run of a task that is decoded from a record.
type noRun struct{}

func (noRun) Wait() runOutcome                   { return runOutcome{} }
func (noRun) Resume(mcp.InputResponses, *string) {}
func (noRun) Request() (json.RawMessage, error)  { return nil, nil }
func (noRun) Message() string                    { return "" }
func (noRun) End(error)                          {}
func (noRun) Changed(*Task)                      {}

var storedFrame = &wire.Frame{Revision: mcp.Revision20260728}

// task decodes the task.
func (s *stored) task() (*task, error) {
	var state GetResult
	if err := wire.Decode(s.Task, storedFrame, &state); err != nil {
		return nil, fmt.Errorf("record of a task: %w", err)
	}
	t, err := FromResult(&state)
	if err != nil {
		return nil, fmt.Errorf("record of a task: %w", err)
	}
	x := &task{Task: *t, run: noRun{}, rounds: s.Rounds, keys: s.Keys, state: s.State}
	for key, raw := range s.Answers {
		response, err := mcp.UnmarshalInputResponse(raw)
		if err != nil {
			return nil, fmt.Errorf("record of a task: %w", err)
		}
		if x.answers == nil {
			x.answers = make(mcp.InputResponses)
		}
		x.answers[key] = response
	}
	return x, nil
}

// brief returns the task without the members that only the response to tasks/get has. It returns nil if the
// record is not valid.
func (s *stored) brief() *Task {
	x, err := s.task()
	if err != nil {
		return nil
	}
	return x.brief()
}

// isLost reports whether the task has failed because its process was gone.
func (s *stored) isLost() bool {
	x, err := s.task()
	return err == nil && x.Error != nil && x.Error.Message == errLost.Message
}

// set encodes a task, except for its request.
func (s *stored) set(x *task) (err error) {
	s.Rounds, s.Keys, s.State, s.Answers = x.rounds, x.keys, x.state, nil
	if s.Task, err = wire.Append(nil, storedFrame, x.GetResult()); err != nil {
		return fmt.Errorf("encode task: %w", err)
	}
	for key, response := range x.answers {
		raw, err := wire.Append(nil, storedFrame, response)
		if err != nil {
			return fmt.Errorf("encode response %q: %w", key, err)
		}
		if s.Answers == nil {
			s.Answers = make(map[string]json.RawMessage)
		}
		s.Answers[key] = raw
	}
	if x.Finished() {
		s.Request = nil
	}
	return nil
}

// finish stores the outcome of a run.
func finish(rec *record, out runOutcome) error {
	x, err := rec.State.task()
	if err != nil {
		return err
	}
	x.finish(out)
	rec.Worker = ""
	return rec.State.set(x)
}

// cancel cancels a task, unless it has ended.
func cancel(rec *record) error {
	x, err := rec.State.task()
	if err != nil {
		return err
	}
	if x.Finished() {
		return taskrecords.ErrUnchanged
	}
	x.end(mcp.TaskStatusCancelled, "", errCancelled)
	rec.Worker = ""
	return rec.State.set(x)
}

// setMessage stores a progress message of a task that is running.
func setMessage(rec *record, message string) error {
	x, err := rec.State.task()
	if err != nil {
		return err
	}
	x.StatusMessage = message
	return rec.State.set(x)
}

// answer stores responses. If none is missing, it returns the task with all responses, which a worker
// continues.
func answer(rec *record, owner string, answers mcp.InputResponses, worker string) (*task, error) {
	x, err := rec.State.task()
	switch {
	case err != nil:
		return nil, err
	case x.Status != mcp.TaskStatusInputRequired:
		return nil, taskrecords.ErrUnchanged
	}
	if !x.answer(answers) {
		return nil, rec.State.set(x)
	}
	x.owner, rec.Worker = owner, worker
	running := *x
	running.answers, running.state = nil, nil // the run has them
	return x, rec.State.set(&running)
}

// reasonLost is the reason of an error for a task whose process is gone.
var reasonLost = json.RawMessage(`{"reason":"owner-lost"}`)

var (
	errLost         = &wire.ErrorObject{Code: mcp.CodeInternal, Message: "The process that ran the task is gone. The task may have had effects", Data: reasonLost}
	errStopped      = &wire.ErrorObject{Code: mcp.CodeInternal, Message: "The server was shut down while the task was running. The task may have had effects", Data: reasonLost}
	errNotContinued = &wire.ErrorObject{Code: mcp.CodeInternal, Message: "The task could not be continued"}
)
