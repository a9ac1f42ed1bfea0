// Package extension has the interfaces between package mcpserver and the packages that add an
// extension to a server. Programs compile the packages of the extensions that they use, and no others.
package extension

import (
	"context"
	"encoding/base64"
	"log/slog"
	"strings"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
)

// Server is a server as its extensions use it. It is safe for concurrent use.
type Server interface {
	// Resources returns the resources of extensions, or nil.
	Resources() Resources
	// ChangeResources calls edit with the resources of extensions, or nil, and makes the change that
	// it returns. Nil means no change. The other methods must not be called by edit. ChangeResources
	// returns the error of edit, and an error if methods of the change cannot be registered.
	ChangeResources(edit func(old Resources) (*Change, error)) error
	// ShowsResource reports whether the caller may access the registered resource with a URI.
	ShowsResource(ctx context.Context, uri string) bool
	// SetCacheHint sets the cache hint of a result, unless the result has one.
	SetCacheHint(method string, ttl *int64, scope *mcp.CacheScope)
	// PageSize returns the maximum number of items in one page of a list.
	PageSize() int
	// Logger returns the logger of the server.
	Logger() *slog.Logger
}

// Resources are resources that can be read and are not listed. They are immutable.
type Resources interface {
	// Find returns the resource with a URI, or nil. A caller may access it if the caller may access
	// one of the registered resources with the URIs in owners.
	Find(uri string) (r *Resource, owners []string)
	// Declare adds the extension to the capabilities of a server. It does not change maps of the
	// capabilities.
	Declare(caps *mcp.ServerCapabilities)
}

// Resource is a resource with the function that reads it.
type Resource struct {
	Resource mcp.Resource
	Read     func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error)
}

// Change is a change of the resources of a server. It takes effect in one step.
type Change struct {
	// Resources are the new resources of extensions.
	Resources Resources
	// Removed and Added are changes of the registered resources. A resource in Added replaces a
	// resource with the same URI.
	Removed map[string]bool
	Added   []*Resource
	// Register registers the handlers of Methods. It is called if there were no resources of
	// extensions before.
	Methods  []string
	Register func(*peer.Mux)
}

// Cursor returns a cursor of a list: the kind of its items, and the key of the last item of a page, in
// base64. The kind prevents that a cursor of another list is accepted.
func Cursor(kind, key string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(kind + "\n" + key))
}

// CursorKey returns the key in a cursor. It reports false if the cursor is not a cursor of such a list.
func CursorKey(kind, cursor string) (key string, ok bool) {
	text, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil {
		return "", false
	}
	return strings.CutPrefix(string(text), kind+"\n")
}
