package streamable

import (
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpwright/mcp/runtime/streamable/internal/mcphttp"
)

// writeJSON writes a complete response. If date is nil, net/http sets the header Date.
func writeJSON(w http.ResponseWriter, status int, date []string, data []byte) {
	h := w.Header()
	h[mcphttp.HeaderContentType] = mcphttp.ValueJSON
	if date != nil {
		h["Date"] = date
	}
	if len(data) > maxBuffered {
		setLength(h, len(data))
	}
	if status != http.StatusOK {
		w.WriteHeader(status)
	}
	w.Write(data)
}

func setLength(h http.Header, n int) { h["Content-Length"] = []string{strconv.Itoa(n)} }

// maxBuffered is the number of bytes that net/http buffers until the end of a response.
// It sets Content-Length of such a response itself, and writing does not wait for the
// client.
const maxBuffered = 2048

// prepareFlush sets the headers of a response whose goroutine will end without
// returning from ServeHTTP. The result sends the response, because net/http only closes
// the connection.
func prepareFlush(w http.ResponseWriter, size int) (flush func() error) {
	setLength(w.Header(), size)
	w.Header()["Connection"] = []string{"close"}
	return http.NewResponseController(w).Flush
}

// dateHeader is the value of the header Date. It is formatted once per second.
// Formatting it for each response, as net/http does, would take longer than reading a
// request.
type dateHeader struct {
	now atomic.Pointer[[]string] // nil when the second is over

	mu    sync.Mutex
	timer *time.Timer // fires at the end of the second; nil before the first response
}

// value returns the value, which must not be modified.
func (d *dateHeader) value() []string {
	if v := d.now.Load(); v != nil {
		return *v
	}
	return d.update()
}

// update formats the current time.
func (d *dateHeader) update() []string {
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
