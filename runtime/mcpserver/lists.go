package mcpserver

import (
	"bytes"
	"context"
	"iter"
	"slices"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/extension"
	"github.com/mcpwright/mcp/runtime/wire"
)

// registry contains registered items of one type, sorted by key. It is immutable: the methods that
// change it return a new one. It has no type parameter, because every package that uses a [Server]
// would compile the methods of all its instances.
type registry []entry

type entry struct {
	key  string
	item any // a pointer to the item
}

// search returns the index of a key, and reports whether the key is present.
func (s registry) search(key string) (int, bool) {
	i := sort.Search(len(s), func(i int) bool { return s[i].key >= key })
	return i, i < len(s) && s[i].key == key
}

// has reports whether a key is present.
func (s registry) has(key string) bool {
	_, has := s.search(key)
	return has
}

// find returns the item with a key, or nil.
func find[T any](s registry, key string) *T {
	if i, has := s.search(key); has {
		return s[i].item.(*T)
	}
	return nil
}

// after returns the items whose keys follow a key.
func (s registry) after(key string) registry {
	i, has := s.search(key)
	if has {
		i++
	}
	return s[i:]
}

// first returns the first n items whose keys satisfy want.
func (s registry) first(n int, want func(key string) bool) registry {
	found := make(registry, 0, min(n, len(s)))
	for _, x := range s {
		if len(found) == n {
			break
		}
		if want(x.key) {
			found = append(found, x)
		}
	}
	return found
}

// with returns a registry with an item added, or replaced if the key is present.
func (s registry) with(key string, item any) registry {
	i, has := s.search(key)
	if has {
		s = slices.Clone(s)
		s[i].item = item
		return s
	}
	return slices.Insert(slices.Clip(s), i, entry{key, item})
}

// without returns a registry without some keys, and reports whether it differs.
func (s registry) without(keys []string) (registry, bool) {
	rest := slices.DeleteFunc(slices.Clone(s), func(x entry) bool { return slices.Contains(keys, x.key) })
	return rest, len(rest) < len(s)
}

// isPartOf reports whether a registry that is not empty has memory of another one.
func (s registry) isPartOf(all registry) bool {
	if len(s) == 0 {
		return false
	}
	i, has := all.search(s[0].key)
	return has && &all[i] == &s[0]
}

// page returns one page of the items that the caller may access, and the cursor of the next
// page. A cursor contains the key of the last item of a page. So it is valid at every replica,
// and also after that item was removed.
func page(ctx context.Context, s *Server, kind Kind, items registry, cursor *string) (registry, *string, error) {
	if cursor != nil {
		key, ok := extension.CursorKey(string(kind), *cursor)
		if !ok {
			return nil, nil, invalid("Invalid cursor")
		}
		items = items.after(key)
	}
	if s.opts.Filter != nil || s.opts.HideToolsByScope {
		items = items.first(s.opts.PageSize+1, func(key string) bool { return s.visible(ctx, kind, key) && !s.hidesTool(ctx, kind, key) })
	}
	if len(items) <= s.opts.PageSize {
		return items, nil, nil
	}
	items = items[:s.opts.PageSize]
	next := extension.Cursor(string(kind), items[len(items)-1].key)
	return items, &next, nil
}

// listItem is a registered item that is listed.
type listItem interface {
	// forRevision returns the item as a revision defines it.
	forRevision(r wire.Revision) wire.Value
	// cachedText returns where the JSON of the item for a revision is stored.
	cachedText(r wire.Revision) *atomic.Pointer[[]byte]
}

// maxRevisions limits the revisions whose texts are cached. There are fewer.
const maxRevisions = 8

// encodedItem contains a registered item as JSON for each revision, encoded when it is first
// listed.
type encodedItem struct {
	texts [maxRevisions]atomic.Pointer[[]byte]
}

func (e *encodedItem) cachedText(r wire.Revision) *atomic.Pointer[[]byte] {
	if i := r.Index(); i >= 0 && i < len(e.texts) {
		return &e.texts[i]
	}
	return new(atomic.Pointer[[]byte])
}

// textOf returns an item as JSON for a revision, or nil if it cannot be encoded.
func textOf(item listItem, r wire.Revision) []byte {
	cached := item.cachedText(r)
	if text := cached.Load(); text != nil {
		return *text
	}
	text, err := wire.Append(nil, &wire.Frame{Revision: r}, item.forRevision(r))
	if err != nil {
		text = nil
	}
	cached.Store(&text)
	return text
}

// encodedPage is a page of a list that copies the items' JSON instead of encoding them again.
// It is made for one caller, so it contains only items that the caller may access. Equal pages
// have equal bytes.
type encodedPage struct {
	wire.Value        // the result without items
	empty      string // the JSON of the empty list in it
	items      registry
	cache      *pageCache // or nil
	kind       Kind
}

