package mcpserver

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/limit"
)

// CompleteFrom returns a completer for an argument with a fixed set of values. It suggests
// those that begin with the text that the user has entered.
func CompleteFrom(values ...string) Completer {
	return func(_ context.Context, req *mcp.CompleteRequest) ([]string, error) {
		return slices.DeleteFunc(slices.Clone(values), func(v string) bool {
			return !strings.HasPrefix(v, req.Argument.Value)
		}), nil
	}
}

// AddPromptCompleter registers a completer for an argument of a prompt. It panics with a
// [*RegistrationError] if f is nil.
func (s *Server) AddPromptCompleter(prompt, argument string, f Completer) {
	s.addCompleter(completionTarget{Item{KindPrompt, prompt}, argument}, f)
}

// AddTemplateCompleter registers a completer for a variable of a resource template. It panics
// with a [*RegistrationError] if f is nil.
func (s *Server) AddTemplateCompleter(template, variable string, f Completer) {
	s.addCompleter(completionTarget{Item{KindTemplate, template}, variable}, f)
}

func (s *Server) addCompleter(key completionTarget, f Completer) {
	if f == nil {
		must(registrationError(key.Kind, key.Name, fmt.Errorf("complete %q: %w", key.argument, errNoHandler)))
	}
	s.change(Event{}, func(c *catalog) bool {
		c.completers = maps.Clone(c.completers)
		if c.completers == nil {
			c.completers = make(map[completionTarget]Completer)
		}
		c.completers[key] = f
		return true
	})
}

// HandleCompletion registers a handler for the arguments that have no completer. If f returns
// nil without an error, there are no completions. HandleCompletion panics
// with a [*RegistrationError] if f is nil.
func (s *Server) HandleCompletion(f func(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult, error)) {
	if f == nil {
		must(registrationError(KindMethod, mcp.MethodComplete, errNoHandler))
	}
	s.change(Event{}, func(c *catalog) bool {
		c.complete = f
		return true
	})
}

// maxValues is the maximum number of values of a completion in the protocol.
const maxValues = 100

func (s *Server) completeArgument(ctx context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	c := s.catalog.Load()
	if c.capabilities.Completions == nil {
		return nil, methodNotFound(mcp.MethodComplete)
	}
	item, known, err := s.completable(ctx, c, req)
	if err != nil {
		return nil, err
	}
	f := c.completers[completionTarget{item, req.Argument.Name}]
	switch {
	case f == nil && c.complete != nil:
		res, err := c.complete(ctx, req)
		if res == nil && err == nil {
			res = new(mcp.CompleteResult) // no completions
		}
		return limitValues(res), s.clientError(ctx, err)
	case f == nil && !known:
		return nil, invalid("Unknown argument %q of %s %q", limit.Name(req.Argument.Name), item.Kind, item.Name)
	case f == nil:
		return &mcp.CompleteResult{Completion: mcp.Completion{Values: []string{}}}, nil
	}
	values, err := f(ctx, req)
	if err != nil {
		return nil, s.clientError(ctx, err)
	}
	total := int64(len(values))
	return limitValues(&mcp.CompleteResult{Completion: mcp.Completion{Values: values, Total: &total}}), nil
}

// limitValues removes values beyond maxValues from a result.
func limitValues(res *mcp.CompleteResult) *mcp.CompleteResult {
	if res == nil || len(res.Completion.Values) <= maxValues {
		return res
	}
	cut := *res
	cut.Completion.Values, cut.Completion.HasMore = res.Completion.Values[:maxValues], true
	return &cut
}

// completable returns the item that a request refers to, and reports whether the item has the
// argument.
func (s *Server) completable(ctx context.Context, c *catalog, req *mcp.CompleteRequest) (item Item, known bool, err error) {
	switch ref := req.Ref.(type) {
	case *mcp.PromptReference:
		item = Item{KindPrompt, ref.Name}
		if p := find[prompt](c.prompts, ref.Name); p != nil && s.visible(ctx, item.Kind, item.Name) {
			return item, slices.ContainsFunc(p.Arguments, func(a mcp.PromptArgument) bool { return a.Name == req.Argument.Name }), nil
		}
	case *mcp.ResourceTemplateReference:
		item = Item{KindTemplate, ref.URI}
		if t := find[template](c.templates, ref.URI); t != nil && s.visible(ctx, item.Kind, item.Name) {
			return item, t.has(req.Argument.Name), nil
		}
		if c.resources.has(ref.URI) && s.visible(ctx, KindResource, ref.URI) {
			return Item{KindResource, ref.URI}, false, nil
		}
	default:
		return item, false, invalid("Unknown type of reference")
	}
	return item, false, unknown(item.Kind, item.Name)
}
