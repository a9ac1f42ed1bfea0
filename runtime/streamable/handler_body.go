package streamable

import (
	"errors"
	"net/http"
	"strings"
	"sync"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
)

// smallBody is up to which size the body of a request costs no more than its
// connection does anyway.
const smallBody = 16 << 10

var errUploads = &peer.Error{Code: mcp.CodeInternal, Message: "Too many large requests at a time"}

// uploads reads the bodies of requests, and counts the large ones that have not
// come to their end.
type uploads struct {
	opts *Options

	mu    sync.Mutex
	count tally
}

// read reads the body of a request to its end, which is also what makes net/http
// notice that the client has gone. Room is made only for what has come.
func (u *uploads) read(r *http.Request) (*buffer, *refusal) {
	if no := misfit(r.Header); no != nil {
		return nil, no
	}
	buf := newBuffer()
	if no := u.fill(buf, r); no != nil {
		buf.free()
		return nil, no
	}
	return buf, nil
}

func (u *uploads) fill(buf *buffer, r *http.Request) *refusal {
	most, small := u.opts.MaxBody, smallBody
	if most >= 0 {
		small = min(small, most)
	}
	err := errTooLong
	if most < 0 || r.ContentLength <= int64(most) {
		if err = buf.readAll(r.Body, small); errors.Is(err, errTooLong) && small != most {
			name := u.opts.caller(r)
			if no := u.begin(name); no != nil {
				return no
			}
			defer u.end(name)
			err = buf.readAll(r.Body, most)
		}
	}
	switch {
	case err == nil:
		r.Body.Close() // net/http need not look for its end again
		return nil
	case errors.Is(err, errTooLong):
		no := refuse(http.StatusRequestEntityTooLarge, "Invalid request: the body is too long")
		no.unread = true
		return no
	}
	return refuse(http.StatusBadRequest, "Invalid request: the body could not be read")
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

// misfit refuses a body by what the headers say of it.
func misfit(header http.Header) *refusal {
	if !sendsJSON(header) {
		return refuse(http.StatusUnsupportedMediaType, "Invalid request: the body has to be application/json")
	}
	if coding := first(header["Content-Encoding"]); coding != "" && !strings.EqualFold(coding, "identity") {
		return refuse(http.StatusUnsupportedMediaType, "Invalid request: the body must not be compressed; leave out Content-Encoding")
	}
	return nil
}
