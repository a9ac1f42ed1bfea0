package mcptest

import (
	"cmp"
	"net/http"

	"github.com/mcpwright/mcp/runtime/wire"
)

// TapHandler returns a handler around that of a Streamable HTTP endpoint: all
// messages, those in streams included, are judged on their way through.
func TapHandler(report func(*Violation), next http.Handler) http.Handler {
	t := newTraffic(report)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := t.open(r.Header)
		r = r.Clone(r.Context())
		r.Body = x.request(r)
		tapped := &tappedWriter{ResponseWriter: w, exchange: x}
		next.ServeHTTP(tapped, r)
		tapped.end()
	})
}

// tappedWriter judges a response while it is written.
type tappedWriter struct {
	http.ResponseWriter
	exchange *exchange
	media    string // empty before the first byte
	events   events // of a stream
	json     []byte // of one piece of JSON that is not complete yet
	status   int
}

// Unwrap lets an [http.ResponseController] find what else the writer can do.
func (w *tappedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Flush implements [http.Flusher].
func (w *tappedWriter) Flush() {
	w.begin()
	_ = http.NewResponseController(w.ResponseWriter).Flush() // as well as the writer can
}

// WriteHeader implements [http.ResponseWriter].
func (w *tappedWriter) WriteHeader(status int) {
	if status >= 200 { // others come before the header
		w.begin()
		w.status = cmp.Or(w.status, status)
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write judges what is written before the client can read it.
func (w *tappedWriter) Write(p []byte) (int, error) {
	w.begin()
	switch w.media {
	case mediaEvents:
		w.events.take(p)
	case mediaJSON:
		if w.json = append(w.json, p...); wire.Check(w.json, 0) == nil {
			w.end()
		}
	}
	return w.ResponseWriter.Write(p)
}

// begin looks at the header, which is complete when the first byte is written.
func (w *tappedWriter) begin() {
	if w.media != "" {
		return
	}
	w.exchange.name(w.Header())
	w.events.message = func(data []byte) { w.exchange.check(FromServer, data) }
	if w.media = mediaType(w.Header()); w.media == "" {
		w.media = "none"
	}
}

// end judges one piece of JSON, complete or not.
func (w *tappedWriter) end() {
	w.exchange.answer(w.status, w.json)
	w.json = nil
}
