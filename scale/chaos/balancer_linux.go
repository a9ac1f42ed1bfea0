package chaos

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"sync"
	"time"
)

// balancer sends each request to the next replica. If a replica does not accept the connection, it tries the
// next one.
type balancer struct {
	mu        sync.Mutex
	links     []*link
	next      int
	transport *http.Transport
}

func newBalancer(links []*link) *balancer {
	b := &balancer{links: links}
	b.transport = &http.Transport{MaxIdleConnsPerHost: 256, DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
		return dialLink(ctx, address)
	}}
	return b
}

// choose returns the link to the next replica.
func (b *balancer) choose() *link {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next = (b.next + 1) % len(b.links)
	return b.links[b.next]
}

// handler returns the handler of the balancer. Events of streams are sent at once.
func (b *balancer) handler() http.Handler {
	return &httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite:       func(p *httputil.ProxyRequest) { p.Out.URL.Scheme, p.Out.Host = "http", p.In.Host },
		Transport:     b,
		ErrorLog:      slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			if refusedDial(err) {
				w.Header().Set("Retry-After", "1")
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			w.WriteHeader(http.StatusBadGateway)
		},
	}
}

// RoundTrip implements [http.RoundTripper].
func (b *balancer) RoundTrip(r *http.Request) (res *http.Response, err error) {
	var body []byte
	if r.Body != nil {
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	for range b.links {
		out := r.Clone(r.Context())
		out.URL.Host = b.choose().address()
		out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		if len(body) == 0 {
			out.Body = http.NoBody
		}
		if res, err = b.transport.RoundTrip(out); !refusedDial(err) {
			break
		}
	}
	return res, err
}

// refusedDial reports whether a request was not sent.
func refusedDial(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

// serve serves the balancer, until close is called.
func (b *balancer) serve() (address string, end func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	s := &http.Server{Handler: b.handler(), ReadHeaderTimeout: time.Minute}
	go s.Serve(listener) // ends with Close
	return listener.Addr().String(), func() {
		_ = s.Close()
		b.transport.CloseIdleConnections()
	}, nil
}
