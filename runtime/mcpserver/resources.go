package mcpserver

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"sort"
	"strings"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver/internal/rounds"
	"github.com/mcpwright/mcp/runtime/wire"
)

// AddResource registers a resource, and replaces a resource with the same URI. It panics with
// a [*RegistrationError] if r or read is nil. A URI that some clients reject is logged, for example
// one without a scheme. An empty name is replaced by the URI.
func (s *Server) AddResource(r *mcp.Resource, read ResourceHandler) { must(s.TryAddResource(r, read)) }

// TryAddResource is like [Server.AddResource], but returns the [*RegistrationError] instead
// of panicking, for resources whose definitions come from elsewhere.
func (s *Server) TryAddResource(r *mcp.Resource, read ResourceHandler) error {
	if r == nil {
		return registrationError(KindResource, "", errNoDefinition)
	}
	def, err := newResource(r, read)
	if err != nil {
		return registrationError(KindResource, r.URI, err)
	}
	if problem := uriProblem(def.URI); problem != "" {
		s.opts.Logger.Warn("some clients reject the URI of a resource", "uri", def.URI, "problem", problem)
	}
	s.change(Event{Method: mcp.MethodResourceListChanged}, func(c *catalog) bool {
		c.resources = c.resources.with(def.URI, def)
		return true
	})
	s.registered(KindResource, def.URI)
	return nil
}

// hasURICharacters reports whether a text is not empty and contains only the characters of a
// URI.
func hasURICharacters(text string) bool {
	for i := range len(text) {
		if !isAlphanumeric(text[i]) && strings.IndexByte("._~:/?#@!$&'()*+,;=[]-", text[i]) < 0 && !isEscape(text[i:]) {
			return false
		}
	}
	return text != ""
}

// uriProblem returns what is wrong with a URI, or the empty string.
func uriProblem(uri string) string {
	u, err := url.Parse(uri)
	switch {
	case err != nil:
		return err.Error()
	case u.Scheme == "":
		return "URI has no scheme"
	case !hasURICharacters(uri):
		return "invalid character in URI: spaces, non-ASCII characters and % must be escaped"
	}
	return ""
}

func newResource(r *mcp.Resource, read ResourceHandler) (*resource, error) {
	if read == nil {
		return nil, errNoHandler
	}
	def := &resource{read: read}
	if err := cloneDefinition(&def.Resource, r); err != nil {
		return nil, err
	}
	def.Name = cmp.Or(def.Name, def.URI)
	return def, nil
}

// RemoveResources removes resources. URIs that are not registered are ignored.
func (s *Server) RemoveResources(uris ...string) {
	s.change(Event{Method: mcp.MethodResourceListChanged}, func(c *catalog) (changed bool) {
		c.resources, changed = c.resources.without(uris)
		return changed
	})
}

// HasResource reports whether a resource with a URI is registered. It ignores templates.
func (s *Server) HasResource(uri string) bool { return s.catalog.Load().resources.has(uri) }

// resourceSource reads a URI. mimeType is the registered media type.
type resourceSource struct {
	read     ResourceHandler
	mimeType string
}

// find returns the source of a URI: the resource with that URI, which may be a resource of an extension,
// or the first template that matches.
func (s *Server) find(ctx context.Context, c *catalog, uri string) (resourceSource, error) {
	if r := find[resource](c.resources, uri); r != nil && s.visible(ctx, KindResource, uri) {
		return resourceSource{r.read, r.MIMEType}, nil
	}
	if c.unlisted != nil {
		if r, owners := c.unlisted.Find(uri); r != nil && s.anyVisible(ctx, owners) {
			return resourceSource{r.Read, r.Resource.MIMEType}, nil
		}
	}
	for _, t := range c.bySpecificity {
		if !s.visible(ctx, KindTemplate, t.URITemplate) {
			continue
		}
		if vars, ok := t.match(uri); ok && (s.opts.AllowTraversal || !hasTraversal(uri, vars)) {
			read := func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
				return t.read(ctx, req, vars)
			}
			return resourceSource{read, t.MIMEType}, nil
		}
	}
	return resourceSource{}, NotFound(uri)
}

// anyVisible reports whether the caller may access one of the resources.
func (s *Server) anyVisible(ctx context.Context, uris []string) bool {
	return slices.ContainsFunc(uris, func(uri string) bool { return s.visible(ctx, KindResource, uri) })
}

func (s *Server) readResource(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	c := s.catalog.Load()
	if c.capabilities.Resources == nil {
		return nil, methodNotFound(mcp.MethodReadResource)
	}
	from, err := s.find(ctx, c, req.URI)
	if err != nil {
		return nil, err
	}
	res, err := s.wrap.resource(from.read)(ctx, req)
	switch {
	case err != nil:
		return nil, s.clientError(ctx, err)
	case res == nil:
		return nil, fmt.Errorf("resource %q: handler returned no result", req.URI)
	}
	whole := *res
	whole.Contents = withDefaults(res.Contents, req.URI, from.mimeType)
	if r := rounds.From(ctx); r == nil || !r.Later() { // a result that depends on a user's responses must not be cached
		s.setCacheHint(mcp.MethodReadResource, &whole.TTLMs, &whole.CacheScope)
	}
	return &whole, nil
}

