package scale

import (
	"net/http"
	"strings"
)

// followsStandalone reports whether a request opens or resumes the standalone stream of a session.
func followsStandalone(r *http.Request) bool {
	last := r.Header.Get(headerLast)
	return r.Method == http.MethodGet && (last == "" || strings.HasPrefix(last, "0-"))
}

// askToMove asks the owner of a session, in the header of a request that is about to be forwarded, to give
// the session to this replica. A standalone stream may stay open for hours. If the session is here, its
// events need no second replica.
func (e *endpoint) askToMove(r *http.Request, id string, owner *member, may bool) {
	if may && followsStandalone(r) && !e.node.leaving.Load() {
		r.Header[headerMove] = []string{e.node.keys.Sign(movePurpose, id+" "+owner.tag)}
	} else {
		delete(r.Header, headerMove)
	}
}

// moveIdle gives up a session if another replica asks for it and the session is idle. A session moves at
// most once in a lease.
func (e *endpoint) moveIdle(r *http.Request, id string) bool {
	n := e.node
	values := r.Header[headerMove]
	h := e.find(id)
	if len(values) != 1 || h == nil || !followsStandalone(r) || !n.keys.Signed(movePurpose, id+" "+n.tag, values[0]) {
		return false
	}
	hasMoved := h.epoch > 0 && n.now()-h.more().since < n.opts.Lease
	if hasMoved || !n.leaseHeld() || !e.isCurrent(id) || e.beginMove(id) != nil {
		return false
	}
	defer e.endMove(id)
	if !e.setMoving(h, true) {
		return false
	}
	if !e.inner.ReleaseIdle(r.Context(), id, e.principal(r), r.Header.Get(headerLast) != "") {
		e.setMoving(h, false)
		return false
	}
	e.disown(r.Context(), h)
	return true
}

// aboutToMove is the number of requests of a session that serves none, because it is about to move.
const aboutToMove = -1

// enter begins a request of a session of this replica. The session does not move before exit is called.
// It returns nil if the session is not here, or about to move.
func (e *endpoint) enter(id string) *heldSession {
	e.mu.Lock()
	defer e.mu.Unlock()
	h := e.held[id]
	if h == nil || h.users == aboutToMove {
		return nil
	}
	h.users++
	return h
}

func (e *endpoint) exit(h *heldSession) {
	e.mu.Lock()
	defer e.mu.Unlock()
	h.users--
}

// setMoving sets whether a session without requests is about to move. It reports false if the session has
// requests.
func (e *endpoint) setMoving(h *heldSession, moving bool) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case !moving:
		h.users = 0
	case h.users == 0:
		h.users = aboutToMove
	default:
		return false
	}
	return true
}

// owns reports whether this replica has a session that it has not lost, and that is not about to move.
func (e *endpoint) owns(id string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	h := e.held[id]
	return h != nil && h.users != aboutToMove
}
