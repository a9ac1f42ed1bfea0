package scale

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"sync"
	"time"
)

// newTransport returns the default transport between replicas.
func newTransport() *http.Transport {
	return &http.Transport{
		DialContext:         (&net.Dialer{Timeout: dialTimeout}).DialContext,
		MaxIdleConnsPerHost: 256,
		IdleConnTimeout:     time.Minute,
		DisableCompression:  true,
		Protocols:           httpOnly(),
	}
}

// httpOnly returns HTTP/1.1, which is faster between replicas than HTTP/2.
func httpOnly() *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP1(true)
	return p
}

// errMisdirected is the error of a forwarded request whose session has moved.
var errMisdirected = errors.New("the session has moved")

// forward sends a request to the owner of its session, and the response to the client. It returns
// false if the owner has not handled the request, and nothing was sent to the client.
func (e *endpoint) forward(w http.ResponseWriter, r *http.Request, id string, owner *member, body *replayableBody) bool {
	if !body.replayable() {
		return false
	}
	if body.rest != nil {
		// Otherwise net/http closes the body when the response begins, perhaps before the proxy has
		// seen its end, which breaks the connection to the owner. Servers without the function do not
		// close it.
		_ = http.NewResponseController(w).EnableFullDuplex()
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	stop := context.AfterFunc(owner.ctx, cancel) // the owner is gone
	defer stop()
	var failed error
	proxy := httputil.ReverseProxy{
		Transport: e.node.opts.Transport, BufferPool: &copyBuffers, ErrorLog: discarded, FlushInterval: -1,
		Rewrite: func(p *httputil.ProxyRequest) { e.rewrite(p, id, owner, body) },
		ModifyResponse: func(res *http.Response) error {
			if res.StatusCode == http.StatusMisdirectedRequest {
				return errMisdirected
			}
			return nil
		},
		ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, err error) { failed = err },
	}
	proxy.ServeHTTP(w, r.WithContext(ctx))
	switch {
	case failed == nil:
		return true
	case r.Context().Err() != nil:
		return true // the client is gone
	case isUnhandled(failed):
		return false
	case r.Method != http.MethodPost && owner.ctx.Err() != nil:
		return false // the request can be repeated
	case body.requestID().IsZero():
		refuse(w, http.StatusServiceUnavailable, body.requestID(), "The replica that has the session cannot be reached. Try again later.", "")
	default:
		refuse(w, http.StatusBadGateway, body.requestID(), "The server that handled the request is gone. The request may have had effects.", "owner-lost")
	}
	return true
}

// rewrite prepares a request for the owner of its session.
func (e *endpoint) rewrite(p *httputil.ProxyRequest, id string, owner *member, body *replayableBody) {
	p.Out.URL.Scheme, p.Out.URL.Host = owner.base.Scheme, owner.base.Host
	p.Out.Host = p.In.Host // for the checks of the owner
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if values := p.In.Header[name]; values != nil {
			p.Out.Header[name] = values
		}
	}
	p.Out.Header[headerHop] = []string{e.node.keys.Sign(hopPurpose, id+" "+owner.tag)}
	p.Out.Body = body.reader()
	if body.rest == nil {
		p.Out.ContentLength = int64(len(body.first))
		p.Out.GetBody = func() (io.ReadCloser, error) { return body.reader(), nil }
	}
	if p.Out.ContentLength == 0 {
		p.Out.Body = http.NoBody
	}
}

// isUnhandled reports whether the owner has not handled a request.
func isUnhandled(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return errors.Is(err, errMisdirected) || ok && op.Op == "dial"
}

// discarded drops messages about connections that break, which are no errors of this program.
var discarded = log.New(io.Discard, "", 0)

// copyBuffers are buffers for the bodies of responses.
var copyBuffers bufferPool

type bufferPool struct{ pool sync.Pool }

// Get implements [httputil.BufferPool].
func (p *bufferPool) Get() []byte {
	if b, ok := p.pool.Get().(*[]byte); ok {
		return *b
	}
	return make([]byte, 16<<10)
}

// Put implements [httputil.BufferPool].
func (p *bufferPool) Put(b []byte) { p.pool.Put(&b) }
