package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/peer"
)

// ErrRejected is the error that [Options].OnCreateMessage returns if the user rejects the request.
var ErrRejected = &peer.Error{Code: -1, Message: "User rejected the request"}

// QuestionError reports that a request failed because an input request of the server failed.
type QuestionError struct {
	// Key is the server's key of the input request.
	Key string
	// Method is the method of the input request, or empty if this client does not know its type.
	Method string
	// Err is the cause.
	Err error
}

// Error implements error.
func (e *QuestionError) Error() string {
	return fmt.Sprintf("input request %q (%s): %v", e.Key, e.Method, e.Err)
}

// Unwrap returns Err.
func (e *QuestionError) Unwrap() error { return e.Err }

// RoundsError reports that the server still requested input after [Options].MaxRounds rounds, or
// asked more than [Options].MaxQuestions questions.
type RoundsError struct {
	// Method is the method of the request.
	Method string
	// Rounds is the number of rounds in which the client answered input requests.
	Rounds int
	// Questions is the number of input requests in these rounds and the next one, if they are more
	// than [Options].MaxQuestions. Otherwise it is 0.
	Questions int
}

// Error implements error.
func (e *RoundsError) Error() string {
	if e.Questions > 0 {
		return fmt.Sprintf("send %q: server asks too many questions: %d in %d rounds", e.Method, e.Questions, e.Rounds+1)
	}
	return fmt.Sprintf("send %q: server still requests input after %d rounds", e.Method, e.Rounds)
}

// roundCount counts the rounds of a call and the input requests in them.
type roundCount struct{ rounds, questions int }

// begin begins a round with input requests. It returns a *RoundsError if there are too many rounds or
// input requests.
func (n *roundCount) begin(o *Options, method string, requests mcp.InputRequests) error {
	if n.rounds == o.MaxRounds {
		return &RoundsError{Method: method, Rounds: n.rounds}
	}
	if n.questions += len(requests); n.questions > o.MaxQuestions {
		return &RoundsError{Method: method, Rounds: n.rounds, Questions: n.questions}
	}
	n.rounds++
	return nil
}

var (
	errNoResult      = errors.New("handler returned no result")
	errHandlerExited = errors.New("handler exited its goroutine")
)

// undeclared returns the error for a request that needs a capability which was not declared.
func undeclared(what string) error {
	return &peer.Error{Code: mcp.CodeInvalidParams, Message: "Invalid params: the client did not declare " + what}
}

// newDispatcher registers the handlers of the options.
func (c *Client) newDispatcher() *connection.Dispatcher {
	mux, o := &c.mux, &c.opts
	if o.OnElicit != nil {
		mcp.HandleElicit(mux, c.elicit)
	}
	if o.OnCreateMessage != nil {
		mcp.HandleCreateMessage(mux, c.createMessage)
	}
	if o.Roots != nil || o.OnListRoots != nil {
		mcp.HandleListRoots(mux, c.listRoots)
	}
	handleNotification(mux, o.OnLog)
	handleNotification(mux, serialize(&c.handling, o.OnToolListChanged))
	handleNotification(mux, serialize(&c.handling, o.OnPromptListChanged))
	handleNotification(mux, serialize(&c.handling, o.OnResourceListChanged))
	handleNotification(mux, o.OnElicitComplete)
	if o.Handlers != nil {
		o.Handlers(mux)
	}
	middleware := o.Middleware
	if c.opts.ownTasks() != nil {
		middleware = append([]peer.Middleware{c.enableOwnTasks()}, middleware...)
	}
	if o.Tasks {
		middleware = append([]peer.Middleware{c.relateToTasks}, middleware...)
	}
	c.handlesUpdates = c.handles(mcp.MethodResourceUpdated)
	return connection.NewDispatcher(&connection.DispatcherOptions{Mux: mux, Middleware: middleware, Logger: o.Logger})
}

// handleNotification registers h unless it is nil.
func handleNotification[N any, P interface {
	*N
	peer.Notification
}](mux *peer.Mux, h func(context.Context, P) error) {
	if h != nil {
		peer.HandleNotification(mux, h)
	}
}

