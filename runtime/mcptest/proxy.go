package mcptest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/paramheader"
	"github.com/mcpwright/mcp/runtime/wire"
)

// proxy forwards the messages of a pipe to a Streamable HTTP endpoint, and the
// endpoint's messages to the pipe.
type proxy struct {
	endpoint string
	client   *http.Client     // validates the status and the header of responses
	report   func(*Violation) // for violations that the client cannot find
	running  sync.WaitGroup   // goroutines that read responses

	writing sync.Mutex
	out     io.Writer

	mu       sync.Mutex // not locked while a request is sent
	session  string
	version  string                         // selected by the handshake, else ""
	cancels  map[string]context.CancelFunc  // of stateless requests in flight, by id
	toolArgs map[string][]paramheader.Param // for each tool, the arguments that headers repeat
}

// newProxy returns a proxy that writes the endpoint's messages to out.
func newProxy(endpoint string, client *http.Client, out io.Writer, report func(*Violation)) *proxy {
	tapped := *client
	tapped.Transport = TapTransport(report, client.Transport)
	return &proxy{
		endpoint: endpoint, client: &tapped, report: report, out: out,
		cancels: map[string]context.CancelFunc{}, toolArgs: map[string][]paramheader.Param{},
	}
}

type reportKey struct{}

// withReport returns a context with a function for the violations that only a proxy
// can find: invalid HTTP. The messages are validated on the pipe.
func withReport(ctx context.Context, report func(*Violation)) context.Context {
	return context.WithValue(ctx, reportKey{}, report)
}

// httpReport returns the function of withReport, limited to invalid HTTP.
func httpReport(ctx context.Context) func(*Violation) {
	report, ok := ctx.Value(reportKey{}).(func(*Violation))
	return func(v *Violation) {
		if ok && v.http {
			report(v)
		}
	}
}

// serveEndpoint serves a pipe with a proxy until the input or ctx ends.
func serveEndpoint(ctx context.Context, endpoint string, client *http.Client, in io.ReadCloser, out io.WriteCloser) error {
	defer out.Close()
	defer in.Close()
	ctx, cancel := context.WithCancel(ctx)
	p := newProxy(endpoint, client, out, httpReport(ctx))
	defer p.running.Wait()
	defer cancel()
	stop := context.AfterFunc(ctx, func() { in.Close() })
	defer stop()
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			p.deleteSession(ctx)
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) {
				return context.Cause(ctx)
			}
			return err
		}
		p.forward(ctx, line)
	}
}

// forward sends a message to the endpoint. Requests and batches run concurrently. After a
// notification or a response, it waits until the endpoint has accepted the message.
func (p *proxy) forward(ctx context.Context, line []byte) {
	m, _ := parseMessage(line)
	switch {
	case m.method == mcp.MethodCancelled && p.cancelStateless(line):
	case m.isRequest():
		ctx, cancel := context.WithCancel(ctx)
		p.addRequest(m, cancel)
		p.running.Go(func() { // ends with the response, at the latest with ctx
			defer p.removeRequest(m, cancel)
			p.post(ctx, m, line)
		})
	case bytes.HasPrefix(line, []byte("[")): // a batch
		p.running.Go(func() { // ends with the response, at the latest with ctx
			p.post(ctx, m, line)
		})
	default:
		p.post(ctx, m, line)
		if m.method == mcp.MethodInitialized {
			p.listen(ctx)
		}
	}
}

// addRequest stores the function that cancels a stateless request. To cancel it, a
// client ends its HTTP exchange.
func (p *proxy) addRequest(m message, cancel context.CancelFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m.params.stateless {
		p.cancels[m.id.String()] = cancel
	}
}

func (p *proxy) removeRequest(m message, cancel context.CancelFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.cancels, m.id.String())
	cancel()
}

// cancelStateless cancels the stateless request that a notification names. It
// returns false if there is no such request.
func (p *proxy) cancelStateless(line []byte) bool {
	var n struct {
		Params struct {
			RequestID json.RawMessage `json:"requestId"`
		} `json:"params"`
	}
	if json.Unmarshal(line, &n) != nil {
		return false
	}
	m, _ := parseMessage([]byte(`{"id":` + string(n.Params.RequestID) + `}`))
	p.mu.Lock()
	defer p.mu.Unlock()
	cancel := p.cancels[m.id.String()]
	if cancel == nil {
		return false
	}
	cancel()
	return true
}

// listen opens the stream of the session, and waits until it is open. A server need
// not have one.
func (p *proxy) listen(ctx context.Context) {
	opened := make(chan struct{})
	p.running.Go(func() { // ends with the stream, at the latest with ctx
		once := sync.OnceFunc(func() { close(opened) })
		defer once()
		req, err := p.request(ctx, http.MethodGet, nil, message{})
		if err != nil {
			return
		}
		req.Header.Set("Accept", mediaEvents)
		res, err := p.client.Do(req)
		if err != nil {
			return
		}
		defer res.Body.Close()
		once()
		if res.StatusCode == http.StatusOK && mediaType(res.Header) == mediaEvents {
			readEvents(res.Body, p.write)
		}
	})
	select {
	case <-opened:
	case <-time.After(closeTimeout): // the server sends its header with the first event
	case <-ctx.Done():
	}
}

// deleteSession ends the session, if there is one.
func (p *proxy) deleteSession(ctx context.Context) {
	p.mu.Lock()
	session := p.session
	p.mu.Unlock()
	if session == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	req, err := p.request(ctx, http.MethodDelete, nil, message{})
	if err != nil {
		return
	}
	if res, err := p.client.Do(req); err == nil {
		res.Body.Close()
	}
}

// write writes a message to the pipe, as one line.
func (p *proxy) write(raw []byte) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return
	}
	line := append(bytes.Clone(raw), '\n')
	for i, c := range line[:len(raw)] {
		if c == '\n' || c == '\r' {
			line[i] = ' ' // in valid JSON, line ends are only between tokens
		}
	}
	p.writing.Lock()
	defer p.writing.Unlock()
	_, _ = p.out.Write(line) // fails if the client has closed its end
}

// fail handles a message that the endpoint did not accept. A request gets an error
// response. For a notification after the handshake, fail reports a violation. A
// response is ignored, since it may be late.
func (p *proxy) fail(m message, sent []byte, err error) {
	p.mu.Lock()
	version := p.version
	p.mu.Unlock()
	switch {
	case m.method == "" || errors.Is(err, context.Canceled):
	case !m.id.IsZero():
		line, _ := wire.AppendError(nil, m.id, &wire.ErrorObject{Code: mcp.CodeInternal, Message: err.Error()})
		p.write(line)
	case !m.hasID && version != "":
		revision, _ := mcp.ParseRevision(version)
		p.report(&Violation{
			Revision: revision, From: FromServer, Method: m.method, Response: true,
			Problem: err.Error(), Message: bytes.TrimSpace(sent), http: true,
		})
	}
}
