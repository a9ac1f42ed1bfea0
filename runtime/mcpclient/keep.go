package mcpclient

import (
	"context"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// keep answers a request with what is kept, or sends it and keeps the answer.
func (c *Client) keep(ctx context.Context, req peer.Message, res wire.Value, opts []peer.CallOption, fresh bool) error {
	r := c.Revision()
	key, may := c.cache.keyOf(req, r)
	if !may || len(callOptions(opts).Header) > 0 { // who asks, for example, may be in a header
		_, err := c.converse(ctx, req, res, opts)
		return err
	}
	kept, changes := c.cache.find(key)
	if kept != nil && !fresh && kept.revision == r {
		return wire.Decode(kept.result, &wire.Frame{Revision: r, Checked: true}, res)
	}
	asked, err := c.converse(ctx, req, res, opts)
	switch {
	case err != nil:
		if e := peer.AsError(err); e != nil && e.Code == mcp.CodeInvalidParams && hasCursor(req) {
			c.cache.changed(req.Method(), "") // the pages do not belong together any more
		}
		return err
	case asked:
		return nil
	}
	c.keepAnswer(key, req, res, changes, r)
	return nil
}

// keepAnswer keeps an answer for as long as the server allows.
func (c *Client) keepAnswer(key cacheKey, req peer.Message, res wire.Value, changes uint64, r wire.Revision) {
	ttl, scope := hints(res)
	switch {
	case ttl <= 0:
		return
	case scope != mcp.CacheScopePublic && key.context != c.cache.context():
		return // nobody knows in which of the two it was fetched
	}
	age := c.cache.opts.MaxAge
	if ttl < age.Milliseconds() {
		age = time.Duration(ttl) * time.Millisecond
	}
	result, err := wire.Append(nil, &wire.Frame{Revision: r}, res)
	if err != nil {
		return // it is the caller's all the same
	}
	e := &cacheEntry{result: result, revision: r, until: time.Now().Add(age)}
	if read, ok := req.(*mcp.ReadResourceRequest); ok {
		e.uri = read.URI
	}
	c.cache.put(key, e, scope, changes)
}

// hints returns how long an answer may be kept, and for whom.
func hints(res wire.Value) (ttl int64, scope mcp.CacheScope) {
	switch r := res.(type) {
	case *mcp.ListToolsResult:
		return r.TTLMs, r.CacheScope
	case *mcp.ListPromptsResult:
		return r.TTLMs, r.CacheScope
	case *mcp.ListResourcesResult:
		return r.TTLMs, r.CacheScope
	case *mcp.ListResourceTemplatesResult:
		return r.TTLMs, r.CacheScope
	case *mcp.ReadResourceResult:
		return r.TTLMs, r.CacheScope
	}
	return 0, ""
}

// hasCursor tells whether a request asks for a page other than the first.
func hasCursor(req peer.Message) bool {
	switch r := req.(type) {
	case *mcp.ListToolsRequest:
		return r.Cursor != nil
	case *mcp.ListPromptsRequest:
		return r.Cursor != nil
	case *mcp.ListResourcesRequest:
		return r.Cursor != nil
	case *mcp.ListResourceTemplatesRequest:
		return r.Cursor != nil
	}
	return false
}
