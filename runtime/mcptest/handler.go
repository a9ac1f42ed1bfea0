package mcptest

import (
	"net/http"

	"github.com/mcpwright/mcp/runtime/wire"
)

// TapHandler returns a handler around that of a Streamable HTTP endpoint: all
// messages, those in streams included, are judged on their way through.
func TapHandler(report func(*Violation), next http.Handler) http.Handler {
	t := newTraffic(report)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := t.open(r)
		r = r.Clone(r.Context())
		r.Body = x.request(r)
		tapped := &tappedWriter{ResponseWriter: w, exchange: x}
		next.ServeHTTP(tapped, r)
		if r.Context().Err() == nil { // there is somebody to answer
			tapped.begin(http.StatusOK)
		}
		tapped.end()
	})
}

// tappedWriter judges a response while it is written.
type tappedWriter struct {
	http.ResponseWriter
	exchange *exchange
	status   int    // 0 before the first byte
	media    string // the type of the content
	events   events // of a stream
	json     []byte // of one piece of JSON that is not complete yet
}

// Unwrap lets an [http.ResponseController] find what else the writer can do.
func (w *tappedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Flush implements [http.Flusher].
func (w *tappedWriter) Flush() {
	w.begin(http.StatusOK)
	_ = http.NewResponseController(w.ResponseWriter).Flush() // as well as the writer can
}

// WriteHeader implements [http.ResponseWriter].
func (w *tappedWriter) WriteHeader(status int) {
	if status >= 200 { // others come before the header
		w.begin(status)
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write judges what is written before the client can read it.
func (w *tappedWriter) Write(p []byte) (int, error) {
	w.begin(http.StatusOK)
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

// begin looks at the status and at the header, which is complete when the first
// byte is written.
func (w *tappedWriter) begin(status int) {
	if w.status != 0 {
		return
	}
	w.status = status
	w.exchange.name(w.Header())
	w.exchange.head(status, w.Header())
	w.events.message = func(data []byte) { w.exchange.check(FromServer, data) }
	w.media = mediaType(w.Header())
}

// end judges one piece of JSON, complete or not.
func (w *tappedWriter) end() {
	w.exchange.answer(w.status, w.json)
	w.json = nil
}
