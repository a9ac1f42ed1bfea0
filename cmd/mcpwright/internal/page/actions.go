package page

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/tasks"
	"github.com/mcpwright/mcp/runtime/wire"
)

// actionKey is the key of the number of an action in a context.
type actionKey struct{}

// action is a request that the person sends. It is also its event.
type action struct {
	ID     int             `json:"id"`
	Group  int             `json:"group"` // number of the action on the first side, for the same request on both sides
	Side   int             `json:"side"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	// View is true for a request of an MCP App.
	View   bool         `json:"view,omitempty"`
	State  string       `json:"state"`            // running, done, failed or cancelled
	Result string       `json:"result,omitempty"` // JSON, as text so that numbers stay exact
	Error  *actionError `json:"error,omitempty"`
	Begun  time.Time    `json:"begun"`
	Ended  *time.Time   `json:"ended,omitempty"`
}

// actionError is the error of an action.
type actionError struct {
	Message string          `json:"message"`
	Code    int64           `json:"code,omitempty"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// actions are the requests in progress.
type actions struct {
	mu      sync.Mutex // guards the fields below
	last    int
	running map[int]context.CancelFunc
}

// begin returns the number of a new action, and its context.
func (a *actions) begin(life context.Context) (int, context.Context) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.running == nil {
		a.running = map[int]context.CancelFunc{}
	}
	a.last++
	ctx, cancel := context.WithCancel(context.WithValue(life, actionKey{}, a.last))
	a.running[a.last] = cancel
	return a.last, ctx
}

// end ends an action. It returns false if the action has ended already.
func (a *actions) end(id int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	cancel := a.running[id]
	if cancel == nil {
		return false
	}
	cancel()
	delete(a.running, id)
	return true
}

// actionRequest is the body of a request that begins an action.
type actionRequest struct {
	Sides  []int           `json:"sides"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	View   bool            `json:"view"`
}

// serveRequest sends a request to the MCP server on one or both sides. The results are events.
func (s *Server) serveRequest(in *actionRequest) (any, error) {
	if in.Method == "" || len(in.Sides) == 0 {
		return nil, badRequest("the method or the sides are missing")
	}
	if len(in.Params) == 0 || string(in.Params) == "null" {
		in.Params = json.RawMessage("{}")
	}
	if in.Params[0] != '{' {
		return nil, badRequest("the params are not an object")
	}
	var ids []int
	for _, index := range in.Sides {
		if _, err := s.side(index); err != nil {
			return nil, err
		}
	}
	for _, index := range in.Sides {
		sd := s.sides[index]
		id, ctx := s.running.begin(s.life)
		ids = append(ids, id)
		a := &action{ID: id, Group: ids[0], Side: index, Method: in.Method, Params: in.Params, View: in.View, State: "running", Begun: time.Now()}
		if !sd.start(func() { sd.perform(ctx, a) }) {
			s.running.end(id)
			return nil, errors.New("the page is closed")
		}
	}
	return map[string][]int{"ids": ids}, nil
}

// start runs a function in a goroutine, unless the side is closed. The goroutine ends with the life
// of the server at the latest.
func (sd *side) start(f func()) bool {
	sd.mu.Lock()
	defer sd.mu.Unlock()
	if sd.closed {
		return false
	}
	sd.work.Go(f)
	return true
}

// perform sends the request of an action and shows the result.
func (sd *side) perform(ctx context.Context, a *action) {
	s := sd.server
	key := fmt.Sprint("action ", a.ID)
	s.log.add(&entry{key: key, kind: "action", keep: true}, a)
	result, err := sd.send(ctx, a)
	ended := *a
	ended.Ended = new(time.Now())
	ended.State, ended.Result = "done", string(result)
	if err != nil {
		ended.State, ended.Error = "failed", errorOf(err)
	}
	if !s.running.end(a.ID) && err != nil {
		ended.State = "cancelled"
	}
	s.log.add(&entry{key: key, kind: "action"}, ended)
}

func errorOf(err error) *actionError {
	e := &actionError{Message: err.Error()}
	if p, ok := errors.AsType[*peer.Error](err); ok {
		e.Code, e.Data = p.Code, p.Data
	}
	return e
}

// send sends the request of an action and returns its result.
func (sd *side) send(ctx context.Context, a *action) (json.RawMessage, error) {
	client, err := sd.connected(ctx)
	if err != nil {
		return nil, err
	}
	req, res, err := newRequest(a.Method, a.Params, client.NoHandshake())
	if err != nil {
		return nil, fmt.Errorf("prepare request %q: %w", a.Method, err)
	}
	shown := func(p peer.Progress) {
		sd.server.log.add(&entry{key: fmt.Sprint("progress ", a.ID), kind: "progress"},
			map[string]any{"id": a.ID, "progress": p.Progress, "total": p.Total, "message": p.Message})
	}
	var opts []peer.CallOption
	if info := mcp.MethodByName(a.Method); info != nil && !info.Paged {
		opts = append(opts, peer.OnProgress(shown))
	}
	if client.NoHandshake() && a.Method == mcp.MethodCallTool { // later requests of a handshake have the level of the session
		opts = append(opts, mcpclient.OnLog(mcp.LoggingLevelDebug, func(*mcp.LoggingMessageNotification) {}))
	}
	if err := client.Uncached().Call(ctx, req, res, opts...); err != nil {
		return nil, err
	}
	return wire.Marshal(res)
}

// cancelRequest is the body of a request that cancels an action.
type cancelRequest struct {
	ID int `json:"id"`
}

// serveCancel cancels an action.
func (s *Server) serveCancel(in *cancelRequest) (any, error) {
	return map[string]bool{"cancelled": s.running.end(in.ID)}, nil
}

// newRequest returns a request with its params, and the value for its result. Requests for which the
// client does more than send them have their types. Other requests are sent as they are.
func newRequest(method string, params json.RawMessage, stateless bool) (peer.Message, wire.Value, error) {
	var req peer.Message
	var res wire.Value = new(rawResult)
	switch {
	case method == mcp.MethodCallTool:
		req, res = new(mcp.CallToolRequest), new(mcp.CallToolResult)
	case method == mcp.MethodGetPrompt:
		req, res = new(mcp.GetPromptRequest), new(mcp.GetPromptResult)
	case method == mcp.MethodReadResource:
		req, res = new(mcp.ReadResourceRequest), new(mcp.ReadResourceResult)
	case method == tasks.MethodGet && stateless:
		req = new(tasks.GetRequest)
	case method == tasks.MethodCancel && stateless:
		req = new(tasks.CancelRequest)
	default:
		return &rawRequest{method, params}, res, nil
	}
	return req, res, wire.DecodeParams(params, nil, req)
}

// rawRequest is a request with any params.
type rawRequest struct {
	method string
	params json.RawMessage // an object
}

// Method implements [peer.Message].
func (r *rawRequest) Method() string { return r.method }

// AppendParams implements [wire.Params].
func (r *rawRequest) AppendParams(b []byte, e *wire.Encoder) []byte {
	return e.RawObject(b, r.params, "{}")
}

// DecodeParams implements [wire.Params].
func (r *rawRequest) DecodeParams(d *wire.Decoder) { r.params = d.RawObject() }

// rawResult is a result as it was received.
type rawResult struct{ json json.RawMessage }

// AppendJSON implements [wire.Value].
func (r *rawResult) AppendJSON(b []byte, e *wire.Encoder) []byte { return e.Raw(b, r.json, "{}") }

// DecodeJSON implements [wire.Value].
func (r *rawResult) DecodeJSON(d *wire.Decoder) { r.json = d.Raw() }
