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
	hasMoved := h.epoch > 0 && n.now()-h.since < n.opts.Lease
	if hasMoved || !n.leaseHeld() || !e.isCurrent(id) || !e.inner.ReleaseIdle(r.Context(), id, e.principal(r), r.Header.Get(headerLast) != "") {
		return false
	}
	e.disown(r.Context(), h)
	return true
}
