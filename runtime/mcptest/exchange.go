package mcptest

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/headers"
	"github.com/mcpwright/mcp/runtime/internal/revisions"
	"github.com/mcpwright/mcp/runtime/wire"
)

const (
	headerSession = "Mcp-Session-Id"
	mediaJSON     = "application/json"
	mediaEvents   = "text/event-stream"
)

// maxBody limits the bytes of a request body that are read for validation. A longer
// body is not validated, since the server has its own limit.
const maxBody = 16 << 20

// httpTap validates all exchanges with an HTTP endpoint.
type httpTap struct {
	report func(*Violation)

	mu       sync.Mutex
	sessions map[string]*Validator
}

func newHTTPTap(report func(*Violation)) *httpTap {
	return &httpTap{report: report, sessions: map[string]*Validator{}}
}

// exchange is one HTTP request and its response.
type exchange struct {
	tap       *httpTap
	report    func(*Violation)
	validator *Validator
	resumes   bool   // the response may contain messages that were sent before
	listens   bool   // the request opens the stream of a session
	session   string // session id of the request, or ""
	posted    []byte // message of the request, or nil
	sent      message
	sentOne   bool // posted is one message, not a batch or anything else
	refused   bool // the client may send the message again, because it was not handled
}

// begin returns the exchange of a request. Its validator is the session's, or a new
// one without a session.
func (t *httpTap) begin(r *http.Request) *exchange {
	t.mu.Lock()
	defer t.mu.Unlock()
	x := &exchange{
		tap: t, report: t.report, session: r.Header.Get(headerSession), resumes: r.Header.Get("Last-Event-Id") != "",
		listens: r.Method == http.MethodGet && r.Header.Get("Accept") == mediaEvents,
	}
	if x.validator = t.sessions[x.session]; x.validator == nil {
		x.validator = NewValidator(headerRevision(r.Header))
		x.validator.partial = true
		x.addSession(r.Header)
	}
	return x
}

// headerRevision returns the revision in the header of a request, or the zero
// Revision if it is unknown.
func headerRevision(h http.Header) wire.Revision {
	name := h.Get(headers.ProtocolVersion)
	if name == "" {
		return mcp.Revision20250326 // the revision of requests without the header
	}
	r, _ := mcp.ParseRevision(name)
	return r
}

// addSession makes the exchange's validator the validator of the session in a
// header, if the session has none yet. The mutex of the tap is locked.
func (x *exchange) addSession(h http.Header) {
	id := h.Get(headerSession)
	if id == "" || x.tap.sessions[id] != nil {
		return
	}
	x.tap.sessions[id] = x.validator
	x.validator.mu.Lock()
	defer x.validator.mu.Unlock()
	x.validator.partial = false
}

// request validates the body of a request, and returns a copy of the body.
func (x *exchange) request(r *http.Request) io.ReadCloser {
	if r.Method != http.MethodPost || r.Body == nil || mediaType(r.Header) != mediaJSON {
		return r.Body
	}
	data, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	body := &body{Reader: bytes.NewReader(data), Closer: r.Body}
	switch {
	case err != nil:
		body.Reader = io.MultiReader(body.Reader, errorReader{err})
	case len(data) > maxBody:
		body.Reader = io.MultiReader(body.Reader, r.Body)
	default:
		x.posted = data
		x.sent, x.sentOne = parseMessage(data)
		x.check(FromClient, data)
	}
	return body
}

// header validates the status and the header of the response.
func (x *exchange) header(status int, h http.Header) {
	x.tap.mu.Lock()
	x.addSession(h)
	x.tap.mu.Unlock()
	media := mediaType(h)
	x.refused = (status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable) && h.Get("Retry-After") != ""
	switch {
	case media == mediaEvents && status >= 300:
		x.violation(x.posted, status, "a stream must have the status 200")
	case status >= 300:
	case x.listens && media != mediaEvents:
		x.violation(x.posted, status, "a stream must have the content type %q, not %q; without a stream, the status must be 405", mediaEvents, h.Get("Content-Type"))
	case x.sent.isRequest() && status != http.StatusOK:
		x.violation(x.posted, status, "the response to a request must have the status 200")
	case x.sent.isRequest() && media != mediaJSON && media != mediaEvents:
		x.violation(x.posted, status, "the response to a request must have the content type %q or %q, not %q", mediaJSON, mediaEvents, h.Get("Content-Type"))
	case x.sentOne && !x.sent.isRequest() && status != http.StatusAccepted:
		x.violation(x.posted, status, "an accepted notification or response must have the status 202")
	}
	switch sessions := h.Values(headerSession); {
	case len(sessions) == 0:
	case len(sessions) > 1 || strings.ContainsFunc(sessions[0], notVisible):
		x.violation(x.posted, status, "a session id must be one value of visible ASCII characters, not %q", sessions)
	case x.session != "" && sessions[0] != x.session:
		x.violation(x.posted, status, "the session id of the request is %q, not %q", x.session, sessions[0])
	}
}

