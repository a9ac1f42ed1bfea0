package jsonrpc

import "time"

// alarm calls one function at the earliest of many points in time. Calls that
// are answered in time, nearly all, cost no timer of their own. Its owner's
// lock guards it.
type alarm struct {
	ring  func()
	timer *time.Timer
	due   time.Time // zero while nothing is awaited
}

// by sees to it that ring is called at t, or before.
func (a *alarm) by(t time.Time) {
	if !a.due.IsZero() && !t.Before(a.due) {
		return
	}
	a.due = t
	if a.timer == nil {
		a.timer = time.AfterFunc(time.Until(t), a.ring)
		return
	}
	a.timer.Reset(time.Until(t))
}

// rang is for ring, to say by itself when it wants to be called again.
func (a *alarm) rang() { a.due = time.Time{} }

// stop ends it for good: ring may be running, but is not called again.
func (a *alarm) stop() {
	if a.timer != nil {
		a.timer.Stop()
	}
}

// clock is how long one call may still take.
type clock struct {
	patience
	begun time.Time
	due   time.Time // zero without limit
	last  time.Time // the hard limit, zero without
}

// start begins the wait and returns when it is over, zero for never.
func (c *clock) start(p patience) time.Time {
	c.patience, c.begun = p, time.Now()
	if p.most >= 0 {
		c.last = c.begun.Add(p.most)
	}
	c.due = c.until(c.begun)
	return c.due
}

// again begins the wait anew where it has begun at all.
func (c *clock) again() {
	if !c.begun.IsZero() {
		c.due = c.until(time.Now())
	}
}

func (c *clock) until(now time.Time) time.Time {
	if c.idle < 0 {
		return c.last
	}
	due := now.Add(c.idle)
	if !c.last.IsZero() && c.last.Before(due) {
		return c.last
	}
	return due
}

// pause begins the wait anew, unless the hard limit has been reached.
func (c *clock) pause(now time.Time) {
	if c.idle > 0 && (c.last.IsZero() || now.Before(c.last)) {
		c.again()
	}
}

// over tells whether the time has run out.
func (c *clock) over(now time.Time) bool { return !c.due.IsZero() && !now.Before(c.due) }
