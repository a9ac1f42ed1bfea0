package client

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
	"github.com/mcpwright/mcp/runtime/internal/challenge"
	"github.com/mcpwright/mcp/runtime/internal/serverurl"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable/internal/mcphttp"
	"github.com/mcpwright/mcp/runtime/wire"
)

// ErrSessionLost is in the chain of errors of calls whose session the server does not
// have any more. The server has not processed the call, which may be repeated. A new
// initialize on the same client begins a new session.
var ErrSessionLost = errors.New("the server has ended the session")

// ErrNoResponse is in the chain of errors of calls that the server accepted without
// sending a response: the stream ended before the response, or the HTTP response
// contained something else. The server may have processed the call.
var ErrNoResponse = errors.New("no response to the request")

// HTTPError is an HTTP response to a message with a status other than success. It fails
// only the call of that message. If the body contains a JSON-RPC error, the
// *[peer.Error] is in its chain.
type HTTPError struct {
	// Method and URL are the method and the URL of the request. The URL has neither
	// credentials nor a query.
	Method, URL string
	// Status is the status code, such as 502.
	Status int
	// Header is the header of the response. It must not be modified.
	Header http.Header
	// Body is the beginning of the body, as text.
	Body string
	// Err is the JSON-RPC error in the body, [ErrSessionLost], or nil.
	Err error
}

// Error implements error.
func (e *HTTPError) Error() string {
	text := fmt.Sprintf("%s %q: %d", e.Method, e.URL, e.Status)
	if name := http.StatusText(e.Status); name != "" {
		text += " " + name
	}
	if to := e.Header.Get("Location"); e.Status/100 == 3 && to != "" {
		text += fmt.Sprintf(": redirect to %q not followed", to)
	}
	if e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden {
		if reason := challenge.Reason(e.Header); reason != "" {
			text += ": " + reason
		}
	}
	switch {
	case e.Err != nil:
		text += ": " + e.Err.Error()
	case e.Body != "":
		text += fmt.Sprintf(": %q", e.Body)
	}
	return text
}

// Unwrap returns Err.
func (e *HTTPError) Unwrap() error { return e.Err }

// Temporary reports whether the same request may succeed later.
func (e *HTTPError) Temporary() bool {
	switch e.Status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return e.Status >= 500 && e.Status != http.StatusNotImplemented
}

// excerptSize is the number of bytes of a body that an error contains.
const excerptSize = 512

// excerpt returns the beginning of a body as text.
func excerpt(body []byte) string {
	text := strings.TrimSpace(string(body[:min(len(body), excerptSize)]))
	return strings.ToValidUTF8(text, "?")
}

// httpClient sends HTTP requests to one endpoint.
type httpClient struct {
	client    *http.Client
	transport *http.Transport                   // nil if the transport belongs to the caller
	header    http.Header                       // of each request
	more      func(context.Context) http.Header // replace those of header
	maxBody   int                               // maximum number of bytes of a body
}

// newHTTPClient returns an httpClient with the options.
func newHTTPClient(o *Options) *httpClient {
	h := &httpClient{header: o.Header, more: o.HeaderFunc, maxBody: o.JSONRPC.MaxMessage}
	var client http.Client
	if o.HTTPClient != nil {
		client = *o.HTTPClient
	} else {
		h.transport = newTransport()
		client.Transport = h.transport
	}
	client.CheckRedirect = checkRedirect(client.CheckRedirect)
	h.client = &client
	return h
}

// newTransport returns a transport that has timeouts for connecting and detects dead
// connections. It has no timeout for responses: the JSON-RPC connection has the
// timeouts of calls.
func newTransport() *http.Transport {
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

// request returns a request with the headers of the options and own. Data is the body
// of a POST. The caller sets the headers of the protocol.
func (h *httpClient) request(ctx context.Context, method string, to *url.URL, own map[string][]string, data []byte) *http.Request {
	header := make(http.Header, len(h.header)+len(own)+8)
	var more http.Header
	if h.more != nil {
		more = h.more(ctx)
	}
	for _, from := range []http.Header{h.header, more, own} {
		for name, values := range from {
			header[http.CanonicalHeaderKey(name)] = values
		}
	}
	for _, name := range protocolHeaders {
		delete(header, name)
	}
	req := &http.Request{Method: method, URL: to, Host: to.Host, Header: header, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	if method == http.MethodPost {
		header[mcphttp.HeaderContentType] = mcphttp.ValueJSON
		req.ContentLength = int64(len(data))
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
		req.Body, _ = req.GetBody()
	}
	return req.WithContext(ctx)
}

// protocolHeaders are the headers that callers cannot set.
var protocolHeaders = []string{
	mcphttp.HeaderAccept, mcphttp.HeaderContentType, mcphttp.HeaderVersion, mcphttp.HeaderSession, mcphttp.HeaderMethod, mcphttp.HeaderName, mcphttp.HeaderLastEvent,
	"Connection", "Content-Encoding", "Content-Length", "Transfer-Encoding",
}

// dialError is the error of a request whose connection could not be opened.
type dialError struct{ error }

func (e *dialError) Unwrap() error { return e.error }

// Temporary reports that the same request may succeed later.
func (e *dialError) Temporary() bool { return true }

// do sends a request. If the status is not a success, it returns an *HTTPError, which
// contains the JSON-RPC error of the body if that is for the request id. Otherwise the
// caller closes the body.
func (h *httpClient) do(req *http.Request, id wire.RequestID) (*http.Response, error) {
	res, err := h.client.Do(req)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err
		}
		if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
			err = &dialError{err}
		}
		return nil, fmt.Errorf("%s %q: %w", req.Method, serverurl.Redact(req.URL), err)
	}
	if res.StatusCode/100 != 2 {
		defer res.Body.Close()
		return nil, h.statusError(req, res, id)
	}
	return res, nil
}

