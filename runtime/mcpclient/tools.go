package mcpclient

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/paramheader"
	"github.com/mcpwright/mcp/runtime/internal/validate"
	"github.com/mcpwright/mcp/runtime/peer"
)

// toolBook is what the newest lists of tools say that calls have to know.
type toolBook struct {
	mu      sync.Mutex // guards what follows
	tools   map[string]*knownTool
	changes uint64  // how often the tools have changed
	listed  bool    // all of them, since they last changed
	lookup  *lookup // under way, nil for none
}

// lookup is a look at the list of tools that several calls wait for.
type lookup struct {
	done chan struct{} // closed when it is over
	left bool          // who asked would wait no longer, and knows nothing
}

// knownTool is what is known about one tool.
type knownTool struct {
	changes uint64 // of the tools, before it was asked for
	headers []paramheader.Param
	output  func() (*validate.Schema, error) // nil where the tool promises nothing
}

// learnTools notes a page of the list of tools, which had changed so often when it
// was asked for. Tools that ask for headers that cannot be are left out, where
// headers matter.
func (c *Client) learnTools(l *live, req peer.Message, page *mcp.ListToolsResult, changes uint64) {
	known := make(map[string]*knownTool, len(page.Tools))
	mirrors := l.mirrors()
	page.Tools = slices.DeleteFunc(slices.Clone(page.Tools), func(t mcp.Tool) bool {
		k := &knownTool{changes: changes}
		if mirrors {
			var err error
			if k.headers, err = paramheader.Parse(t.InputSchema); err != nil {
				c.opts.Logger.Warn("tool left out: its schema asks for headers that cannot be",
					"server", c.to.name(), "tool", t.Name, "error", err)
				return true
			}
		}
		if schema := t.OutputSchema; schema != nil {
			k.output = sync.OnceValues(func() (*validate.Schema, error) { return validate.Compile(schema) })
		}
		known[t.Name] = k
		return false
	})
	r, ok := req.(*mcp.ListToolsRequest)
	c.tools.learn(known, ok && r.Cursor == nil)
}

// mostTools bounds what is remembered of the tools of one server.
const mostTools = 10_000

// learn adds a page to the book. The first page begins a new one, of which the
// other pages are not known yet.
func (b *toolBook) learn(page map[string]*knownTool, first bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if first || b.tools == nil {
		b.tools, b.listed = page, false
		return
	}
	for name, tool := range page {
		if len(b.tools) < mostTools {
			b.tools[name] = tool
		}
	}
}

// find returns what is known about a tool, nil for one that was never listed,
// and whether that is still so.
func (b *toolBook) find(name string) (known *knownTool, fresh bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	known = b.tools[name]
	return known, b.listed || known != nil && known.changes == b.changes
}

// changed notes that what is known may be so no more.
func (b *toolBook) changed() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.changes++
	b.listed = false
}

// soFar is how often the tools have changed.
func (b *toolBook) soFar() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.changes
}

// complete notes that all tools were listed, unless they have changed since that
// began.
func (b *toolBook) complete(changes uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.listed = b.changes == changes
}

// toolHeaders returns the headers that repeat the arguments of a call.
func (c *Client) toolHeaders(tool string, arguments json.RawMessage) (http.Header, error) {
	known, _ := c.tools.find(tool)
	if known == nil || len(known.headers) == 0 {
		return nil, nil
	}
	values, err := paramheader.Values(known.headers, arguments)
	if err != nil {
		return nil, fmt.Errorf("tool %q: %w", tool, err)
	}
	header := make(http.Header, len(values))
	for _, v := range values {
		header[http.CanonicalHeaderKey(v.Name)] = []string{v.Value}
	}
	return header, nil
}

// relearnTools asks for the tools anew.
func (c *Client) relearnTools(ctx context.Context) error {
	n, changes := 0, c.tools.soFar()
	for _, err := range c.Uncached().ListToolsAll(ctx, nil) {
		if err != nil {
			return err
		}
		if n++; n > mostTools {
			break
		}
	}
	c.tools.complete(changes)
	return nil
}

// toolForCall returns what is known about a tool, and asks for the list once if
// it was never seen or may say something else now.
func (c *Client) toolForCall(ctx context.Context, name string) *knownTool {
	known, fresh := c.tools.find(name)
	if fresh {
		return known
	}
	c.lookUpTools(ctx, name)
	known, _ = c.tools.find(name)
	return known
}

// lookUpTools asks for the tools on behalf of all calls that want to know at the
// same time. Where the one that asks gives up, another one does it.
func (c *Client) lookUpTools(ctx context.Context, name string) {
	l, mine := c.tools.look()
	for ; !mine; l, mine = c.tools.look() {
		if l == nil {
			return
		}
		select {
		case <-l.done:
		case <-ctx.Done():
			return
		}
		if !l.left {
			return
		}
	}
	left := true // also where this goroutine goes no further
	defer func() { c.tools.looked(l, left) }()
	err := c.relearnTools(ctx)
	if left = err != nil && ctx.Err() != nil; err != nil {
		c.opts.Logger.DebugContext(ctx, "tool called without a look at the list", "tool", name, "error", err)
	}
}

// look returns the look at the list that is under way, and whether the caller is
// the one to make it. Once all are listed, there is none.
func (b *toolBook) look() (l *lookup, mine bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.listed:
		return nil, false
	case b.lookup != nil:
		return b.lookup, false
	}
	b.lookup = &lookup{done: make(chan struct{})}
	return b.lookup, true
}

func (b *toolBook) looked(l *lookup, left bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lookup, l.left = nil, left
	close(l.done)
}
