package proxy

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"

	"github.com/mcpwright/mcp/cmd/mcpwright/internal/wiretrace"
)

// Handler returns a handler that passes each request to the server of a URL, with the
// path of the request, and shows the exchange to a recorder. Bodies and end-to-end headers
// are not changed, except Host, which names the server. Streams are passed on at once.
func Handler(target *url.URL, recorder *wiretrace.Recorder) http.Handler {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableCompression = true // a body is passed on as it is
	transport.MaxIdleConnsPerHost = 100
	path := target.Path
	if path == "" {
		path = "/"
	}
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.URL.User, r.Out.Host = target.Scheme, target.Host, target.User, ""
			r.Out.URL.RawQuery = r.In.URL.RawQuery // also if it is invalid
			keepForwarded(r.In.Header, r.Out.Header)
		},
		Transport: &observed{transport, recorder, path}, FlushInterval: -1,
		ErrorLog: log.New(io.Discard, "", 0), ErrorHandler: unreachable,
	}
}

// OnLoopback returns a handler for a server at a loopback address. It refuses requests
// whose Host is not a name of this machine, because any web page could send them (DNS
// rebinding).
func OnLoopback(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isLoopback(r.Host) {
			http.Error(w, fmt.Sprintf("mcpwright: the host %q is not an address of this machine", r.Host), http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// keepForwarded restores the headers that the reverse proxy removes from a request.
func keepForwarded(in, out http.Header) {
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if values, ok := in[name]; ok {
			out[name] = values
		}
	}
}

// unreachable responds if the server has not responded.
func unreachable(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() == nil { // the client waits
		http.Error(w, fmt.Sprintf("mcpwright trace: no response from %s: %v", r.URL.Host, err), http.StatusBadGateway)
	}
}

// isLoopback reports whether the host of a request, with or without a port, is a name of
// this machine.
func isLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// Observe returns a transport that shows its exchanges to a recorder. The path is the path of the
// MCP endpoint.
func Observe(next http.RoundTripper, recorder *wiretrace.Recorder, path string) http.RoundTripper {
	return &observed{next, recorder, path}
}

// observed is a transport that shows exchanges to a recorder.
type observed struct {
	next     http.RoundTripper
	recorder *wiretrace.Recorder
	path     string // of the MCP endpoint
}

// RoundTrip implements [http.RoundTripper].
func (t *observed) RoundTrip(r *http.Request) (*http.Response, error) {
	x := t.recorder.Exchange(r, r.URL.Path == t.path)
	if r.Body == nil || r.Body == http.NoBody {
		x.SentAll()
	} else {
		r = r.WithContext(r.Context()) // a copy, because the caller owns r
		r.Body = &observedBody{ReadCloser: r.Body, read: x.Sent, ended: x.SentAll}
	}
	res, err := t.next.RoundTrip(r)
	if err != nil {
		x.Failed(err)
		return nil, err
	}
	x.Header(res.StatusCode, res.Header)
	res.Body = &observedBody{ReadCloser: res.Body, read: x.Received, ended: x.ReceivedAll}
	return res, nil
}

// observedBody shows the bytes of a body before it returns them.
type observedBody struct {
	io.ReadCloser
	read  func([]byte)
	ended func()
	once  sync.Once
}

// Read implements [io.Reader].
func (b *observedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.read(p[:n])
	}
	if err != nil {
		b.once.Do(b.ended)
	}
	return n, err
}

// Close implements [io.Closer].
func (b *observedBody) Close() error {
	b.once.Do(b.ended)
	return b.ReadCloser.Close()
}
