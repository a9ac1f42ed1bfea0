package main

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"sync"
)

// balancer sends each request to the next replica.
type balancer struct {
	mu    sync.Mutex
	hosts []string // "" for a replica that does not run
	next  int
}

func (b *balancer) set(i int, host string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hosts[i] = host
}

// choose returns the host of the next replica that runs, or "" if there is none.
func (b *balancer) choose() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	for range b.hosts {
		b.next = (b.next + 1) % len(b.hosts)
		if host := b.hosts[b.next]; host != "" {
			return host
		}
	}
	return ""
}

// handler returns the handler of the balancer. Events of streams are sent at once.
func (b *balancer) handler() http.Handler {
	proxy := &httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite:       func(p *httputil.ProxyRequest) { p.Out.URL.Scheme, p.Out.Host = "http", p.In.Host },
		Transport:     roundTripper(b.roundTrip),
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
		},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// net/http closes the body of a request when the response begins, perhaps before the proxy has
		// read its end. The proxy then closes the connection in the middle of the response.
		_ = http.NewResponseController(w).EnableFullDuplex() // HTTP/2 does not need it
		defer r.Body.Close()                                 // otherwise net/http panics if the handler has not read the end
		proxy.ServeHTTP(w, r)
	})
}

// roundTrip sends a request to a replica. If the connection is refused, no replica has seen the request,
// and the next one gets it.
func (b *balancer) roundTrip(r *http.Request) (res *http.Response, err error) {
	err = errors.New("no replica runs")
	for range b.hosts {
		host := b.choose()
		if host == "" {
			break
		}
		out := r.Clone(r.Context())
		out.URL.Host = host
		if r.Body != nil {
			out.Body = io.NopCloser(r.Body) // the transport closes it also if the connection is refused; the proxy closes r.Body
		}
		res, err = http.DefaultTransport.RoundTrip(out)
		if op, ok := errors.AsType[*net.OpError](err); !ok || op.Op != "dial" {
			break
		}
	}
	return res, err
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