// serialize returns a handler that holds mu while it runs, or nil if h is nil.
func serialize[P any](mu *sync.Mutex, h func(context.Context, P) error) func(context.Context, P) error {
	if h == nil {
		return nil
	}
	return func(ctx context.Context, n P) error {
		mu.Lock()
		defer mu.Unlock()
		return h(ctx, n)
	}
}

// elicit calls OnElicit and validates its result.
func (c *Client) elicit(ctx context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	var form *mcp.RequestedSchema
	switch p := req.Params.(type) {
	case *mcp.ElicitRequestFormParams:
		form = &p.RequestedSchema
	case *mcp.ElicitRequestURLParams:
		if !c.opts.ElicitURLs {
			return nil, undeclared("elicitation.url")
		}
	default:
		return nil, undeclared("elicitation of that mode")
	}
	res, err := c.opts.OnElicit(ctx, req)
	switch {
	case err != nil:
		return nil, err
	case res == nil:
		return nil, errNoResult
	}
	return completeForm(form, res)
}

// completeForm adds the defaults of the form to a result and validates it. Only an accepted form
// has content.
func completeForm(form *mcp.RequestedSchema, res *mcp.ElicitResult) (*mcp.ElicitResult, error) {
	complete := *res
	complete.Content = nil
	switch res.Action {
	case mcp.ElicitActionAccept:
	case mcp.ElicitActionDecline, mcp.ElicitActionCancel:
		return &complete, nil
	default:
		return nil, fmt.Errorf("handler returned the action %q: want accept, decline or cancel", res.Action)
	}
	if form == nil {
		return &complete, nil
	}
	if complete.Content = maps.Clone(res.Content); complete.Content == nil {
		complete.Content = make(map[string]any)
	}
	for _, field := range form.Properties {
		value, ok := complete.Content[field.Name]
		if !ok {
			value = defaultOf(field.Schema)
		}
		if value = stringList(value); value != nil {
			complete.Content[field.Name] = value
		}
	}
	if err := connection.CheckContent(form, complete.Content); err != nil {
		return nil, fmt.Errorf("content does not match the form: %w", err)
	}
	return &complete, nil
}

// defaultOf returns the default of a field, or nil.
func defaultOf(field mcp.PrimitiveSchemaDefinition) any {
	switch f := field.(type) {
	case *mcp.StringSchema:
		return valueOf(f.Default)
	case *mcp.BooleanSchema:
		return valueOf(f.Default)
	case *mcp.NumberSchema:
		if f.Default != nil && *f.Default == math.Trunc(*f.Default) && math.Abs(*f.Default) < 1<<53 {
			return int64(*f.Default)
		}
		return valueOf(f.Default)
	case *mcp.UntitledSingleSelectEnumSchema:
		return valueOf(f.Default)
	case *mcp.TitledSingleSelectEnumSchema:
		return valueOf(f.Default)
	case *mcp.LegacyTitledEnumSchema:
		return valueOf(f.Default)
	case *mcp.UntitledMultiSelectEnumSchema:
		return listOf(f.Default)
	case *mcp.TitledMultiSelectEnumSchema:
		return listOf(f.Default)
	}
	return nil
}

func valueOf[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}

func listOf(list []string) any {
	if list == nil {
		return nil
	}
	return list
}

// stringList converts a []any of strings, as package json decodes a list, into a []string. It
// returns other values unchanged.
func stringList(value any) any {
	list, ok := value.([]any)
	if !ok {
		return value
	}
	texts := make([]string, len(list))
	for i, v := range list {
		if texts[i], ok = v.(string); !ok {
			return value
		}
	}
	return texts
}

// createMessage validates the request and calls OnCreateMessage.
func (c *Client) createMessage(ctx context.Context, req *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	if (req.Tools != nil || req.ToolChoice != nil) && !c.opts.SamplingTools {
		return nil, undeclared("sampling.tools")
	}
	if err := connection.CheckMessages(req.Messages); err != nil {
		return nil, &peer.Error{Code: mcp.CodeInvalidParams, Message: "Invalid params: " + err.Error()}
	}
	res, err := c.opts.OnCreateMessage(ctx, req)
	if err == nil && res == nil {
		err = errNoResult
	}
	return res, err
}

