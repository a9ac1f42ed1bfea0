package streamable

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/buffer"
	"github.com/mcpwright/mcp/runtime/internal/progress"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// servePerRequest serves a request that says itself who sends it.
func (h *Handler) servePerRequest(w http.ResponseWriter, r *http.Request, revision wire.Revision) {
	served := revision.Index() >= 0 && h.alone.Has(revision)
	switch {
	case r.Method == http.MethodPost:
	case served || !h.loops:
		notAllowed(w, http.MethodPost)
		return
	default:
		h.unsupported(named(r.Header)).write(w, true)
		return
	}
	buf, takes, no := h.body(r)
	if no != nil {
		no.write(w, true)
		return
	}
	m, f, err := h.kernel.Read(buf.Bytes, revision)
	switch {
	case err != nil:
		unreadable(&m, err).write(w, true)
	case m.Method == "":
		refuse(http.StatusBadRequest, "Invalid request: a client of this revision sends no answers").write(w, true)
	case !served && h.saysNothing(&m, named(r.Header)):
		h.unsupported(named(r.Header)).of(m.ID).write(w, true)
	case m.ID.IsZero():
		if no := h.servePerRequestNote(w, r, &m, f); no != nil {
			no.write(w, true)
		}
	default:
		h.servePost(w, r, &m, f, takes, buf)
	}
	buf.Free() // where the goroutine ends, it need not come back
}

// named is the version that a header names, empty for none.
func named(header http.Header) string { return strings.Join(header[headerVersion], ", ") }

// saysNothing tells whether the header is all that says of which version a message
// is. A handshake without header says it in its own way.
func (h *Handler) saysNothing(m *wire.Message, header string) bool {
	if m.ID.IsZero() {
		return true
	}
	_, found := versionIn(m.Params)
	return !found && (header != "" || m.Method != mcp.MethodInitialize)
}

// unsupported refuses a request by the version of its header.
func (h *Handler) unsupported(version string) *refusal {
	if version == "" {
		return &refusal{status: http.StatusBadRequest, err: errNoVersion}
	}
	var supported []string
	for _, r := range h.kernel.Revisions() {
		supported = append(supported, r.String())
	}
	err := &mcp.UnsupportedProtocolVersionError{Requested: version, Supported: supported}
	return &refusal{status: http.StatusBadRequest, err: peer.AsError(err)}
}

var errNoVersion = &peer.Error{
	Code: mcp.CodeHeaderMismatch, Message: "Header mismatch: header " + headerVersion + " is missing",
}

// post is one request outside sessions. It is the [peer.BackChannel] of its
// handler. It is used once: a handler may hold on to it.
type post struct {
	response
	in  peer.Inbound
	ctx apart

	reports sync.Mutex // held while a report is judged and sent, before the response's
	last    *float64   // what was reported, nil before there was a report
}

func (h *Handler) newPost(w http.ResponseWriter, r *http.Request, m *wire.Message, f *wire.Frame, takes accepted) *post {
	p := &post{response: response{w: w, handler: h, takes: takes, listens: m.Method == mcp.MethodSubscriptionsListen}}
	p.transport = TransportContext{request: r, principal: h.opts.Principal(r)}
	p.ctx.Context.Context = r.Context()
	p.in.Method, p.in.ID, p.in.Params, p.in.Token = m.Method, m.ID, m.Params, tokenOf(m)
	p.in.Message, _ = m.Into.(peer.Message)
	p.in.Frame, p.in.Transport, p.in.Back = f, &p.transport, p
	return p
}

// tokenOf is what marks progress reports about a request.
func tokenOf(m *wire.Message) wire.ProgressToken {
	if request, ok := m.Into.(interface{ RequestMeta() *mcp.RequestMeta }); ok {
		if meta := request.RequestMeta(); meta != nil {
			return meta.ProgressToken
		}
	}
	if !mayHaveMeta(m.Params) {
		return wire.ProgressToken{}
	}
	return progress.Token(m.Params) // of a type that does not tell
}

// mayHaveMeta tells whether params may have a "_meta", however it is spelled.
func mayHaveMeta(params []byte) bool {
	if bytes.IndexByte(params, '\\') >= 0 && bytes.Contains(params, []byte(`\u`)) {
		return true
	}
	return bytes.IndexByte(params, '_') >= 0 && bytes.Contains(params, []byte(`"_meta"`))
}

