package scale_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// taskClient is a client of revision 2026-07-28 that declares tasks and forms.
type taskClient struct{ *session }

// send sends a request about a task, or a call, to a replica.
func (c taskClient) send(at int, user, method, name, params string) answer {
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},` +
		`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}},"extensions":{"io.modelcontextprotocol/tasks":{}}}}`
	r := c.request(at, http.MethodPost, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s,%s}}`, method, params, meta))
	r.Header.Set("Mcp-Method", method)
	r.Header.Set("Mcp-Name", name)
	r.Header.Set("X-User", user)
	return c.do(r)
}

// begin calls the tool "slow", and returns the id of its task.
func (c taskClient) begin(at int) string {
	res := c.send(at, "ann", "tools/call", "slow", `"name":"slow","arguments":{}`)
	var m struct{ Result struct{ TaskID string } }
	require.NoError(c.fleet.t, json.Unmarshal([]byte(res.body), &m), res.body)
	require.NotEmpty(c.fleet.t, m.Result.TaskID, res.body)
	return m.Result.TaskID
}

func (c taskClient) get(at int, user, id string) answer {
	return c.send(at, user, "tasks/get", id, fmt.Sprintf(`"taskId":%q`, id))
}

func TestQuestionOfATaskOutlivesItsReplica(t *testing.T) {
	run(t, 3, func(t *testing.T, f *fleet) {
		c := taskClient{&session{fleet: f, version: "2026-07-28"}}
		id := c.begin(0)
		time.Sleep(6 * time.Second)
		for i := range f.replicas {
			require.Contains(t, c.get(i, "ann", id).body, `"status":"input_required"`)
		}
		f.replicas[0].kill()
		require.Equal(t, http.StatusServiceUnavailable, c.get(1, "ann", id).status, "the replica may still be there")
		time.Sleep(lease + lease/4)
		require.Contains(t, c.get(1, "ann", id).body, `"status":"input_required"`)
		var m struct {
			Result struct{ InputRequests map[string]any }
		}
		require.NoError(t, json.Unmarshal([]byte(c.get(2, "ann", id).body), &m))
		require.Len(t, m.Result.InputRequests, 1)
		for key := range m.Result.InputRequests {
			update := fmt.Sprintf(`"taskId":%q,"inputResponses":{%q:{"action":"accept","content":{}}}`, id, key)
			require.Contains(t, c.send(2, "bob", "tasks/update", id, update).body, "Unknown task")
			require.Contains(t, c.send(2, "ann", "tasks/update", id, update).body, `"result"`)
		}
		require.Contains(t, c.get(1, "ann", id).body, `"status":"working"`)
		time.Sleep(10 * time.Second)
		done := c.get(1, "ann", id).body
		require.Contains(t, done, `"status":"completed"`)
		require.Contains(t, done, "accept")
		require.Contains(t, c.get(1, "bob", id).body, "Unknown task")
		f.replicas[2].kill()
		time.Sleep(2 * lease)
		require.Equal(t, done, c.get(1, "ann", id).body, "the result outlives its replica")
	})
}

func TestTaskOfALostReplicaFails(t *testing.T) {
	run(t, 2, func(t *testing.T, f *fleet) {
		c := taskClient{&session{fleet: f, version: "2026-07-28"}}
		id := c.begin(0)
		f.replicas[0].kill()
		time.Sleep(lease + lease/4)
		require.Contains(t, c.get(1, "ann", id).body, `"status":"working"`)
		time.Sleep(lease)
		require.Contains(t, c.get(1, "bob", id).body, "Unknown task")
		failed := c.get(1, "ann", id).body
		require.Contains(t, failed, `"status":"failed"`)
		require.Contains(t, failed, `"reason":"owner-lost"`)
	})
}

// beginTask calls a tool as a task of 2025-11-25, and returns the id of the task.
func (s *session) beginTask(at int, tool string) string {
	s.t.Helper()
	a := s.post(at, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{},"task":{}}}`, tool))
	_, rest, found := strings.Cut(a.body, `"taskId":"`)
	require.True(s.t, found, a.String())
	id, _, _ := strings.Cut(rest, `"`)
	return id
}

