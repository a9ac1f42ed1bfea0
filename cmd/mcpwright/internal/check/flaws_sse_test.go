package check

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
)

// sseFlaws has a flaw for each case of HTTP+SSE.
var sseFlaws = map[string]wrapper{
	"sse-endpoint": func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(eventWriter{w, "event: endpoint", "event: hello\ndata: x\n\nevent: endpoint"}, r)
		})
	},
	"sse-accepted": recorded(isMethod("tools/list"), func(res *httptest.ResponseRecorder) { res.Code = http.StatusOK }),
	"sse-separate": sharedStream,
	"sse-session-unknown": posts(func(w http.ResponseWriter, r *http.Request, _ *message) bool {
		if !strings.Contains(r.URL.RawQuery, "mcpwright-unknown-session") {
			return false
		}
		w.WriteHeader(http.StatusAccepted)
		return true
	}),
	"sse-origin": func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Header.Del("Origin")
			next.ServeHTTP(w, r)
		})
	},
	"sse-client-leaves": func(next http.Handler) http.Handler {
		var dead atomic.Bool
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if dead.Load() {
				w.WriteHeader(http.StatusInternalServerError)
				return
			}
			next.ServeHTTP(w, r)
			if r.Method == http.MethodGet {
				dead.Store(true)
			}
		})
	},
	"sse-malformed": posts(func(w http.ResponseWriter, _ *http.Request, m *message) bool {
		if object(m.raw) != nil || len(m.raw) == 0 {
			return false
		}
		w.WriteHeader(http.StatusAccepted)
		return true
	}),
}

// sharedStream sends the events of each stream on all streams.
func sharedStream(next http.Handler) http.Handler {
	all := &streamSet{writers: map[http.ResponseWriter]bool{}}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			next.ServeHTTP(w, r)
			return
		}
		defer all.remove(w)
		next.ServeHTTP(sharedWriter{w, all}, r)
	})
}

// streamSet is the open streams.
type streamSet struct {
	mu      sync.Mutex
	writers map[http.ResponseWriter]bool
}

func (s *streamSet) remove(w http.ResponseWriter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.writers, w)
}

// sharedWriter writes messages to all streams, and everything else to its own one.
type sharedWriter struct {
	http.ResponseWriter
	all *streamSet
}

func (w sharedWriter) Write(b []byte) (int, error) {
	w.all.mu.Lock()
	defer w.all.mu.Unlock()
	if !strings.Contains(string(b), `"jsonrpc"`) {
		w.all.writers[w.ResponseWriter] = true // its header is complete
		return w.ResponseWriter.Write(b)
	}
	for other := range w.all.writers {
		_, _ = other.Write(b) // fails for a stream that has ended
		_ = http.NewResponseController(other).Flush()
	}
	return len(b), nil
}

// FlushError implements the method that [http.ResponseController] calls.
func (w sharedWriter) FlushError() error {
	w.all.mu.Lock()
	defer w.all.mu.Unlock()
	return http.NewResponseController(w.ResponseWriter).Flush()
}

func (w sharedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
