package mcpserver

import (
	"context"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Event is a change that clients may subscribe to.
type Event struct {
	// Method is the method of the notification: one of the list changes, or
	// [mcp.MethodResourceUpdated]. Events with other methods are ignored.
	Method string
	// URI is the URI of the updated resource.
	URI string
	// Lost means that a [Bus] may have lost events, for example because it was disconnected.
	// Every subscriber of the server is notified of everything that it watches, because each of
	// it may have changed. The other fields are ignored.
	Lost bool
}

// listChanges are the events of lists that change.
var listChanges = []Event{{Method: mcp.MethodToolListChanged}, {Method: mcp.MethodPromptListChanged}, {Method: mcp.MethodResourceListChanged}}

// notification returns the notification of an event. meta is nil for a session.
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

// Bus carries events between the replicas of a server, so that clients of one replica are
// notified of changes at another. It must be safe for concurrent use.
type Bus interface {
	// Publish sends an event to all subscribers of the bus, including this server.
	Publish(ctx context.Context, e Event) error
	// Subscribe calls f for every event from now on, until cancel is called. f does not block.
	// It must be called for one event at a time, in their order. If events may have been lost, f
	// must be called with an [Event] that states so.
	Subscribe(f func(Event)) (cancel func())
}

// eventMessage is an event that is sent to subscribers. The members that are equal for all of
// them are encoded once, because these notifications are the same in every revision. Only encoded,
// free and allocated change after it was made, in the goroutine that made it.
type eventMessage struct {
	event     Event
	message   peer.Notification   // without metadata
	members   []byte              // encoded params, with a comma before each member
	session   eventNotification   // the notification for sessions
	encoded   []byte              // session as a message; nil before it is needed
	free      []eventNotification // for further streams
	allocated int                 // the last size of free
	afterGap  bool                // it stands for events that may have been lost
}

// maxStreamBatch limits how many notifications for streams are allocated together. A slow
// stream retains all of them.
const maxStreamBatch = 64

func newEventMessage(e Event) *eventMessage {
	m := &eventMessage{event: e, message: e.notification(nil)}
	m.session.eventMessage = m
	text, _ := wire.AppendParams(nil, nil, m.message) // these notifications can always be encoded
	if len(text) > len("{}") {
		text[0] = ','
		m.members = text[:len(text)-1]
	}
	return m
}

// room returns how many events may wait for a subscriber if this event is to be queued. After a gap,
// there is room for everything that a subscriber can watch.
func (m *eventMessage) room(o *Options) int {
	if m.afterGap {
		return o.MaxQueuedEvents + o.MaxSubscriptions + len(listChanges)
	}
	return o.MaxQueuedEvents
}

// streamNotification returns the notification for a stream.
func (m *eventMessage) streamNotification(meta *mcp.NotificationMeta) *eventNotification {
	if len(m.free) == 0 {
		m.allocated = min(2*m.allocated+1, maxStreamBatch)
		m.free = make([]eventNotification, m.allocated)
	}
	r := &m.free[0]
	m.free = m.free[1:]
	*r = eventNotification{m, meta}
	return r
}

// eventNotification is the notification of an event for one subscriber: the shared members,
// and the subscriber's own metadata. It implements [outbound.Encoded].
type eventNotification struct {
	*eventMessage
	meta *mcp.NotificationMeta // nil for a session
}

// Method implements [peer.Message].
func (r *eventNotification) Method() string { return r.event.Method }

// IsNotification implements [peer.Notification].
func (r *eventNotification) IsNotification() {}

// Original implements [outbound.Encoded].
func (r *eventNotification) Original() peer.Notification {
	if r.meta == nil {
		return r.message
	}
	return r.event.notification(r.meta)
}

// Encoded implements [outbound.Encoded].
func (r *eventNotification) Encoded() []byte {
	if r.meta != nil {
		return nil
	}
	if r.encoded == nil {
		r.encoded, _ = wire.AppendNotification(nil, nil, r.Method(), r) // can always be encoded
	}
	return r.encoded
}

// AppendParams implements [wire.Params].
func (r *eventNotification) AppendParams(b []byte, e *wire.Encoder) []byte {
	start := len(b)
	b = append(b, r.members...)
	b = wire.AppendMeta(b, e, r, r.meta, 0)
	return wire.CloseObject(b, start)
}

// DecodeParams implements [wire.Params]. It is never called.
func (r *eventNotification) DecodeParams(d *wire.Decoder) { d.Skip() }
