package page

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/wire"
)

// questions are the questions of the MCP server that the person has not answered.
type questions struct {
	log  *eventLog
	mu   sync.Mutex // guards the fields below
	last int
	open map[int]*question
}

// question is a question that waits for its answer.
type question struct {
	answer chan *answer // has room for one
	decode func(result json.RawMessage) (wire.Value, error)
}

// answer is the body of a request that answers a question.
type answer struct {
	ID int `json:"id"`
	// Result is the result of the request of the MCP server. Null refuses the request.
	Result json.RawMessage `json:"result"`

	value wire.Value
}

// shown is the event of a question. A question that is not open anymore has no method.
type shown struct {
	ID     int             `json:"id"`
	Side   int             `json:"side"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
}

// put shows a question and waits for the answer. The answer of a refused question is nil.
func put[R any, P interface {
	*R
	wire.Value
}](ctx context.Context, q *questions, side int, req wire.Value, method string) (P, error) {
	encoded, err := wire.Marshal(req)
	if err != nil {
		return nil, fmt.Errorf("show %q: %w", method, err)
	}
	var form struct {
		Params json.RawMessage `json:"params"`
	}
	if err := json.Unmarshal(encoded, &form); err != nil {
		return nil, fmt.Errorf("show %q: %w", method, err)
	}
	open := &question{answer: make(chan *answer, 1), decode: func(result json.RawMessage) (wire.Value, error) {
		res := P(new(R))
		return res, wire.Unmarshal(result, res)
	}}
	q.mu.Lock()
	q.last++
	id := q.last
	q.open[id] = open
	q.mu.Unlock()
	q.log.add(&entry{key: fmt.Sprint("question ", id), kind: "question", keep: true}, shown{id, side, method, form.Params})
	defer q.remove(id, side)
	select {
	case a := <-open.answer:
		if a.value == nil {
			return nil, nil
		}
		return a.value.(P), nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// remove removes a question that is not open anymore.
func (q *questions) remove(id, side int) {
	q.mu.Lock()
	delete(q.open, id)
	q.mu.Unlock()
	q.log.add(&entry{key: fmt.Sprint("question ", id), kind: "question"}, shown{ID: id, Side: side})
}

// serveAnswer passes an answer to its question. An invalid answer leaves the question open.
func (s *Server) serveAnswer(in *answer) (any, error) {
	q := &s.ask
	q.mu.Lock()
	defer q.mu.Unlock()
	open := q.open[in.ID]
	if open == nil {
		return nil, &statusError{http.StatusConflict, errors.New("the question is not open anymore")}
	}
	if string(in.Result) != "null" && in.Result != nil {
		value, err := open.decode(in.Result)
		if err != nil {
			return nil, badRequest("the answer is invalid: %w", err)
		}
		in.value = value
	}
	delete(q.open, in.ID)
	open.answer <- in
	return struct{}{}, nil
}

// handlers sets the handlers of questions.
func (q *questions) handlers(side int, opts *mcpclient.Options) {
	opts.ElicitURLs = true
	opts.OnElicit = func(ctx context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		res, err := put[mcp.ElicitResult](ctx, q, side, req, mcp.MethodElicit)
		if err == nil && res == nil {
			res = &mcp.ElicitResult{Action: mcp.ElicitActionCancel}
		}
		return res, err
	}
	opts.OnCreateMessage = func(ctx context.Context, req *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
		res, err := put[mcp.CreateMessageResult](ctx, q, side, req, mcp.MethodCreateMessage)
		if err == nil && res == nil {
			err = mcpclient.ErrRejected
		}
		return res, err
	}
}
