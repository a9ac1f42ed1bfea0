package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver/internal/typed"
	"github.com/mcpwright/mcp/runtime/wire"
)

// PromptHandler fills in a prompt.
type PromptHandler func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error)

// prompt is a prompt as it is registered. It never changes.
type prompt struct {
	mcp.Prompt
	texts
	get PromptHandler
}

// AddPrompt registers a Go function as a prompt. Args is a struct of strings,
// which become the prompt's arguments, unless it brings a list of its own: the
// tag json names a field and makes it optional with omitempty or omitzero, the
// tag jsonschema describes it, and title is its title.
//
// AddPrompt panics where the name or the handler is missing or the type is another.
func AddPrompt[Args any](s *Server, p *mcp.Prompt, h func(context.Context, *mcp.ServerSession, Args) (*mcp.GetPromptResult, error)) {
	fields, err := typed.Strings(reflect.TypeFor[Args]())
	if err == nil && h == nil {
		err = errNoHandler
	}
	registration(KindPrompt, p.Name, err)
	def := *p
	if def.Arguments == nil {
		for _, f := range fields {
			def.Arguments = append(def.Arguments, mcp.PromptArgument{
				Name: f.Name, Title: f.Title, Description: f.Description, Required: !f.Optional,
			})
		}
	}
	s.AddRawPrompt(&def, func(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		var args Args
		v := reflect.ValueOf(&args).Elem()
		for _, f := range fields {
			if text, has := req.Arguments[f.Name]; has {
				f.Set(v, text)
			}
		}
		return h(ctx, mcp.SessionFromContext(ctx), args)
	})
}

// AddRawPrompt registers a prompt whose handler reads the arguments itself. Those
// that are required are there. It panics where the name is missing.
func (s *Server) AddRawPrompt(p *mcp.Prompt, get PromptHandler) {
	def, err := newPrompt(p, get)
	registration(KindPrompt, p.Name, err)
	s.change(Event{Method: mcp.MethodPromptListChanged}, func(c *catalog) bool {
		c.prompts = c.prompts.with(def.Name, def)
		return true
	})
}

func newPrompt(p *mcp.Prompt, get PromptHandler) (*prompt, error) {
	if p.Name == "" {
		return nil, errors.New("want a name")
	}
	if get == nil {
		return nil, errNoHandler
	}
	seen := map[string]bool{}
	for _, a := range p.Arguments {
		if a.Name == "" || seen[a.Name] {
			return nil, fmt.Errorf("argument %q: it has no name, or that of another", a.Name)
		}
		seen[a.Name] = true
	}
	def := &prompt{get: get}
	var err error
	if def.Prompt, err = clean(p); err != nil {
		return nil, err
	}
	def.texts = newTexts(def.shown)
	return def, nil
}

// RemovePrompts takes prompts away. Names that no prompt has are ignored.
func (s *Server) RemovePrompts(names ...string) {
	s.change(Event{Method: mcp.MethodPromptListChanged}, func(c *catalog) (changed bool) {
		c.prompts, changed = c.prompts.without(names)
		return changed
	})
}

func (s *Server) getPrompt(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	c := s.catalog.Load()
	if c.capabilities.Prompts == nil {
		return nil, notOffered(mcp.MethodGetPrompt)
	}
	p := c.prompts.find(req.Name)
	if p == nil || !s.visible(ctx, KindPrompt, req.Name) {
		return nil, unknown(KindPrompt, req.Name)
	}
	for _, a := range p.Arguments {
		if _, has := req.Arguments[a.Name]; a.Required && !has {
			return nil, invalid("Prompt %q needs the argument %q", p.Name, a.Name)
		}
	}
	res, err := p.get(ctx, req)
	switch {
	case err != nil:
		return nil, told(err)
	case res == nil:
		return nil, fmt.Errorf("prompt %q: the prompt returned no result", p.Name)
	}
	return s.fitPrompt(ctx, res)
}

func (s *Server) listPrompts(ctx context.Context, req *mcp.ListPromptsRequest) (wire.Value, error) {
	c := s.catalog.Load()
	if c.capabilities.Prompts == nil {
		return nil, notOffered(mcp.MethodListPrompts)
	}
	prompts, next, err := page(ctx, s, KindPrompt, c.prompts, req.Cursor)
	if err != nil {
		return nil, err
	}
	res := &mcp.ListPromptsResult{NextCursor: next}
	s.hint(mcp.MethodListPrompts, &res.TTLMs, &res.CacheScope)
	if s.onWire(ctx) {
		return newListing(res, `"prompts":[]`, prompts), nil
	}
	res.Prompts = make([]mcp.Prompt, len(prompts))
	for i, x := range prompts {
		res.Prompts[i] = x.item.Prompt
	}
	return res, nil
}

func (p *prompt) shown(wire.Revision) wire.Value { return &p.Prompt }
