package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// RoundsError says that a server went on asking.
type RoundsError struct {
	// Method is the method of the request.
	Method string
	// Rounds is how often its questions were answered.
	Rounds int
}

// Error implements error.
func (e *RoundsError) Error() string {
	return fmt.Sprintf("send %q: the server still asks for input after %d rounds", e.Method, e.Rounds)
}

// QuestionError says that a request failed because a question that the server
// asked meanwhile was not answered.
type QuestionError struct {
	// Key is the server's name for the question.
	Key string
	// Method says what kind of question it is; empty is one that this client
	// does not know.
	Method string
	// Err is why there is no answer.
	Err error
}

// Error implements error.
func (e *QuestionError) Error() string {
	return fmt.Sprintf("answer the server's question %q (%s): %v", e.Key, e.Method, e.Err)
}

// Unwrap returns Err.
func (e *QuestionError) Unwrap() error { return e.Err }

// How long to wait before an attempt that answers nothing.
const leastPause, mostPause = 50 * time.Millisecond, 250 * time.Millisecond

// converse sends a request and answers what the server asks before it gives its
// result. It tells whether it asked anything.
func (c *Client) converse(ctx context.Context, req peer.Message, res wire.Value, opts []peer.CallOption) (asked bool, err error) {
	pause := leastPause
	may := !c.opts.ManualInput && opensRounds(req)
	for again, round := req, 0; ; round++ {
		err = c.try(ctx, again, res, opts)
		ask := questions(err)
		if ask == nil || !may {
			return asked, err
		}
		if asked = true; round == c.opts.MaxRounds {
			return true, &RoundsError{req.Method(), round}
		}
		answers, err := c.answer(ctx, req.Method(), ask)
		if err != nil {
			return true, fmt.Errorf("send %q: %w", req.Method(), err)
		}
		if answers == nil {
			if err := rest(ctx, pause); err != nil {
				return true, fmt.Errorf("send %q: %w", req.Method(), err)
			}
			pause = min(2*pause, mostPause)
		} else {
			pause = leastPause
		}
		again = mcp.WithInput(req, answers, ask.RequestState)
		opts = append(opts[:len(opts):len(opts)], peer.WithID(wire.RequestID{})) // an id serves once
		reset(res)
	}
}

// questions returns what err asks for, nil where it does not.
func questions(err error) *mcp.InputRequiredResult {
	if e, ok := errors.AsType[*mcp.InputRequiredError](err); ok {
		return e.Result
	}
	return nil
}

// opensRounds tells whether a request is the first of its rounds, and of a type
// of which the next can be made. A caller who brings answers goes on so.
func opensRounds(req peer.Message) bool {
	answers, state, ok := mcp.InputOf(req)
	return ok && answers == nil && state == nil
}

var errLeft = errors.New("the handler ended its goroutine")

// answer answers all questions of a round at the same time, as far as the options
// allow. One that cannot be answered ends the others, and so does the end of the
// client.
func (c *Client) answer(ctx context.Context, method string, ask *mcp.InputRequiredResult) (mcp.InputResponses, error) {
	if len(ask.InputRequests) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.life, func() { cancel(&peer.ClosedError{Method: method, Cause: c.Err()}) })()
	var (
		all     sync.WaitGroup
		mu      sync.Mutex // guards what follows
		answers = make(mcp.InputResponses, len(ask.InputRequests))
		failed  error
		room    = make(chan struct{}, min(c.opts.MaxInFlight, len(ask.InputRequests)))
	)
	for key, question := range ask.InputRequests {
		room <- struct{}{}
		all.Go(func() { // ends with the handler
			answer, err := mcp.InputResponse(nil), errLeft
			defer func() { // also where the handler goes no further
				mu.Lock()
				defer mu.Unlock()
				if answers[key] = answer; err != nil && failed == nil {
					failed = &QuestionError{key, methodOf(question), err}
					cancel(failed)
				}
				<-room
			}()
			if over := context.Cause(ctx); over != nil { // while it waited
				err = over
				return
			}
			answer, err = c.answerOne(ctx, question)
		})
	}
	all.Wait()
	if failed != nil {
		return nil, failed
	}
	return answers, nil
}

// answerOne has one question answered by its handler.
func (c *Client) answerOne(ctx context.Context, question mcp.InputRequest) (_ mcp.InputResponse, err error) {
	defer func() {
		if r := recover(); r != nil {
			c.opts.Logger.ErrorContext(ctx, "handler panicked", "panic", r, "stack", string(debug.Stack()))
			err = errors.New("the handler panicked")
		}
	}()
	m, ok := question.(peer.Message)
	if !ok {
		return nil, errors.New("this client does not know such questions")
	}
	route, ok := c.mux.Route(m.Method())
	if !ok || !route.Is(m) {
		return nil, undeclared(m.Method())
	}
	res, err := route.Serve(ctx, m)
	if err != nil {
		return nil, err
	}
	answer, ok := res.(mcp.InputResponse)
	if !ok {
		return nil, fmt.Errorf("the handler answers with a %T", res)
	}
	return answer, nil
}

func methodOf(question mcp.InputRequest) string {
	if m, ok := question.(peer.Message); ok {
		return m.Method()
	}
	return ""
}

// rest waits for a while.
func rest(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
