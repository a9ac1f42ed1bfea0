package scale

import (
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"strings"
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
		// read its end. The proxy then closes the connection to the owner in the middle of the
		// response. HTTP/2 does not need it.
		_ = http.NewResponseController(w).EnableFullDuplex()
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	stop := context.AfterFunc(owner.ctx, cancel) // the owner is gone
	defer stop()
	out := e.request(ctx, r, id, owner, body)
	defer out.Body.Close() // the transport may read it after RoundTrip has returned
	res, err := e.node.opts.Transport.RoundTrip(out)
	if err == nil && res.StatusCode == http.StatusMisdirectedRequest {
		_ = res.Body.Close()
		err = errMisdirected
	}
	switch {
	case err == nil:
		copyResponse(w, res)
		return true
	case r.Context().Err() != nil:
		return true // the client is gone
	case isUnhandled(err):
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

// request returns the request to the owner of a session.
func (e *endpoint) request(ctx context.Context, r *http.Request, id string, owner *member, body *replayableBody) *http.Request {
	out := r.Clone(ctx) // with its host, for the checks of the owner
	out.RequestURI, out.Close, out.TransferEncoding = "", false, nil
	out.URL.Scheme, out.URL.Host = owner.base.Scheme, owner.base.Host
	removeHopHeaders(out.Header)
	if _, ok := out.Header["User-Agent"]; !ok {
		out.Header["User-Agent"] = []string{""} // otherwise net/http sends its own
	}
	out.Header[headerHop] = []string{e.node.keys.Sign(hopPurpose, id+" "+owner.tag)}
	out.Body = body.reader()
	if body.rest == nil {
		out.ContentLength = int64(len(body.first))
		out.GetBody = func() (io.ReadCloser, error) { return body.reader(), nil }
	}
	if out.ContentLength == 0 {
		out.Body = http.NoBody
	}
	return out
}

// copyResponse sends the response of an owner to the client, each part when it arrives. If it ends
// too early, the connection to the client ends too, so that the client notices.
//
// [net/http/httputil.ReverseProxy] does the same with a timer and a goroutine for each response.
func copyResponse(w http.ResponseWriter, res *http.Response) {
	defer res.Body.Close()
	removeHopHeaders(res.Header)
	maps.Copy(w.Header(), res.Header)
	w.WriteHeader(res.StatusCode)
	buffer := copyBuffers.Get().(*[]byte)
	defer copyBuffers.Put(buffer)
	flusher := http.NewResponseController(w)
	if res.ContentLength < 0 {
		_ = flusher.Flush() // the first event may take long
	}
	for {
		n, err := res.Body.Read(*buffer)
		if n > 0 {
			if _, err := w.Write((*buffer)[:n]); err != nil {
				panic(http.ErrAbortHandler)
			}
			if res.ContentLength < 0 {
				_ = flusher.Flush()
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			panic(http.ErrAbortHandler)
		}
	}
	for name, values := range res.Trailer {
		w.Header()[http.TrailerPrefix+name] = values
	}
}

// removeHopHeaders removes the headers that concern one connection only.
func removeHopHeaders(h http.Header) {
	for _, value := range h["Connection"] {
		for name := range strings.SplitSeq(value, ",") {
			h.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range []string{
		"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection",
		"Te", "Trailer", "Transfer-Encoding", "Upgrade",
	} {
		delete(h, name)
	}
}

// isUnhandled reports whether the owner has not handled a request.
func isUnhandled(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return errors.Is(err, errMisdirected) || ok && op.Op == "dial"
}

// copyBuffers are buffers for the bodies of responses.
var copyBuffers = sync.Pool{New: func() any { b := make([]byte, 16<<10); return &b }}
