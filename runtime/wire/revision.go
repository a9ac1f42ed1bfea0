package wire

import (
	"fmt"
	"unique"
)

// maxRevisions is how many revisions a Window can tell apart.
const maxRevisions = 64

// Revision is one protocol revision of a compiled package. Revisions are
// comparable. The zero Revision stands for all of them together: the form that
// encoding/json sees, for logs and stores, not for a peer.
type Revision struct{ of unique.Handle[revision] }

// revision is what a Revision leads to. A Revision itself is no more than a pointer,
// for nearly everything here has one.
type revision struct {
	name string
	bit  uint8 // index + 1
}

// NewRevision names the revision at index, counted from 0, oldest first. It
// panics when index is not in [0, 64) or name is empty: revisions are made by
// generated code, once.
func NewRevision(index int, name string) Revision {
	if index < 0 || index >= maxRevisions || name == "" {
		panic(fmt.Sprintf("wire: no revision can have index %d and name %q", index, name))
	}
	return Revision{unique.Make(revision{name: name, bit: uint8(index + 1)})}
}

// String returns the name on the wire, as "2025-06-18", and "all revisions"
// for the zero Revision.
func (r Revision) String() string {
	if r == (Revision{}) {
		return "all revisions"
	}
	return r.of.Value().name
}

// Index returns the place of the revision, oldest first; -1 for the zero Revision.
func (r Revision) Index() int {
	if r == (Revision{}) {
		return -1
	}
	return int(r.of.Value().bit) - 1
}

// mask is the window that holds exactly r; the zero Revision fills it.
func (r Revision) mask() Window {
	if r == (Revision{}) {
		return Always
	}
	return 1 << (r.of.Value().bit - 1)
}

// Window is a set of revisions: bit i stands for the revision with index i.
type Window uint64

// Always is the window of what exists in every revision, later ones included.
const Always Window = ^Window(0)

// Has reports whether r is in the window. The zero Revision is in every window
// but the empty one.
func (w Window) Has(r Revision) bool { return w&r.mask() != 0 }