// newEncodedPage returns a page of a list of registered items. Pages that are the same for all
// callers are cached: they have the memory of the list.
func newEncodedPage(s *Server, kind Kind, answer wire.Value, empty string, items, all registry) wire.Value {
	p := &encodedPage{Value: answer, empty: empty, items: items, kind: kind}
	if items.isPartOf(all) {
		p.cache = &s.pages
	}
	return p
}

// Items returns the items of the page, for hooks and observers.
func (l *encodedPage) Items() iter.Seq[Item] {
	return func(yield func(Item) bool) {
		for _, x := range l.items {
			if !yield(Item{l.kind, x.key}) {
				return
			}
		}
	}
}

// AppendJSON implements [wire.Value].
func (l *encodedPage) AppendJSON(b []byte, e *wire.Encoder) []byte {
	e.Forward(l, l.Value)
	start := len(b)
	b = l.Value.AppendJSON(b, e)
	i := bytes.Index(b[start:], []byte(l.empty))
	if i < 0 {
		return b // encoding has failed
	}
	var room [512]byte
	end := start + i + len(l.empty) - len("]")
	rest := append(room[:0], b[end:]...)
	return append(l.appendItems(b[:end], e), rest...)
}

func (l *encodedPage) appendItems(b []byte, e *wire.Encoder) []byte {
	r := e.Revision()
	if text := l.cached(r); text != nil {
		return append(b, text...)
	}
	size := len(l.items)
	for _, x := range l.items {
		size += len(textOf(x.item.(listItem), r))
	}
	b = slices.Grow(b, size)
	start, complete := len(b), true
	for i, x := range l.items {
		if i > 0 {
			b = append(b, ',')
		}
		if text := textOf(x.item.(listItem), r); text != nil {
			b = append(b, text...)
		} else {
			complete = false
			b = x.item.(listItem).forRevision(r).AppendJSON(b, e)
		}
	}
	if l.cache != nil && complete {
		l.cache.store(pageKey{l.kind, r}, cachedPage{l.items, bytes.Clone(b[start:])})
	}
	return b
}

// cached returns the cached items for a revision, or nil.
func (l *encodedPage) cached(r wire.Revision) []byte {
	if l.cache == nil {
		return nil
	}
	p := l.cache.load(pageKey{l.kind, r})
	if len(p.items) == 0 || len(p.items) != len(l.items) || &p.items[0] != &l.items[0] {
		return nil
	}
	return p.text
}

// pageCache contains the page of each kind and revision that was encoded last.
type pageCache struct {
	mu    sync.Mutex
	pages map[pageKey]cachedPage
}

func (c *pageCache) store(key pageKey, p cachedPage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pages == nil {
		c.pages = make(map[pageKey]cachedPage)
	}
	c.pages[key] = p
}

// load returns a cached page, or one without items.
func (c *pageCache) load(key pageKey) cachedPage {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pages[key]
}

type pageKey struct {
	kind     Kind
	revision wire.Revision
}

// cachedPage contains the JSON of items without the brackets of the list. Registries are
// immutable, so pages with the same memory have the same items.
type cachedPage struct {
	items registry
	text  []byte
}

// cloneDefinition sets copied, a zero value, to a deep copy of a definition. Its raw JSON is valid and
// compact.
func cloneDefinition(copied, v wire.Value) error {
	text, err := wire.Append(nil, nil, v)
	if err != nil {
		return err
	}
	return wire.Decode(text, &wire.Frame{KeepFalse: true}, copied)
}

// encodesLists reports whether the list in the result of the request is encoded without being used
// by middleware or an in-process client. Otherwise it must be a value of the protocol's types.
func (s *Server) encodesLists(ctx context.Context) bool {
	return !s.readsLists && mcp.SessionFromContext(ctx).Transport().Kind() != "direct"
}

// setCacheHint sets the cache hint of a result, unless the result has one.
func (s *Server) setCacheHint(method string, ttl *int64, scope *mcp.CacheScope) {
	hint, has := s.opts.CacheHints[method]
	if !has || *ttl != 0 || *scope != "" {
		return
	}
	*ttl = hint.TTL.Milliseconds()
	if hint.Public && s.opts.Filter == nil && !s.opts.HideToolsByScope {
		*scope = mcp.CacheScopePublic
	}
}

// visible reports whether the caller may access an item.
func (s *Server) visible(ctx context.Context, kind Kind, name string) bool {
	return s.opts.Filter == nil || s.filterShows(ctx, kind, name)
}

func (s *Server) filterShows(ctx context.Context, kind Kind, name string) bool {
	return s.opts.Filter(ctx, mcp.SessionFromContext(ctx), Item{kind, name})
}
