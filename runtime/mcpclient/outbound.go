package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/revisions"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Uncached returns the server without the cache: each list and resource is requested. The results
// are stored in the cache.
func (c *Client) Uncached() mcp.ServerPeer {
	return mcp.ServerPeer{Outbound: &clientOutbound{client: c, uncached: true}}
}

// clientOutbound sends the messages of a program.
type clientOutbound struct {
	client   *Client
	uncached bool // ignores results in the cache
	forward  bool // has no cache and does not handle input requests
}

// Call implements [peer.Outbound].
func (o *clientOutbound) Call(ctx context.Context, req peer.Message, res wire.Value, opts ...peer.CallOption) error {
	if onLog := callOptions(opts).OnLog; onLog != nil {
		c := o.client
		return c.callLogs.collect(ctx, onLog, c.opts.Logger, func(ctx context.Context) error { return o.call(ctx, req, res, opts) })
	}
	return o.call(ctx, req, res, opts)
}

func (o *clientOutbound) call(ctx context.Context, req peer.Message, res wire.Value, opts []peer.CallOption) error {
	if o.forward {
		return o.client.forwardCall(ctx, req, res, opts)
	}
	return o.client.callWithCache(ctx, req, res, opts, o.uncached)
}

// Notify implements [peer.Outbound].
func (o *clientOutbound) Notify(ctx context.Context, n peer.Notification, opts ...peer.CallOption) error {
	sc, err := o.client.usable(ctx, n.Method())
	if err != nil {
		return nil // a notification that cannot be delivered is dropped
	}
	return sc.conn.Load().Notify(ctx, n, opts...)
}

// callWithCache returns a result from the cache, or makes a call and stores its result.
func (c *Client) callWithCache(ctx context.Context, req peer.Message, res wire.Value, opts []peer.CallOption, uncached bool) error {
	r := c.Revision()
	key, cacheable := c.cache.keyOf(req, r)
	if !cacheable || len(callOptions(opts).Header) > 0 { // a header may contain other credentials
		_, err := c.callWithInput(ctx, req, res, opts)
		return err
	}
	entry, changes := c.cache.find(key)
	if entry != nil && !uncached && entry.revision == r {
		return wire.Decode(entry.result, &wire.Frame{Revision: r, Checked: true}, res)
	}
	rounds, err := c.callWithInput(ctx, req, res, opts)
	switch {
	case err != nil:
		if e := peer.AsError(err); e != nil && e.Code == mcp.CodeInvalidParams && hasCursor(req) {
			c.cache.invalidate(req.Method(), "") // the other pages are from an older list
		}
		return err
	case rounds:
		return nil
	}
	c.store(key, req, res, changes, r)
	return nil
}

// store stores a result in the cache for as long as the server allows.
func (c *Client) store(key cacheKey, req peer.Message, res wire.Value, changes uint64, r wire.Revision) {
	ttl, scope := cacheHints(res)
	switch {
	case ttl <= 0:
		return
	case scope != mcp.CacheScopePublic && key.context != c.cache.context():
		return // it is unknown in which of the two contexts it was fetched
	}
	age := c.cache.opts.MaxAge
	if ttl < age.Milliseconds() {
		age = time.Duration(ttl) * time.Millisecond
	}
	result, err := wire.Append(nil, revisions.Frame(r), res)
	if err != nil {
		return // the caller has the result
	}
	e := &cacheEntry{result: result, revision: r, until: time.Now().Add(age)}
	if read, ok := req.(*mcp.ReadResourceRequest); ok {
		e.uri = read.URI
	}
	c.cache.put(key, e, scope, changes)
}

// cacheHints returns how many milliseconds a result may be cached, and in which scope.
func cacheHints(res wire.Value) (ttl int64, scope mcp.CacheScope) {
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

// hasCursor reports whether a request is for a page after the first.
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

// Delays between rounds without input requests.
const minRoundDelay, maxRoundDelay = 50 * time.Millisecond, 250 * time.Millisecond

// callWithInput makes a call and handles the input requests of the server. It reports whether there
// were any.
func (c *Client) callWithInput(ctx context.Context, req peer.Message, res wire.Value, opts []peer.CallOption) (rounds bool, err error) {
	delay := minRoundDelay
	handles := !c.opts.ManualInput && isFirstRound(req)
	var asked roundCount
	for next := req; ; {
		err = c.callWithTask(ctx, next, res, opts)
		required := inputRequired(err)
		if required == nil || !handles {
			return rounds, err
		}
		rounds = true
		if err := asked.begin(&c.opts, req.Method(), required.InputRequests); err != nil {
			return true, err
		}
		responses, err := c.handleInputRequests(ctx, req.Method(), required.InputRequests)
		if err != nil {
			return true, fmt.Errorf("send %q: %w", req.Method(), err)
		}
		if responses == nil {
			if err := sleep(ctx, delay); err != nil {
				return true, fmt.Errorf("send %q: %w", req.Method(), err)
			}
			delay = min(2*delay, maxRoundDelay)
		} else {
			delay = minRoundDelay
		}
		next = mcp.WithInput(req, responses, required.RequestState)
		opts = append(opts[:len(opts):len(opts)], peer.WithID(wire.RequestID{})) // each round needs a new id
		resetResult(res)
	}
}

// inputRequired returns the result that asks for input, or nil.
func inputRequired(err error) *mcp.InputRequiredResult {
	if e, ok := errors.AsType[*mcp.InputRequiredError](err); ok {
		return e.Result
	}
	return nil
}
