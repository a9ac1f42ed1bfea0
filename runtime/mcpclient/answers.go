package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"sync"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/peer"
)

// ErrRejected is the answer to a request for sampling that the user rejects.
var ErrRejected = &peer.Error{Code: -1, Message: "User rejected the request"}

// newKernel returns what handles the messages of the server.
func (c *Client) newKernel() *connection.Dispatcher {
	mux, o := &c.mux, &c.opts
	if o.OnElicit != nil {
		mcp.HandleElicit(mux, c.elicit)
	}
	if o.OnCreateMessage != nil {
		mcp.HandleCreateMessage(mux, c.sample)
	}
	if o.Roots != nil || o.OnListRoots != nil {
		mcp.HandleListRoots(mux, c.listRoots)
	}
	notified(mux, o.OnLog)
	notified(mux, serial(&c.notes, o.OnToolListChanged))
	notified(mux, serial(&c.notes, o.OnPromptListChanged))
	notified(mux, serial(&c.notes, o.OnResourceListChanged))
	notified(mux, o.OnElicitComplete)
	if o.Handlers != nil {
		o.Handlers(mux)
	}
	return connection.NewDispatcher(&connection.DispatcherOptions{Mux: mux, Middleware: o.Middleware, Logger: o.Logger})
}

// notified registers a handler of notifications, if there is one.
func notified[N any, P interface {
	*N
	peer.Notification
}](mux *peer.Mux, h func(context.Context, P) error) {
	if h != nil {
		peer.HandleNotification(mux, h)
	}
}

// serial makes a handler wait for others that use the same mutex.
func serial[P any](mu *sync.Mutex, h func(context.Context, P) error) func(context.Context, P) error {
	if h == nil {
		return nil
	}
	return func(ctx context.Context, n P) error {
		mu.Lock()
		defer mu.Unlock()
		return h(ctx, n)
	}
}

var errNothing = errors.New("the handler returned nothing")

// undeclared refuses what this client did not declare that it can do.
func undeclared(what string) error {
	return &peer.Error{Code: mcp.CodeInvalidParams, Message: "Invalid params: the client did not declare " + what}
}

// elicit asks the user, and sees to it that the answer is one.
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
		return nil, errNothing
	}
	return finished(form, res)
}

// finished completes an answer with the defaults of its form, and checks it.
// Only a form that was accepted has content.
func finished(form *mcp.RequestedSchema, res *mcp.ElicitResult) (*mcp.ElicitResult, error) {
	done := *res
	done.Content = nil
	switch res.Action {
	case mcp.ElicitActionAccept:
	case mcp.ElicitActionDecline, mcp.ElicitActionCancel:
		return &done, nil
	default:
		return nil, fmt.Errorf("the handler's answer has the action %q: want accept, decline or cancel", res.Action)
	}
	if form == nil {
		return &done, nil
	}
	if done.Content = maps.Clone(res.Content); done.Content == nil {
		done.Content = make(map[string]any)
	}
	for _, field := range form.Properties {
		value, has := done.Content[field.Name]
		if !has {
			value = defaultOf(field.Value)
		}
		if value = plain(value); value != nil {
			done.Content[field.Name] = value
		}
	}
	if err := connection.CheckContent(form, done.Content); err != nil {
		return nil, fmt.Errorf("the handler's answer does not fit the form: %w", err)
	}
	return &done, nil
}

// defaultOf is what a field begins with, nil for nothing.
func defaultOf(field mcp.PrimitiveSchemaDefinition) any {
	switch f := field.(type) {
	case *mcp.StringSchema:
		return pointed(f.Default)
	case *mcp.BooleanSchema:
		return pointed(f.Default)
	case *mcp.NumberSchema:
		if f.Default != nil && *f.Default == math.Trunc(*f.Default) && math.Abs(*f.Default) < 1<<53 {
			return int64(*f.Default)
		}
		return pointed(f.Default)
	case *mcp.UntitledSingleSelectEnumSchema:
		return pointed(f.Default)
	case *mcp.TitledSingleSelectEnumSchema:
		return pointed(f.Default)
	case *mcp.LegacyTitledEnumSchema:
		return pointed(f.Default)
	case *mcp.UntitledMultiSelectEnumSchema:
		return listed(f.Default)
	case *mcp.TitledMultiSelectEnumSchema:
		return listed(f.Default)
	}
	return nil
}

func pointed[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}

func listed(list []string) any {
	if list == nil {
		return nil
	}
	return list
}

// plain turns a list as package json reads it into one of strings.
func plain(value any) any {
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

// sample lets the program's model write a message.
func (c *Client) sample(ctx context.Context, req *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	if (req.Tools != nil || req.ToolChoice != nil) && !c.opts.SamplingTools {
		return nil, undeclared("sampling.tools")
	}
	if err := connection.CheckMessages(req.Messages); err != nil {
		return nil, &peer.Error{Code: mcp.CodeInvalidParams, Message: "Invalid params: " + err.Error()}
	}
	res, err := c.opts.OnCreateMessage(ctx, req)
	if err == nil && res == nil {
		err = errNothing
	}
	return res, err
}
