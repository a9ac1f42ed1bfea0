package mcpotel

import (
	"iter"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/generated/tasks"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/wire"
)

// other replaces names that are not known.
const other = "_OTHER"

// The limits on the names that are learned.
const (
	maxMethods = 100
	maxTools   = 1000
	maxPrompts = 1000
	maxCodes   = 100
)

// names are the names that may be attributes of metrics and parts of the names of
// spans.
type names struct{ methods, tools, prompts, codes nameSet }

// method returns the name of a method, or other if it is unknown.
func (n *names) method(name string) string {
	if isProtocolMethod(name) || n.methods.has(name) {
		return name
	}
	return other
}

// learnList adds the names in a list of tools or prompts.
func (n *names) learnList(result wire.Value) {
	switch res := result.(type) {
	case interface {
		Items() iter.Seq[mcpserver.Item]
	}: // an encoded list of a server
		for item := range res.Items() {
			switch item.Kind {
			case mcpserver.KindTool:
				n.tools.add(item.Name, maxTools)
			case mcpserver.KindPrompt:
				n.prompts.add(item.Name, maxPrompts)
			}
		}
	case *mcp.ListToolsResult:
		for i := range res.Tools {
			n.tools.add(res.Tools[i].Name, maxTools)
		}
	case *mcp.ListPromptsResult:
		for i := range res.Prompts {
			n.prompts.add(res.Prompts[i].Name, maxPrompts)
		}
	}
}

// isProtocolMethod reports whether the protocol or its tasks extension has a method.
func isProtocolMethod(name string) bool {
	switch name {
	case tasks.MethodGetTask, tasks.MethodUpdateTask, tasks.MethodCancelTask:
		return true
	}
	return mcp.MethodByName(name) != nil
}

// nameSet is a set of names with a limit. Reading it takes no lock.
type nameSet struct {
	set atomic.Pointer[map[string]bool]
	mu  sync.Mutex
}

// has reports whether the set has a name.
func (s *nameSet) has(name string) bool {
	set := s.set.Load()
	return set != nil && (*set)[name]
}

// known returns the name, or other if the set does not have it. It returns "" for "".
func (s *nameSet) known(name string) string {
	if name == "" || s.has(name) {
		return name
	}
	return other
}

// add adds a name, unless the set has max names.
func (s *nameSet) add(name string, max int) {
	if name == "" || len(name) > maxText || s.has(name) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	set := make(map[string]bool)
	if old := s.set.Load(); old != nil {
		if len(*old) >= max {
			return
		}
		maps.Copy(set, *old)
	}
	set[name] = true
	s.set.Store(&set)
}

// cache stores what is made of keys.
type cache[K comparable, V any] struct {
	mu     sync.RWMutex
	values map[K]V
}

// maxCached limits the keys of a cache.
const maxCached = 10_000

// find returns the value of a key if the cache has it.
func (c *cache[K, V]) find(key *K) (v V, ok bool) {
	c.mu.RLock()
	v, ok = c.values[*key]
	c.mu.RUnlock()
	return v, ok
}

// get returns the value of a key. It is made if the cache does not have it.
func (c *cache[K, V]) get(key K, make func(*K) V) V {
	if v, ok := c.find(&key); ok {
		return v
	}
	k := key // so that key itself stays on the stack
	return c.put(k, make(&k))
}

// put adds a value, unless the cache is full.
func (c *cache[K, V]) put(key K, v V) V {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.values == nil {
		c.values = make(map[K]V)
	}
	if len(c.values) < maxCached {
		c.values[key] = v
	}
	return v
}
