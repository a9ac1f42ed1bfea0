package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable"
	"github.com/mcpwright/mcp/runtime/wire"
)

var errNoRevision = errors.New("there is no revision that both sides may speak")

// wrongEra says that a server does not speak the era that was tried.
type wrongEra struct {
	tried wire.Revision
	cause error
}

func (e *wrongEra) Error() string {
	if !handshake(e.tried) {
		return fmt.Sprintf("the server does not speak %s: %v", e.tried, e.cause)
	}
	if _, ok := errors.AsType[*streamable.HTTPError](e.cause); ok {
		return fmt.Sprintf("the server takes no handshake, unless by the transport that LegacySSE is for: %v", e.cause)
	}
	return fmt.Sprintf("the server takes no handshake: %v", e.cause)
}

func (e *wrongEra) Unwrap() error { return e.cause }

// judgeInitialize tells what the failure of a handshake says about the server:
// one that knows none misses what each request says in its era, or the method.
func judgeInitialize(r wire.Revision, err error) error {
	if e := peer.AsError(err); e != nil {
		switch e.Code {
		case mcp.CodeUnsupportedProtocolVersion, mcp.CodeHeaderMismatch, mcp.CodeMethodNotFound, mcp.CodeInvalidParams:
			return &wrongEra{r, err}
		}
	}
	if e, ok := errors.AsType[*streamable.HTTPError](err); ok && unknownStatus(e) {
		return &wrongEra{r, err}
	}
	return err
}

// otherwise is the error for a server that speaks no revision without handshake
// that this client does: it may speak another.
func otherwise(r wire.Revision, names []string, cause error) error {
	if _, shakes := newest(names, true); shakes {
		return &wrongEra{r, cause}
	}
	return fmt.Errorf("%w: %w", errNoRevision, cause)
}

// judgeDiscover tells what the failure of discovering says about the server.
// Only what a server of this era would say counts as a sign of it; what says
// nothing about the era is the caller's to know.
func (l *live) judgeDiscover(ctx context.Context, r wire.Revision, again bool, err error) error {
	if unsupported, ok := errors.AsType[*mcp.UnsupportedProtocolVersionError](err); ok {
		best, known := l.client.choose(unsupported.Supported)
		if known && again {
			return l.discover(ctx, best, false)
		}
		return otherwise(r, unsupported.Supported, err)
	}
	if ctx.Err() == nil && unknownEra(err) {
		return &wrongEra{r, err}
	}
	return err
}

// unknownEra tells whether a failed request may be one that the server did not
// know what to do with.
func unknownEra(err error) bool {
	if e, ok := errors.AsType[*streamable.HTTPError](err); ok {
		return unknownStatus(e)
	}
	if peer.AsError(err) != nil {
		return !modernError(err)
	}
	_, unreadable := errors.AsType[*wire.DecodeError](err)
	_, timedOut := errors.AsType[*peer.TimeoutError](err)
	_, broke := errors.AsType[*peer.ClosedError](err)
	return unreadable || timedOut || broke || errors.Is(err, streamable.ErrNoResponse)
}

// unknownStatus tells whether an HTTP error may be that of a server which did
// not know what to do with a request. Others say nothing about what it knows.
func unknownStatus(e *streamable.HTTPError) bool {
	switch e.Status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired,
		http.StatusRequestTimeout, http.StatusTooManyRequests:
		return false
	}
	return e.Status/100 == 4 && !modernError(e)
}

// refuses tells whether a server has said no, and would again. One that is busy
// or just being started says no, too, in a response that tells the difference.
func refuses(err error) bool {
	e := peer.AsError(err)
	if e == nil || e.Code == mcp.CodeInternal {
		return false
	}
	in, ok := errors.AsType[*streamable.HTTPError](err)
	return !ok || in.Status < 500 && in.Status != http.StatusTooManyRequests
}

// modernError tells whether an error is one that only servers of an era without
// handshake know.
func modernError(err error) bool {
	e := peer.AsError(err)
	if e == nil {
		return false
	}
	switch e.Code {
	case mcp.CodeHeaderMismatch, mcp.CodeMissingRequiredClientCapability, mcp.CodeUnsupportedProtocolVersion:
		return true
	}
	return false
}
