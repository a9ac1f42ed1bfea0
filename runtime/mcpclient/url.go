package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable"
	"github.com/mcpwright/mcp/runtime/wire"
)

// URL is a server that is reached over HTTP.
func URL(url string) *URLEndpoint { return &URLEndpoint{URL: url} }

// URLEndpoint is the [Endpoint] that [URL] makes. Its fields may be set before
// it is used.
type URLEndpoint struct {
	// URL is the address of the server.
	URL string
	// HTTP says how requests are made: the HTTP client, headers,
	// authorization. Its Dispatch, ToolHeaders, OnLost and OnGap are not used.
	HTTP streamable.ClientOptions
	// LegacySSE tries the transport of revision 2024-11-05, with the same
	// URL, where the server refuses to speak the newer one.
	LegacySSE bool
}

func (e *URLEndpoint) name() string { return display(e.URL) }

// display is how errors and logs show the URL of a server: without credentials
// and query.
func display(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "unreadable URL"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

func (e *URLEndpoint) dial(_ context.Context, w *wiring) (Conn, error) {
	opts := w.http(e.HTTP)
	return httpLink{streamable.NewClient(e.URL, &opts)}, nil
}

// fallback returns another way to the server where this one is refused, nil for
// none.
func (e *URLEndpoint) fallback(err error) Endpoint {
	refusal, ok := errors.AsType[*streamable.HTTPError](err)
	if !e.LegacySSE || !ok || modernError(refusal) {
		return nil
	}
	switch refusal.Status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed:
		return &sseEndpoint{e.URL, e.HTTP}
	}
	return nil
}

// LegacySSE is a server that is reached by the transport of revision 2024-11-05:
// the URL is that of its stream. The options may be nil; what [URLEndpoint] says
// of them holds here, too.
func LegacySSE(url string, opts *streamable.ClientOptions) Endpoint {
	e := &sseEndpoint{url: url}
	if opts != nil {
		e.opts = *opts
	}
	return e
}

type sseEndpoint struct {
	url  string
	opts streamable.ClientOptions
}

func (e *sseEndpoint) name() string { return display(e.url) }

func (e *sseEndpoint) dial(_ context.Context, w *wiring) (Conn, error) {
	opts := w.http(e.opts)
	return sseLink{streamable.NewLegacySSEClient(e.url, &opts)}, nil
}

// http completes the options of an HTTP client.
func (w *wiring) http(opts streamable.ClientOptions) streamable.ClientOptions {
	opts.JSONRPC, opts.ToolHeaders, opts.OnSessionLost, opts.OnEventsLost = w.dispatch, w.toolHeaders, w.lost, w.gap
	return opts
}

// httpLink is a client of Streamable HTTP as a Conn.
type httpLink struct{ *streamable.Client }

func (l httpLink) inFlight() connection.InFlight { return l.Conn().InFlight() }
func (httpLink) mirrors() bool                   { return true }
func (httpLink) relates()                        {}

// sseLink is a client of HTTP+SSE as a Conn. When its stream breaks the session
// is lost, and the client told so.
type sseLink struct{ *streamable.LegacySSEClient }

func (l sseLink) inFlight() connection.InFlight { return l.Conn().InFlight() }

// Call implements [peer.Outbound]. What comes after the end of the stream has met
// with a lost session, as far as anybody else can tell.
func (l sseLink) Call(ctx context.Context, req peer.Message, res wire.Value, opts ...peer.CallOption) error {
	err := l.LegacySSEClient.Call(ctx, req, res, opts...)
	if e, closed := errors.AsType[*peer.ClosedError](err); closed && e.Unsent {
		return fmt.Errorf("%w: %w", streamable.ErrSessionLost, err)
	}
	return err
}
