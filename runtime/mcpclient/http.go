package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/serverurl"
	"github.com/mcpwright/mcp/runtime/peer"
	httpclient "github.com/mcpwright/mcp/runtime/streamable/client"
	"github.com/mcpwright/mcp/runtime/wire"
)

// URL returns the endpoint of a server over Streamable HTTP.
func URL(url string) *URLEndpoint { return &URLEndpoint{URL: url} }

// URLEndpoint is the [Endpoint] of [URL]. Its fields must not change after the first use.
type URLEndpoint struct {
	// URL is the address of the server.
	URL string
	// HTTP configures the HTTP requests: the HTTP client, headers, authorization. Its fields
	// JSONRPC, ToolHeaders, OnSessionLost and OnEventsLost are not used.
	HTTP httpclient.Options
	// LegacySSE enables the HTTP+SSE transport of revision 2024-11-05, at the same URL, if the
	// server does not support Streamable HTTP.
	LegacySSE bool
}

func (e *URLEndpoint) name() string { return serverurl.RedactText(e.URL) }

func (e *URLEndpoint) dial(_ context.Context, o *dialOptions) (Conn, error) {
	if _, err := serverurl.Parse(e.URL); err != nil {
		return nil, err
	}
	opts := o.clientOptions(e.HTTP)
	return httpConn{httpclient.New(e.URL, &opts)}, nil
}

// fallback returns the endpoint to try after err, or nil. The returned error is err, with a hint if
// the endpoint is nil and another URL or transport may help.
func (e *URLEndpoint) fallback(err error) (Endpoint, error) {
	httpErr, ok := errors.AsType[*httpclient.HTTPError](err)
	if !ok || isStatelessError(httpErr) {
		return nil, err
	}
	hint := "use LegacySSE if the server has the HTTP+SSE transport of 2024-11-05"
	switch httpErr.Status {
	case http.StatusNotFound:
		hint = "is the path of the URL right? " + hint
	case http.StatusBadRequest, http.StatusMethodNotAllowed:
	default:
		return nil, err
	}
	if e.LegacySSE {
		return &sseEndpoint{e.URL, e.HTTP}, err
	}
	return nil, fmt.Errorf("%w (%s)", err, hint)
}

// LegacySSE returns the endpoint of a server over the HTTP+SSE transport of revision 2024-11-05.
// The URL is the address of the event stream. The options may be nil; the same fields are unused as
// in [URLEndpoint].HTTP.
func LegacySSE(url string, opts *httpclient.Options) Endpoint {
	e := &sseEndpoint{url: url}
	if opts != nil {
		e.opts = *opts
	}
	return e
}

type sseEndpoint struct {
	url  string
	opts httpclient.Options
}

func (e *sseEndpoint) name() string { return serverurl.RedactText(e.url) }

func (e *sseEndpoint) dial(_ context.Context, o *dialOptions) (Conn, error) {
	if _, err := serverurl.Parse(e.url); err != nil {
		return nil, err
	}
	opts := o.clientOptions(e.opts)
	return sseConn{httpclient.NewLegacySSE(e.url, &opts)}, nil
}

// clientOptions completes the options of an HTTP client.
func (o *dialOptions) clientOptions(opts httpclient.Options) httpclient.Options {
	opts.JSONRPC, opts.ToolHeaders = o.jsonrpc, o.toolHeaders
	opts.OnSessionLost, opts.OnEventsLost = o.onSessionLost, o.onEventsLost
	return opts
}

type httpConn struct{ *httpclient.Client }

func (c httpConn) inFlight() connection.InFlight { return c.Conn().InFlight() }
func (httpConn) sendsToolHeaders()               {}
func (httpConn) relatesToCalls()                 {}

// sseConn loses its session when its event stream ends.
type sseConn struct{ *httpclient.LegacySSE }

func (c sseConn) inFlight() connection.InFlight { return c.Conn().InFlight() }

// Call implements [peer.Outbound]. After the end of the event stream it returns
// [httpclient.ErrSessionLost].
func (c sseConn) Call(ctx context.Context, req peer.Message, res wire.Value, opts ...peer.CallOption) error {
	err := c.LegacySSE.Call(ctx, req, res, opts...)
	if e, closed := errors.AsType[*peer.ClosedError](err); closed && e.Unsent {
		return fmt.Errorf("%w: %w", httpclient.ErrSessionLost, err)
	}
	return err
}
