package mcpserver

import (
	"context"
	"fmt"
	"reflect"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver/internal/typed"
	"github.com/mcpwright/mcp/runtime/wire"
)

// AddPrompt registers a Go function as a prompt. Args is a struct with fields of type string,
// which are the prompt's arguments unless p.Arguments is set. The tag json names an argument,
// and omitempty or omitzero makes it optional; the tag jsonschema describes it; the tag title
// sets its title.
//
// AddPrompt replaces a prompt of the same name. It panics with a [*RegistrationError] if p or h
// is nil, or Args has other fields.
func AddPrompt[Args any](s *Server, p *mcp.Prompt, h func(context.Context, *mcp.ServerSession, Args) (*mcp.GetPromptResult, error)) {
	if p == nil {
		must(registrationError(KindPrompt, "", errNoDefinition))
	}
	fields, err := typed.Strings(reflect.TypeFor[Args]())
	if err == nil && h == nil {
		err = errNoHandler
	}
	must(registrationError(KindPrompt, p.Name, err))
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

// AddRawPrompt registers a prompt whose handler reads the arguments itself. Required arguments
// are present when get is called. AddRawPrompt replaces a prompt of the same name. An empty
// name, and an argument whose name is empty or used twice, is logged. AddRawPrompt panics with
// a [*RegistrationError] if p or get is nil.
func (s *Server) AddRawPrompt(p *mcp.Prompt, get PromptHandler) { must(s.TryAddRawPrompt(p, get)) }

// TryAddRawPrompt is like [Server.AddRawPrompt], but returns the [*RegistrationError] instead
// of panicking, for prompts whose definitions come from elsewhere.
func (s *Server) TryAddRawPrompt(p *mcp.Prompt, get PromptHandler) error {
	if p == nil {
		return registrationError(KindPrompt, "", errNoDefinition)
	}
	def, err := newPrompt(p, get)
	if err != nil {
		return registrationError(KindPrompt, p.Name, err)
	}
	if problem := promptProblem(&def.Prompt); problem != "" {
		s.opts.Logger.Warn("some clients reject the names of a prompt", "prompt", def.Name, "problem", problem)
	}
	s.change(Event{Method: mcp.MethodPromptListChanged}, func(c *catalog) bool {
		c.prompts = c.prompts.with(def.Name, def)
		return true
	})
	s.registered(KindPrompt, def.Name)
	return nil
}

func newPrompt(p *mcp.Prompt, get PromptHandler) (*prompt, error) {
	if get == nil {
		return nil, errNoHandler
	}
	def := &prompt{get: get}
	if err := cloneDefinition(&def.Prompt, p); err != nil {
		return nil, err
	}
	return def, nil
}

// promptProblem returns what is wrong with the names of a prompt, or the empty string.
func promptProblem(p *mcp.Prompt) string {
	if p.Name == "" {
		return "name is empty"
	}
	seen := map[string]bool{}
	for _, a := range p.Arguments {
		if a.Name == "" || seen[a.Name] {
			return fmt.Sprintf("argument name %q is empty or used twice", a.Name)
		}
		seen[a.Name] = true
	}
	return ""
}

// RemovePrompts removes prompts. Names that are not registered are ignored.
func (s *Server) RemovePrompts(names ...string) {
	s.change(Event{Method: mcp.MethodPromptListChanged}, func(c *catalog) (changed bool) {
		c.prompts, changed = c.prompts.without(names)
		return changed
	})
}

func (s *Server) getPrompt(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	c := s.catalog.Load()
	if c.capabilities.Prompts == nil {
		return nil, methodNotFound(mcp.MethodGetPrompt)
	}
	p := find[prompt](c.prompts, req.Name)
	if p == nil || !s.visible(ctx, KindPrompt, req.Name) {
		return nil, unknown(KindPrompt, req.Name)
	}
	for _, a := range p.Arguments {
		if _, has := req.Arguments[a.Name]; a.Required && !has {
			return nil, invalid("Prompt %q requires the argument %q", p.Name, a.Name)
		}
	}
	res, err := s.wrap.prompt(p)(ctx, req)
	switch {
	case err != nil:
		return nil, s.clientError(ctx, err)
	case res == nil:
		return nil, fmt.Errorf("prompt %q: handler returned no result", p.Name)
	}
	return s.fits().Prompt(revisionOf(ctx), res)
}

func (s *Server) listPrompts(ctx context.Context, req *mcp.ListPromptsRequest) (wire.Value, error) {
	c := s.catalog.Load()
	if c.capabilities.Prompts == nil {
		return nil, methodNotFound(mcp.MethodListPrompts)
	}
	prompts, next, err := page(ctx, s, KindPrompt, c.prompts, req.Cursor)
	if err != nil {
		return nil, err
	}
	res := &mcp.ListPromptsResult{NextCursor: next}
	s.setCacheHint(mcp.MethodListPrompts, &res.TTLMs, &res.CacheScope)
	if s.encodesLists(ctx) {
		return newEncodedPage(s, KindPrompt, res, `"prompts":[]`, prompts, c.prompts), nil
	}
	res.Prompts = make([]mcp.Prompt, len(prompts))
	for i, x := range prompts {
		res.Prompts[i] = x.item.(*prompt).Prompt
	}
	return res, nil
}
