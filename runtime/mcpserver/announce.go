package mcpserver

import (
	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// announcement is an event on its way to those who want to hear of it. What is
// the same for all of them is made once, and so is its text: these notifications
// read the same in every revision. Only what is spare changes.
type announcement struct {
	event   Event
	message peer.Notification // without "_meta"
	members []byte            // of its params, each with a comma in front
	session rendered          // as every session hears of it
	spare   []rendered        // for streams to come; guarded by the lock of the audience
	made    int               // how many of them there were at first
}

// fewStreams is for how many streams memory is taken at once, at most: a stream
// that is slow holds on to all of it.
const fewStreams = 64

// forStream returns the announcement as a stream hears of it.
func (a *announcement) forStream(meta *mcp.NotificationMeta) *rendered {
	if len(a.spare) == 0 {
		a.made = min(2*a.made+1, fewStreams)
		a.spare = make([]rendered, a.made)
	}
	r := &a.spare[0]
	a.spare = a.spare[1:]
	*r = rendered{a, meta}
	return r
}

func newAnnouncement(e Event) *announcement {
	a := &announcement{event: e, message: e.notification(nil)}
	a.session.announcement = a
	text, _ := wire.AppendParams(nil, nil, a.message) // nothing in it can be refused
	if len(text) > len("{}") {
		text[0] = ','
		a.members = text[:len(text)-1]
	}
	return a
}

// rendered is an announcement as one member of the audience hears of it: between
// what is the same for all, its own "_meta" has its place. It is a
// [outbound.Encoded].
type rendered struct {
	*announcement
	meta *mcp.NotificationMeta // nil for a session
}

// Method implements [peer.Message].
func (r *rendered) Method() string { return r.event.Method }

// IsNotification implements [peer.Notification].
func (r *rendered) IsNotification() {}

// Original implements [outbound.Encoded].
func (r *rendered) Original() peer.Notification {
	if r.meta == nil {
		return r.message
	}
	return r.event.notification(r.meta)
}

// AppendParams implements [wire.Params].
func (r *rendered) AppendParams(b []byte, e *wire.Encoder) []byte {
	start := len(b)
	b = append(b, r.members...)
	b = wire.AppendMeta(b, e, r, r.meta, 0)
	return wire.CloseObject(b, start)
}

// DecodeParams implements [wire.Params]. It is never called.
func (r *rendered) DecodeParams(d *wire.Decoder) { d.Skip() }

// notification is the message that tells of an event. The metadata is that of
// the stream it is for, nil for a session.
func (e Event) notification(meta *mcp.NotificationMeta) peer.Notification {
	switch e.Method {
	case mcp.MethodResourceUpdated:
		return &mcp.ResourceUpdatedNotification{URI: e.URI, Meta: meta}
	case mcp.MethodToolListChanged:
		return &mcp.ToolListChangedNotification{Meta: meta}
	case mcp.MethodPromptListChanged:
		return &mcp.PromptListChangedNotification{Meta: meta}
	}
	return &mcp.ResourceListChangedNotification{Meta: meta}
}