// rootList has the roots that SetRoots has set.
type rootList struct {
	mu   sync.Mutex // guards the fields below
	set  bool
	list []mcp.Root
}

// SetRoots replaces [Options].Roots and notifies the server, if the revision has a notification for
// it. It returns an error if Options.Roots was nil or Options.OnListRoots was set, because the
// server then cannot request the roots.
func (c *Client) SetRoots(ctx context.Context, roots []mcp.Root) error {
	if c.opts.Roots == nil || c.opts.OnListRoots != nil {
		return errors.New("set roots: client was connected without Options.Roots")
	}
	if err := checkRoots(roots); err != nil {
		return fmt.Errorf("set roots: %w", err)
	}
	c.roots.mu.Lock()
	c.roots.set, c.roots.list = true, slices.Clone(roots)
	c.roots.mu.Unlock()
	return c.RootsListChanged(ctx, &mcp.RootsListChangedNotification{})
}

func (c *Client) listRoots(ctx context.Context, req *mcp.ListRootsRequest) (*mcp.ListRootsResult, error) {
	if c.opts.OnListRoots != nil {
		res, err := c.opts.OnListRoots(ctx, req)
		switch {
		case err != nil:
			return nil, err
		case res == nil:
			return nil, errNoResult
		}
		return res, checkRoots(res.Roots)
	}
	c.roots.mu.Lock()
	defer c.roots.mu.Unlock()
	if c.roots.set {
		return &mcp.ListRootsResult{Roots: slices.Clone(c.roots.list)}, nil
	}
	return &mcp.ListRootsResult{Roots: slices.Clone(c.opts.Roots)}, nil
}

// handleInputRequests handles the input requests of one result concurrently, at most
// Options.MaxInFlight at a time. The first failure cancels the others, and so does the end of the
// client. It returns nil if there are no requests.
func (c *Client) handleInputRequests(ctx context.Context, method string, requests mcp.InputRequests) (mcp.InputResponses, error) {
	if len(requests) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.life, func() { cancel(&peer.ClosedError{Method: method, Cause: c.Err()}) })()
	var (
		all       sync.WaitGroup
		mu        sync.Mutex // guards responses and failed
		responses = make(mcp.InputResponses, len(requests))
		failed    error
		slots     = make(chan struct{}, min(c.opts.MaxInFlight, len(requests)))
	)
	for key, req := range requests {
		slots <- struct{}{}
		all.Go(func() { // ends with the handler
			res, err := mcp.InputResponse(nil), errHandlerExited
			defer func() { // also runs if the handler exits the goroutine
				mu.Lock()
				defer mu.Unlock()
				if responses[key] = res; err != nil && failed == nil {
					failed = &QuestionError{key, methodOf(req), err}
					cancel(failed)
				}
				<-slots
			}()
			if cause := context.Cause(ctx); cause != nil { // cancelled while it waited for a slot
				err = cause
				return
			}
			res, err = c.handleInputRequest(ctx, req)
		})
	}
	all.Wait()
	if failed != nil {
		return nil, failed
	}
	return responses, nil
}

// handleInputRequest calls the handler of one input request.
func (c *Client) handleInputRequest(ctx context.Context, req mcp.InputRequest) (_ mcp.InputResponse, err error) {
	defer func() {
		if r := recover(); r != nil {
			c.opts.Logger.ErrorContext(ctx, "handler panicked", "panic", r, "stack", string(debug.Stack()))
			err = errors.New("handler panicked")
		}
	}()
	m, ok := req.(peer.Message)
	if !ok {
		return nil, errors.New("unknown input request")
	}
	route, ok := c.mux.Route(m.Method())
	if !ok || !route.Is(m) {
		return nil, undeclared(m.Method())
	}
	value, err := route.Serve(ctx, m)
	if err != nil {
		return nil, err
	}
	res, ok := value.(mcp.InputResponse)
	if !ok {
		return nil, fmt.Errorf("handler returned %T", value)
	}
	return res, nil
}

func methodOf(req mcp.InputRequest) string {
	if m, ok := req.(peer.Message); ok {
		return m.Method()
	}
	return ""
}
