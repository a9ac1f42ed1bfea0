package wire

import (
	"fmt"
	"sync"
)

// Revision is one revision of the protocol, for example mcp.Revision20250618. It
// is an immutable value the size of a pointer.
//
// The zero Revision is not a revision of the protocol. It selects the
// all-revisions form: a member is written and read if any revision has it, and
// required only if every revision requires it. encoding/json uses this form, which
// is meant for logs and storage. Peers expect the form of their own revision.
//
// Revisions are comparable: they can be compared with == and used as map keys. Two
// revisions are equal if they have the same index and name, even if they come from
// different calls of [NewRevision].
type Revision struct{ *revision }

// NewRevision returns the revision with the given index and name. Indexes count
// from 0, oldest revision first. NewRevision panics if index is not in [0, 64) or
// name is empty. Generated code calls it once for each revision.
func NewRevision(index int, name string) Revision {
	if index < 0 || index >= maxRevisions || name == "" {
		panic(fmt.Sprintf("wire: invalid revision: index %d, name %q", index, name))
	}
	r := revision{name: name, bit: uint8(index + 1)}
	known.Lock()
	defer known.Unlock()
	if known.revisions[r] == nil {
		known.revisions[r] = &r
	}
	return Revision{known.revisions[r]}
}

// known contains all revisions, so that equal ones have the same pointer.
var known = struct {
	sync.Mutex
	revisions map[revision]*revision
}{revisions: make(map[revision]*revision)}

// String returns the dated name of the revision as it is sent to peers, for
// example "2025-06-18". For the zero Revision it returns "all revisions".
func (r Revision) String() string {
	if r == (Revision{}) {
		return "all revisions"
	}
	return r.name
}

// Index returns the position of the revision, counted from 0 for the oldest, or
// -1 for the zero Revision.
func (r Revision) Index() int {
	if r == (Revision{}) {
		return -1
	}
	return int(r.bit) - 1
}

// mask returns the window that contains only r, or Always for the zero Revision.
func (r Revision) mask() Window {
	if r == (Revision{}) {
		return Always
	}
	return 1 << (r.bit - 1)
}

// revision is the content of a Revision. It is behind a pointer so that a Revision
// has only one word: nearly every value in this package has one.
type revision struct {
	name string
	bit  uint8 // index + 1
}

// maxRevisions is the number of revisions that a Window can hold.
const maxRevisions = 64

// Window is a set of revisions: bit i is set if the revision with index i is in
// the set.
type Window uint64

// Always contains every revision, including those to come. It is the window of
// members that exist in each of them.
const Always Window = ^Window(0)

// Has reports whether r is in w. For the zero Revision it reports whether w
// contains any revision.
func (w Window) Has(r Revision) bool { return w&r.mask() != 0 }
