package mcptest

import (
	"bytes"
	"cmp"
	"io"
	"mime"
	"net/http"
	"sync"

	"github.com/mcpwright/mcp/runtime/connection"
)

const headerSession = "Mcp-Session-Id"

// headerless is the revision of a request that names none.
const headerless = "2025-03-26"

// traffic is the judging of all that passes an HTTP endpoint.
type traffic struct {
	report func(*Violation)

	mu       sync.Mutex
	sessions map[string]*Judge
}

func newTraffic(report func(*Violation)) *traffic {
	return &traffic{report: report, sessions: map[string]*Judge{}}
}

// exchange is one HTTP request and its response.
type exchange struct {
	traffic *traffic
	judge   *Judge
	replays bool   // the response may repeat what was sent before
	listens bool   // the request asks for a stream of what the server says by itself
	session string // that of the request, empty for none
	posted  []byte // the message of the request, nil for none
	sent    envelope
	says    bool // posted is one message indeed
}

// open begins the judging of an exchange: in the session that it belongs to, or
// by itself.
func (t *traffic) open(r *http.Request) *exchange {
	t.mu.Lock()
	defer t.mu.Unlock()
	x := &exchange{
		traffic: t, session: r.Header.Get(headerSession), replays: r.Header.Get("Last-Event-Id") != "",
		listens: r.Method == http.MethodGet && r.Header.Get("Accept") == mediaEvents,
	}
	if x.judge = t.sessions[x.session]; x.judge == nil {
		x.judge = NewJudge(cmp.Or(r.Header.Get(connection.HeaderVersion), headerless))
		x.judge.alone = true
		x.belongs(r.Header)
	}
	return x
}

// name gives the exchange's judge to the session that it has opened.
func (x *exchange) name(response http.Header) {
	x.traffic.mu.Lock()
	defer x.traffic.mu.Unlock()
	x.belongs(response)
}

// belongs lets the exchange's judge hear all of a session that has none yet.
func (x *exchange) belongs(h http.Header) {
	id := h.Get(headerSession)
	if id == "" || x.traffic.sessions[id] != nil {
		return
	}
	x.traffic.sessions[id] = x.judge
	x.judge.mu.Lock()
	defer x.judge.mu.Unlock()
	x.judge.alone = false
}

func (x *exchange) check(from Sender, message []byte) {
	if len(bytes.TrimSpace(message)) == 0 {
		return
	}
	for _, v := range x.judge.check(from, message, x.replays) {
		x.traffic.report(v)
	}
}

// answer judges an answer that is one piece of JSON, or none. One of HTTP itself
// refuses the request, which may then come again, such as with a new token, or to
// another address.
func (x *exchange) answer(status int, message []byte) {
	denied := status == http.StatusUnauthorized || status == http.StatusForbidden
	if status >= 300 && (len(message) == 0 || denied && members(message)["jsonrpc"] == nil) {
		x.judge.refused(x.posted)
		return
	}
	x.check(FromServer, message)
	x.fit(status, message)
}

// maxBody is how much of a request's body is read to be judged; a longer one
// passes unjudged, since it is for the server to refuse it.
const maxBody = 16 << 20

// request judges the body of a request, and returns what to read it from.
func (x *exchange) request(r *http.Request) io.ReadCloser {
	if r.Method != http.MethodPost || r.Body == nil || mediaType(r.Header) != mediaJSON {
		return r.Body
	}
	data, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	body := &body{Reader: bytes.NewReader(data), Closer: r.Body}
	switch {
	case err != nil:
		body.Reader = io.MultiReader(body.Reader, failing{err})
	case len(data) > maxBody:
		body.Reader = io.MultiReader(body.Reader, r.Body)
	default:
		x.posted = data
		x.sent, x.says = open(data)
		x.check(FromClient, data)
	}
	return body
}

// body is a body of which a part has been read.
type body struct {
	io.Reader
	io.Closer
}

// failing is a reader that fails.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

const (
	mediaJSON   = "application/json"
	mediaEvents = "text/event-stream"
)

// mediaType is the content type without its parameters.
func mediaType(h http.Header) string {
	media, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return media
}
