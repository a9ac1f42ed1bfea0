package streamable

import (
	"net/http"
	"strings"

	"github.com/mcpwright/mcp/runtime/connection"
)

// The headers that the protocol has a say in, as [http.Header] spells them.
const (
	headerAccept      = "Accept"
	headerContentType = "Content-Type"
	headerDate        = "Date"
	headerVersion     = connection.HeaderVersion
	headerSession     = "Mcp-Session-Id"
	headerMethod      = connection.HeaderMethod
	headerName        = connection.HeaderName
	headerLastEvent   = "Last-Event-Id"
)

const (
	mediaJSON   = "application/json"
	mediaEvents = "text/event-stream"
	mediaEither = mediaJSON + ", " + mediaEvents
)

// Values that many requests and responses share. They are not to be changed.
var (
	valueJSON       = []string{mediaJSON}
	valueEvents     = []string{mediaEvents}
	valueEitherKind = []string{mediaEither}
	valueNoCache    = []string{"no-cache"}
	valueNo         = []string{"no"}
	valueSoon       = []string{"1"}
)

// first is the only value of a header, or the first one, empty for none.
func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

// mediaType returns the type of a body, without parameters.
func mediaType(h http.Header) string {
	kind, _, _ := strings.Cut(h.Get(headerContentType), ";")
	return strings.ToLower(strings.TrimSpace(kind))
}
