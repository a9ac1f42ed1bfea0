package scale_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpwright/mcp/runtime/tasks"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/internal/pipes"
	"github.com/mcpwright/mcp/runtime/engine"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/scale"
	"github.com/mcpwright/mcp/runtime/streamable"
	"github.com/mcpwright/mcp/runtime/wire"
)

const (
	lease    = 15 * time.Second
	resource = "test://resource"
)

var keys = [][]byte{[]byte("a key of thirty-two bytes, or so")}

// fleet is a set of replicas that share an engine in memory. It runs in a bubble of package
// testing/synctest, so leases end at once.
type fleet struct {
	t        *testing.T
	memory   *engine.Memory
	replicas []*replica
	client   *http.Client
	onEffect func(call string) // called by the tool "effect"; may be nil
	tasks    atomic.Int64      // counts the states of tasks that clients receive
	mu       sync.Mutex        // guards replicas
}

// replica returns a replica by its index.
func (f *fleet) replica(i int) *replica {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.replicas[i]
}

// replica is a server on a network in memory. Its host is "replica-" and its index.
type replica struct {
	node    *scale.Node
	server  *mcpserver.Server
	engine  *faultyEngine
	network *pipes.Network
	http    *http.Server
	cut     atomic.Bool   // other replicas cannot connect
	guard   atomic.Value  // a func(*http.Request) bool, which refuses requests; or nil
	waiting chan struct{} // receives a value when the tool "wait" begins
	proceed chan struct{} // ends the tool "wait"
}

// newFleet starts replicas. The function change may change the options of each of them.
func newFleet(t *testing.T, n int, change func(i int, o *scale.Options)) *fleet {
	f := &fleet{t: t, memory: new(engine.Memory)}
	f.client = &http.Client{Transport: &http.Transport{DialContext: f.dial(false)}}
	for range n {
		f.add(change)
	}
	return f
}

// run runs a test with replicas in a bubble.
func run(t *testing.T, n int, test func(t *testing.T, f *fleet)) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, n, nil)
		defer f.end()
		time.Sleep(lease + time.Second) // each replica has held its lease for long enough to take sessions over
		test(t, f)
	})
}

func (f *fleet) add(change func(i int, o *scale.Options)) *replica {
	i := len(f.replicas)
	r := &replica{engine: &faultyEngine{Memory: f.memory}, network: pipes.New(), waiting: make(chan struct{}, 16), proceed: make(chan struct{})}
	o := &scale.Options{
		Address: fmt.Sprintf("http://replica-%d", i), Keys: keys, Lease: lease, Logger: slog.New(slog.DiscardHandler),
		Transport: &http.Transport{DialContext: f.dial(true), MaxIdleConnsPerHost: 8},
	}
	if change != nil {
		change(i, o)
	}
	var err error
	r.node, err = scale.NewNode(r.engine, r.engine, o)
	require.NoError(f.t, err)
	r.server = newServer(i, r)
	mcpserver.AddTool(r.server, &mcp.Tool{Name: "effect"}, func(ctx context.Context, s *mcp.ServerSession, in struct {
		Count int    `json:"count"`
		Call  string `json:"call"`
	}) (string, error) {
		f.onEffect(in.Call)
		for n := range in.Count {
			time.Sleep(100 * time.Millisecond)
			data := wire.AppendString(nil, fmt.Sprintf("%s/%d", in.Call, n+1))
			if err := s.SendLogMessage(ctx, &mcp.LoggingMessageNotification{Level: mcp.LoggingLevelError, Data: data}); err != nil {
				return "", err
			}
		}
		return "done", nil
	})
	handler := r.node.Handler(r.server, &streamable.Options{
		Principal: func(r *http.Request) string { return r.Header.Get("X-User") }, KeepAlive: -1, Hosts: []string{"*"},
	})
	r.http = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if allows, ok := r.guard.Load().(func(*http.Request) bool); ok && !allows(req) {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		handler.ServeHTTP(w, req)
	})}
	go r.http.Serve(r.network) // ends with kill
	f.mu.Lock()
	defer f.mu.Unlock()
	f.replicas = append(f.replicas, r)
	return r
}

