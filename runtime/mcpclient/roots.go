package mcpclient

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/mcpwright/mcp/generated/mcp"
)

// rootList is the folders and files that servers may know of.
type rootList struct {
	mu   sync.Mutex // guards set and list
	set  bool
	list []mcp.Root
}

// SetRoots replaces [Options.Roots] and tells the server, where it can be told.
// It is an error where the options had no roots: the server does not know then
// that it may ask.
func (c *Client) SetRoots(ctx context.Context, roots []mcp.Root) error {
	if c.opts.Roots == nil || c.opts.OnListRoots != nil {
		return fmt.Errorf("set roots: the options have no Roots")
	}
	if err := checkRoots(roots); err != nil {
		return fmt.Errorf("set roots: %w", err)
	}
	c.roots.mu.Lock()
	c.roots.set, c.roots.list = true, slices.Clone(roots)
	c.roots.mu.Unlock()
	return c.RootsListChanged(ctx, &mcp.RootsListChangedNotification{})
}

// listRoots says where the server is meant to work.
func (c *Client) listRoots(ctx context.Context, req *mcp.ListRootsRequest) (*mcp.ListRootsResult, error) {
	if c.opts.OnListRoots != nil {
		res, err := c.opts.OnListRoots(ctx, req)
		switch {
		case err != nil:
			return nil, err
		case res == nil:
			return nil, errNothing
		}
		return res, checkRoots(res.Roots)
	}
	c.roots.mu.Lock()
	defer c.roots.mu.Unlock()
	if c.roots.set {
		return &mcp.ListRootsResult{Roots: slices.Clone(c.roots.list)}, nil
	}
	return &mcp.ListRootsResult{Roots: slices.Clone(c.opts.Roots)}, nil
}

// checkRoots judges roots by the one rule that there is.
func checkRoots(roots []mcp.Root) error {
	for _, r := range roots {
		if !strings.HasPrefix(r.URI, "file://") {
			return fmt.Errorf("root %q: its URI does not begin with %q", r.URI, "file://")
		}
	}
	return nil
}
