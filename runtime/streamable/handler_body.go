package streamable

import (
	"errors"
	"net/http"
	"strings"
	"sync"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/buffer"
	"github.com/mcpwright/mcp/runtime/peer"
)

// smallBody is up to which size the body of a request costs no more than its
// connection does anyway.
const smallBody = 16 << 10

var errUploads = &peer.Error{Code: mcp.CodeInternal, Message: "Too many large requests at a time"}

// uploads reads the bodies of requests, and counts the large ones that have not
// come to their end.
type uploads struct {
	opts  *Options
	small int // up to which size a body is not counted

	mu    sync.Mutex
	count tally
}

func (u *uploads) init(o *Options) {
	u.opts, u.small = o, smallBody
	if o.MaxBody >= 0 {
		u.small = min(smallBody, o.MaxBody)
	}
}

// read reads the body of a request to its end, which is also what makes net/http
// notice that the client has gone. Room is made only for what has come, and none
// for what the headers say enough of.
func (u *uploads) read(r *http.Request) (*buffer.Buffer, *refusal) {
	if kind := r.Header[headerContentType]; len(kind) != 1 || kind[0] != mediaJSON && !isJSON(kind[0]) {
		return nil, refuse(http.StatusUnsupportedMediaType, "Invalid request: the body has to be application/json")
	}
	if coding := first(r.Header["Content-Encoding"]); coding != "" && !strings.EqualFold(coding, "identity") {
		return nil, refuse(http.StatusUnsupportedMediaType, "Invalid request: the body must not be compressed; leave out Content-Encoding")
	}
	if most := u.opts.MaxBody; most >= 0 && r.ContentLength > int64(most) {
		return nil, tooLong()
	}
	buf := buffer.New()
	if err := readAll(buf, r.Body, u.small); err != nil {
		if no := u.readOn(buf, r, err); no != nil {
			buf.Free()
			return nil, no
		}
	}
	r.Body.Close() // net/http need not look for its end again
	return buf, nil
}

// readOn reads the rest of a body that is not a small one, if that is what its
// reading failed with.
func (u *uploads) readOn(buf *buffer.Buffer, r *http.Request, err error) *refusal {
	if err == errTooLong && u.small != u.opts.MaxBody {
		name := u.opts.Principal(r)
		if no := u.begin(name); no != nil {
			return no
		}
		defer u.end(name)
		err = readAll(buf, r.Body, u.opts.MaxBody)
	}
	_, shortened := errors.AsType[*http.MaxBytesError](err) // by what is around the handler
	switch {
	case err == nil:
		return nil
	case err == errTooLong || shortened:
		return tooLong()
	}
	return refuse(http.StatusBadRequest, "Invalid request: the body could not be read")
}

func tooLong() *refusal {
	no := refuse(http.StatusRequestEntityTooLarge, "Invalid request: the body is too long")
	no.unread = true
	return no
}

// begin counts a large body, if there is room for it.
func (u *uploads) begin(principal string) *refusal {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch o := u.opts; {
	case !u.count.fits(principal, o.MaxUploadsPerPrincipal), !u.count.fits(principal, o.MaxInFlightPerPrincipal):
		return &refusal{status: http.StatusTooManyRequests, err: errUploads, unread: true}
	case !within(u.count.all, o.MaxUploads), !within(u.count.all, o.MaxInFlight):
		return &refusal{status: http.StatusServiceUnavailable, err: errUploads, unread: true}
	}
	u.count.add(principal, 1)
	return nil
}

// end takes back a begin.
func (u *uploads) end(principal string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.count.add(principal, -1)
}
