package mcpserver

import (
	"slices"
	"sort"
)

// shelf holds registrations in the order of their keys. It never changes:
// putting something on it makes another shelf.
type shelf[T any] []slot[T]

type slot[T any] struct {
	key  string
	item *T
}

// search finds the place of a key, and tells whether something is there.
func (s shelf[T]) search(key string) (int, bool) {
	i := sort.Search(len(s), func(i int) bool { return s[i].key >= key })
	return i, i < len(s) && s[i].key == key
}

// find returns what has a key, nil where nothing has.
func (s shelf[T]) find(key string) *T {
	if i, has := s.search(key); has {
		return s[i].item
	}
	return nil
}

// after returns the part of the shelf that comes after a key.
func (s shelf[T]) after(key string) shelf[T] {
	i, has := s.search(key)
	if has {
		i++
	}
	return s[i:]
}

// first returns the first items, n at most, whose keys are wanted.
func (s shelf[T]) first(n int, want func(key string) bool) shelf[T] {
	found := make(shelf[T], 0, min(n, len(s)))
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

// with returns a shelf that has an item, in place of another of the same key.
func (s shelf[T]) with(key string, item *T) shelf[T] {
	i, has := s.search(key)
	if has {
		s = slices.Clone(s)
		s[i].item = item
		return s
	}
	return slices.Insert(slices.Clip(s), i, slot[T]{key, item})
}

// without returns a shelf that has nothing of some keys, and whether it had.
func (s shelf[T]) without(keys []string) (shelf[T], bool) {
	rest := slices.DeleteFunc(slices.Clone(s), func(x slot[T]) bool { return slices.Contains(keys, x.key) })
	return rest, len(rest) < len(s)
}
