package jsonrpc

import "time"

// timeouts limit how long a call waits: until the response or the next progress report, and in
// total. Negative is no limit.
type timeouts struct{ idle, total time.Duration }

// deadline is when one call times out.
type deadline struct {
	timeouts
	started time.Time
	due     time.Time // zero if there is no limit
	last    time.Time // the limit in total; zero if there is none
}

// start starts the timeouts and returns when the call times out, or zero.
func (d *deadline) start(t timeouts) time.Time {
	d.timeouts, d.started = t, time.Now()
	if t.total >= 0 {
		d.last = d.started.Add(t.total)
	}
	d.due = d.after(d.started)
	return d.due
}

// restart restarts the idle timeout, if the timeouts have been started.
func (d *deadline) restart() {
	if !d.started.IsZero() {
		d.due = d.after(time.Now())
	}
}

func (d *deadline) after(now time.Time) time.Time {
	if d.idle < 0 {
		return d.last
	}
	due := now.Add(d.idle)
	if !d.last.IsZero() && d.last.Before(due) {
		return d.last
	}
	return due
}

// suspend restarts the idle timeout, unless the limit in total has been reached.
func (d *deadline) suspend(now time.Time) {
	if d.idle > 0 && (d.last.IsZero() || now.Before(d.last)) {
		d.restart()
	}
}

// expired reports whether the call has timed out.
func (d *deadline) expired(now time.Time) bool { return !d.due.IsZero() && !now.Before(d.due) }

// deadlineTimer calls a function at the earliest of many deadlines. One timer serves all calls of a
// connection, because nearly all calls end before they time out. The owner's lock guards it.
type deadlineTimer struct {
	f     func()
	timer *time.Timer
	due   time.Time // zero if f is not scheduled
}

// schedule schedules f at t, unless it is scheduled for an earlier time.
func (d *deadlineTimer) schedule(t time.Time) {
	if !d.due.IsZero() && !t.Before(d.due) {
		return
	}
	d.due = t
	if d.timer == nil {
		d.timer = time.AfterFunc(time.Until(t), d.f)
		return
	}
	d.timer.Reset(time.Until(t))
}

// fired clears the schedule. The function f calls it, so that it can schedule itself again.
func (d *deadlineTimer) fired() { d.due = time.Time{} }

// stop stops the timer. The function f may be running.
func (d *deadlineTimer) stop() {
	if d.timer != nil {
		d.timer.Stop()
	}
}
