package mcptest

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/mcpwright/mcp/generated/mcp"
)

// head judges what a response says before its content.
func (x *exchange) head(status int, h http.Header) {
	media := mediaType(h)
	switch {
	case media == mediaEvents && status >= 300:
		x.wrong(x.posted, status, "a stream has the status 200")
	case status >= 300:
	case x.listens && media != mediaEvents:
		x.wrong(x.posted, status, "a stream has the content type %q, not %q; where there is none the status is 405", mediaEvents, h.Get("Content-Type"))
	case x.sent.asks() && status != http.StatusOK:
		x.wrong(x.posted, status, "a request is answered with the status 200")
	case x.sent.asks() && media != mediaJSON && media != mediaEvents:
		x.wrong(x.posted, status, "the content type of an answer is %q or %q, not %q", mediaJSON, mediaEvents, h.Get("Content-Type"))
	case x.says && !x.sent.asks() && status != http.StatusAccepted:
		x.wrong(x.posted, status, "what wants no answer is taken with the status 202")
	}
	switch sessions := h.Values(headerSession); {
	case len(sessions) == 0:
	case len(sessions) > 1 || strings.ContainsFunc(sessions[0], unprintable):
		x.wrong(x.posted, status, "a session id is one word of visible ASCII, not %q", sessions)
	case x.session != "" && sessions[0] != x.session:
		x.wrong(x.posted, status, "the session of the request is %q, not %q", x.session, sessions[0])
	}
}

func unprintable(r rune) bool { return r <= ' ' || r > '~' }

// fit judges the status of an answer that is one piece of JSON.
func (x *exchange) fit(status int, message []byte) {
	answer, _ := open(message)
	want := statusOf(x.judge.Revision(), answer)
	if !x.sent.asks() || want == 0 || want == status || want == http.StatusOK && status < 300 {
		return
	}
	x.wrong(message, status, "such an answer has the status %d", want)
}

// statusOf is the status that an answer has to have, 0 where that is not settled.
func statusOf(revision string, answer envelope) int {
	r, _ := mcp.ParseRevision(revision)
	switch code := answer.code(); {
	case answer.result != nil:
		return http.StatusOK
	case handshake(r):
		return 0
	case code == mcp.CodeMethodNotFound:
		return http.StatusNotFound
	case code == mcp.CodeHeaderMismatch, code == mcp.CodeMissingRequiredClientCapability, code == mcp.CodeUnsupportedProtocolVersion:
		return http.StatusBadRequest
	}
	return 0
}

// wrong reports what HTTP says around a message.
func (x *exchange) wrong(message []byte, status int, format string, args ...any) {
	response := strings.TrimSpace(fmt.Sprintf("HTTP %d %s", status, http.StatusText(status)))
	x.traffic.report(&Violation{
		Revision: cmp.Or(x.sent.params.version, x.judge.Revision()), From: FromServer, Method: x.sent.method, Answer: true,
		Problem: response + ": " + fmt.Sprintf(format, args...), Message: message, carriage: true,
	})
}

type reportKey struct{}

// reporting is a context in which a server is served whose messages are judged
// elsewhere, and HTTP around them by whoever knows of it.
func reporting(ctx context.Context, report func(*Violation)) context.Context {
	return context.WithValue(ctx, reportKey{}, report)
}

// reportFrom returns who is told what HTTP says wrong.
func reportFrom(ctx context.Context) func(*Violation) {
	report, is := ctx.Value(reportKey{}).(func(*Violation))
	return func(v *Violation) {
		if is && v.carriage {
			report(v)
		}
	}
}
