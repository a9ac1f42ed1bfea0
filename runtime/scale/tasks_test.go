package scale_test

import (
	"encoding/json"
	"fmt"
	"net/http"
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