// statusError returns the error of a response whose status is not a success.
func (h *httpClient) statusError(req *http.Request, res *http.Response, id wire.RequestID) error {
	e := &HTTPError{Method: req.Method, URL: serverurl.Redact(req.URL), Status: res.StatusCode, Header: res.Header}
	body := buffer.New()
	defer body.Free()
	defer time.AfterFunc(drainTimeout, func() { res.Body.Close() }).Stop()
	_ = h.readAll(body, res) // a part of the body is enough
	e.Body = excerpt(body.Bytes)
	if m, err := wire.ReadMessage(body.Bytes, nil); err == nil && m.Error != nil && (m.ID == id || m.ID.IsZero()) {
		e.Err = (*peer.Error)(m.Error)
	}
	return e
}

// unexpectedType returns the error of a response that is no message, such as the page of a web
// server. The error contains the beginning of the body.
func unexpectedType(endpoint *url.URL, res *http.Response) error {
	defer time.AfterFunc(drainTimeout, func() { res.Body.Close() }).Stop()
	body, _ := io.ReadAll(io.LimitReader(res.Body, excerptSize)) // a part of the body is enough
	return fmt.Errorf("response of %q: unexpected content type %q: %q",
		serverurl.Redact(endpoint), res.Header.Get(mcphttp.HeaderContentType), excerpt(body))
}

// readAll appends the body of a response to p.
func (h *httpClient) readAll(p *buffer.Buffer, res *http.Response) error {
	if n := res.ContentLength; n > int64(h.maxBody) {
		return mcphttp.ErrBodyTooLong
	} else if n >= int64(cap(p.Bytes)) {
		p.Bytes = make([]byte, 0, n+1) // one more byte, so that reading the end needs no more space
	}
	return mcphttp.ReadBody(p, res.Body, h.maxBody)
}

// send sends a request whose response has no content. It ends with the context of the
// request, with end, or after the timeout.
func (h *httpClient) send(req *http.Request, end context.Context, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(req.Context(), timeout)
	defer cancel()
	defer context.AfterFunc(end, cancel)()
	res, err := h.do(req.WithContext(ctx), wire.RequestID{})
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if mcphttp.MediaType(res.Header) != mcphttp.MediaEvents { // a stream may never end
		defer time.AfterFunc(drainTimeout, cancel).Stop()
		_, _ = io.CopyN(io.Discard, res.Body, maxDrained)
	}
	return nil
}

// maxDrained limits the bytes that are read from the rest of a response so that its
// connection can be reused.
const maxDrained = 64 << 10

// drainTimeout limits the wait for the end of a response whose content is complete. A
// connection can be reused only after the whole response has been read.
const drainTimeout = time.Second

// close closes idle connections.
func (h *httpClient) close() {
	if h.transport != nil {
		h.transport.CloseIdleConnections()
	}
}

// maxRedirects limits the redirects of one request.
const maxRedirects = 5

// checkRedirect follows a redirect only within the origin and with the same method, so
// that neither credentials nor messages reach another server, and only if own, when not
// nil, allows it. Other redirects are returned as responses.
func checkRedirect(own func(*http.Request, []*http.Request) error) func(*http.Request, []*http.Request) error {
	return func(req *http.Request, via []*http.Request) error {
		first := via[0]
		if len(via) > maxRedirects || req.Method != first.Method || !sameOrigin(req.URL, first.URL) {
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

// notWritten wraps an error that occurred before anything was sent.
func notWritten(err error) error { return fmt.Errorf("%w: %w", jsonrpc.ErrNotWritten, err) }
