package acceptance

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/internal/testlog"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Keys that encrypt the state between rounds.
var (
	oldKey = []byte("an old key of thirty-two bytes..")
	newKey = []byte("a new key, it has as many bytes.")
)

// replica starts a server with keys and returns its URL.
func replica(t *testing.T, change func(*mcpserver.Options), keys ...[]byte) string {
	opts := &mcpserver.Options{Questions: mcpserver.QuestionOptions{SealKeys: keys}}
	if change != nil {
		change(opts)
	}
	return serveHTTP(t, newServer(opts), &streamable.Options{
		Principal: func(r *http.Request) string { return r.Header.Get("X-User") },
	})
}

// roundRobin sends each call of a tool to the next server, and all other requests to the first server.
type roundRobin struct {
	hosts []string
	next  http.RoundTripper
	calls atomic.Int64
}

func (b *roundRobin) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Host = b.hosts[0]
	if r.Header.Get("Mcp-Method") == mcp.MethodCallTool {
		n := int(b.calls.Add(1)) - 1
		r.URL.Host = b.hosts[n%len(b.hosts)]
	}
	return b.next.RoundTrip(r)
}

// balance returns an endpoint for several servers.
func balance(t *testing.T, urls ...string) (*mcpclient.URLEndpoint, *roundRobin) {
	to := reach(t, urls[0])
	b := &roundRobin{next: to.HTTP.HTTPClient.Transport}
	for _, url := range urls {
		b.hosts = append(b.hosts, strings.TrimPrefix(url, "http://"))
	}
	to.HTTP.HTTPClient.Transport = b
	return to, b
}

// TestReplicasShareOnlyAKey sends each round of a call to another server.
func TestReplicasShareOnlyAKey(t *testing.T) {
	for name, keys := range map[string][2][][]byte{
		"one key":                     {{oldKey}, {oldKey}},
		"a new key":                   {{oldKey, newKey}, {oldKey, newKey}},
		"rotation in progress":        {{oldKey, newKey}, {newKey, oldKey}},
		"rotation in the other order": {{newKey, oldKey}, {oldKey, newKey}},
	} {
		t.Run(name, func(t *testing.T) {
			to, b := balance(t, replica(t, nil, keys[0]...), replica(t, nil, keys[1]...))
			u := &user{}
			c := u.connect(t, to, mcp.Revision20260728)
			for range 3 { // so that calls begin at each server
				got := call(t, c, u, "trip", `{}`)
				require.Len(t, got.questions, 3)
				require.Contains(t, got.text, "<Who travels?> goes to <Where to, <Who travels?>?> in summer")
				require.False(t, got.failed)
			}
			require.EqualValues(t, 12, b.calls.Load(), "four rounds each")
			got := call(t, c, u, "at-once", `{}`)
			require.Equal(t, "[<Who travels?> <Where to?> <Praise it>]", got.text)
			require.EqualValues(t, 14, b.calls.Load(), "concurrent questions are one round")
		})
	}
}

// TestKeyRotationDuringACall changes the keys between two rounds, as a rolling update does.
func TestKeyRotationDuringACall(t *testing.T) {
	to, _ := balance(t, replica(t, nil, oldKey), replica(t, nil, oldKey, newKey), replica(t, nil, newKey, oldKey), replica(t, nil, newKey))
	u := &user{}
	got := call(t, u.connect(t, to, mcp.Revision20260728), u, "trip", `{}`)
	require.False(t, got.failed, got.text)
	require.Len(t, got.questions, 3)
}

// TestReplicaWithoutTheKeyLogsOnce sends state to a server that does not have its key.
func TestReplicaWithoutTheKeyLogsOnce(t *testing.T) {
	log := new(testlog.Recorder)
	stray := replica(t, func(o *mcpserver.Options) { o.Logger = slog.New(slog.NewTextHandler(log, nil)) }, newKey)
	good := replica(t, nil, oldKey)
	to, _ := balance(t, good, good, stray)
	u := &user{}
	c := u.connect(t, to, mcp.Revision20260728)
	for range 3 {
		_, err := c.CallTool(t.Context(), &mcp.CallToolRequest{Name: "trip"})
		refused(t, err)
	}
	require.Equal(t, 1, strings.Count(log.String(), "\n"), log.String())
	require.Contains(t, log.String(), "QuestionOptions.SealKeys")
}

