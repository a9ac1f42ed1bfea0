package streamable

import (
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/budget"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Stats are numbers for the operator of a handler.
type Stats struct {
	// Sessions is the number of sessions, also of those whose handshake goes on.
	Sessions int
	// Requests is the number of requests that are being handled, without subscriptions.
	Requests int
	// Streams is the number of open streams that belong to no other request: subscriptions,
	// and streams that a client has opened with GET.
	Streams int
	// Events is the number of stored events, and EventBytes their size. They are 0 if the
	// store is no [MemoryStore].
	Events, EventBytes int
	// Refused is how often a limit has refused a request or dropped a message, by the name of
	// the option. It has the names of limits that have done so.
	Refused map[string]int64
	// Budget is the budget that the handler uses.
	Budget *budget.Budget
}

// Stats returns the present numbers.
func (h *Handler) Stats() Stats {
	s := stats(&h.opts, &h.sessions, &h.inFlight)
	if m, ok := h.opts.Events.(*MemoryStore); ok {
		s.Events, s.EventBytes = m.size()
	}
	return s
}

// Stats returns the present numbers. Each session has a stream. The handler stores no events.
func (h *LegacySSEHandler) Stats() Stats {
	s := stats(&h.opts, &h.sessions, &h.inFlight)
	for _, session := range h.streams() {
		s.Requests += len(session.rpc.InFlight().IDs())
	}
	return s
}

func stats(o *Options, t *sessionTable, w *inFlight) Stats {
	s := Stats{Refused: o.refused.All(), Budget: o.JSONRPC.Budget}
	t.mu.Lock()
	s.Sessions = t.count.total
	t.mu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	s.Requests = w.requests - w.subscriptions + int(w.sessionRequests.Load())
	s.Streams = w.subscriptions + w.streams
	return s
}

// SessionInfo describes a session.
type SessionInfo struct {
	// ID is the id of the session. A client with the id and the principal can use the session,
	// so it must be kept secret.
	ID string
	// Principal is the principal that has begun the session, or the empty string.
	Principal string
	// Client is the unverified name and version of the client. It is nil if they are unknown.
	Client *mcp.Implementation
	// Revision is the revision of the session.
	Revision wire.Revision
	// Idle is how long the session was not used, exact to a minute. It is 0 while it is in use.
	Idle time.Duration
	// Requests are the requests that are being handled.
	Requests []jsonrpc.RequestInfo
	// Connection is the server's end of the session. A program can send notifications on it.
	Connection *connection.Connection
}

// Sessions returns descriptions of the sessions, in no order.
func (h *Handler) Sessions() []SessionInfo {
	now := h.sessions.clock.now()
	list := h.sessions.list()
	infos := make([]SessionInfo, 0, len(list))
	for _, s := range list {
		info := sessionInfo(s.id, s.principal, s.conn)
		if d := (*sessionInFlight)(s).current(); d != nil {
			info.Requests = d.InFlight().Requests()
		}
		if last := time.Duration(s.lastUse.Load()); last >= 0 && s.users.Load() == 0 {
			info.Idle = max(now-last, 0)
		}
		infos = append(infos, info)
	}
	return infos
}

// Sessions returns descriptions of the sessions, in no order.
func (h *LegacySSEHandler) Sessions() []SessionInfo {
	list := h.streams()
	infos := make([]SessionInfo, 0, len(list))
	for _, s := range list {
		info := sessionInfo(s.id, s.principal, s.conn)
		info.Requests = s.rpc.InFlight().Requests()
		infos = append(infos, info)
	}
	return infos
}

func sessionInfo(id, principal string, conn *connection.Connection) SessionInfo {
	return SessionInfo{ID: id, Principal: principal, Client: conn.State().ClientInfo(), Revision: conn.State().Revision(), Connection: conn}
}

// overLimit counts a refusal because of a limit and returns it.
func (o *Options) overLimit(limit string, refused *refusal) *refusal {
	o.refused.Add(limit)
	return refused
}
