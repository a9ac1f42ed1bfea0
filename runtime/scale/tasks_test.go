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

// result requests the result of a task. The response is a stream.
func (s *session) result(at int, id string) *stream {
	s.t.Helper()
	s.calls++
	return s.stream(s.request(at, http.MethodPost, fmt.Sprintf(`{"jsonrpc":"2.0","id":"result-%d","method":"tasks/result","params":{"taskId":%q}}`, s.calls, id)))
}

// question returns the id of the next question, as JSON.
func (st *stream) question(task string) string {
	st.t.Helper()
	var m struct {
		ID     json.RawMessage
		Method string
	}
	e := st.next()
	require.NoError(st.t, json.Unmarshal([]byte(e.data), &m), e.data)
	require.Equal(st.t, "elicitation/create", m.Method, e.data)
	require.Contains(st.t, e.data, `"io.modelcontextprotocol/related-task":{"taskId":"`+task)
	return string(m.ID)
}

func (s *session) respond(at int, question string) {
	s.t.Helper()
	a := s.post(at, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{}}}`, question))
	require.Equal(s.t, http.StatusAccepted, a.status, a.body)
}

func TestQuestionOfASessionTaskIsSentByAnotherReplica(t *testing.T) {
	run(t, 3, func(t *testing.T, f *fleet) {
		home, other, bob := f.open(0, "ann"), f.open(1, "ann"), f.open(1, "bob")
		id := home.beginTask(0, "slow")
		result := other.result(2, id) // replica 2 forwards it to replica 1
		defer result.close()
		time.Sleep(6 * time.Second)
		require.Contains(t, other.about(1, "tasks/get", id), `"status":"input_required"`)
		require.Contains(t, bob.about(1, "tasks/result", id), "Unknown task")
		other.respond(2, result.question(id))
		require.Contains(t, result.next().data, `"text":"accept"`)
		require.Contains(t, home.about(0, "tasks/result", id), `"text":"accept"`)
		for key, values := range f.replicas[0].engine.written {
			for _, v := range values {
				require.NotContains(t, string(v), "Proceed?", key)
			}
		}
	})
}

func TestQuestionOfASessionTaskIsSentOnce(t *testing.T) {
	run(t, 2, func(t *testing.T, f *fleet) {
		home, other := f.open(0, "ann"), f.open(1, "ann")
		id := home.beginTask(0, "slow")
		open := make(chan *stream, 1)
		go func() { open <- home.result(0, id) }() // ends when the question is sent
		waiting := make(chan answer, 1)
		go func() {
			waiting <- other.post(1, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tasks/result","params":{"taskId":%q}}`, id))
		}() // ends with the task
		first := <-open
		defer first.close()
		question := first.question(id)
		time.Sleep(10 * time.Second)
		require.Empty(t, waiting)
		home.respond(0, question)
		second := <-waiting
		require.Contains(t, second.body, `"text":"accept"`)
		require.NotContains(t, second.body, "elicitation/create")
		require.Contains(t, first.next().data, `"text":"accept"`)
	})
}

func TestLaterRequestForAResultSendsTheQuestion(t *testing.T) {
	run(t, 3, func(t *testing.T, f *fleet) {
		sessions := []*session{f.open(0, "ann"), f.open(1, "ann"), f.open(2, "ann")}
		id := sessions[0].beginTask(0, "slow")
		var results []*stream
		for _, at := range []int{0, 1, 2, 0} {
			s := sessions[at].result(at, id)
			defer s.close()
			s.question(id)
			if n := len(results); n > 0 {
				require.Contains(t, results[n-1].next().data, "notifications/cancelled")
			}
			results = append(results, s)
			time.Sleep(10 * time.Second)
			require.Empty(t, s.events, "the question is not sent again")
		}
		require.Equal(t, http.StatusNoContent, sessions[0].do(sessions[0].request(0, http.MethodDelete, "")).status)
		select { // one of the two that still wait
		case e := <-results[1].events:
			require.Contains(t, e.data, "elicitation/create")
		case e := <-results[2].events:
			require.Contains(t, e.data, "elicitation/create")
		}
	})
}

func TestReplacedRequestForAResultHasNoResponse(t *testing.T) {
	run(t, 3, func(t *testing.T, f *fleet) {
		home, first, second := f.open(0, "ann"), f.open(1, "ann"), f.open(2, "ann")
		id := home.beginTask(0, "slow")
		replaced := first.result(1, id)
		defer replaced.close()
		question := replaced.question(id)
		result := second.result(2, id)
		defer result.close()
		next := result.question(id)
		first.respond(1, question) // its replica has not noticed yet that another one sends the question
		time.Sleep(5 * time.Second)
		require.Contains(t, home.about(0, "tasks/get", id), `"status":"input_required"`)
		second.respond(2, next)
		require.Contains(t, result.next().data, `"text":"accept"`)
		require.Contains(t, replaced.next().data, `"text":"accept"`)
	})
}