// newServer returns the server of a replica.
func newServer(i int, r *replica) *mcpserver.Server {
	s := mcpserver.New(mcp.Implementation{Name: "test", Version: "1"}, &mcpserver.Options{
		Capabilities: mcp.ServerCapabilities{Logging: map[string]json.RawMessage{}},
		Tasks:        &tasks.Options{StartAfter: -1, NewID: r.node.NewTaskID, Table: r.engine},
		Logger:       slog.New(slog.DiscardHandler), Questions: mcpserver.QuestionOptions{SealKeys: keys},
	})
	type input struct {
		Count int `json:"count,omitempty"`
	}
	mcpserver.AddTool(s, &mcp.Tool{Name: "where"}, func(context.Context, *mcp.ServerSession, input) (string, error) {
		return fmt.Sprintf("replica %d", i), nil
	})
	mcpserver.AddTool(s, &mcp.Tool{Name: "log"}, func(ctx context.Context, s *mcp.ServerSession, in input) (string, error) {
		for n := range in.Count {
			if err := s.SendLogMessage(ctx, &mcp.LoggingMessageNotification{Level: mcp.LoggingLevelError, Data: json.RawMessage(fmt.Sprint(n + 1))}); err != nil {
				return "", err
			}
		}
		return "logged", nil
	})
	mcpserver.AddTool(s, &mcp.Tool{Name: "wait"}, func(ctx context.Context, s *mcp.ServerSession, in input) (string, error) {
		for range in.Count {
			if err := s.SendLogMessage(ctx, &mcp.LoggingMessageNotification{Level: mcp.LoggingLevelError, Data: json.RawMessage(`"wait"`)}); err != nil {
				return "", err
			}
		}
		r.waiting <- struct{}{}
		select {
		case <-r.proceed:
			return "waited", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	})
	mcpserver.AddTool(s, &mcp.Tool{Name: "ask"}, func(ctx context.Context, s *mcp.ServerSession, _ input) (string, error) {
		res, err := s.ElicitForm(ctx, &mcp.ElicitRequestFormParams{Message: "Proceed?"})
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("replica %d: %s", i, res.Action), nil
	})
	slow := &mcp.Tool{Name: "slow", Execution: &mcp.ToolExecution{TaskSupport: mcp.TaskSupportOptional}}
	mcpserver.AddTool(s, slow, func(ctx context.Context, s *mcp.ServerSession, _ input) (string, error) {
		time.Sleep(5 * time.Second)
		res, err := s.ElicitForm(ctx, &mcp.ElicitRequestFormParams{Message: "Proceed?"})
		if err != nil {
			return "", err
		}
		return string(res.Action), nil
	})
	nap := &mcp.Tool{Name: "nap", Execution: &mcp.ToolExecution{TaskSupport: mcp.TaskSupportOptional}}
	mcpserver.AddTool(s, nap, func(ctx context.Context, s *mcp.ServerSession, _ input) (string, error) {
		select {
		case <-time.After(20 * time.Second):
			return "slept well", nil
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	})
	s.AddResource(&mcp.Resource{Name: "resource", URI: resource}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{}, nil
	})
	return s
}

// dial connects to a replica by its host. Replicas cannot connect to one that is cut off.
func (f *fleet) dial(fromReplica bool) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		var i int
		if _, err := fmt.Sscanf(address, "replica-%d:", &i); err != nil {
			return nil, err
		}
		r := f.replica(i)
		if fromReplica && r.cut.Load() {
			return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
		}
		c, err := r.network.Dial(ctx, network, address)
		if err != nil {
			return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
		}
		return c, nil
	}
}

// kill ends a replica at once: it closes all connections, and does not reach the engine any more.
func (r *replica) kill() {
	r.engine.down.Store(true)
	r.network.Close()
	r.http.Close()
}

// isolate cuts a replica off from the engine and from other replicas, or ends that. The connections
// of clients remain.
func (r *replica) isolate(cut bool) {
	r.engine.down.Store(cut)
	r.cut.Store(cut)
}

// end ends all replicas.
func (f *fleet) end() {
	f.client.CloseIdleConnections()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, r := range f.replicas {
		r.kill()
		_ = r.node.Shutdown(ctx)
		_ = r.server.Shutdown(ctx)
	}
	time.Sleep(time.Minute) // operations with the engine end
	synctest.Wait()
}

// errDown is the error of an engine that cannot be reached.
var errDown = errors.New("engine cannot be reached")

