package streamable

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/mcpwright/mcp/runtime/internal/limit"
)

// Backoff says how a broken stream of a handshake session is taken up again.
// Where the server says how long to wait, it is never shorter than that.
type Backoff struct {
	// InitialDelay is the wait before the first attempt. Each one that comes to
	// nothing doubles it. Default 1 s.
	InitialDelay time.Duration
	// MaxDelay is the longest wait that this leads to. Default 30 s.
	MaxDelay time.Duration
	// MaxAttempts is how many attempts in a row may fail before a call is given
	// up. The stream that belongs to no call is never given up for that.
	// Default 5, negative is never.
	MaxAttempts int
}

const (
	defaultFirstWait = time.Second
	defaultMostWait  = 30 * time.Second
	defaultAttempts  = 5
)

// leastWait is the shortest time that a server can ask to wait. One that closes
// its streams as soon as they are open cannot keep a client busy.
const leastWait = 100 * time.Millisecond

// complete returns a copy of b with the defaults filled in.
func (b Backoff) complete() Backoff {
	if b.InitialDelay <= 0 {
		b.InitialDelay = defaultFirstWait
	}
	if b.MaxDelay <= 0 {
		b.MaxDelay = defaultMostWait
	}
	b.MaxAttempts = limit.Count(b.MaxAttempts, defaultAttempts)
	return b
}

// eventPosition is how far a stream has been read, over all the responses that
// carry it.
type eventPosition struct {
	lastID string        // what to resume after, empty where the server gave no ids
	retry  time.Duration // what the server asked to wait
	vain   int           // attempts in a row that brought nothing
}

// note notes how far a response was read that has lasted so long.
func (p *eventPosition) note(e *eventReader, lasted time.Duration, b *Backoff) {
	if e.lastID != "" {
		p.lastID = e.lastID
	}
	if e.retry > 0 {
		p.retry = max(e.retry, leastWait)
	}
	if e.heard || lasted > b.MaxDelay {
		p.vain = 0
	}
}

// wait waits until the stream may be taken up again. The error is that of ctx.
func (p *eventPosition) wait(ctx context.Context, b *Backoff) error {
	timer := time.NewTimer(p.delay(b))
	defer timer.Stop()
	p.vain++
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// delay returns how long to wait. Later attempts are spread, so that a server
// that was gone does not meet all its clients in the same moment.
func (p *eventPosition) delay(b *Backoff) time.Duration {
	d := p.retry
	if d == 0 {
		d = b.InitialDelay
	}
	if p.vain == 0 {
		return d
	}
	for range min(p.vain, 16) {
		d = min(2*d, max(b.MaxDelay, p.retry))
	}
	return d + rand.N(d/4+1)
}
