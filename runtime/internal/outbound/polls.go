package outbound

import (
	"errors"
	"time"

	"github.com/mcpwright/mcp/runtime/peer"
)

const (
	// maxFailedPolls limits the requests in a row that fail without a response, and are repeated.
	maxFailedPolls = 3
	// pollPatience is the time for which requests are repeated that a server refuses only for a while. Replicas
	// need it to replace one that has ended.
	pollPatience = 2 * time.Minute
	// maxPollDelay limits the delay before a request is repeated, unless the peer asks for a longer one.
	maxPollDelay = 10 * time.Second
)

// Polls counts the requests for a task that have failed in a row. Such requests change nothing, so they can be
// repeated. The zero value is ready to use.
type Polls struct {
	failed int
	first  time.Time // when the first of them failed
}

// Succeeded ends the row.
func (p *Polls) Succeeded() { *p = Polls{} }

// Again reports whether a request is repeated after it has failed with err. An error of the peer ends the
// poll, unless an HTTP status shows that the server cannot respond for a while.
func (p *Polls) Again(err error) bool {
	if p.failed == 0 {
		p.first = time.Now()
	}
	p.failed++
	if isTemporary(err) {
		return p.failed <= maxFailedPolls || time.Since(p.first) < pollPatience
	}
	return peer.AsError(err) == nil && p.failed <= maxFailedPolls
}

// Delay returns the delay before the next request. It is the interval of the peer at first, and doubles after
// each failure.
func (p *Polls) Delay(interval time.Duration) time.Duration {
	delay := interval
	for i := 1; i < p.failed && delay < maxPollDelay; i++ {
		delay = min(2*delay, maxPollDelay)
	}
	return delay
}

// isTemporary reports whether the same request may succeed later: the server has refused the connection, or has
// responded with an HTTP status such as 502 or 503. Transports mark such errors with a method Temporary.
func isTemporary(err error) bool {
	type temporary interface {
		error
		Temporary() bool
	}
	e, ok := errors.AsType[temporary](err)
	return ok && e.Temporary()
}
