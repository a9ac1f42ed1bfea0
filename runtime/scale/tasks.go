package scale

import (
	"net/http"
	"strings"

	"github.com/mcpwright/mcp/runtime/wire"
)

// NewTaskID returns the id of a new task. It is for the field NewID of tasks.Options: other
// replicas forward requests for the task to this one, in stateless revisions. In a session, they are
// forwarded to the owner of the session.
func (n *Node) NewTaskID() string { return newSessionID(n.keys, taskPurpose, n.tag) }

// forwardTask forwards a request for a task of another replica. It returns false if this replica serves the
// request.
func (e *endpoint) forwardTask(w http.ResponseWriter, r *http.Request) bool {
	methods, names := r.Header[headerMethod], r.Header[headerName]
	if len(methods) != 1 || !strings.HasPrefix(methods[0], "tasks/") || len(names) != 1 || r.Header[headerHop] != nil {
		return false
	}
	tag, ok := parseSessionID(e.node.keys, taskPurpose, names[0])
	if !ok || tag == e.node.tag {
		return false
	}
	owner, err := e.node.member(r.Context(), tag)
	switch {
	case err != nil:
		e.node.opts.Logger.WarnContext(r.Context(), "could not find the replica of a task", "error", err)
		refuse(w, http.StatusServiceUnavailable, wire.RequestID{}, "The task is not available. Try again later.", "")
		return true
	case owner == nil: // the task is lost
		return false
	}
	body, err := readBody(r)
	if err != nil {
		refuse(w, http.StatusBadRequest, wire.RequestID{}, "The request could not be read.", "")
	} else if !e.forward(w, r, names[0], owner, body) {
		refuse(w, http.StatusServiceUnavailable, body.requestID(), "The replica that has the task cannot be reached. Try again later.", "")
	}
	return true
}
