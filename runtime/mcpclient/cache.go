package mcpclient

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/budget"
	"github.com/mcpwright/mcp/runtime/internal/limit"
	"github.com/mcpwright/mcp/runtime/internal/revisions"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// CacheOptions configures the cache of results. The client caches lists and resources for as long
// as the server allows, which servers do in revisions since 2026-07-28. It does not cache results
// of calls with headers ([peer.WithHeader]). A negative limit means none.
type CacheOptions struct {
	// Off disables the cache.
	Off bool
	// Context returns a name for the current authorization, such as the subject of a token. It is
	// needed if the authorization changes while the client is in use: a private result is returned
	// only in the context in which it was fetched. Nil means that there is one context. It is
	// called for each request.
	Context func() string
	// MaxEntries limits the number of results. Default 1,024.
	MaxEntries int
	// MaxBytes limits the total size of the results. Default 16 MiB. Results that exceed
	// [budget.Default] are not stored either.
	MaxBytes int
	// MaxAge limits the age of a result, in addition to the server's limit. Default 24 h.
	MaxAge time.Duration
}

const (
	defaultMaxEntries = 1024
	defaultMaxBytes   = 16 << 20
	defaultMaxAge     = 24 * time.Hour
)

// cache stores results as JSON, so that each caller receives a copy.
type cache struct {
	used atomic.Bool // changes is not nil; an update to many clients needs no lock of a cache that is not used
	opts CacheOptions

	mu      sync.Mutex // guards the fields below
	entries map[cacheKey]*cacheEntry
	bytes   int
	closed  bool              // nothing is stored any more
	changes map[string]uint64 // number of changes by method; nil before the first find
}

type cacheKey struct {
	method  string
	params  string
	context string // empty for a public result
	private bool
}

type cacheEntry struct {
	result   []byte
	revision wire.Revision
	uri      string // the URI of a resource, otherwise empty
	until    time.Time
	held     *budget.Reservation
}

func (c *cache) init(o *CacheOptions) {
	c.opts, c.entries = *o, make(map[cacheKey]*cacheEntry)
	c.opts.MaxEntries = limit.Count(o.MaxEntries, defaultMaxEntries)
	c.opts.MaxBytes = limit.Count(o.MaxBytes, defaultMaxBytes)
	c.opts.MaxAge = limit.Time(o.MaxAge, defaultMaxAge)
}

func (c *cache) context() string {
	if c.opts.Context == nil {
		return ""
	}
	return c.opts.Context()
}

// keyOf returns the key of a request in the current context, and whether its result may be cached.
func (c *cache) keyOf(req peer.Message, r wire.Revision) (cacheKey, bool) {
	info := mcp.MethodByName(req.Method())
	if c.opts.Off || info == nil || !info.Cacheable.Has(r) || info.Name == mcp.MethodDiscover {
		return cacheKey{}, false
	}
	if _, reads := req.(*mcp.ReadResourceRequest); reads && !isFirstRound(req) {
		return cacheKey{}, false
	}
	params, err := wire.AppendParams(nil, revisions.Frame(r), req)
	if err != nil {
		return cacheKey{}, false // sending the request returns the error
	}
	return cacheKey{method: info.Name, params: string(params), context: c.context()}, true
}

// isFirstRound reports whether a request can be sent again with input responses and has none yet.
// If the caller provides responses, the caller also handles the following rounds.
func isFirstRound(req peer.Message) bool {
	responses, state, ok := mcp.InputOf(req)
	return ok && responses == nil && state == nil
}

// find returns the valid entry of a key, or nil, and the number of changes so far.
func (c *cache) find(k cacheKey) (e *cacheEntry, changes uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changes == nil {
		c.changes = make(map[string]uint64)
		c.used.Store(true)
	}
	for _, k := range []cacheKey{k.asPrivate(), k.asPublic()} {
		if e := c.entries[k]; e != nil {
			if time.Now().Before(e.until) {
				return e, c.changes[k.method]
			}
			c.remove(k)
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

// put stores a result, unless there were changes since the request was sent. Changes is the number
// that find returned.
func (c *cache) put(k cacheKey, e *cacheEntry, scope mcp.CacheScope, changes uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.changes[k.method] != changes || len(e.result) > c.opts.MaxBytes/4 {
		return
	}
	var err error
	if e.held, err = budget.Default().Reserve("", len(e.result)); err != nil {
		return
	}
	if scope == mcp.CacheScopePublic {
		k = k.asPublic()
	} else {
		k = k.asPrivate()
	}
	c.remove(k)
	c.entries[k] = e
	c.bytes += len(e.result)
	for len(c.entries) > c.opts.MaxEntries || c.bytes > c.opts.MaxBytes {
		c.remove(c.nextToExpire())
	}
}

func (c *cache) nextToExpire() (next cacheKey) {
	var until time.Time
	for k, e := range c.entries {
		if until.IsZero() || e.until.Before(until) {
			next, until = k, e.until
		}
	}
	return next
}

func (c *cache) remove(k cacheKey) {
	if e := c.entries[k]; e != nil {
		c.bytes -= len(e.result)
		e.held.Release()
		delete(c.entries, k)
	}
}

// invalidate removes the results of a method. If uri is not empty, it removes only the results for
// that resource and for resources that contain it.
func (c *cache) invalidate(method, uri string) {
	if !c.used.Load() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes[method]++
	for k, e := range c.entries {
		if k.method == method && (uri == "" || containsResource(e.uri, uri)) {
			c.remove(k)
		}
	}
}

// close removes all results and stores no others.
func (c *cache) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for k := range c.entries {
		c.remove(k)
	}
}

// clear removes all results.
func (c *cache) clear() {
	for _, m := range mcp.Methods {
		if m.Cacheable != 0 {
			c.invalidate(m.Name, "")
		}
	}
}

// invalidateChanged removes the results that a notification reports as changed.
func (c *cache) invalidateChanged(n peer.Notification) {
	switch n := n.(type) {
	case *mcp.ToolListChangedNotification:
		c.invalidate(mcp.MethodListTools, "")
	case *mcp.PromptListChangedNotification:
		c.invalidate(mcp.MethodListPrompts, "")
	case *mcp.ResourceListChangedNotification:
		c.invalidate(mcp.MethodListResources, "")
		c.invalidate(mcp.MethodListResourceTemplates, "")
	case *mcp.ResourceUpdatedNotification:
		c.invalidate(mcp.MethodReadResource, n.URI)
	}
}
