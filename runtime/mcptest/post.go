package mcptest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/paramheader"
	"github.com/mcpwright/mcp/runtime/wire"
)

// request makes an HTTP request with what every one of them says of the session,
// or of the message that it brings.
func (b *bridge) request(ctx context.Context, method string, body []byte, e envelope) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, b.endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	session, version := b.session, b.version
	b.mu.Unlock()
	if e.params.hasName {
		version = e.params.named
		req.Header.Set(connection.HeaderMethod, e.method)
		if e.name != nil {
			req.Header.Set(connection.HeaderName, paramheader.Encode(*e.name))
		}
	} else if session != "" {
		req.Header.Set(headerSession, session)
	}
	if version != "" {
		req.Header.Set(connection.HeaderVersion, version)
	}
	return req, nil
}

// send sends a message.
func (b *bridge) send(ctx context.Context, e envelope, line []byte) (*http.Response, error) {
	req, err := b.request(ctx, http.MethodPost, line, e)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", mediaJSON)
	req.Header.Set("Accept", mediaJSON+", "+mediaEvents)
	if e.params.hasName {
		b.mirror(req, e, line)
	}
	return b.client.Do(req)
}

// post sends a message and hands on what is answered.
func (b *bridge) post(ctx context.Context, e envelope, line []byte) {
	res, err := b.send(ctx, e, line)
	if err != nil {
		b.fail(e, err)
		return
	}
	defer res.Body.Close()
	deliver := b.delivery(e, res.Header)
	switch media := mediaType(res.Header); {
	case media == mediaEvents:
		stream(res.Body, deliver)
	case media == mediaJSON:
		message, err := io.ReadAll(res.Body)
		switch {
		case err != nil:
			b.fail(e, err)
		case e.params.hasName && b.missed(ctx, e, line, message):
			b.post(ctx, e, line)
		default:
			deliver(message)
		}
	case res.StatusCode >= 300:
		text, _ := io.ReadAll(io.LimitReader(res.Body, maxShown)) // as much as there is
		b.fail(e, fmt.Errorf("HTTP %s: %s", res.Status, bytes.TrimSpace(text)))
	}
}

// delivery hands messages to the client, after a look at those that say what
// later requests have to know.
func (b *bridge) delivery(e envelope, header http.Header) func(message []byte) {
	return func(message []byte) {
		switch e.method {
		case mcp.MethodInitialize:
			b.settle(header, message)
		case mcp.MethodListTools:
			b.learn(message)
		}
		b.write(message)
	}
}

// settle remembers what a handshake has settled, before its answer is known to
// the client.
func (b *bridge) settle(h http.Header, message []byte) {
	e, _ := open(message)
	b.mu.Lock()
	defer b.mu.Unlock()
	if session := h.Get(headerSession); session != "" {
		b.session = session
	}
	if version := text(members(e.result)["protocolVersion"]); version != "" {
		b.version = version
	}
}

// stream hands on the messages of a stream, until its end.
func stream(r io.Reader, deliver func([]byte)) {
	_, _ = io.Copy(&reading{events{message: deliver}}, r) // what has come has been handed on
}

// reading takes the events of what is written to it.
type reading struct{ events events }

func (r *reading) Write(p []byte) (int, error) {
	r.events.take(p)
	return len(p), nil
}

// write hands a message to the client, as one line.
func (b *bridge) write(message []byte) {
	if len(bytes.TrimSpace(message)) == 0 {
		return
	}
	line := append(bytes.Clone(message), '\n')
	for i, c := range line[:len(message)] {
		if c == '\n' || c == '\r' {
			line[i] = ' ' // it is between tokens, or this is no JSON anyway
		}
	}
	b.writing.Lock()
	defer b.writing.Unlock()
	_, _ = b.out.Write(line) // nobody reads when the client has gone
}

// fail tells the client that its request was not answered.
func (b *bridge) fail(e envelope, err error) {
	if e.method == "" || e.id.IsZero() || errors.Is(err, context.Canceled) {
		return
	}
	line, _ := wire.AppendError(nil, e.id, &wire.ErrorObject{Code: mcp.CodeInternal, Message: err.Error()})
	b.write(line)
}
