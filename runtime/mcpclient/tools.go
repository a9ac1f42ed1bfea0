package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/budget"
	"github.com/mcpwright/mcp/runtime/internal/paramheader"
	"github.com/mcpwright/mcp/runtime/internal/validate"
	"github.com/mcpwright/mcp/runtime/peer"
)

const (
	// maxTools limits the tools of one server that the client stores.
	maxTools = 10_000
	// maxOutputSchema limits the bytes of an output schema.
	maxOutputSchema = 1 << 20
	// maxOutputSchemas limits the bytes of all output schemas of one server that the client stores.
	maxOutputSchemas = 16 << 20
	// maxToolList limits the bytes of a list of tools that the client reads for a call.
	maxToolList = 64 << 20
)

// toolTable has the properties of tools that calls need, from the last lists of tools.
type toolTable struct {
	mu       sync.Mutex // guards the fields below
	tools    map[string]*toolInfo
	schemas  int // bytes of the output schemas in tools
	held     *budget.Reservation
	closed   bool         // nothing is stored any more
	changes  uint64       // how often the list has changed
	complete bool         // tools has all tools since the last change
	refresh  *toolRefresh // active refresh, or nil
}

// toolRefresh is a request for the list of tools that several calls wait for.
type toolRefresh struct {
	done      chan struct{} // closed when the request has finished
	abandoned bool          // the context of the caller ended before
}

type toolInfo struct {
	changes      uint64 // number of changes before the tool was requested
	requiresTask bool
	headers      []paramheader.Param
	output       *outputSchema // nil if the tool has no output schema
}

// outputSchema is the output schema of a tool. It is compiled when it is first needed.
type outputSchema struct {
	text      json.RawMessage // nil if the schema was dropped because of its size
	compiling chan struct{}   // has a capacity of one; a value means that compiled and err are in use
	compiled  *validate.Schema
	err       error
}

func newOutputSchema(text json.RawMessage) *outputSchema {
	s := &outputSchema{text: text, compiling: make(chan struct{}, 1)}
	if len(text) > maxOutputSchema {
		s.drop(fmt.Errorf("schema has more than %d bytes", maxOutputSchema))
	}
	return s
}

// drop removes the schema. Calls of the tool fail with the reason.
func (s *outputSchema) drop(reason error) { s.text, s.err = nil, reason }

// compile returns the compiled schema. Concurrent calls compile it once. A call whose context ends
// leaves that to the next one.
func (s *outputSchema) compile(ctx context.Context) (*validate.Schema, error) {
	select {
	case s.compiling <- struct{}{}:
		defer func() { <-s.compiling }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if s.compiled != nil || s.err != nil {
		return s.compiled, s.err
	}
	compiled, err := validate.CompileContext(ctx, s.text)
	if err == nil || ctx.Err() == nil {
		s.compiled, s.err = compiled, err
	}
	return compiled, err
}

// storeTools stores a page of the list of tools. Changes is the number of changes before it was
// requested. It removes tools with invalid header annotations from the page if the transport uses
// headers.
func (c *Client) storeTools(sc *serverConn, req peer.Message, page *mcp.ListToolsResult, changes uint64) {
	infos := make(map[string]*toolInfo, len(page.Tools))
	headers := sc.sendsToolHeaders()
	page.Tools = slices.DeleteFunc(slices.Clone(page.Tools), func(t mcp.Tool) bool {
		info := &toolInfo{changes: changes, requiresTask: t.Execution != nil && t.Execution.TaskSupport == mcp.TaskSupportRequired}
		if headers {
			var err error
			if info.headers, err = paramheader.Parse(t.InputSchema); err != nil {
				c.opts.Logger.Warn("tool ignored: its schema has an invalid header annotation",
					"server", c.endpoint.name(), "tool", t.Name, "error", err)
				return true
			}
		}
		if t.OutputSchema != nil {
			info.output = newOutputSchema(t.OutputSchema)
		}
		infos[t.Name] = info
		return false
	})
	r, ok := req.(*mcp.ListToolsRequest)
	c.tools.addPage(infos, ok && r.Cursor == nil)
}

// refreshTools requests the list of tools. The timeout of a call applies to all pages together.
func (c *Client) refreshTools(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.opts.responseTimeout(), errSlowList)
	defer cancel()
	n, size, changes := 0, 0, c.tools.numChanges()
	for t, err := range c.Uncached().ListToolsAll(ctx, nil) {
		if err != nil {
			return err
		}
		n, size = n+1, size+len(t.InputSchema)+len(t.OutputSchema)+len(t.Description)
		if n > maxTools || size > maxToolList {
			break
		}
	}
	c.tools.setComplete(changes)
	return nil
}

