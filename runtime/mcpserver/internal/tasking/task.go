package tasking

import (
	"encoding/json"
	"maps"
	"strconv"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/tasks"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Run is a call being run. One goroutine uses it at a time.
type Run interface {
	// Wait waits until it does not run any more, and returns what came of it.
	Wait() Outcome
	// Again runs a call again that asked for input.
	Again(answers mcp.InputResponses, state *string)
	// Message is what the run says about itself, for people.
	Message() string
	// End has the run end because of cause. It may be called again, and does not
	// wait.
	End(cause error)
}

// Outcome is one of its members.
type Outcome struct {
	Result json.RawMessage
	Error  *wire.ErrorObject
	Ask    *mcp.InputRequiredResult
}

// task is a task and what is behind it. The table's lock guards it.
type task struct {
	tasks.Task
	owner  string
	run    Run         // nil when it is over: a call may be large
	expiry *time.Timer // nil where it is kept without end

	rounds  int
	keys    map[string]string  // of the questions that are open: as the run has them
	answers mcp.InputResponses // by the run's keys
	state   *string            // that the run wants back
}

// become changes the status.
func (x *task) become(s mcp.TaskStatus) {
	x.Status, x.StatusMessage, x.LastUpdatedAt = s, "", time.Now()
}

// end is the end of a task, also of a run that has not come to its own.
func (x *task) end(s mcp.TaskStatus, cause error) {
	x.become(s)
	x.InputRequests, x.keys, x.answers, x.state = nil, nil, nil, nil
	x.run.End(cause)
	x.run = nil
}

// settle has the outcome of a run count, unless the task is over. It tells whether
// it is to run again at once: it waits for nothing that its client knows.
func (x *task) settle(out Outcome) (again bool) {
	switch {
	case x.Finished():
	case out.Ask != nil && len(out.Ask.InputRequests) == 0:
		x.state = out.Ask.RequestState
		return true
	case out.Ask != nil:
		x.ask(out.Ask)
	case out.Error != nil:
		x.Error = out.Error
		x.end(mcp.TaskStatusFailed, nil)
		x.StatusMessage = out.Error.Message
	default:
		x.Result = out.Result
		x.end(mcp.TaskStatusCompleted, nil)
	}
	return false
}

// ask waits for input. No key is used twice in the life of a task.
func (x *task) ask(ask *mcp.InputRequiredResult) {
	x.rounds++
	x.become(mcp.TaskStatusInputRequired)
	x.state = ask.RequestState
	x.InputRequests, x.keys = make(mcp.InputRequests), make(map[string]string)
	for key, question := range ask.InputRequests {
		shown := strconv.Itoa(x.rounds) + "." + key
		x.InputRequests[shown], x.keys[shown] = question, key
	}
}

// answer takes answers to questions that are open. It tells whether none is left
// where there were some.
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
	x.become(mcp.TaskStatusWorking)
	x.InputRequests = nil
	return true
}

// whole returns a copy of all there is to say.
func (x *task) whole() *tasks.Task {
	all := x.said()
	all.InputRequests = maps.Clone(x.InputRequests)
	return &all
}

// brief is whole without what only a GetRequest wants.
func (x *task) brief() *tasks.Task {
	some := x.said()
	some.InputRequests, some.Result, some.Error = nil, nil, nil
	return &some
}

// said returns the task with what its run says meanwhile.
func (x *task) said() tasks.Task {
	all := x.Task
	if x.Status == mcp.TaskStatusWorking {
		all.StatusMessage = x.run.Message()
	}
	return all
}
