package mcpclient

import (
	"sync"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/limit"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// CacheOptions say how a client keeps answers that the server allows to be kept,
// which servers do since 2026-07-28: lists and resources. What a call with headers
// of its own ([peer.WithHeader]) is answered is not kept. A negative limit is none.
type CacheOptions struct {
	// Off keeps nothing.
	Off bool
	// Context names the authorization in force, where that may change while
	// the client lives, such as the subject of its token. What the server
	// calls private serves only the context that it was fetched in. Nil is
	// one context for all. It must be quick.
	Context func() string
	// MaxEntries is how many answers are kept. Default 1,024.
	MaxEntries int
	// MaxBytes is how large they may be together. Default 16 MiB.
	MaxBytes int
	// MaxAge is how long one is kept, whatever the server says. Default 24 h.
	MaxAge time.Duration
}

const (
	defaultMaxEntries = 1024
	defaultMaxBytes   = 16 << 20
	defaultMaxAge     = 24 * time.Hour
)

// cache keeps answers in the form in which they travel, and so hands out a copy
// to each who asks.
type cache struct {
	opts CacheOptions

	mu      sync.Mutex // guards what follows
	entries map[cacheKey]*cacheEntry
	bytes   int
	changes map[string]uint64 // by method: how often what it returns has changed; nil before the first find
}

// cacheKey is what an answer depends on.
type cacheKey struct {
	method  string
	params  string
	context string // of a private answer
	private bool
}

type cacheEntry struct {
	result   []byte
	revision wire.Revision
	uri      string // of a resource that was read
	until    time.Time
}

func newCache(o *CacheOptions) *cache {
	c := &cache{opts: *o, entries: make(map[cacheKey]*cacheEntry)}
	c.opts.MaxEntries = limit.Count(o.MaxEntries, defaultMaxEntries)
	c.opts.MaxBytes = limit.Count(o.MaxBytes, defaultMaxBytes)
	c.opts.MaxAge = limit.Time(o.MaxAge, defaultMaxAge)
	return c
}

func (c *cache) context() string {
	if c.opts.Context == nil {
		return ""
	}
	return c.opts.Context()
}

// keyOf returns the key of a request whose answer may be kept, with the context
// that it is asked in.
func (c *cache) keyOf(req peer.Message, r wire.Revision) (cacheKey, bool) {
	info := mcp.MethodByName(req.Method())
	if c.opts.Off || info == nil || !info.Cacheable.Has(r) || info.Name == mcp.MethodDiscover {
		return cacheKey{}, false
	}
	if _, reads := req.(*mcp.ReadResourceRequest); reads && !opensRounds(req) {
		return cacheKey{}, false
	}
	params, err := wire.AppendParams(nil, &wire.Frame{Revision: r}, req)
	if err != nil {
		return cacheKey{}, false // sending it will tell
	}
	return cacheKey{method: info.Name, params: string(params), context: c.context()}, true
}

// find returns the answer to a request that is kept and fresh, and how often
// what it says has changed so far.
func (c *cache) find(k cacheKey) (e *cacheEntry, changes uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changes == nil {
		c.changes = make(map[string]uint64)
	}
	for _, k := range []cacheKey{k.asPrivate(), k.asPublic()} {
		if e := c.entries[k]; e != nil {
			if time.Now().Before(e.until) {
				return e, c.changes[k.method]
			}
			c.drop(k)
		}
	}
	return nil, c.changes[k.method]
}

func (k cacheKey) asPrivate() cacheKey {
	k.private = true
	return k
}

func (k cacheKey) asPublic() cacheKey {
	k.context = ""
	return k
}

// put keeps an answer, unless what it says has changed since it was asked for.
func (c *cache) put(k cacheKey, e *cacheEntry, scope mcp.CacheScope, changes uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changes[k.method] != changes || len(e.result) > c.opts.MaxBytes/4 {
		return
	}
	if scope == mcp.CacheScopePublic {
		k = k.asPublic()
	} else {
		k = k.asPrivate()
	}
	c.drop(k)
	c.entries[k] = e
	c.bytes += len(e.result)
	for len(c.entries) > c.opts.MaxEntries || c.bytes > c.opts.MaxBytes {
		c.drop(c.oldest())
	}
}

// oldest is the entry that goes stale first.
func (c *cache) oldest() (oldest cacheKey) {
	var until time.Time
	for k, e := range c.entries {
		if until.IsZero() || e.until.Before(until) {
			oldest, until = k, e.until
		}
	}
	return oldest
}

func (c *cache) drop(k cacheKey) {
	if e := c.entries[k]; e != nil {
		c.bytes -= len(e.result)
		delete(c.entries, k)
	}
}

// changed forgets what a method has returned; with a URI, only what was read of that
// resource, or of one that it is a part of.
func (c *cache) changed(method, uri string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changes == nil {
		return // nobody has asked for anything yet
	}
	c.changes[method]++
	for k, e := range c.entries {
		if k.method == method && (uri == "" || partOf(e.uri, uri)) {
			c.drop(k)
		}
	}
}

// clear forgets everything.
func (c *cache) clear() {
	for _, m := range mcp.Methods {
		if m.Cacheable != 0 {
			c.changed(m.Name, "")
		}
	}
}

// notice forgets what a notification says has changed.
func (c *cache) notice(n peer.Notification) {
	switch n := n.(type) {
	case *mcp.ToolListChangedNotification:
		c.changed(mcp.MethodListTools, "")
	case *mcp.PromptListChangedNotification:
		c.changed(mcp.MethodListPrompts, "")
	case *mcp.ResourceListChangedNotification:
		c.changed(mcp.MethodListResources, "")
		c.changed(mcp.MethodListResourceTemplates, "")
	case *mcp.ResourceUpdatedNotification:
		c.changed(mcp.MethodReadResource, n.URI)
	}
}
