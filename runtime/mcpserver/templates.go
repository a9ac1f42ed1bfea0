package mcpserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/yosida95/uritemplate/v3"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Variables are what the variables of a template stand for in a URI, with escapes
// undone. One that stands for a list has several values.
type Variables map[string][]string

// Get returns the value of a variable, the first one of a list, and the empty
// string for one that is absent.
func (v Variables) Get(name string) string {
	if values := v[name]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// ResourceTemplateHandler reads a resource whose URI fits a template. What it returns without
// a URI gets that of the request, and what it returns of that URI without a MIMEType
// gets the template's. [NotFound] is the error of a resource that does not exist.
type ResourceTemplateHandler func(context.Context, *mcp.ReadResourceRequest, Variables) (*mcp.ReadResourceResult, error)

// template is a template as it is registered. It never changes.
type template struct {
	mcp.ResourceTemplate
	texts
	read    ResourceTemplateHandler
	pattern *regexp.Regexp // a group for each expression
	exprs   []expression
	literal int // how long the text is around the expressions
}

// AddResourceTemplate registers a template, as RFC 6570 has them, for resources
// that are too many to be listed. A URI that fits several templates is read by
// the one with the longest text around its variables; a resource of that very URI
// goes before all of them. A URI with ".." as a part of its path does not fit, nor
// does a value with "." or "..", however they are escaped; see
// [Options].AllowTraversal. Nor does a URI of more than 8 KiB, or one that is no
// UTF-8. The handler checks where a URI leads even so.
//
// Where an expression such as {/dirs*,file} stands for more values than it has
// variables, the last of those that may be lists has the rest.
//
// AddResourceTemplate panics where the text is no template or has no variables,
// or the name is missing.
func (s *Server) AddResourceTemplate(t *mcp.ResourceTemplate, read ResourceTemplateHandler) {
	def, err := newTemplate(t, read)
	registration(KindTemplate, t.URITemplate, err)
	s.change(Event{Method: mcp.MethodResourceListChanged}, func(c *catalog) bool {
		c.templates = c.templates.with(def.URITemplate, def)
		c.ranked = ranked(c.templates)
		return true
	})
}

// RemoveResourceTemplates takes templates away. Texts that none has are ignored.
func (s *Server) RemoveResourceTemplates(texts ...string) {
	s.change(Event{Method: mcp.MethodResourceListChanged}, func(c *catalog) (changed bool) {
		c.templates, changed = c.templates.without(texts)
		c.ranked = ranked(c.templates)
		return changed
	})
}

func newTemplate(t *mcp.ResourceTemplate, read ResourceTemplateHandler) (*template, error) {
	def := &template{read: read}
	var err error
	if def.ResourceTemplate, err = clean(t); err != nil {
		return nil, err
	}
	def.texts = newTexts(def.shown)
	parsed, err := uritemplate.New(escaped(def.URITemplate))
	switch {
	case err != nil:
		return nil, err
	case t.Name == "":
		return nil, errors.New("want a name")
	case read == nil:
		return nil, errNoHandler
	}
	def.exprs, def.literal = expressions(def.URITemplate)
	if len(def.exprs) == 0 {
		return nil, errors.New("want a variable in the text: without, it is a resource")
	}
	if def.pattern, err = patternOf(parsed); err != nil {
		return nil, err
	}
	if def.pattern.NumSubexp() != len(def.exprs) {
		return nil, fmt.Errorf("%d expressions are understood as %d", len(def.exprs), def.pattern.NumSubexp())
	}
	return def, nil
}

// patternOf makes the pattern of a template. Its library panics where that is more
// than package regexp takes.
func patternOf(t *uritemplate.Template) (pattern *regexp.Regexp, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("it is too large: an expression may have a thousand variables at most, and fewer where there are several")
		}
	}()
	return t.Regexp(), nil
}

// escaped is a text with what is beyond ASCII in it escaped, as a URI has it.
func escaped(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if c < utf8.RuneSelf {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// ranked orders templates by how much they say about a URI.
func ranked(s shelf[template]) []*template {
	list := make([]*template, len(s))
	for i, x := range s {
		list[i] = x.item
	}
	slices.SortStableFunc(list, func(a, b *template) int { return cmp.Compare(b.literal, a.literal) })
	return list
}

// maxURI is how long a URI may be that is held against templates.
const maxURI = 8 << 10

// match returns what the variables stand for in a URI, and whether it fits. That
// takes time in proportion to the length of the URI.
func (t *template) match(uri string) (Variables, bool) {
	if len(uri) > maxURI {
		return nil, false
	}
	groups := t.pattern.FindStringSubmatch(escaped(uri))
	if groups == nil {
		return nil, false
	}
	vars := Variables{}
	for i, e := range t.exprs {
		if !e.assign(vars, groups[i+1]) {
			return nil, false
		}
	}
	return vars, true
}

func (s *Server) listTemplates(ctx context.Context, req *mcp.ListResourceTemplatesRequest) (wire.Value, error) {
	c := s.catalog.Load()
	if c.capabilities.Resources == nil {
		return nil, notOffered(mcp.MethodListResourceTemplates)
	}
	templates, next, err := page(ctx, s, KindTemplate, c.templates, req.Cursor)
	if err != nil {
		return nil, err
	}
	res := &mcp.ListResourceTemplatesResult{NextCursor: next}
	s.hint(mcp.MethodListResourceTemplates, &res.TTLMs, &res.CacheScope)
	if s.onWire(ctx) {
		return newListing(res, `"resourceTemplates":[]`, templates), nil
	}
	res.ResourceTemplates = make([]mcp.ResourceTemplate, len(templates))
	for i, x := range templates {
		res.ResourceTemplates[i] = x.item.ResourceTemplate
	}
	return res, nil
}

func (t *template) shown(wire.Revision) wire.Value { return &t.ResourceTemplate }
