package streamable

import (
	"context"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/buffer"
	"github.com/mcpwright/mcp/runtime/internal/lazy"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// sessionPost is a request of a session being answered. It is the
// [jsonrpc.Writer] of all that belongs to the request.
type sessionPost struct {
	response
	due time.Duration // when it beats next, 0 before anybody has looked; its session's lock guards it
}

func (s *session) newPost(w http.ResponseWriter, r *http.Request, takes accepted) *sessionPost {
	p := &sessionPost{response: response{w: w, handler: s.handler, session: s, takes: takes}}
	p.transport = TransportContext{r, p, s.principal, s.id != "" && takes.events}
	switch {
	case s.id == "": // nobody can find it to end what it handles
		p.apart = &apart{Context: lazy.Context{Context: r.Context(), Detached: true}}
	case s.replays() && s.conn.InitializeAccepted():
		p.keeps = true
		if s.handler.opts.Polling {
			p.stream = &stream{session: s, response: &p.response, parted: make(chan struct{})}
		}
	}
	return p
}

// serveApart is deliver for a request that may be left behind. It returns when the
// response is complete, or goes on without this request.
func (p *sessionPost) serveApart(ctx context.Context, m *wire.Message, token wire.ProgressToken, f *wire.Frame, buf *buffer.Buffer) {
	own, parted, done := *m, p.stream.parted, make(chan struct{})
	go func() { // ends when the request has been handled, at the latest with the session
		defer close(done)
		defer contain(ctx, p.handler.opts.Logger, "answer")
		p.deliver(&own, token, f, buf)
	}()
	select {
	case <-done:
	case <-parted:
	case <-ctx.Done():
		if !p.leave() {
			<-done
		}
	}
}

// contain keeps the process from ending where a store panics, as net/http does in
// goroutines of its own.
func contain(ctx context.Context, log *slog.Logger, what string) {
	if v := recover(); v != nil {
		log.ErrorContext(ctx, what+" panicked", "panic", v, "stack", string(debug.Stack()))
	}
}

// deliver has the request handled and answered. The client's absence does not end
// that.
func (p *sessionPost) deliver(m *wire.Message, token wire.ProgressToken, f *wire.Frame, buf *buffer.Buffer) {
	d := p.session.borrow()
	defer p.close(m)
	if d == nil { // it comes too late
		buf.Free()
		return
	}
	d.Deliver(p.context(), nil, jsonrpc.Source{
		Message: m, Token: token, Transport: &p.transport, Back: p, Frame: f, Detached: p.apart == nil, Release: buf.Release(),
	})
}

// context is what the request is handled with.
func (p *sessionPost) context() context.Context {
	if p.apart != nil {
		return p.apart
	}
	return p.transport.request.Context()
}

// WriteMessage implements [jsonrpc.Writer].
func (p *sessionPost) WriteMessage(ctx context.Context, data []byte) error { return p.send(ctx, data) }

// WriteWithInfo implements [jsonrpc.InfoWriter].
func (p *sessionPost) WriteWithInfo(ctx context.Context, e jsonrpc.MessageInfo, data []byte) error {
	if e.Method != "" {
		return p.send(ctx, data)
	}
	if e.Error != nil {
		p.refuseSession()
		if p.session.ended() {
			p.hurry() // the handler may not have returned yet
		}
	}
	p.answer(ctx, http.StatusOK, data)
	return nil
}

// refuseSession keeps a session from beginning whose handshake has failed, or ends
// it with the response if it has begun.
func (p *response) refuseSession() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fails = p.opens
}

// close ends the handling: the response where the request got no answer, and the
// session where it was to begin with it and has not.
func (p *sessionPost) close(m *wire.Message) {
	p.session.giveBack()
	defer p.handler.work.leave(&p.response)
	p.mu.Lock()
	answered, failed := p.phase == over, p.fails
	p.mu.Unlock()
	if !answered {
		p.giveUp(m.ID)
	}
	p.session.discard(p.opens && (failed || !p.session.conn.State().InitializeProcessed()))
}

// giveUp ends the response without the answer that the request was to get.
func (p *sessionPost) giveUp(id wire.RequestID) {
	if p.session.ended() {
		p.refuseSession()
		_, data := appendError(nil, id, errGoodbye)
		p.answer(context.WithoutCancel(p.context()), http.StatusOK, data)
	} else {
		p.end()
	}
}

var errGoodbye = &peer.Error{Code: mcp.CodeInternal, Message: "Session ended"}
