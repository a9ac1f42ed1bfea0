package mcpserver

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcpwright/mcp/generated/mcp"
)

// A Completer proposes values for an argument whose beginning is in the request,
// the best ones first. Only 100 of them reach the client, which is told how many
// there are.
type Completer func(context.Context, *mcp.CompleteRequest) ([]string, error)

// CompleteFrom returns a completer for an argument that can only have some values: it
// proposes those that begin as the argument does.
func CompleteFrom(values ...string) Completer {
	return func(_ context.Context, req *mcp.CompleteRequest) ([]string, error) {
		return slices.DeleteFunc(slices.Clone(values), func(v string) bool {
			return !strings.HasPrefix(v, req.Argument.Value)
		}), nil
	}
}

// completed names what is completed: an argument of a prompt, or a variable of a
// template.
type completed struct {
	Item
	argument string
}

// AddPromptCompleter registers what proposes values for an argument of a prompt. It
// panics where that is nil.
func (s *Server) AddPromptCompleter(prompt, argument string, f Completer) {
	s.addCompleter(completed{Item{KindPrompt, prompt}, argument}, f)
}

// AddTemplateCompleter registers what proposes values for a variable of a resource
// template. It panics where that is nil.
func (s *Server) AddTemplateCompleter(template, variable string, f Completer) {
	s.addCompleter(completed{Item{KindTemplate, template}, variable}, f)
}

func (s *Server) addCompleter(key completed, f Completer) {
	if f == nil {
		registration(key.Kind, key.Name, fmt.Errorf("complete %q: %w", key.argument, errNoHandler))
	}
	s.change(Event{}, func(c *catalog) bool {
		c.completers = maps.Clone(c.completers)
		if c.completers == nil {
			c.completers = make(map[completed]Completer)
		}
		c.completers[key] = f
		return true
	})
}

// HandleCompletion registers what completes every argument that nothing else is
// registered for. It panics where that is nil.
func (s *Server) HandleCompletion(f func(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult, error)) {
	if f == nil {
		registration(KindMethod, mcp.MethodComplete, errNoHandler)
	}
	s.change(Event{}, func(c *catalog) bool {
		c.complete = f
		return true
	})
}

// maxValues is how many values the protocol lets a completion have.
const maxValues = 100

func (s *Server) completeArgument(ctx context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	c := s.catalog.Load()
	if c.capabilities.Completions == nil {
		return nil, notOffered(mcp.MethodComplete)
	}
	item, known, err := s.completable(ctx, c, req)
	if err != nil {
		return nil, err
	}
	f := c.completers[completed{item, req.Argument.Name}]
	switch {
	case f == nil && c.complete != nil:
		res, err := c.complete(ctx, req)
		return atMost(res), told(err)
	case f == nil && !known:
		return nil, invalid("There is no argument %q of %s %q", clip(req.Argument.Name), item.Kind, item.Name)
	case f == nil:
		return &mcp.CompleteResult{Completion: mcp.Completion{Values: []string{}}}, nil
	}
	values, err := f(ctx, req)
	if err != nil {
		return nil, told(err)
	}
	total := int64(len(values))
	return atMost(&mcp.CompleteResult{Completion: mcp.Completion{Values: values, Total: &total}}), nil
}

// atMost is a result with no more values than the protocol lets it have.
func atMost(res *mcp.CompleteResult) *mcp.CompleteResult {
	if res == nil || len(res.Completion.Values) <= maxValues {
		return res
	}
	cut := *res
	cut.Completion.Values, cut.Completion.HasMore = res.Completion.Values[:maxValues], true
	return &cut
}

// completable finds what a request is about, and whether it has such an argument.
func (s *Server) completable(ctx context.Context, c *catalog, req *mcp.CompleteRequest) (item Item, known bool, err error) {
	switch ref := req.Ref.(type) {
	case *mcp.PromptReference:
		item = Item{KindPrompt, ref.Name}
		if p := c.prompts.find(ref.Name); p != nil && s.visible(ctx, item.Kind, item.Name) {
			return item, slices.ContainsFunc(p.Arguments, func(a mcp.PromptArgument) bool { return a.Name == req.Argument.Name }), nil
		}
	case *mcp.ResourceTemplateReference:
		item = Item{KindTemplate, ref.URI}
		if t := c.templates.find(ref.URI); t != nil && s.visible(ctx, item.Kind, item.Name) {
			return item, t.has(req.Argument.Name), nil
		}
		if c.resources.find(ref.URI) != nil && s.visible(ctx, KindResource, ref.URI) {
			return Item{KindResource, ref.URI}, false, nil
		}
	default:
		return item, false, invalid("The reference is of an unknown kind")
	}
	return item, false, unknown(item.Kind, item.Name)
}