// notVisible reports whether a character is not a visible ASCII character.
func notVisible(r rune) bool { return r <= ' ' || r > '~' }

// body validates the body of a response that is JSON or empty. The client may repeat
// a request that was refused by HTTP, for example with a new token.
func (x *exchange) body(status int, data []byte) {
	denied := status == http.StatusUnauthorized || status == http.StatusForbidden
	if status >= 300 && (len(data) == 0 || denied && members(data)["jsonrpc"] == nil) {
		x.validator.forget(x.posted)
		return
	}
	x.check(FromServer, data)
	x.checkStatus(status, data)
	if x.refused || status >= 300 && x.sentOne && x.sent.method == "" {
		x.validator.forget(x.posted)
	}
}

// check validates a message of the exchange.
func (x *exchange) check(from Sender, raw []byte) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return
	}
	for _, v := range x.validator.check(from, raw, x.resumes) {
		x.report(v)
	}
}

// checkStatus validates the status of a response that is JSON.
func (x *exchange) checkStatus(status int, raw []byte) {
	response, _ := parseMessage(raw)
	want := statusOf(x.validator.Revision(), response)
	if !x.sent.isRequest() || want == 0 || want == status || want == http.StatusOK && status < 300 {
		return
	}
	x.violation(raw, status, "this response must have the status %d", want)
}

// statusOf returns the HTTP status that a response must have, or 0 for any.
func statusOf(r wire.Revision, response message) int {
	switch code := response.code(); {
	case response.result != nil:
		return http.StatusOK
	case revisions.Handshake(r):
		return 0
	case code == mcp.CodeMethodNotFound:
		return http.StatusNotFound
	case code == mcp.CodeHeaderMismatch, code == mcp.CodeMissingRequiredClientCapability, code == mcp.CodeUnsupportedProtocolVersion:
		return http.StatusBadRequest
	}
	return 0
}

// violation reports an invalid status or header of the response.
func (x *exchange) violation(raw []byte, status int, format string, args ...any) {
	revision, known := mcp.ParseRevision(x.sent.params.version)
	if !known {
		revision = x.validator.Revision()
	}
	response := strings.TrimSpace(fmt.Sprintf("HTTP %d %s", status, http.StatusText(status)))
	x.report(&Violation{
		Revision: revision, From: FromServer, Method: x.sent.method, Response: true,
		Problem: response + ": " + fmt.Sprintf(format, args...), Message: raw, http: true,
	})
}

// mediaType returns the content type without its parameters, or "" if it is
// invalid.
func mediaType(h http.Header) string {
	media, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return media
}

// body is a body of which a part has been read.
type body struct {
	io.Reader
	io.Closer
}

// errorReader is a reader that returns an error.
type errorReader struct{ err error }

func (r errorReader) Read([]byte) (int, error) { return 0, r.err }

// eventReader extracts the messages of a stream of server-sent events. It calls
// message when an event is complete.
type eventReader struct {
	message func(data []byte)

	begun bool     // the first line, which may begin with a byte order mark, has been read
	rest  []byte   // an incomplete line
	cr    bool     // the last byte was a carriage return, which ends a line
	event string   // type of the incomplete event
	data  [][]byte // lines of the incomplete event
}

// Write implements [io.Writer]: it adds the next bytes of the stream.
func (e *eventReader) Write(b []byte) (int, error) {
	for _, c := range b {
		switch {
		case c == '\n' && e.cr: // the second half of a line end
		case c == '\n' || c == '\r':
			e.line(e.rest)
			e.rest = nil
		default:
			e.rest = append(e.rest, c)
		}
		e.cr = c == '\r'
	}
	return len(b), nil
}

// line adds a line. An empty line ends an event.
func (e *eventReader) line(line []byte) {
	if !e.begun {
		line, e.begun = bytes.TrimPrefix(line, []byte("\ufeff")), true
	}
	if len(line) == 0 {
		data := bytes.Join(e.data, []byte("\n"))
		if (e.event == "" || e.event == "message") && len(data) > 0 {
			e.message(data)
		}
		e.event, e.data = "", nil
		return
	}
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "data":
		e.data = append(e.data, value)
	case "event":
		e.event = string(value)
	}
}
