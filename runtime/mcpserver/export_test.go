package mcpserver

// Listeners tells how many sessions and streams hear of events.
func Listeners(s *Server) int {
	s.audience.mu.Lock()
	defer s.audience.mu.Unlock()
	return len(s.audience.members)
}
