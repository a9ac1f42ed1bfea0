package jsonrpc

import (
	"errors"
	"fmt"

	"github.com/mcpwright/mcp/runtime/wire"
)

// idKey returns the key of an id in tables. Some peers respond, cancel and report progress with "7"
// if the id was 7. So a string that contains an integer has the same key as the integer. The ids in
// messages are never changed.
func idKey(id wire.RequestID) wire.RequestID {
	s, isText := id.Text()
	if !isText || s == "" || s[0] != '-' && (s[0] < '0' || s[0] > '9') || s[len(s)-1] > '9' {
		return id
	}
	if n, err := wire.ParseID([]byte(s)); err == nil && n.String() == s {
		return n
	}
	return id
}

var errNoRoundTrip = errors.New("id changes when it is encoded and decoded")

// checkID validates an id that a caller chose: the response must contain the same id. Zero is
// valid, because a zero id is replaced.
func checkID(method string, id wire.RequestID) error {
	if id.IsZero() {
		return nil
	}
	back, err := wire.ParseID(id.AppendTo(nil))
	if err == nil && back != id {
		err = errNoRoundTrip
	}
	if err != nil {
		return fmt.Errorf("send %q: request id %v: %w", method, id, err)
	}
	return nil
}

// idTable maps request ids to values. The zero table is empty. The owner's lock guards it.
//
// A table often has one entry only, which needs no map. Nearly all ids are small integers, for
// which a map of their own is faster. A table has no type parameter, because every package that uses
// a [Conn] would compile the methods of all its instances.
type idTable struct {
	first   any            // a pointer, as all values
	firstID wire.RequestID // zero if first is not used
	ints    map[int64]any
	others  map[wire.RequestID]any
	len     int
}

// has reports whether the table has an entry for an id.
func (t *idTable) has(id wire.RequestID) bool { return t.len > 0 && t.get(id) != nil }

// get returns the value for an id, or nil.
func (t *idTable) get(id wire.RequestID) any {
	id = idKey(id)
	if id == t.firstID {
		return t.first
	}
	if n, ok := id.Int64(); ok {
		return t.ints[n]
	}
	return t.others[id]
}

// newID returns the next id after last that has no entry, and stores it in last.
func (t *idTable) newID(last *int64) wire.RequestID {
	for {
		*last++
		if id := wire.IntID(*last); !t.has(id) {
			return id
		}
	}
}

// add adds an entry for an id that has none.
func (t *idTable) add(id wire.RequestID, x any) {
	id = idKey(id)
	if t.len++; t.firstID.IsZero() {
		t.firstID, t.first = id, x
		return
	}
	n, ok := id.Int64()
	switch {
	case ok && t.ints == nil:
		t.ints = map[int64]any{n: x}
	case ok:
		t.ints[n] = x
	case t.others == nil:
		t.others = map[wire.RequestID]any{id: x}
	default:
		t.others[id] = x
	}
}

// remove removes the entry of x, which has this id.
func (t *idTable) remove(id wire.RequestID, x any) {
	t.len--
	if t.first == x {
		t.firstID, t.first = wire.RequestID{}, nil
		return
	}
	id = idKey(id)
	if n, ok := id.Int64(); ok {
		delete(t.ints, n)
	} else {
		delete(t.others, id)
	}
}

// all iterates over the values, in no order. The current value may be removed.
func (t *idTable) all(yield func(any) bool) {
	if !t.firstID.IsZero() && !yield(t.first) {
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

// find returns the value for an id, or nil.
func find[T any](t *idTable, id wire.RequestID) *T {
	x, _ := t.get(id).(*T)
	return x
}

// each iterates over the values like [idTable.all]. It is not inlined, because each caller would have
// its functions again.
//
//go:noinline
func each[T any](t *idTable) func(yield func(*T) bool) {
	return func(yield func(*T) bool) {
		t.all(func(x any) bool { return yield(x.(*T)) })
	}
}
