package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sort"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/extension"
)

// Extensible returns the server as packages of this module that add an extension to it use it, such as
// package skills. Programs do not need it.
func (s *Server) Extensible() extension.Server { return extensible{s} }

// extensible implements [extension.Server].
type extensible struct{ s *Server }

func (e extensible) Resources() extension.Resources { return e.s.catalog.Load().unlisted }

func (e extensible) ChangeResources(edit func(extension.Resources) (*extension.Change, error)) (err error) {
	e.s.change(Event{Method: mcp.MethodResourceListChanged}, func(c *catalog) bool {
		var change *extension.Change
		if change, err = edit(c.unlisted); err == nil && change != nil && c.unlisted == nil {
			err = e.register(change)
		}
		if err != nil || change == nil {
			return false
		}
		c.unlisted = change.Resources
		c.resources = changedResources(c.resources, change)
		return true
	})
	return err
}

// register registers the methods of a change. The caller holds e.s.mu.
func (e extensible) register(change *extension.Change) error {
	if e.s.dispatcher != nil {
		return errors.New("the server has begun to serve")
	}
	for _, method := range change.Methods {
		if _, taken := e.s.mux.Extension(method); taken {
			return fmt.Errorf("method %q already has a handler", method)
		}
	}
	change.Register(&e.s.mux)
	return nil
}

// changedResources returns the registered resources after a change.
func changedResources(s registry, change *extension.Change) registry {
	added := make(map[string]bool, len(change.Added))
	for _, r := range change.Added {
		added[r.Resource.URI] = true
	}
	s = slices.DeleteFunc(slices.Clone(s), func(x entry) bool { return change.Removed[x.key] || added[x.key] })
	for _, r := range change.Added {
		s = append(s, entry{r.Resource.URI, &resource{Resource: r.Resource, read: r.Read}})
	}
	sort.Slice(s, func(i, j int) bool { return s[i].key < s[j].key })
	return s
}

func (e extensible) ShowsResource(ctx context.Context, uri string) bool {
	return e.s.visible(ctx, KindResource, uri)
}

func (e extensible) SetCacheHint(method string, ttl *int64, scope *mcp.CacheScope) {
	e.s.setCacheHint(method, ttl, scope)
}

func (e extensible) PageSize() int { return e.s.opts.PageSize }

func (e extensible) Logger() *slog.Logger { return e.s.opts.Logger }