var errSlowList = errors.New("list of tools not complete in time")

// toolForCall returns the properties of a tool, or nil. It requests the list if the tool is unknown
// or may have changed.
func (c *Client) toolForCall(ctx context.Context, name string) *toolInfo {
	info, current := c.tools.find(name)
	if current {
		return info
	}
	c.refreshToolsOnce(ctx, name)
	info, _ = c.tools.find(name)
	return info
}

// refreshToolsOnce requests the list of tools once for all concurrent callers. If the context of the
// requesting caller ends, another caller requests it.
func (c *Client) refreshToolsOnce(ctx context.Context, name string) {
	r, begun := c.tools.beginRefresh()
	for ; !begun; r, begun = c.tools.beginRefresh() {
		if r == nil {
			return
		}
		select {
		case <-r.done:
		case <-ctx.Done():
			return
		}
		if !r.abandoned {
			return
		}
	}
	abandoned := true // also if this goroutine exits
	defer func() { c.tools.endRefresh(r, abandoned) }()
	err := c.refreshTools(ctx)
	if abandoned = err != nil && ctx.Err() != nil; err != nil {
		c.opts.Logger.DebugContext(ctx, "list of tools not available for call", "tool", name, "error", err)
	}
}

// addPage adds a page of the list. The first page replaces all tools.
func (t *toolTable) addPage(page map[string]*toolInfo, first bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	if first || t.tools == nil {
		t.tools, t.schemas, t.complete = make(map[string]*toolInfo, len(page)), 0, false
		_ = t.hold(0) // cannot fail
	}
	for name, info := range page {
		if len(t.tools) < maxTools {
			t.add(name, info)
		}
	}
}

// hold counts n bytes of schemas in the budget. The lock is held.
func (t *toolTable) hold(n int) (err error) {
	t.held, err = budget.Default().Resize(t.held, "", n)
	return err
}

// close removes all tools and stores no others.
func (t *toolTable) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.held.Release()
	t.tools, t.schemas, t.closed = nil, 0, true
}

// add adds a tool. Its output schema is dropped if all schemas together are too large.
func (t *toolTable) add(name string, info *toolInfo) {
	if before := t.tools[name]; before != nil && before.output != nil {
		t.schemas -= len(before.output.text)
	}
	if s := info.output; s != nil {
		if t.schemas+len(s.text) > maxOutputSchemas {
			s.drop(fmt.Errorf("the schemas of the server have more than %d bytes", maxOutputSchemas))
		} else if err := t.hold(t.schemas + len(s.text)); err != nil {
			s.drop(err)
		} else {
			t.schemas += len(s.text)
		}
	}
	t.tools[name] = info
}

// find returns the properties of a tool, or nil, and whether they are current.
func (t *toolTable) find(name string) (info *toolInfo, current bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	info = t.tools[name]
	return info, t.complete || info != nil && info.changes == t.changes
}

// invalidate notes that the list has changed.
func (t *toolTable) invalidate() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.changes++
	t.complete = false
}

// numChanges returns how often the list has changed.
func (t *toolTable) numChanges() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.changes
}

// setComplete notes that the table has all tools, if the number of changes is still the same.
func (t *toolTable) setComplete(changes uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.complete = t.changes == changes
}

// headers returns the headers that repeat the arguments of a call.
func (t *toolTable) headers(tool string, arguments json.RawMessage) (http.Header, error) {
	info, _ := t.find(tool)
	if info == nil || len(info.headers) == 0 {
		return nil, nil
	}
	values, err := paramheader.Values(info.headers, arguments)
	if err != nil {
		return nil, fmt.Errorf("tool %q: %w", tool, err)
	}
	header := make(http.Header, len(values))
	for _, v := range values {
		header[http.CanonicalHeaderKey(v.Name)] = []string{v.Value}
	}
	return header, nil
}

// beginRefresh returns the active refresh and whether the caller has begun it and must request the
// list. It returns nil if the table is complete.
func (t *toolTable) beginRefresh() (r *toolRefresh, begun bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.complete:
		return nil, false
	case t.refresh != nil:
		return t.refresh, false
	}
	t.refresh = &toolRefresh{done: make(chan struct{})}
	return t.refresh, true
}

func (t *toolTable) endRefresh(r *toolRefresh, abandoned bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refresh, r.abandoned = nil, abandoned
	close(r.done)
}
