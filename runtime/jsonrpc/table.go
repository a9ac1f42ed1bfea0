package jsonrpc

import "github.com/mcpwright/mcp/runtime/wire"

// table has something for each of several requests. Often there is but one, which
// takes no map; nearly all ids are small integers, which are found faster on their
// own. The zero table is empty and ready; its owner's lock guards it.
type table[T comparable] struct {
	one    T
	id     wire.RequestID // of one, zero where that is free
	ints   map[int64]T
	others map[wire.RequestID]T
	len    int
}

// has tells whether there is something for an id.
func (t *table[T]) has(id wire.RequestID) bool {
	var none T
	return t.len > 0 && t.get(id) != none
}

// get returns what there is for an id, the zero T if there is nothing.
func (t *table[T]) get(id wire.RequestID) T {
	id = key(id)
	if id == t.id {
		return t.one
	}
	if n, ok := id.Int64(); ok {
		return t.ints[n]
	}
	return t.others[id]
}

// mint returns the next id after the last one that there is nothing for.
func (t *table[T]) mint(last *int64) wire.RequestID {
	for {
		*last++
		if id := wire.IntID(*last); !t.has(id) {
			return id
		}
	}
}

// put puts x where there is nothing yet.
func (t *table[T]) put(id wire.RequestID, x T) {
	id = key(id)
	if t.len++; t.id.IsZero() {
		t.id, t.one = id, x
		return
	}
	n, ok := id.Int64()
	switch {
	case ok && t.ints == nil:
		t.ints = map[int64]T{n: x}
	case ok:
		t.ints[n] = x
	case t.others == nil:
		t.others = map[wire.RequestID]T{id: x}
	default:
		t.others[id] = x
	}
}

// drop takes off x, which is there for the id.
func (t *table[T]) drop(id wire.RequestID, x T) {
	t.len--
	if t.one == x {
		var none T
		t.id, t.one = wire.RequestID{}, none
		return
	}
	id = key(id)
	if n, ok := id.Int64(); ok {
		delete(t.ints, n)
	} else {
		delete(t.others, id)
	}
}

// all calls yield for what there is, in no order. It may be dropped meanwhile.
func (t *table[T]) all(yield func(T) bool) {
	if !t.id.IsZero() && !yield(t.one) {
		return
	}
	for _, x := range t.ints {
		if !yield(x) {
			return
		}
	}
	for _, x := range t.others {
		if !yield(x) {
			return
		}
	}
}
