package mcptest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

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
	if err := b.exchange(ctx, e, line); err != nil {
		b.fail(e, line, err)
	}
}

// exchange is post. The error tells why a request has no answer, and why anything
// else was not taken.
func (b *bridge) exchange(ctx context.Context, e envelope, line []byte) error {
	res, err := b.send(ctx, e, line)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	answered := false
	deliver := func(message []byte) {
		answered = answered || e.asks() && e.answered(message)
		b.deliver(e, res.Header, message)
	}
	var said []byte // in place of an answer
	switch media := mediaType(res.Header); {
	case media == mediaEvents:
		stream(res.Body, deliver)
	case media == mediaJSON:
		if said, err = io.ReadAll(res.Body); err != nil {
			return err
		}
		if e.params.hasName && b.missed(ctx, e, line, said) {
			return b.exchange(ctx, e, line)
		}
		deliver(said)
	case res.StatusCode >= 300:
		said, _ = io.ReadAll(io.LimitReader(res.Body, maxShown)) // as much as there is
	}
	if answered || !e.asks() && res.StatusCode < 300 || ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("HTTP %s: %s", res.Status, cmp.Or(string(bytes.TrimSpace(said[:min(len(said), maxShown)])), "no answer"))
}

// answered tells whether a message, or one of several in an array, is one that
// its reader takes for the answer to a request.
func (e envelope) answered(message []byte) bool {
	if wire.Check(message, 0) != nil {
		return false
	}
	var list []json.RawMessage
	if json.Unmarshal(message, &list) != nil {
		list = []json.RawMessage{message}
	}
	return slices.ContainsFunc(list, func(one json.RawMessage) bool {
		a, _ := open(one)
		return a.id == e.id && (a.result != nil || a.error != nil)
	})
}

// deliver hands a message to the client, after a look at those that say what
// later requests have to know.
func (b *bridge) deliver(e envelope, header http.Header, message []byte) {
	switch e.method {
	case mcp.MethodInitialize:
		b.settle(header, message)
	case mcp.MethodListTools:
		b.learn(message)
	}
	b.write(message)
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

// fail tells the client that its request was not answered. That a notification of a
// session was not taken is a violation: nobody else would tell. An answer may come
// too late.
func (b *bridge) fail(e envelope, sent []byte, err error) {
	b.mu.Lock()
	version := b.version
	b.mu.Unlock()
	switch {
	case e.method == "" || errors.Is(err, context.Canceled):
	case !e.id.IsZero():
		line, _ := wire.AppendError(nil, e.id, &wire.ErrorObject{Code: mcp.CodeInternal, Message: err.Error()})
		b.write(line)
	case !e.hasID && version != "":
		b.report(&Violation{
			Revision: version, From: FromServer, Method: e.method, Answer: true,
			Problem: err.Error(), Message: bytes.TrimSpace(sent), carriage: true,
		})
	}
}
