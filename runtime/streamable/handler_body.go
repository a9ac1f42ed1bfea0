package streamable

import (
	"errors"
	"net/http"
)

// readBody reads the body of a request to its end, which is also what makes
// net/http notice that the client has gone. Room is made only for what has come.
func readBody(r *http.Request, limit int) (*buffer, *refusal) {
	buf, err := newBuffer(), errTooLong
	if limit < 0 || r.ContentLength <= int64(limit) {
		err = buf.readAll(r.Body, limit)
	}
	if err == nil {
		return buf, nil
	}
	buf.free()
	if errors.Is(err, errTooLong) {
		return nil, refuse(http.StatusRequestEntityTooLarge, "Invalid request: the body is too long")
	}
	return nil, refuse(http.StatusBadRequest, "Invalid request: the body could not be read")
}