// withDefaults sets the URI of contents without one, and the media type of contents with that
// URI and without one.
func withDefaults(contents []mcp.ResourceContents, uri, mimeType string) []mcp.ResourceContents {
	whole := make([]mcp.ResourceContents, len(contents))
	for i, c := range contents {
		whole[i] = c
		switch c := c.(type) {
		case *mcp.TextResourceContents:
			copied := *c
			setDefaults(&copied.URI, &copied.MIMEType, uri, mimeType)
			whole[i] = &copied
		case *mcp.BlobResourceContents:
			copied := *c
			setDefaults(&copied.URI, &copied.MIMEType, uri, mimeType)
			whole[i] = &copied
		}
	}
	return whole
}

func setDefaults(ownURI, ownType *string, uri, mimeType string) {
	*ownURI = cmp.Or(*ownURI, uri)
	if *ownURI == uri {
		*ownType = cmp.Or(*ownType, mimeType)
	}
}

func (s *Server) listResources(ctx context.Context, req *mcp.ListResourcesRequest) (wire.Value, error) {
	c := s.catalog.Load()
	if c.capabilities.Resources == nil {
		return nil, methodNotFound(mcp.MethodListResources)
	}
	resources, next, err := page(ctx, s, KindResource, c.resources, req.Cursor)
	if err != nil {
		return nil, err
	}
	res := &mcp.ListResourcesResult{NextCursor: next}
	s.setCacheHint(mcp.MethodListResources, &res.TTLMs, &res.CacheScope)
	if s.encodesLists(ctx) {
		return newEncodedPage(s, KindResource, res, `"resources":[]`, resources, c.resources), nil
	}
	res.Resources = make([]mcp.Resource, len(resources))
	for i, x := range resources {
		res.Resources[i] = x.item.(*resource).Resource
	}
	return res, nil
}

// AddResourceTemplate registers a URI template of RFC 6570, for resources that are too many to
// be listed. It replaces a template with the same text. A URI is read by the resource with
// that URI if there is one, and otherwise by the matching template with the longest text
// outside of its variables.
//
// By default a URI does not match if a path segment is "..", or if a value has a segment "."
// or "..", even if they are escaped; see [Options].AllowTraversal. A URI of more than 8 KiB,
// or one that is not UTF-8, does not match either. The handler must still check which file or
// record a URI refers to.
//
// If an expression such as {/dirs*,file} has more values than variables, the last variable
// that may be a list receives the additional ones.
//
// An empty name is replaced by the template. AddResourceTemplate panics with a
// [*RegistrationError] if the template is invalid, or t or read is nil.
func (s *Server) AddResourceTemplate(t *mcp.ResourceTemplate, read ResourceTemplateHandler) {
	must(s.TryAddResourceTemplate(t, read))
}

// TryAddResourceTemplate is like [Server.AddResourceTemplate], but returns the
// [*RegistrationError] instead of panicking, for templates whose definitions come from
// elsewhere.
func (s *Server) TryAddResourceTemplate(t *mcp.ResourceTemplate, read ResourceTemplateHandler) error {
	if t == nil {
		return registrationError(KindTemplate, "", errNoDefinition)
	}
	def, err := newTemplate(t, read)
	if err != nil {
		return registrationError(KindTemplate, t.URITemplate, err)
	}
	s.change(Event{Method: mcp.MethodResourceListChanged}, func(c *catalog) bool {
		c.templates = c.templates.with(def.URITemplate, def)
		c.bySpecificity = bySpecificity(c.templates)
		return true
	})
	s.registered(KindTemplate, def.URITemplate)
	return nil
}

// RemoveResourceTemplates removes templates by their text. Templates that are not registered
// are ignored.
func (s *Server) RemoveResourceTemplates(templates ...string) {
	s.change(Event{Method: mcp.MethodResourceListChanged}, func(c *catalog) (changed bool) {
		c.templates, changed = c.templates.without(templates)
		c.bySpecificity = bySpecificity(c.templates)
		return changed
	})
}

func newTemplate(t *mcp.ResourceTemplate, read ResourceTemplateHandler) (*template, error) {
	def := &template{read: read}
	if err := cloneDefinition(&def.ResourceTemplate, t); err != nil {
		return nil, err
	}
	if err := def.parse(def.URITemplate); err != nil {
		return nil, err
	}
	if read == nil {
		return nil, errNoHandler
	}
	def.Name = cmp.Or(def.Name, def.URITemplate)
	return def, nil
}

// bySpecificity returns the templates, those with the longest literal text first.
func bySpecificity(s registry) []*template {
	list := make([]*template, len(s))
	for i, x := range s {
		list[i] = x.item.(*template)
	}
	sort.SliceStable(list, func(i, j int) bool { return list[i].literal > list[j].literal })
	return list
}

func (s *Server) listTemplates(ctx context.Context, req *mcp.ListResourceTemplatesRequest) (wire.Value, error) {
	c := s.catalog.Load()
	if c.capabilities.Resources == nil {
		return nil, methodNotFound(mcp.MethodListResourceTemplates)
	}
	templates, next, err := page(ctx, s, KindTemplate, c.templates, req.Cursor)
	if err != nil {
		return nil, err
	}
	res := &mcp.ListResourceTemplatesResult{NextCursor: next}
	s.setCacheHint(mcp.MethodListResourceTemplates, &res.TTLMs, &res.CacheScope)
	if s.encodesLists(ctx) {
		return newEncodedPage(s, KindTemplate, res, `"resourceTemplates":[]`, templates, c.templates), nil
	}
	res.ResourceTemplates = make([]mcp.ResourceTemplate, len(templates))
	for i, x := range templates {
		res.ResourceTemplates[i] = x.item.(*template).ResourceTemplate
	}
	return res, nil
}
