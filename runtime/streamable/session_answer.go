package streamable

import (
	"fmt"
	"net/http"

	"github.com/mcpwright/mcp/runtime/wire"
)

// looksLikeAnswer tells whether JSON that is no message was to be an answer.
func looksLikeAnswer(body []byte) bool {
	_, method := wire.Peek(body, "method")
	_, result := wire.Peek(body, "result")
	_, failure := wire.Peek(body, "error")
	return method == 0 && result|failure != 0
}

// refuseAnswer refuses an answer that cannot be read. It ends its call, with an
// error that only the caller sees; the refusal does not have its id, which is not
// one of the client's.
func (h *Handler) refuseAnswer(r *http.Request, m *wire.Message, err error) *refusal {
	refused := unreadable(m, err).of(wire.RequestID{})
	if h.opts.Stateless {
		return refused
	}
	s, no := h.findSession(r, revisionOf(r.Header))
	if no != nil {
		return no
	}
	defer s.leave()
	s.failCall(m.ID, err)
	return refused
}

// failCall ends the call of an id, if there is one, because its answer is none.
func (s *session) failCall(id wire.RequestID, err error) {
	d := s.borrow()
	defer s.giveBack()
	if d != nil && !id.IsZero() {
		d.FailCall(id, fmt.Errorf("answer of the peer: %w", err))
	}
}
