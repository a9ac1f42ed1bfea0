package check

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
)

// wrapper changes a good endpoint.
type wrapper = func(next http.Handler) http.Handler

// posts returns a wrapper for POST requests. The function returns false to pass the
// request on.
func posts(handle func(w http.ResponseWriter, r *http.Request, m *message) bool) wrapper {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					return
				}
				r.Body = io.NopCloser(bytes.NewReader(body))
				m, _ := parse(body)
				if handle(w, r, m) {
					return
				}
			}
			next.ServeHTTP(w, r)
		})
	}
}

// method returns a wrapper for requests with an HTTP method.
func method(name string, handle http.HandlerFunc) wrapper {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == name {
				handle(w, r)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

// recorded returns a wrapper that changes the response to messages for which it applies.
func recorded(applies func(m *message) bool, change func(res *httptest.ResponseRecorder)) wrapper {
	return func(next http.Handler) http.Handler {
		return posts(func(w http.ResponseWriter, r *http.Request, m *message) bool {
			if !applies(m) {
				return false
			}
			res := httptest.NewRecorder()
			next.ServeHTTP(res, r)
			change(res)
			for name, values := range res.Header() {
				w.Header()[name] = values
			}
			w.WriteHeader(res.Code)
			_, _ = w.Write(res.Body.Bytes())
			return true
		})(next)
	}
}

func isMethod(name string) func(*message) bool {
	return func(m *message) bool { return m.method == name }
}

// toolsResult is a response to tools/list.
func toolsResult(m *message) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","ttlMs":0,"cacheScope":"public","tools":[]}}`, m.id)
}

// streams returns a wrapper that sends the response to tools/list as a stream of one event.
func streams(id func() string, after func(r *http.Request)) wrapper {
	return posts(func(w http.ResponseWriter, r *http.Request, m *message) bool {
		if m.method != "tools/list" {
			return false
		}
		w.Header().Set("Content-Type", mediaEvents)
		fmt.Fprintf(w, "id: %s\ndata: %s\n\n", id(), toolsResult(m))
		w.(http.Flusher).Flush()
		after(r)
		return true
	})
}

// header returns a wrapper that changes the header of requests.
func header(change func(h http.Header, m *message)) wrapper {
	return posts(func(_ http.ResponseWriter, r *http.Request, m *message) bool {
		change(r.Header, m)
		return false
	})
}

// refuse returns a wrapper that refuses POST requests with a status.
func refuse(status int, applies func(h http.Header, m *message) bool) wrapper {
	return posts(func(w http.ResponseWriter, r *http.Request, m *message) bool {
		if !applies(r.Header, m) {
			return false
		}
		w.WriteHeader(status)
		return true
	})
}

// onlyStateless returns a wrapper that also refuses initialize.
func onlyStateless(inner wrapper) wrapper {
	return func(next http.Handler) http.Handler {
		return refuse(http.StatusBadRequest, func(_ http.Header, m *message) bool { return m.method == "initialize" })(inner(next))
	}
}

// agreeing sets the headers of a stateless request to the values of its body.
func agreeing() wrapper {
	return header(func(h http.Header, m *message) {
		if version := text(at(m.params, "_meta", "io.modelcontextprotocol/protocolVersion")); version != "" {
			h.Set(headerVersion, version)
			h.Set(headerMethod, m.method)
			h.Set(headerName, text(at(m.params, "name")))
		}
	})
}

func nothing(*http.Request) {}

// httpFlaws has a flaw for each case that needs HTTP.
var httpFlaws = map[string]wrapper{
	"http-content-type": recorded(isMethod("tools/list"), func(res *httptest.ResponseRecorder) { res.Header().Set("Content-Type", "text/plain") }),
	"http-accepted":     recorded(isMethod("notifications/initialized"), func(res *httptest.ResponseRecorder) { res.Code = http.StatusOK }),
	"http-stream-end":   streams(func() string { return "1" }, func(r *http.Request) { <-r.Context().Done() }),
	"http-event-id":     repeatedEvent,
	"http-session-id":   badSession,
	"http-session-missing": refuse(http.StatusTeapot, func(h http.Header, m *message) bool {
		return h.Get(headerSession) == "" && m.method != "initialize"
	}),
	"http-session-deleted": method(http.MethodDelete, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }),
	"http-session-unknown": posts(func(w http.ResponseWriter, r *http.Request, m *message) bool {
		if r.Header.Get(headerSession) != "mcpwright-unknown-session" {
			return false
		}
		w.Header().Set("Content-Type", mediaJSON)
		_, _ = io.WriteString(w, toolsResult(m))
		return true
	}),
	"http-get": method(http.MethodGet, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }),
	"http-get-response": method(http.MethodGet, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", mediaEvents)
		_, _ = io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n")
	}),
	"http-resume": func(next http.Handler) http.Handler {
		var n atomic.Int64
		posted := streams(func() string { return fmt.Sprint(n.Add(1)) }, nothing)
		return method(http.MethodGet, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", mediaEvents)
			_, _ = io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"id\":\"second\",\"result\":{}}\n\n")
		})(posted(next))
	},
	"http-version-header": header(func(h http.Header, _ *message) {
		if h.Get(headerVersion) == "1999-01-01" {
			h.Del(headerVersion)
		}
	}),
	"http-version-missing": refuse(http.StatusBadRequest, func(h http.Header, m *message) bool {
		return h.Get(headerVersion) == "" && m.method != "initialize"
	}),
	"http-origin":  header(func(h http.Header, _ *message) { h.Del("Origin") }),
	"http-accept":  refuse(http.StatusNotAcceptable, func(h http.Header, _ *message) bool { return strings.Contains(h.Get("Accept"), ";q=") }),
	"http-charset": refuse(http.StatusUnsupportedMediaType, func(h http.Header, _ *message) bool { return h.Get("Content-Type") != mediaJSON }),
	"client-leaves": func(next http.Handler) http.Handler {
		var dead atomic.Bool
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				dead.Store(true)
			}
			if dead.Load() {
				w.WriteHeader(http.StatusInternalServerError)
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			next.ServeHTTP(w, r)
		})
	},
	"http-buffering":        streams(func() string { return "" }, nothing),
	"http-unknown-method":   recorded(isMethod(unknownMethod), func(res *httptest.ResponseRecorder) { res.Code = http.StatusOK }),
	"http-version-mismatch": agreeing(),
	"http-method-mismatch":  agreeing(),
	"http-method-missing":   agreeing(),
	"http-name-mismatch":    agreeing(),
	"http-name-missing":     agreeing(),
	"http-stateless-session": onlyStateless(recorded(func(*message) bool { return true }, func(res *httptest.ResponseRecorder) {
		res.Header().Set(headerSession, "session")
	})),
	"http-stateless-get": onlyStateless(method(http.MethodGet, func(http.ResponseWriter, *http.Request) {})),
}

// repeatedEvent sends two events with one id.
var repeatedEvent = posts(func(w http.ResponseWriter, _ *http.Request, m *message) bool {
	if m.method != "tools/list" {
		return false
	}
	w.Header().Set("Content-Type", mediaEvents)
	fmt.Fprintf(w, "id: 1\ndata:\n\nid: 1\ndata: %s\n\n", toolsResult(m))
	return true
})

// badSession shows the client another session id, with a space.
func badSession(next http.Handler) http.Handler {
	var real atomic.Value
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if id, ok := real.Load().(string); ok && r.Header.Get(headerSession) != "" {
			r.Header.Set(headerSession, id)
		}
		recorded(isMethod("initialize"), func(res *httptest.ResponseRecorder) {
			real.Store(res.Header().Get(headerSession))
			res.Header().Set(headerSession, "bad session")
		})(next).ServeHTTP(w, r)
	})
}
