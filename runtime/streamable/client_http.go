package streamable

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/mcpwright/mcp/runtime/internal/buffer"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// clientHTTP makes the HTTP requests to one endpoint.
type clientHTTP struct {
	client *http.Client
	own    *http.Transport // nil where the transport is somebody else's
	header http.Header     // of every request
	most   int             // bytes of a body that is read as a whole
}

// newClientHTTP returns what makes the requests that the options describe.
func newClientHTTP(o *ClientOptions) *clientHTTP {
	h := &clientHTTP{header: o.Header, most: o.JSONRPC.MaxMessage}
	var client http.Client
	if o.HTTPClient != nil {
		client = *o.HTTPClient
	} else {
		h.own = newClientTransport()
		client.Transport = h.own
	}
	client.CheckRedirect = clientRedirects(client.CheckRedirect)
	h.client = &client
	return h
}

// newClientTransport returns a transport that gives up on servers that cannot
// be reached or are gone, and waits for those that take their time: how long a
// call may take is known to the dispatcher.
func newClientTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: 15 * time.Second, KeepAlive: 15 * time.Second}
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         dialer.DialContext,
		ForceAttemptHTTP2:   true,
		HTTP2:               &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
		TLSHandshakeTimeout: 15 * time.Second,
		MaxIdleConnsPerHost: 64,
		IdleConnTimeout:     90 * time.Second,

		MaxResponseHeaderBytes: 1 << 20,
	}
}

// mostRedirects is how often one request is redirected.
const mostRedirects = 5

// clientRedirects follows a redirect where no credentials and no message go
// astray: within the origin, with the method kept, and if own allows it, too.
// Otherwise the redirect itself is the response.
func clientRedirects(own func(*http.Request, []*http.Request) error) func(*http.Request, []*http.Request) error {
	return func(req *http.Request, via []*http.Request) error {
		first := via[0]
		if len(via) > mostRedirects || req.Method != first.Method || !sameOrigin(req.URL, first.URL) {
			return http.ErrUseLastResponse
		}
		if own != nil {
			return own(req, via)
		}
		return nil
	}
}

func sameOrigin(a, b *url.URL) bool {
	return strings.EqualFold(a.Scheme, b.Scheme) && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

func port(u *url.URL) string {
	switch p := u.Port(); {
	case p != "":
		return p
	case strings.EqualFold(u.Scheme, "https"):
		return "443"
	}
	return "80"
}

// parseEndpoint reads the URL of a server.
func parseEndpoint(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, errors.New("URL of the server: it is no URL such as https://example.com/mcp") // why would quote it, and it may hold a password
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("URL of the server: scheme %q is neither http nor https", u.Scheme)
	case u.Host == "":
		return nil, errors.New("URL of the server: no host")
	}
	return u, nil
}

// display is how errors show a URL: without credentials and query.
func display(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// request returns a request with a header of its own; data is the body of a
// POST. What the protocol says in headers is left to the caller.
func (h *clientHTTP) request(ctx context.Context, method string, to *url.URL, own http.Header, data []byte) *http.Request {
	header := make(http.Header, len(h.header)+len(own)+8)
	for _, from := range []http.Header{h.header, own} {
		for name, values := range from {
			header[http.CanonicalHeaderKey(name)] = values
		}
	}
	for _, name := range protocolHeaders {
		delete(header, name)
	}
	req := &http.Request{Method: method, URL: to, Host: to.Host, Header: header, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	if method == http.MethodPost {
		header[headerContentType] = valueJSON
		req.ContentLength = int64(len(data))
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
		req.Body, _ = req.GetBody()
	}
	return req.WithContext(ctx)
}

// do makes a request. A response is one with a status of success, whose body
// the caller closes; another one is an *HTTPError, with what is in the body
// about the request id.
func (h *clientHTTP) do(req *http.Request, id wire.RequestID) (*http.Response, error) {
	res, err := h.client.Do(req)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err
		}
		return nil, fmt.Errorf("%s %q: %w", req.Method, display(req.URL), err)
	}
	if res.StatusCode/100 != 2 {
		defer res.Body.Close()
		return nil, h.refusal(req, res, id)
	}
	return res, nil
}

// refusal is the error of a response without success.
func (h *clientHTTP) refusal(req *http.Request, res *http.Response, id wire.RequestID) error {
	e := &HTTPError{Method: req.Method, URL: display(req.URL), Status: res.StatusCode, Header: res.Header}
	body := buffer.New()
	defer body.Free()
	defer time.AfterFunc(lingering, func() { res.Body.Close() }).Stop()
	_ = h.readAll(body, res) // as far as it goes
	e.Body = excerpt(body.Bytes)
	if m, err := wire.ReadMessage(body.Bytes, nil); err == nil && m.Error != nil && (m.ID == id || m.ID.IsZero()) {
		e.Err = (*peer.Error)(m.Error)
	}
	return e
}

// readAll appends the body of a response to p.
func (h *clientHTTP) readAll(p *buffer.Buffer, res *http.Response) error {
	if n := res.ContentLength; n > int64(h.most) {
		return errTooLong
	} else if n >= int64(cap(p.Bytes)) {
		p.Bytes = make([]byte, 0, n+1) // one more, to see the end
	}
	return readAll(p, res.Body, h.most)
}

// mostDrained is how much of the rest of a response is worth reading for a connection
// that can be used again.
const mostDrained = 64 << 10

// tell makes a request whose response says no more than that it was accepted.
// It ends with ctx, with end, and after so long.
func (h *clientHTTP) tell(req *http.Request, end context.Context, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(req.Context(), patience)
	defer cancel()
	defer context.AfterFunc(end, cancel)()
	res, err := h.do(req.WithContext(ctx), wire.RequestID{})
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if mediaType(res.Header) != mediaEvents { // which may go on for ever
		defer time.AfterFunc(lingering, cancel).Stop()
		_, _ = io.CopyN(io.Discard, res.Body, mostDrained)
	}
	return nil
}

// close lets go of connections.
func (h *clientHTTP) close() {
	if h.own != nil {
		h.own.CloseIdleConnections()
	}
}

// notWritten marks an error that came before anything was sent.
func notWritten(err error) error { return fmt.Errorf("%w: %w", jsonrpc.ErrNotWritten, err) }
