// Package mcphttp contains what the server and the client of Streamable HTTP share:
// the names and values of headers, and reading a body with a limit.
package mcphttp

import (
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/mcpwright/mcp/runtime/internal/buffer"
	"github.com/mcpwright/mcp/runtime/internal/headers"
)

// Kind is the kind of the transport contexts of both halves.
const Kind = "streamable-http"

// The headers that the protocol uses, in the canonical spelling of [http.Header].
const (
	HeaderAccept      = "Accept"
	HeaderContentType = "Content-Type"
	HeaderVersion     = headers.ProtocolVersion
	HeaderSession     = "Mcp-Session-Id"
	HeaderMethod      = headers.Method
	HeaderName        = headers.Name
	HeaderLastEvent   = "Last-Event-Id"
)

// Media types of bodies.
const (
	MediaJSON   = "application/json"
	MediaEvents = "text/event-stream"
	MediaEither = MediaJSON + ", " + MediaEvents
)

// Header values that many requests and responses share. Callers must not modify
// them.
var (
	ValueJSON   = []string{MediaJSON}
	ValueEvents = []string{MediaEvents}
	ValueEither = []string{MediaEither}
)

// MediaType returns the media type of a body, in lower case and without parameters.
func MediaType(h http.Header) string {
	kind, _, _ := strings.Cut(h.Get(HeaderContentType), ";")
	return strings.ToLower(strings.TrimSpace(kind))
}

// ErrBodyTooLong is returned by [ReadBody] if the body is longer than the limit.
var ErrBodyTooLong = errors.New("body is too long")

// ReadBody appends all bytes of r to buf. A negative limit means no limit.
func ReadBody(buf *buffer.Buffer, r io.Reader, limit int) error {
	b := buf.Bytes
	for {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		n, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		buf.Bytes = b
		switch {
		case limit >= 0 && len(b) > limit:
			return ErrBodyTooLong
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}