// refused requires the error for invalid state, which is the same for every reason.
func refused(t *testing.T, err error) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, &peer.Error{Code: mcp.CodeInvalidParams, Message: "Invalid request state"}, peer.AsError(err))
}

// twoRounds runs two rounds of a trip and returns the request of the third.
func twoRounds(t *testing.T, c *mcpclient.Client, u *user, as ...peer.CallOption) *mcp.CallToolRequest {
	t.Helper()
	req := &mcp.CallToolRequest{Name: "trip", Arguments: json.RawMessage(`{"season":"spring"}`)}
	for range 2 {
		_, err := peer.SendRequest(t.Context(), c, req, as...)
		var asks *mcp.InputRequiredError
		require.ErrorAs(t, err, &asks)
		req = &mcp.CallToolRequest{
			Name: req.Name, Arguments: req.Arguments, RequestState: asks.Result.RequestState, InputResponses: mcp.InputResponses{},
		}
		for key, question := range asks.Result.InputRequests {
			response, err := u.elicit(t.Context(), question.(*mcp.ElicitRequest))
			require.NoError(t, err)
			req.InputResponses[key] = response
		}
	}
	require.NotNil(t, req.RequestState)
	return req
}

// byHand makes a client return questions instead of responding to them.
func byHand(o *mcpclient.Options) { o.ManualInput = true }

// TestStateIsBoundToItsRequest sends the state of one request with other requests.
func TestStateIsBoundToItsRequest(t *testing.T) {
	ada, bob := peer.WithHeader(http.Header{"X-User": {"ada"}}), peer.WithHeader(http.Header{"X-User": {"bob"}})
	url := replica(t, nil, oldKey)
	u := &user{}
	c := u.connect(t, reach(t, url), mcp.Revision20260728, byHand)
	send := func(to *mcpclient.Client, req *mcp.CallToolRequest, as peer.CallOption) error {
		_, err := peer.SendRequest(t.Context(), to, req, as)
		return err
	}
	var asks *mcp.InputRequiredError
	require.ErrorAs(t, send(c, twoRounds(t, c, u, ada), ada), &asks, "the unchanged state is valid")
	again := twoRounds(t, c, u, ada)
	again.Arguments = json.RawMessage(`{ "seas\u006fn" : "spring" }`)
	require.ErrorAs(t, send(c, again, ada), &asks, "the same arguments in another form")

	for name, change := range map[string]func(*mcp.CallToolRequest){
		"another tool":    func(r *mcp.CallToolRequest) { r.Name = "same-trip" },
		"other arguments": func(r *mcp.CallToolRequest) { r.Arguments = json.RawMessage(`{"season":"autumn"}`) },
		"no arguments":    func(r *mcp.CallToolRequest) { r.Arguments = nil },
		"first byte":      func(r *mcp.CallToolRequest) { r.RequestState = new("A" + (*r.RequestState)[1:] + "A") },
		"cut":             func(r *mcp.CallToolRequest) { r.RequestState = new((*r.RequestState)[:len(*r.RequestState)-4]) },
		"one letter":      func(r *mcp.CallToolRequest) { r.RequestState = new(swap(*r.RequestState)) },
		"foreign":         func(r *mcp.CallToolRequest) { r.RequestState = new("foreign state") },
		"empty":           func(r *mcp.CallToolRequest) { r.RequestState = new("") },
		"long":            func(r *mcp.CallToolRequest) { r.RequestState = new(strings.Repeat("A", 1<<20)) },
	} {
		t.Run(name, func(t *testing.T) {
			req := twoRounds(t, c, u, ada)
			change(req)
			refused(t, send(c, req, ada))
		})
	}
	t.Run("another principal", func(t *testing.T) { refused(t, send(c, twoRounds(t, c, u, ada), bob)) })
	t.Run("no principal", func(t *testing.T) {
		refused(t, send(c, twoRounds(t, c, u, ada), peer.WithHeader(http.Header{"X-Other": {"x"}})))
	})
	t.Run("of another replica", func(t *testing.T) {
		other := u.connect(t, reach(t, replica(t, nil, newKey)), mcp.Revision20260728, byHand)
		refused(t, send(c, twoRounds(t, other, u, ada), ada))
	})
	t.Run("expired", func(t *testing.T) {
		short := replica(t, func(o *mcpserver.Options) { o.Questions.RoundTTL = time.Nanosecond }, oldKey)
		other := u.connect(t, reach(t, short), mcp.Revision20260728, byHand)
		refused(t, send(other, twoRounds(t, c, u, ada), ada))
	})
}

