package mcptest

import (
	"net/http"

	"github.com/mcpwright/mcp/runtime/wire"
)

// HTTPValidator validates the exchanges of all clients with a Streamable HTTP
// endpoint. Programs that observe HTTP use it; tests use [TapHandler] and
// [TapTransport]. It is safe for concurrent use.
type HTTPValidator struct{ tap *httpTap }

// NewHTTPValidator returns a validator for an endpoint that has no sessions yet.
func NewHTTPValidator() *HTTPValidator { return &HTTPValidator{newHTTPTap(nil)} }

// Begin begins an exchange. It reads the method and the header of the request, not the
// body.
func (v *HTTPValidator) Begin(r *http.Request) *HTTPExchange {
	x := &HTTPExchange{x: v.tap.begin(r)}
	x.x.report = func(n *Violation) { x.found = append(x.found, n) }
	return x
}

// Forget forgets a session that has ended.
func (v *HTTPValidator) Forget(session string) {
	v.tap.mu.Lock()
	defer v.tap.mu.Unlock()
	delete(v.tap.sessions, session)
}

// HTTPExchange is an HTTP request and its response. Call its methods in the order in
// which the parts of the exchange were sent. Each returns the violations of its part.
// It is not safe for concurrent use.
type HTTPExchange struct {
	x     *exchange
	found []*Violation
}

// Revision returns the current revision of the session.
func (x *HTTPExchange) Revision() wire.Revision { return x.x.validator.Revision() }

// CheckRequest validates the body of a POST request.
func (x *HTTPExchange) CheckRequest(body []byte) []*Violation {
	x.x.posted = body
	x.x.sent, x.x.sentOne = parseMessage(body)
	x.x.check(FromClient, body)
	return x.take()
}

// CheckHeader validates the status and the header of the response.
func (x *HTTPExchange) CheckHeader(status int, header http.Header) []*Violation {
	x.x.header(status, header)
	return x.take()
}

// CheckEvent validates the data of an event with a message, if the response is a stream.
func (x *HTTPExchange) CheckEvent(data []byte) []*Violation {
	x.x.check(FromServer, data)
	return x.take()
}

// CheckBody validates the body of the response, if the response is not a stream.
func (x *HTTPExchange) CheckBody(status int, body []byte) []*Violation {
	x.x.body(status, body)
	return x.take()
}

func (x *HTTPExchange) take() []*Violation {
	found := x.found
	x.found = nil
	return found
}
