package jsonrpc

// CloseIdle ends a connection on which nothing is under way, without a word: no
// call waits, nothing is being handled, nothing waits to be written, and nothing
// was cancelled lately that may be about to come. It returns false where something
// is, and the connection then goes on.
//
// It is for a transport whose sessions outlast their use: later on another
// connection can take this one's place, with what Retire returns as its
// [Options].LastID. Nobody may use the connection meanwhile.
func (c *Conn) CloseIdle() (lastID int64, ok bool) {
	if c.notes.isBusy() || c.replies.isBusy() || !c.state.retire() {
		return 0, false
	}
	close(c.closed)
	c.notes.end()
	c.replies.end()
	return c.state.last, true
}

// retire closes the state if there is nothing in it.
func (s *state) retire() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isClosed || s.calls.len+s.requests.len+s.active > 0 || s.noting != nil {
		return false
	}
	if s.early != nil && !s.early.isEmpty() {
		return false
	}
	s.isClosed = true
	s.alarm.stop()
	s.workers.dismiss()
	return true
}

func (l *lane[T]) isBusy() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.busy
}
