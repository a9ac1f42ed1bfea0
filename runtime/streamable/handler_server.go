package streamable

import (
	"net/http"
	"time"
)

// NewHTTPServer returns a server for a handler, with bounds on what a client can
// make it wait for. There is none on how long an answer takes: streams last, and
// a [Handler] has a bound of its own for what it writes, see
// [Options].WriteTimeout. Address and handler are as in [http.ListenAndServe].
//
//	server := streamable.NewHTTPServer("localhost:8080", mux)
//	go server.ListenAndServe()
//	…
//	handler.Shutdown(ctx)
//	server.Shutdown(ctx)
func NewHTTPServer(addr string, handler http.Handler) *http.Server {
	return &http.Server{
		Addr:              addr,
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
	}
}
