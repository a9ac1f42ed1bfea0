package tasks

import (
	"context"
	"time"

	"github.com/mcpwright/mcp/runtime/engine"
)

// Options let calls continue as tasks. This applies to tools whose Execution.TaskSupport
// allows it, and to clients of two revisions:
//
//   - In revision 2026-07-28, with the extension [Name], the server decides: a call that
//     takes longer than StartAfter returns a task to a client that declares the extension. If
//     the tool has [mcp.TaskSupportRequired], calls of other clients of that revision fail.
//   - In revision 2025-11-25 the client decides: a call whose params contain "task" returns a
//     task at once. If the tool has [mcp.TaskSupportRequired], other calls fail. If
//     the Capabilities of the server's options declare Tasks, the program handles the tasks of this
//     revision itself.
//
// The client then polls the task for the result. Handlers need no changes. Questions that a
// handler asks before the task exists are sent in the response, later ones with the task.
// Progress reports become the status message of the task.
//
// Tasks are stored in the memory of the process, or in Table, and accessible to the caller that
// created them. In revision 2025-11-25 that is the principal or, if there is none, the session; its
// tasks end with it. In each field zero means the default; in a limit a negative value means
// no limit.
type Options struct {
	// StartAfter is how long a call may take before its response is a task, if the server
	// decides. Zero means 1 s, a negative value immediately.
	StartAfter time.Duration
	// TTL is how long a task is stored, from its creation. If its handler still runs then, the
	// handler's context ends. Zero means 60 minutes, a negative value forever. Clients of
	// revision 2025-11-25 may request less, but not less than 1 s.
	TTL time.Duration
	// PollInterval is the interval at which clients are asked to poll. Zero means 1 s.
	PollInterval time.Duration
	// MaxTasks limits the stored tasks. Calls beyond the limit do not become tasks: their
	// response is sent when they are done. In revision 2025-11-25 such a call replaces the
	// oldest task of its owner that was cancelled, or whose result was sent, and fails if there
	// is none. A handler that still runs counts as a task. Zero means 1,000.
	MaxTasks int
	// MaxTasksPerPrincipal limits the stored tasks of one authenticated principal, or of one
	// session without a principal, in the same way. Zero means 100.
	MaxTasksPerPrincipal int
	// MaxConcurrent limits the tasks that have not finished, for example because they need much
	// memory. A handler that still runs counts. Calls beyond the limit do not become tasks, as with
	// MaxTasks, and fail in revision 2025-11-25. With Table, it limits the tasks that this process
	// runs. Zero means no limit.
	MaxConcurrent int
	// OnChange is called with each new task, and whenever its status has changed, for example to
	// count tasks. The context has the values of the call, the second argument is the name of its
	// tool, and the task has no result. Changes are reported in order, one at a time, and handlers do
	// not wait for them. With Table, the process that runs a task reports its changes. If there is
	// none in revision 2026-07-28, the process that ends the task does, with the context of the
	// request that ends it. In 2025-11-25, no process reports the end of a task whose process is
	// gone. A change is reported at most once; it is not reported if its process ends first, or if
	// the response of the engine was lost.
	OnChange func(ctx context.Context, tool string, t *Task)
	// NewID returns the id of a new task, which must be unique and hard to guess. It may be
	// called concurrently. Nil means a random text. With the method NewTaskID of a node of
	// package scale, requests for the task reach its process from any replica.
	NewID func() string

	// Table stores tasks, so that all replicas of a server find them, and finished tasks outlive
	// their process. It requires the SealKeys of mcpserver.QuestionOptions, which encrypt the records and are the
	// same in all replicas. In revision 2026-07-28, a task with open questions continues at the
	// replica that receives the responses. In 2025-11-25, any replica sends the questions of a task
	// to the client that requests its result. A task whose process is gone while its tool runs
	// fails with the reason "owner-lost", and is not run again. Nil stores tasks in memory. With
	// a Table, a negative TTL means one year.
	Table engine.Table
	// Lease is the time after which a process that runs tasks in Table and does not renew its
	// lease counts as gone, at least one second. Zero means 15 s.
	Lease time.Duration
}

const (
	defaultStartAfter           = time.Second
	defaultTTL                  = time.Hour
	defaultPollInterval         = time.Second
	defaultLease                = 15 * time.Second
	defaultMaxTasks             = 1000
	defaultMaxTasksPerPrincipal = 100
)