func TestReplicaIsLostWhileItSendsTheQuestionOfASessionTask(t *testing.T) {
	run(t, 3, func(t *testing.T, f *fleet) {
		home, other, third := f.open(0, "ann"), f.open(1, "ann"), f.open(2, "ann")
		id := home.beginTask(0, "slow")
		waits := third.result(2, id)
		defer waits.close()
		waits.question(id)
		lost := other.result(1, id)
		defer lost.close()
		lost.question(id)
		require.Contains(t, waits.next().data, "notifications/cancelled")
		f.replicas[1].kill()
		time.Sleep(2 * lease)
		third.respond(2, waits.question(id))
		require.Contains(t, waits.next().data, `"text":"accept"`)
	})
}

func TestSessionTaskIsLostWhileAnotherReplicaSendsItsQuestion(t *testing.T) {
	run(t, 2, func(t *testing.T, f *fleet) {
		home, other := f.open(0, "ann"), f.open(1, "ann")
		id := home.beginTask(0, "slow")
		result := other.result(1, id)
		defer result.close()
		question := result.question(id)
		f.replicas[0].kill()
		require.Contains(t, result.next().data, "notifications/cancelled")
		require.Contains(t, result.next().data, `"reason":"owner-lost"`)
		other.respond(1, question) // is ignored
		require.Contains(t, other.about(1, "tasks/get", id), `"status":"failed"`)
	})
}

func TestSessionTaskIsCancelledWhileAnotherReplicaSendsItsQuestion(t *testing.T) {
	for at := range 2 { // the replica of the task, and the other one
		run(t, 2, func(t *testing.T, f *fleet) {
			sessions := []*session{f.open(0, "ann"), f.open(1, "ann")}
			id := sessions[0].beginTask(0, "slow")
			result := sessions[1].result(1, id)
			defer result.close()
			result.question(id)
			require.Contains(t, sessions[at].about(at, "tasks/cancel", id), `"status":"cancelled"`)
			require.Contains(t, result.next().data, "notifications/cancelled")
			require.Contains(t, result.next().data, "cancelled and has no result")
		})
	}
}

func TestQuestionOfASessionTaskAfterItsSessionHasMoved(t *testing.T) {
	run(t, 2, func(t *testing.T, f *fleet) {
		s := f.open(0, "")
		id := s.beginTask(0, "slow")
		require.NoError(t, f.replicas[0].node.Shutdown(t.Context())) // the server still runs the task
		result := s.result(1, id)
		defer result.close()
		s.respond(1, result.question(id))
		require.Contains(t, result.next().data, `"text":"accept"`)
	})
}

func TestQuestionOfASessionTaskIfRepliesOfTheEngineAreLost(t *testing.T) {
	run(t, 2, func(t *testing.T, f *fleet) {
		home, other := f.open(0, "ann"), f.open(1, "ann")
		for each := range 4 {
			f.replicas[0].engine.loseReplies(each + 1)
			f.replicas[1].engine.loseReplies(each + 2)
			id := home.beginTask(0, "slow")
			result := other.result(1, id)
			other.respond(1, result.question(id))
			require.Contains(t, result.next().data, `"text":"accept"`)
			result.close()
		}
	})
}

func TestQuestionOfASessionTaskWithoutEngine(t *testing.T) {
	run(t, 2, func(t *testing.T, f *fleet) {
		home, other := f.open(0, "ann"), f.open(1, "ann")
		setDown := func(down bool) {
			f.replicas[0].engine.down.Store(down)
			f.replicas[1].engine.down.Store(down)
		}
		id := home.beginTask(0, "slow")
		result := other.result(1, id)
		defer result.close()
		question := result.question(id)
		setDown(true)
		other.respond(1, question)
		time.Sleep(10 * time.Second)
		setDown(false)
		require.Contains(t, result.next().data, `"text":"accept"`, "the response was stored when the engine could be reached")
	})
}

func TestQuestionOfASessionTaskForAClientThatCannotRespond(t *testing.T) {
	run(t, 2, func(t *testing.T, f *fleet) {
		home := f.open(0, "ann")
		other := &session{fleet: f, user: "ann", version: "2025-11-25"}
		a := other.post(1, `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
		other.id = a.header.Get("Mcp-Session-Id")
		id := home.beginTask(0, "slow")
		require.Contains(t, other.about(1, "tasks/result", id), "asks a question that this client cannot answer")
		result := home.result(0, id)
		defer result.close()
		home.respond(0, result.question(id))
		require.Contains(t, result.next().data, `"text":"accept"`, "the task goes on")
	})
}
