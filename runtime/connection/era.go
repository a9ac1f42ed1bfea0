package connection

import (
	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/eras"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// The newest revisions of the two eras.
var (
	newestHandshake  = eras.Newest(true)
	newestPerRequest = eras.Newest(false)
)

// handshake tells whether a session of the revision begins with initialize.
func handshake(r wire.Revision) bool { return eras.Handshake(r) }

// plainFrames has the frame of each revision that adds nothing to a message.
var plainFrames = func() []wire.Frame {
	frames := make([]wire.Frame, len(mcp.Revisions))
	for i, r := range mcp.Revisions {
		frames[i].Revision = r.Revision
	}
	return frames
}()

func plainFrame(r wire.Revision) *wire.Frame {
	if i := r.Index(); i >= 0 && i < len(plainFrames) {
		return &plainFrames[i]
	}
	return &wire.Frame{Revision: r}
}

// spelling is how messages to a peer are written, together with the option that
// tells a channel so.
type spelling struct {
	frame   *wire.Frame
	options [2]peer.CallOption // the second is for questions, which people answer
}

func newSpelling(f *wire.Frame) *spelling {
	return &spelling{f, [2]peer.CallOption{peer.WithFrame(f), peer.WithMaxTimeout()}}
}

// plainSpellings has what goes with each of plainFrames.
var plainSpellings = func() []*spelling {
	spellings := make([]*spelling, len(plainFrames))
	for i := range plainFrames {
		spellings[i] = newSpelling(&plainFrames[i])
	}
	return spellings
}()

func plainSpelling(r wire.Revision) *spelling {
	if i := r.Index(); i >= 0 && i < len(plainSpellings) {
		return plainSpellings[i]
	}
	return newSpelling(plainFrame(r))
}

// before puts the options before a caller's own, which may say otherwise. Without
// any, as is usual, that takes no memory.
func (s *spelling) before(opts []peer.CallOption, question bool) []peer.CallOption {
	n := 1
	if question {
		n = 2
	}
	return append(s.options[:n:n], opts...)
}
