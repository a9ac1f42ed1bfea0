package mcpserver

import (
	"github.com/mcpwright/mcp/runtime/budget"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/peer"
)

// Stats are numbers for the operator of a server. Package health publishes them over HTTP, and the
// module otel as gauges of OpenTelemetry.
type Stats struct {
	// Sessions is the number of sessions over HTTP, and of clients that are connected in another
	// way.
	Sessions int
	// Requests is the number of requests that are being handled.
	Requests int
	// Streams is the number of open streams over HTTP that belong to no other request:
	// subscriptions, and streams that a client has opened with GET.
	Streams int
	// Events is the number of events that are stored for clients, and EventBytes their size. They
	// do not include stores of the program's own.
	Events, EventBytes int
	// Tasks is the number of stored tasks.
	Tasks int
	// HeldBytes is the number of bytes that are held for clients; see package budget.
	HeldBytes int
	// Refused is how often a limit has refused a request or dropped a message, by the name of
	// the limit's option. It has the names of limits that have done so.
	Refused map[string]int64
}

// Stats returns the present numbers. It takes time for each session, so call it every few seconds at
// most.
func (s *Server) Stats() Stats {
	all := Stats{Refused: make(map[string]int64)}
	s.refused.AddTo(all.Refused)
	budgets := map[*budget.Budget]bool{s.budget(): true}
	for _, part := range s.shutdowners.parts() {
		switch part := part.(type) {
		case connection.Endpoint:
			one := part.Stats()
			all.Sessions, all.Requests, all.Streams = all.Sessions+one.Sessions, all.Requests+one.Requests, all.Streams+one.Streams
			all.Events, all.EventBytes = all.Events+one.Events, all.EventBytes+one.EventBytes
			for limit, n := range one.Refused {
				all.Refused[limit] += n
			}
			budgets[one.Budget] = true
		case client:
			all.Sessions++
			all.Requests += len(part.inFlight())
		case interface{ Len() int }: // tasks
			all.Tasks += part.Len()
		}
	}
	for b := range budgets {
		all.HeldBytes += b.Held()
	}
	return all
}

// budget returns the budget of pipes and tasks.
func (s *Server) budget() *budget.Budget {
	if b := s.opts.Stdio.JSONRPC.Budget; b != nil {
		return b
	}
	return budget.Default()
}

// Sessions returns descriptions of the sessions over HTTP, and of clients that are connected in another
// way, in no order. A client on a pipe has no id.
func (s *Server) Sessions() []connection.SessionInfo {
	var all []connection.SessionInfo
	for _, part := range s.shutdowners.parts() {
		switch part := part.(type) {
		case connection.Endpoint:
			all = append(all, part.Sessions()...)
		case client:
			info := connection.SessionInfo{Requests: part.inFlight()}
			if conn := part.connection(); conn != nil { // otherwise the revision is stateless, or unknown
				info.ID, info.Connection = conn.SessionID(), conn
				info.Client, info.Revision = conn.State().ClientInfo(), conn.State().Revision()
			}
			all = append(all, info)
		}
	}
	return all
}

// ShuttingDown reports whether [Server.Shutdown] has been called.
func (s *Server) ShuttingDown() bool {
	s.shutdowners.mu.Lock()
	defer s.shutdowners.mu.Unlock()
	return s.shutdowners.closed
}

// client is a part of a server that serves one client.
type client interface {
	inFlight() []peer.RequestInfo
	// connection returns nil in a stateless revision, and before the first request.
	connection() *connection.Connection
}

func (h *connServer) inFlight() []peer.RequestInfo {
	h.mu.Lock()
	conn := h.conn
	h.mu.Unlock()
	if conn == nil {
		return nil
	}
	return conn.InFlight().Requests()
}

func (h *connServer) connection() *connection.Connection { return h.pipe.Connection() }

func (h *inProcessServer) inFlight() []peer.RequestInfo { return h.conn.InFlight().Requests() }

func (h *inProcessServer) connection() *connection.Connection { return h.pipe.Connection() }