// about sends a request about a task, and returns the body of the response.
func (s *session) about(at int, method, id string) string {
	return s.post(at, fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":%q,"params":{"taskId":%q}}`, method, id)).body
}

func (s *session) listTasks(at int) string {
	return s.post(at, `{"jsonrpc":"2.0","id":3,"method":"tasks/list"}`).body
}

func TestSessionsOfAPrincipalShareTasks(t *testing.T) {
	run(t, 3, func(t *testing.T, f *fleet) {
		home, other, bob := f.open(0, "ann"), f.open(1, "ann"), f.open(1, "bob")
		id := home.beginTask(0, "nap")
		for at := range 3 {
			require.Contains(t, other.about(at, "tasks/get", id), `"status":"working"`)
			require.Contains(t, other.listTasks(at), id)
			require.Contains(t, bob.about(at, "tasks/get", id), "Unknown task")
			require.Contains(t, bob.about(at, "tasks/result", id), "Unknown task")
			require.Contains(t, bob.about(at, "tasks/cancel", id), "Unknown task")
			require.NotContains(t, bob.listTasks(at), id)
		}
		result := other.about(1, "tasks/result", id)
		require.Contains(t, result, "slept well")
		require.Contains(t, result, `"io.modelcontextprotocol/related-task":{"taskId":"`+id)
		require.Contains(t, home.about(0, "tasks/result", id), "slept well")
		require.Contains(t, other.about(1, "tasks/get", id), `"status":"completed"`)
		require.Contains(t, other.about(1, "tasks/cancel", id), `has ended with status \"completed\"`)
	})
}

func TestSessionTaskIsCancelledAtAnotherReplica(t *testing.T) {
	run(t, 2, func(t *testing.T, f *fleet) {
		home, other := f.open(0, "ann"), f.open(1, "ann")
		id := home.beginTask(0, "nap")
		time.Sleep(2 * time.Second)
		require.Contains(t, other.about(1, "tasks/cancel", id), `"status":"cancelled"`)
		require.Contains(t, home.about(0, "tasks/get", id), `"status":"cancelled"`)
		time.Sleep(30 * time.Second)
		require.Contains(t, home.about(0, "tasks/get", id), `"status":"cancelled"`)
		require.Contains(t, other.about(1, "tasks/result", id), "cancelled and has no result")
		require.Contains(t, home.about(0, "tasks/result", id), "cancelled and has no result")
	})
}

func TestSessionTaskOutlivesItsReplica(t *testing.T) {
	for _, user := range []string{"ann", ""} { // the task of a principal, and of a session
		run(t, 2, func(t *testing.T, f *fleet) {
			s := f.open(0, user)
			done := s.beginTask(0, "nap")
			time.Sleep(21 * time.Second)
			lost := s.beginTask(0, "nap")
			f.replicas[0].kill()
			time.Sleep(lease + lease/4)
			require.Contains(t, s.about(1, "tasks/get", lost), `"status":"working"`)
			require.Contains(t, s.about(1, "tasks/result", done), "slept well")
			time.Sleep(lease)
			require.Contains(t, s.about(1, "tasks/get", lost), `"status":"failed"`)
			require.Contains(t, s.about(1, "tasks/result", lost), `"reason":"owner-lost"`)
			list := s.listTasks(1)
			require.Less(t, strings.Index(list, done), strings.Index(list, lost), "in order")
			require.Contains(t, s.listTasks(1), done)
			next := s.beginTask(1, "nap")
			require.Contains(t, s.listTasks(1), next)
			require.NotContains(t, f.open(1, "bob").listTasks(1), "taskId")
		})
	}
}

func TestShutdownMovesSessionTasks(t *testing.T) {
	run(t, 2, func(t *testing.T, f *fleet) {
		s := f.open(0, "")
		done := s.beginTask(0, "nap")
		time.Sleep(21 * time.Second)
		running := s.beginTask(0, "nap")
		require.NoError(t, f.replicas[0].node.Shutdown(t.Context()))
		require.Contains(t, s.about(1, "tasks/get", running), `"status":"working"`, "the process has not ended")
		require.NoError(t, f.replicas[0].server.Shutdown(t.Context()))
		require.Contains(t, s.about(1, "tasks/result", running), "server was shut down")
		require.Contains(t, s.about(1, "tasks/get", running), `"status":"failed"`)
		require.Contains(t, s.about(1, "tasks/result", done), "slept well")
	})
}

func TestSessionTasksIfRepliesOfTheEngineAreLost(t *testing.T) {
	run(t, 2, func(t *testing.T, f *fleet) {
		home, other := f.open(0, "ann"), f.open(1, "ann")
		for each := range 4 {
			f.replicas[0].engine.loseReplies(each + 1)
			f.replicas[1].engine.loseReplies(each + 2)
			done, cancelled := home.beginTask(0, "nap"), home.beginTask(0, "nap")
			time.Sleep(time.Second)
			require.Contains(t, other.about(1, "tasks/cancel", cancelled), `"status":"cancelled"`)
			require.Contains(t, other.about(1, "tasks/result", done), "slept well")
			require.Contains(t, home.about(0, "tasks/get", cancelled), `"status":"cancelled"`)
		}
	})
}

func TestSessionTasksWithoutEngine(t *testing.T) {
	run(t, 2, func(t *testing.T, f *fleet) {
		home, other := f.open(0, "ann"), f.open(1, "ann")
		id := home.beginTask(0, "nap")
		f.replicas[0].engine.down.Store(true)
		f.replicas[1].engine.down.Store(true)
		require.Contains(t, home.about(0, "tasks/get", id), `"status":"working"`, "its process needs no engine")
		require.Contains(t, other.about(1, "tasks/get", id), "not available. Try again later")
		require.Contains(t, home.post(0, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nap","arguments":{},"task":{}}}`).body, "could not be stored")
		time.Sleep(25 * time.Second)
		require.Contains(t, home.about(0, "tasks/get", id), `"status":"working"`, "the result is not stored")
		f.replicas[0].engine.down.Store(false)
		f.replicas[1].engine.down.Store(false)
		time.Sleep(5 * time.Second)
		require.Contains(t, home.about(0, "tasks/result", id), "slept well")
		require.Contains(t, other.about(1, "tasks/result", id), "slept well")
	})
}

func TestQuestionOfASessionTaskIsVisibleElsewhere(t *testing.T) {
	run(t, 2, func(t *testing.T, f *fleet) {
		home, other := f.open(0, "ann"), f.open(1, "ann")
		id := home.beginTask(0, "slow")
		time.Sleep(6 * time.Second)
		require.Contains(t, other.about(1, "tasks/get", id), `"status":"input_required"`)
		require.Contains(t, other.about(1, "tasks/result", id), "Request its result in the session that created it")
		require.Contains(t, home.about(0, "tasks/cancel", id), `"status":"cancelled"`)
		require.Contains(t, other.about(1, "tasks/get", id), `"status":"cancelled"`)
	})
}