// swap changes one letter in the middle of a text.
func swap(text string) string {
	b := []byte(text)
	if at := len(b) / 2; b[at] == 'B' {
		b[at] = 'C'
	} else {
		b[at] = 'B'
	}
	return string(b)
}

// TestInvalidResponseIsRequestedAgain uses a client that does not validate its responses.
func TestInvalidResponseIsRequestedAgain(t *testing.T) {
	u := &user{}
	c := u.connect(t, overHTTP(t, newServer(nil), nil), mcp.Revision20260728, byHand)
	req := &mcp.CallToolRequest{Name: "trip"}
	for _, text := range []any{7, "", nil, "Ada"} {
		_, err := c.CallTool(t.Context(), req)
		var asks *mcp.InputRequiredError
		require.ErrorAs(t, err, &asks)
		require.Len(t, asks.Result.InputRequests, 1)
		req = &mcp.CallToolRequest{Name: "trip", RequestState: asks.Result.RequestState, InputResponses: mcp.InputResponses{}}
		for key, question := range asks.Result.InputRequests {
			require.Equal(t, "Who travels?", question.(*mcp.ElicitRequest).Params.(*mcp.ElicitRequestFormParams).Message)
			content := map[string]any{"text": text}
			if text == nil {
				content = nil
			}
			req.InputResponses[key] = &mcp.ElicitResult{Action: mcp.ElicitActionAccept, Content: content}
		}
	}
	_, err := c.CallTool(t.Context(), req)
	var asks *mcp.InputRequiredError
	require.ErrorAs(t, err, &asks)
	for _, question := range asks.Result.InputRequests {
		require.Equal(t, "Where to, Ada?", question.(*mcp.ElicitRequest).Params.(*mcp.ElicitRequestFormParams).Message)
	}
}

// TestUnexpectedResponsesAreIgnored uses a client that sends a response without a request.
func TestUnexpectedResponsesAreIgnored(t *testing.T) {
	u := &user{}
	addResponse := func(o *mcpclient.Options) {
		o.Outgoing = append(o.Outgoing, func(next peer.Outbound) peer.Outbound { return responseAdder{next} })
	}
	c := u.connect(t, overPipe(t, newServer(nil)), mcp.Revision20260728, addResponse)
	got := call(t, c, u, "trip", `{}`)
	require.Len(t, got.questions, 3)
	require.False(t, got.failed, got.text)
}

// responseAdder adds a response to each call.
type responseAdder struct{ peer.Outbound }

func (o responseAdder) Call(ctx context.Context, req peer.Message, res wire.Value, opts ...peer.CallOption) error {
	if r, ok := req.(*mcp.CallToolRequest); ok {
		more := *r
		more.InputResponses = mcp.InputResponses{"unknown": &mcp.ElicitResult{Action: mcp.ElicitActionAccept, Content: map[string]any{"text": "Eve"}}}
		for key, response := range r.InputResponses {
			more.InputResponses[key] = response
		}
		req = &more
	}
	return o.Outbound.Call(ctx, req, res, opts...)
}
