package mcptest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/paramheader"
)

// HTTP returns a server that is the handler of a Streamable HTTP endpoint, asked
// for the path "/". Each connection has it listen on a port of the loopback
// interface.
func HTTP(h http.Handler) Server {
	return serveFunc(func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
		s := httptest.NewServer(h)
		defer s.Close()
		defer s.CloseClientConnections()
		return serveURL(ctx, s.URL, s.Client(), in, out)
	})
}

// URL returns a server that is a Streamable HTTP endpoint somewhere. The client
// makes the requests, and may add to them what the server wants to know; nil is
// [http.DefaultClient].
func URL(endpoint string, client *http.Client) Server {
	if client == nil {
		client = http.DefaultClient
	}
	return serveFunc(func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
		return serveURL(ctx, endpoint, client, in, out)
	})
}

// bridge carries the messages of a pipe to an endpoint and back.
type bridge struct {
	endpoint string
	client   *http.Client     // judges HTTP around the messages
	report   func(*Violation) // is told what else HTTP says wrong
	running  sync.WaitGroup   // what is being read from the endpoint

	writing sync.Mutex
	out     io.Writer

	mu      sync.Mutex // not held while anything is sent
	session string
	version string                         // what the handshake has settled
	calls   map[string]context.CancelFunc  // requests under way that have no session, by their id
	tools   map[string][]paramheader.Param // what the newest lists of tools want in headers
}

func newBridge(endpoint string, client *http.Client, out io.Writer, report func(*Violation)) *bridge {
	judged := *client
	judged.Transport = TapTransport(report, client.Transport)
	return &bridge{
		endpoint: endpoint, client: &judged, report: report, out: out,
		calls: map[string]context.CancelFunc{}, tools: map[string][]paramheader.Param{},
	}
}

// serveURL serves a pipe by an endpoint.
func serveURL(ctx context.Context, endpoint string, client *http.Client, in io.ReadCloser, out io.WriteCloser) error {
	defer out.Close()
	defer in.Close()
	ctx, cancel := context.WithCancel(ctx)
	b := newBridge(endpoint, client, out, reportFrom(ctx))
	defer b.running.Wait()
	defer cancel()
	stop := context.AfterFunc(ctx, func() { in.Close() })
	defer stop()
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			b.leave(ctx)
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) {
				return context.Cause(ctx)
			}
			return err
		}
		b.carry(ctx, line)
	}
}

// carry takes a message to the endpoint. Requests are under way at the same
// time; nothing comes after a notification or an answer before that has arrived.
func (b *bridge) carry(ctx context.Context, line []byte) {
	e, _ := open(line)
	switch {
	case e.method == mcp.MethodCancelled && b.abort(line):
	case e.asks():
		ctx, cancel := context.WithCancel(ctx)
		b.begin(e, cancel)
		b.running.Go(func() { // ends with its answer, at the latest with ctx
			defer b.end(e, cancel)
			b.post(ctx, e, line)
		})
	default:
		b.post(ctx, e, line)
		if e.method == mcp.MethodInitialized {
			b.listen(ctx)
		}
	}
}

// begin remembers how to end a request by ending its exchange, which is how that
// is done where there is no session.
func (b *bridge) begin(e envelope, cancel context.CancelFunc) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e.params.hasName {
		b.calls[e.id.String()] = cancel
	}
}

func (b *bridge) end(e envelope, cancel context.CancelFunc) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.calls, e.id.String())
	cancel()
}

// abort ends a request that has no session. It returns false where that is not
// known.
func (b *bridge) abort(line []byte) bool {
	var n struct {
		Params struct {
			RequestID json.RawMessage `json:"requestId"`
		} `json:"params"`
	}
	if json.Unmarshal(line, &n) != nil {
		return false
	}
	e, _ := open([]byte(`{"id":` + string(n.Params.RequestID) + `}`))
	b.mu.Lock()
	defer b.mu.Unlock()
	cancel := b.calls[e.id.String()]
	if cancel == nil {
		return false
	}
	cancel()
	return true
}

// listen opens the stream of what the server sends by itself, and waits until it
// is open. Servers need not have one.
func (b *bridge) listen(ctx context.Context) {
	opened := make(chan struct{})
	b.running.Go(func() { // ends with the stream, at the latest with ctx
		once := sync.OnceFunc(func() { close(opened) })
		defer once()
		req, err := b.request(ctx, http.MethodGet, nil, envelope{})
		if err != nil {
			return
		}
		req.Header.Set("Accept", mediaEvents)
		res, err := b.client.Do(req)
		if err != nil {
			return
		}
		defer res.Body.Close()
		once()
		if res.StatusCode == http.StatusOK && mediaType(res.Header) == mediaEvents {
			stream(res.Body, b.write)
		}
	})
	select {
	case <-opened:
	case <-time.After(patience): // a server that says nothing before its first event
	case <-ctx.Done():
	}
}

// leave ends the session.
func (b *bridge) leave(ctx context.Context) {
	b.mu.Lock()
	session := b.session
	b.mu.Unlock()
	if session == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	req, err := b.request(ctx, http.MethodDelete, nil, envelope{})
	if err != nil {
		return
	}
	if res, err := b.client.Do(req); err == nil {
		res.Body.Close()
	}
}
