package tasks

import (
	"encoding/json"
	"maps"
	"strconv"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/budget"
	"github.com/mcpwright/mcp/runtime/wire"
)

// activeRun is a call that is being run. It is used by one goroutine at a time.
type activeRun interface {
	// Wait waits until the call has returned, and returns its outcome.
	Wait() runOutcome
	// Resume runs a call again that has asked for input.
	Resume(answers mcp.InputResponses, state *string)
	// Request returns the call in a form that can be stored, without responses and state.
	Request() (json.RawMessage, error)
	// Message returns the latest progress message.
	Message() string
	// End cancels the run with a cause. It may be called again. It does not block.
	End(cause error)
	// Changed reports a change of the task. It does not block.
	Changed(*Task)
}

// runOutcome is the outcome of a run. Exactly one member is set.
type runOutcome struct {
	Result json.RawMessage
	Error  *wire.ErrorObject
	Ask    *mcp.InputRequiredResult
}

// task is a stored task. The store's lock guards it.
type task struct {
	Task
	owner  string
	run    activeRun           // nil after the end: a call may be large
	waited bool                // a goroutine waits for the run
	counts bool                // among the tasks that have not finished
	expiry *time.Timer         // nil if the task is stored forever
	held   *budget.Reservation // of the request, and then of the result

	rounds  int
	keys    map[string]string  // of the open questions, as in the request of the run
	answers mcp.InputResponses // by the keys of the run
	state   *string            // that the run receives again
}

// become sets the status.
func (x *task) become(s mcp.TaskStatus, message string) {
	x.Status, x.StatusMessage, x.LastUpdatedAt = s, message, time.Now()
	x.run.Changed(x.brief())
}

// end ends a task, and its run if it is still active.
func (x *task) end(s mcp.TaskStatus, message string, cause error) {
	x.become(s, message)
	x.InputRequests, x.keys, x.answers, x.state = nil, nil, nil, nil
	x.run.End(cause)
	x.run = nil
}

// finish sets the outcome of a run, unless the task has ended. It reports whether the run must
// be resumed at once, because it does not wait for a response of the client.
func (x *task) finish(out runOutcome) (resume bool) {
	switch {
	case x.Finished():
	case out.Ask != nil && len(out.Ask.InputRequests) == 0:
		x.state = out.Ask.RequestState
		return true
	case out.Ask != nil:
		x.ask(out.Ask)
	case out.Error != nil:
		x.Error = out.Error
		x.end(mcp.TaskStatusFailed, out.Error.Message, nil)
	default:
		x.Result = out.Result
		x.end(mcp.TaskStatusCompleted, "", nil)
	}
	return false
}

// ask sets the open questions. The keys that the client sees are unique within the task.
func (x *task) ask(ask *mcp.InputRequiredResult) {
	x.rounds++
	x.become(mcp.TaskStatusInputRequired, "")
	x.state = ask.RequestState
	x.InputRequests, x.keys = make(mcp.InputRequests), make(map[string]string)
	for key, question := range ask.InputRequests {
		shown := strconv.Itoa(x.rounds) + "." + key
		x.InputRequests[shown], x.keys[shown] = question, key
	}
}

// answer stores responses to open questions. It reports whether it has answered the last of
// them.
func (x *task) answer(answers mcp.InputResponses) bool {
	if x.Status != mcp.TaskStatusInputRequired {
		return false
	}
	for shown, answer := range answers {
		key, open := x.keys[shown]
		if !open || answer == nil {
			continue
		}
		if x.answers == nil {
			x.answers = make(mcp.InputResponses)
		}
		x.answers[key] = answer
		delete(x.keys, shown)
		delete(x.InputRequests, shown)
	}
	if len(x.keys) > 0 {
		return false
	}
	x.become(mcp.TaskStatusWorking, "")
	x.InputRequests = nil
	return true
}

// full returns a copy of the task.
func (x *task) full() *Task {
	all := x.withMessage()
	all.InputRequests = maps.Clone(x.InputRequests)
	return &all
}

// brief returns a copy of the task without the members that only the response to tasks/get
// has.
func (x *task) brief() *Task {
	some := x.withMessage()
	some.InputRequests, some.Result, some.Error = nil, nil, nil
	return &some
}

// withMessage returns a copy of the task with the message of its run.
func (x *task) withMessage() Task {
	all := x.Task
	if x.Status == mcp.TaskStatusWorking {
		all.StatusMessage = x.run.Message()
	}
	return all
}