// servePost handles a request, which is in buf.
func (h *Handler) servePost(w http.ResponseWriter, r *http.Request, m *wire.Message, f *wire.Frame, takes accepted, buf *buffer.Buffer) {
	p := h.newPost(w, r, m, f, takes)
	if p.listens && !takes.events {
		refuse(http.StatusNotAcceptable, "Invalid request: the client has to accept text/event-stream").of(m.ID).write(w, true)
		return
	}
	if !p.listens && h.opts.JSONResponse {
		if p.takes.events = false; !takes.json {
			notAcceptable().of(m.ID).write(w, true)
			return
		}
	}
	if no := p.enter(); no != nil {
		no.of(m.ID).write(w, true)
		return
	}
	defer p.exit()
	p.serve(buf)
}

// enter begins the handling, if there is room for it.
func (p *post) enter() *refusal {
	p.apart = &p.ctx
	return p.handler.work.enter(&p.response)
}

// exit ends what enter has begun.
func (p *post) exit() {
	p.handler.work.leave(&p.response)
	p.ctx.Cancel(nil)
}

// serve calls the handler and answers with what it returns, also where it panics
// or ends the goroutine. The answer is written down behind the request, which it may
// have parts of.
func (p *post) serve(buf *buffer.Buffer) {
	at, err := len(buf.Bytes), errExited
	defer func() {
		if v := recover(); v != nil {
			err = &panicError{v, debug.Stack()}
		}
		status := http.StatusOK
		if err != nil {
			status, buf.Bytes = p.fail(buf.Bytes[:at], err)
		}
		p.answer(&p.ctx, status, buf.Bytes[at:])
	}()
	reply, failed := p.handler.kernel.ServeStateless(&p.ctx, &p.in, &p.handler.opts.Connection)
	switch {
	case failed != nil:
		err = failed
	case reply.Result == nil:
		err = resultError{errNoResult}
	default:
		if buf.Bytes, err = wire.AppendResult(buf.Bytes, reply.Frame, p.in.ID, reply.Result); err != nil {
			err = resultError{err}
		}
	}
}

// fail appends the answer that an error is, and returns its status.
func (p *post) fail(b []byte, err error) (status int, answer []byte) {
	if err == errExited {
		p.hurry()
	}
	p.log(&p.ctx, &p.in, err)
	if peer.AsError(err) == nil && errors.Is(context.Cause(&p.ctx), ErrClosing) && (errors.Is(err, ErrClosing) || errors.Is(err, p.ctx.Err())) {
		err = errClosing
	}
	return appendError(b, p.in.ID, err)
}

// Call implements [peer.Outbound]: a server of this revision sends no requests.
func (p *post) Call(_ context.Context, req peer.Message, _ wire.Value, _ ...peer.CallOption) error {
	return &peer.NoBackChannelError{Method: req.Method()}
}

// Notify implements [peer.Outbound]. The first option is the connection's own,
// which says nothing new.
func (p *post) Notify(ctx context.Context, n peer.Notification, opts ...peer.CallOption) error {
	buf := buffer.New()
	defer buf.Free()
	frame := p.in.Frame
	if len(opts) > 1 {
		own := &peer.CallOptions{Frame: frame}
		for _, opt := range opts {
			opt(own)
		}
		frame = own.Frame
	}
	var err error
	if buf.Bytes, err = wire.AppendNotification(buf.Bytes, frame, n.Method(), n); err != nil {
		return fmt.Errorf("send %q: %w", n.Method(), err)
	}
	if err := p.send(ctx, buf.Bytes); err != nil {
		p.handler.opts.Logger.DebugContext(ctx, "notification dropped", "method", n.Method(), "error", err)
	}
	return nil
}

// Progress implements [peer.BackChannel].
func (p *post) Progress(ctx context.Context, report peer.Progress) error {
	if p.in.Token.IsZero() {
		return nil
	}
	p.reports.Lock()
	defer p.reports.Unlock()
	if p.last != nil && report.Progress <= *p.last {
		return nil
	}
	p.last = new(report.Progress)
	return p.Notify(ctx, &mcp.ProgressNotification{
		ProgressToken: p.in.Token, Progress: report.Progress, Total: report.Total, Message: report.Message,
	})
}
