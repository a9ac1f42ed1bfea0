package mcpserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver/internal/rounds"
	"github.com/mcpwright/mcp/runtime/wire"
)

// ResourceHandler reads a resource. What it returns without a URI gets that of the
// request, and what it returns of that URI without a MIMEType gets the resource's.
// [NotFound] is the error of a resource that does not exist.
type ResourceHandler func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error)

// resource is a resource as it is registered. It never changes.
type resource struct {
	mcp.Resource
	texts
	read ResourceHandler
}

// AddResource registers a resource under its URI. It panics where that is none,
// or the name is missing.
func (s *Server) AddResource(r *mcp.Resource, read ResourceHandler) {
	def, err := newResource(r, read)
	registration(KindResource, r.URI, err)
	s.change(Event{Method: mcp.MethodResourceListChanged}, func(c *catalog) bool {
		c.resources = c.resources.with(r.URI, def)
		return true
	})
}

// uriText is what a URI is made of.
var uriText = regexp.MustCompile(`^(?:[A-Za-z0-9._~:/?#@!$&'()*+,;=\[\]-]|%[0-9A-Fa-f]{2})+$`)

func newResource(r *mcp.Resource, read ResourceHandler) (*resource, error) {
	u, err := url.Parse(r.URI)
	switch {
	case err != nil:
		return nil, err
	case u.Scheme == "":
		return nil, errors.New("want a URI with a scheme")
	case !uriText.MatchString(r.URI):
		return nil, errors.New("want a URI as RFC 3986 has it: with escapes for spaces, for what is beyond ASCII, and for % itself")
	case r.Name == "":
		return nil, errors.New("want a name")
	case read == nil:
		return nil, errNoHandler
	}
	def := &resource{read: read}
	if def.Resource, err = clean(r); err != nil {
		return nil, err
	}
	def.texts = newTexts(def.shown)
	return def, nil
}

// RemoveResources takes resources away. URIs that no resource has are ignored.
func (s *Server) RemoveResources(uris ...string) {
	s.change(Event{Method: mcp.MethodResourceListChanged}, func(c *catalog) (changed bool) {
		c.resources, changed = c.resources.without(uris)
		return changed
	})
}

// ResourceUpdated tells those who watch a resource that it has changed: sessions
// that subscribed to it and streams that listen for it, also of other replicas
// where the options have a bus. The error is the bus's.
func (s *Server) ResourceUpdated(ctx context.Context, uri string) error {
	return s.publish(ctx, Event{Method: mcp.MethodResourceUpdated, URI: uri})
}

// source is what reads a URI, and the media type that is registered for it.
type source struct {
	read     ResourceHandler
	mimeType string
}

// find finds the source of a URI: a resource, or else the template that fits best.
func (s *Server) find(ctx context.Context, c *catalog, uri string) (source, error) {
	if r := c.resources.find(uri); r != nil && s.visible(ctx, KindResource, uri) {
		return source{r.read, r.MIMEType}, nil
	}
	for _, t := range c.ranked {
		if !s.visible(ctx, KindTemplate, t.URITemplate) {
			continue
		}
		if vars, ok := t.match(uri); ok && (s.opts.AllowTraversal || !traverses(uri, vars)) {
			read := func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
				return t.read(ctx, req, vars)
			}
			return source{read, t.MIMEType}, nil
		}
	}
	return source{}, NotFound(uri)
}

func (s *Server) readResource(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	c := s.catalog.Load()
	if c.capabilities.Resources == nil {
		return nil, notOffered(mcp.MethodReadResource)
	}
	from, err := s.find(ctx, c, req.URI)
	if err != nil {
		return nil, err
	}
	res, err := from.read(ctx, req)
	switch {
	case err != nil:
		return nil, told(err)
	case res == nil:
		return nil, fmt.Errorf("resource %q: the handler returned no result", req.URI)
	}
	whole := *res
	whole.Contents = labelled(res.Contents, req.URI, from.mimeType)
	if r := rounds.From(ctx); r == nil || !r.Later() { // what somebody answered is nobody else's to keep
		s.hint(mcp.MethodReadResource, &whole.TTLMs, &whole.CacheScope)
	}
	return &whole, nil
}

// labelled gives contents without a URI the one that was asked for, and those of
// that URI without a media type the one that is registered.
func labelled(contents []mcp.ResourceContents, uri, mimeType string) []mcp.ResourceContents {
	whole := make([]mcp.ResourceContents, len(contents))
	for i, c := range contents {
		whole[i] = c
		switch c := c.(type) {
		case *mcp.TextResourceContents:
			copied := *c
			label(&copied.URI, &copied.MIMEType, uri, mimeType)
			whole[i] = &copied
		case *mcp.BlobResourceContents:
			copied := *c
			label(&copied.URI, &copied.MIMEType, uri, mimeType)
			whole[i] = &copied
		}
	}
	return whole
}

func label(ownURI, ownType *string, uri, mimeType string) {
	*ownURI = cmp.Or(*ownURI, uri)
	if *ownURI == uri {
		*ownType = cmp.Or(*ownType, mimeType)
	}
}

func (s *Server) listResources(ctx context.Context, req *mcp.ListResourcesRequest) (wire.Value, error) {
	c := s.catalog.Load()
	if c.capabilities.Resources == nil {
		return nil, notOffered(mcp.MethodListResources)
	}
	resources, next, err := page(ctx, s, KindResource, c.resources, req.Cursor)
	if err != nil {
		return nil, err
	}
	res := &mcp.ListResourcesResult{NextCursor: next}
	s.hint(mcp.MethodListResources, &res.TTLMs, &res.CacheScope)
	if s.onWire(ctx) {
		return newListing(res, `"resources":[]`, resources), nil
	}
	res.Resources = make([]mcp.Resource, len(resources))
	for i, x := range resources {
		res.Resources[i] = x.item.Resource
	}
	return res, nil
}

func (r *resource) shown(wire.Revision) wire.Value { return &r.Resource }
