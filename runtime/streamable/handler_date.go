package streamable

import (
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// date is the value of the header Date. To have net/http look at the clock and write
// that down for each response would take longer than to read a request: here it is
// written once a second, while there are responses.
type date struct {
	now atomic.Pointer[[]string] // nil when its second is over

	mu    sync.Mutex
	timer *time.Timer // ends the second; nil before the first response
}

// value is not to be changed.
func (d *date) value() []string {
	if v := d.now.Load(); v != nil {
		return *v
	}
	return d.look()
}

// look looks at the clock.
func (d *date) look() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	v := []string{now.UTC().Format(http.TimeFormat)}
	d.now.Store(&v)
	left := now.Truncate(time.Second).Add(time.Second).Sub(now)
	if d.timer == nil {
		d.timer = time.AfterFunc(left, func() { d.now.Store(nil) })
	} else {
		d.timer.Reset(left)
	}
	return v
}