// faultyEngine is the engine as one replica reaches it.
type faultyEngine struct {
	*engine.Memory
	down  atomic.Bool
	full  atomic.Bool // refuses changes
	hangs atomic.Bool // changes and reads do not return before their contexts end
	trips atomic.Int64
	puts  atomic.Int64

	mu    sync.Mutex
	lose  int // the replies to each lose-th change are lost; 0 for none
	count int

	written map[string][][]byte // all data that were written, by key

	silent   atomic.Bool                      // the next entry is appended, and there is no response
	onGet    atomic.Pointer[func()]           // called once, after the next record was read
	onDelete atomic.Pointer[func(key string)] // called once, before the next record is deleted
	onPut    atomic.Pointer[func()]           // called once, before the next record of a session is written
}

// record remembers written data.
func (e *faultyEngine) record(key string, data []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.written == nil {
		e.written = make(map[string][][]byte)
	}
	e.written[key] = append(e.written[key], bytes.Clone(data))
}

// sessionKeys returns the keys of sessions that were written.
func (e *faultyEngine) sessionKeys() (list []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for key := range e.written {
		if strings.HasPrefix(key, "s/") {
			list = append(list, key)
		}
	}
	return list
}

// begin counts an operation, and reports whether its reply is lost.
func (e *faultyEngine) begin(change bool) (lost bool, err error) {
	e.trips.Add(1)
	if change {
		e.puts.Add(1)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.count++
	switch {
	case e.down.Load():
		return false, errDown
	case change && e.full.Load():
		return false, errors.New("engine is full")
	}
	return change && e.lose > 0 && e.count%e.lose == 0, nil
}

func (e *faultyEngine) loseReplies(each int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lose = each
}

// hang waits until ctx ends, if the engine hangs.
func (e *faultyEngine) hang(ctx context.Context) {
	if e.hangs.Load() {
		<-ctx.Done()
	}
}

func (e *faultyEngine) Get(ctx context.Context, key string) (engine.Record, error) {
	e.hang(ctx)
	if _, err := e.begin(false); err != nil {
		return engine.Record{}, err
	}
	r, err := e.Memory.Get(ctx, key)
	if f := e.onGet.Swap(nil); f != nil {
		(*f)()
	}
	return r, err
}

func (e *faultyEngine) Put(ctx context.Context, key string, data []byte, prev uint64, keep time.Duration) (uint64, error) {
	e.hang(ctx)
	lost, err := e.begin(true)
	if err != nil {
		return 0, err
	}
	e.record(key, data)
	if strings.HasPrefix(key, "s/") {
		if f := e.onPut.Swap(nil); f != nil {
			(*f)()
		}
	}
	v, err := e.Memory.Put(ctx, key, data, prev, keep)
	if lost {
		return 0, errDown
	}
	return v, err
}

func (e *faultyEngine) Delete(ctx context.Context, key string, prev uint64) error {
	e.hang(ctx)
	if _, err := e.begin(true); err != nil {
		return err
	}
	if f := e.onDelete.Swap(nil); f != nil {
		(*f)(key)
	}
	return e.Memory.Delete(ctx, key, prev)
}

func (e *faultyEngine) Append(ctx context.Context, key string, data []byte, prev uint64, keep time.Duration) (uint64, error) {
	e.hang(ctx)
	lost, err := e.begin(true)
	if err != nil {
		return 0, err
	}
	e.record(key, data)
	n, err := e.Memory.Append(ctx, key, data, prev, keep)
	if e.silent.CompareAndSwap(true, false) {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	if lost {
		return 0, errDown
	}
	return n, err
}

func (e *faultyEngine) Read(ctx context.Context, key string, after uint64) ([]engine.Entry, error) {
	e.hang(ctx)
	if _, err := e.begin(false); err != nil {
		return nil, err
	}
	return e.Memory.Read(ctx, key, after)
}

func (e *faultyEngine) Drop(ctx context.Context, key string) error {
	e.hang(ctx)
	if _, err := e.begin(true); err != nil {
		return err
	}
	return e.Memory.Drop(ctx, key)
}

// session is the client of a session. It sends each request to the replica that the test chooses.
type session struct {
	*fleet
	id, user, version string
	calls             int
}

// answer is a response over HTTP.
type answer struct {
	status int
	header http.Header
	body   string
}

func (a answer) String() string { return fmt.Sprintf("%d %s", a.status, a.body) }

// open begins a session at a replica. The client has the capability to answer questions.
func (f *fleet) open(at int, user string) *session {
	s, a := f.tryOpen(at, user)
	require.Equal(f.t, http.StatusOK, a.status, a.body)
	require.NotEmpty(f.t, s.id)
	require.Equal(f.t, http.StatusAccepted, s.post(at, `{"jsonrpc":"2.0","method":"notifications/initialized"}`).status)
	return s
}

func (f *fleet) tryOpen(at int, user string) (*session, answer) {
	s := &session{fleet: f, user: user, version: "2025-11-25"}
	a := s.post(at, `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}}`)
	s.id = a.header.Get("Mcp-Session-Id")
	return s, a
}

func (s *session) request(at int, method, body string) *http.Request {
	r, err := http.NewRequestWithContext(s.t.Context(), method, fmt.Sprintf("http://replica-%d/mcp", at), strings.NewReader(body))
	require.NoError(s.t, err)
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Mcp-Protocol-Version", s.version)
	r.Header.Set("X-User", s.user)
	if s.id != "" {
		r.Header.Set("Mcp-Session-Id", s.id)
	}
	return r
}

func (s *session) do(r *http.Request) answer {
	res, err := s.client.Do(r)
	if err != nil {
		return answer{header: http.Header{}, body: err.Error()}
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		data = append(data, err.Error()...)
	}
	return answer{res.StatusCode, res.Header, string(data)}
}

// post sends a message to a replica.
func (s *session) post(at int, body string) answer { return s.do(s.request(at, http.MethodPost, body)) }

// callBody returns a call of a tool. Its id is "call-" and a number.
func (s *session) callBody(tool string, count int) string {
	s.calls++
	call := ""
	if tool == "effect" {
		call = fmt.Sprintf(`,"call":"%s call-%d"`, s.user, s.calls)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":"call-%d","method":"tools/call","params":{"name":%q,"arguments":{"count":%d%s}}}`, s.calls, tool, count, call)
}

// call calls a tool through a replica.
func (s *session) call(at int, tool string, count int) answer {
	return s.post(at, s.callBody(tool, count))
}

// requireServedBy calls a tool through a replica, and requires that another one serves it.
func (s *session) requireServedBy(owner, at int) {
	s.t.Helper()
	a := s.call(at, "where", 0)
	require.Equal(s.t, http.StatusOK, a.status, a.body)
	require.Contains(s.t, a.body, fmt.Sprintf("replica %d", owner))
}

// event is an event of a stream.
type event struct{ id, data string }

// stream is a response that consists of events.
type stream struct {
	t      *testing.T
	status int
	events chan event // closed at the end
	close  func()
}

// stream sends a request whose response is a stream.
func (s *session) stream(r *http.Request) *stream {
	ctx, cancel := context.WithCancel(r.Context())
	res, err := s.client.Do(r.WithContext(ctx))
	require.NoError(s.t, err)
	st := &stream{t: s.t, status: res.StatusCode, events: make(chan event, 1000)}
	done := make(chan struct{})
	st.close = func() {
		cancel()
		<-done
	}
	go func() { // ends with the stream
		defer close(done)
		defer close(st.events)
		defer res.Body.Close()
		var e event
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			name, value, _ := strings.Cut(lines.Text(), ": ")
			switch name {
			case "id":
				e.id = value
			case "data":
				e.data = value
			case "":
				if e != (event{}) {
					st.events <- e
				}
				e = event{}
			}
		}
	}()
	return st
}

// get opens the standalone stream at a replica, or resumes a stream.
func (s *session) get(at int, last string) *stream {
	r := s.request(at, http.MethodGet, "")
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	return s.stream(r)
}

// next returns the next event with data.
func (st *stream) next() event {
	st.t.Helper()
	for {
		select {
		case e, ok := <-st.events:
			require.True(st.t, ok, "the stream has ended")
			if e.data != "" {
				return e
			}
		case <-time.After(time.Minute):
			require.Fail(st.t, "no event")
		}
	}
}

// rest returns the data of all events up to the end of the stream.
func (st *stream) rest() (list []string) {
	st.t.Helper()
	for {
		select {
		case e, ok := <-st.events:
			if !ok {
				return list
			}
			if e.data != "" {
				list = append(list, e.data)
			}
		case <-time.After(time.Minute):
			require.Fail(st.t, "the stream does not end")
		}
	}
}

// logData returns the number in a log message.
func logData(t *testing.T, data string) int {
	var m struct{ Params struct{ Data int } }
	require.NoError(t, json.NewDecoder(bytes.NewReader([]byte(data))).Decode(&m), data)
	return m.Params.Data
}

// cutResult returns the text of the result of a tool.
func cutResult(body string) (before, text string, found bool) {
	before, rest, found := strings.Cut(body, `"text":"`)
	text, _, _ = strings.Cut(rest, `"`)
	return before, text, found
}
