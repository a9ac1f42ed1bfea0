package auth

import "net/http"

// guardedWriter is the answer to a request that was let in. Until its first byte
// it can turn out that the caller has too few scopes. What it says to that end is
// left as it is: a client that does not look at the status finds the same there.
type guardedWriter struct {
	http.ResponseWriter
	guard  *Guard
	demand *demand
	begun  bool // the header is written
}

// WriteHeader implements [http.ResponseWriter].
func (w *guardedWriter) WriteHeader(status int) {
	informs := status < http.StatusOK && status != http.StatusSwitchingProtocols
	if !w.begun && !informs {
		w.begun = true
		if scopes := w.demand.unmet(); scopes != nil {
			scopes = union(w.guard.opts.Scopes, scopes)
			w.Header().Set("WWW-Authenticate", refusedScope.challenge(w.guard, scopes).String())
			status = refusedScope.status
		}
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (w *guardedWriter) Write(b []byte) (int, error) {
	w.begin()
	return w.ResponseWriter.Write(b)
}

// begin settles the status of an answer for which nobody has named one.
func (w *guardedWriter) begin() {
	if !w.begun {
		w.WriteHeader(http.StatusOK)
	}
}

// finish ends an answer that may have said nothing.
func (w *guardedWriter) finish() {
	if !w.begun && w.demand.unmet() != nil {
		w.begin()
	}
}

// FlushError is what [http.ResponseController] calls.
func (w *guardedWriter) FlushError() error {
	w.begin()
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Flush implements [http.Flusher].
func (w *guardedWriter) Flush() { _ = w.FlushError() }

// Unwrap leads [http.ResponseController] to everything else.
func (w *guardedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
