package streamable

import (
	"sync"
	"sync/atomic"
	"time"
)

// pulse makes a response do something whenever it has been silent for a while.
// Most responses are over long before, so that a pulse is used again.
type pulse struct {
	timer *time.Timer
	rate  time.Duration
	of    atomic.Pointer[response]
}

// pulses are those of one handler: a timer belongs to the time it was made in,
// which in a test may be a time of its own.
type pulses struct{ spare sync.Pool }

// start starts a pulse.
func (s *pulses) start(p *response, rate time.Duration) *pulse {
	b, ok := s.spare.Get().(*pulse)
	if !ok {
		b = &pulse{rate: rate}
		b.timer = time.AfterFunc(time.Hour, b.beat)
		b.timer.Stop()
	}
	b.of.Store(p)
	b.timer.Reset(rate)
	return b
}

// stop stops a pulse. One that is just beating is left to itself.
func (s *pulses) stop(b *pulse) {
	if b.timer.Stop() {
		b.of.Store(nil)
		s.spare.Put(b)
	}
}

func (b *pulse) beat() {
	if b.of.Load().tick() {
		b.timer.Reset(b.rate)
	}
}
