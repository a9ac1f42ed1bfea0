package streamable

import (
	"time"

	"github.com/mcpwright/mcp/runtime/connection"
)

// Stats returns the present numbers.
func (h *Handler) Stats() connection.EndpointStats {
	s := stats(&h.opts, &h.sessions, &h.inFlight)
	if m, ok := h.opts.Events.(*MemoryStore); ok {
		s.Events, s.EventBytes = m.size()
	}
	return s
}

// Stats returns the present numbers. Each session has a stream. The handler stores no events.
func (h *LegacySSEHandler) Stats() connection.EndpointStats {
	s := stats(&h.opts, &h.sessions, &h.inFlight)
	for _, session := range h.streams() {
		s.Requests += len(session.rpc.InFlight().IDs())
	}
	return s
}

func stats(o *Options, t *sessionTable, w *inFlight) connection.EndpointStats {
	s := connection.EndpointStats{Refused: o.refused.All(), Budget: o.JSONRPC.Budget}
	t.mu.Lock()
	s.Sessions = t.count.total
	t.mu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	s.Requests = w.requests - w.subscriptions + int(w.sessionRequests.Load())
	s.Streams = w.subscriptions + w.streams
	return s
}

// Sessions returns descriptions of the sessions, in no order.
func (h *Handler) Sessions() []connection.SessionInfo {
	now := h.sessions.clock.now()
	list := h.sessions.list()
	infos := make([]connection.SessionInfo, 0, len(list))
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
func (h *LegacySSEHandler) Sessions() []connection.SessionInfo {
	list := h.streams()
	infos := make([]connection.SessionInfo, 0, len(list))
	for _, s := range list {
		info := sessionInfo(s.id, s.principal, s.conn)
		info.Requests = s.rpc.InFlight().Requests()
		infos = append(infos, info)
	}
	return infos
}

func sessionInfo(id, principal string, conn *connection.Connection) connection.SessionInfo {
	return connection.SessionInfo{ID: id, Principal: principal, Client: conn.State().ClientInfo(), Revision: conn.State().Revision(), Connection: conn}
}

// overLimit counts a refusal because of a limit and returns it.
func (o *Options) overLimit(limit string, refused *refusal) *refusal {
	o.refused.Add(limit)
	return refused
}
