package streamable

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/batch"
	"github.com/mcpwright/mcp/runtime/internal/buffer"
	"github.com/mcpwright/mcp/runtime/internal/failure"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// serveBatch handles the messages of a batch one after another. Their responses are one
// batch.
func (h *Handler) serveBatch(w http.ResponseWriter, r *http.Request, b *backend, revision wire.Revision, body []byte, accepts acceptedTypes) *refusal {
	list, err := batch.Read(body)
	if err != nil {
		return invalidMessage(new(wire.Message), err)
	}
	s, refused := h.sessionFor(r, b, revision, nil, false)
	if refused != nil {
		return refused
	}
	if !s.conn.Batches() || len(list) == 0 {
		s.release(false)
		return refuse(http.StatusBadRequest, "Invalid request: batch is empty or not supported by the revision")
	}
	all := &batchRequest{request: s.newRequest(w, r, accepts)}
	if refused := h.inFlight.enter(&all.request.response); refused != nil {
		s.release(false)
		return refused
	}
	ctx := context.WithoutCancel(r.Context())
	if all.request.requestCtx != nil {
		ctx = all.request.requestCtx
	}
	all.serve(ctx, list)
	return nil
}

// batchRequest is a request with a batch of messages. It is the [jsonrpc.Writer] of each of them.
type batchRequest struct {
	request *sessionRequest
	saves   bool // the responses are sent after the state of the session is saved

	mu        sync.Mutex
	responses *buffer.Buffer // without the closing bracket; nil if there are none
	responded map[wire.RequestID]bool
}

// serve handles the messages one after another and sends the responses, even if a
// handler ends the goroutine.
func (b *batchRequest) serve(ctx context.Context, list []json.RawMessage) {
	if len(list) == 0 {
		defer b.request.session.release(false)
		defer b.request.handler.inFlight.leave(&b.request.response)
		b.end(ctx)
		return
	}
	defer b.serve(ctx, list[1:])
	b.deliver(ctx, list[0])
}

// deliver handles one message.
func (b *batchRequest) deliver(ctx context.Context, raw json.RawMessage) {
	m, err := wire.ReadMessage(raw, nil)
	isRequest := m.Method != "" && !m.ID.IsZero()
	b.saves = b.saves || b.request.session.isShared() && changesState(m.Method)
	switch {
	case err != nil && looksLikeResponse(raw):
		b.request.session.failCall(m.ID, err)
	case err != nil:
		refused := invalidMessage(&m, err)
		b.refuse(refused.id, refused.err)
	case isRequest && m.Method == mcp.MethodInitialize:
		b.refuse(m.ID, errNotInBatch)
	case isRequest && mayHaveMeta(m.Params) && namesOtherRevision(m.Params):
		b.refuse(m.ID, errVersionMismatch)
	case isRequest && b.request.session.hasEnded():
		b.refuse(m.ID, errSessionOver)
	case m.ID.IsZero() && m.Method != "" && b.request.session.id == "":
		b.handleNotification(ctx, &m)
	default:
		if m.Method == mcp.MethodInitialized && b.request.session.id != "" {
			// The message is delivered too, but requests that come later may be handled first.
			b.request.session.backend.dispatcher.Confirm(ctx, b.request.session.conn, m.Params)
		}
		b.request.session.deliver(ctx, &m, jsonrpc.Source{Transport: &b.request.transport, Back: b})
		if isRequest && b.request.session.hasEnded() {
			b.refuse(m.ID, errSessionOver) // ignored if there is a response already
		}
	}
}

// handleNotification handles a notification with [Options].Stateless. It waits for the
// handler, because the session ends with the HTTP request.
func (b *batchRequest) handleNotification(ctx context.Context, m *wire.Message) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	in := peer.Inbound{Method: m.Method, Params: m.Params, Transport: &b.request.transport}
	err := call(ctx, func(ctx context.Context) error {
		_, err := b.request.session.backend.dispatcher.Serve(ctx, b.request.session.conn, &in)
		return err
	})
	if err != nil {
		failure.Log(ctx, b.request.handler.opts.Logger, &in, err, true)
	}
}

// refuse adds an error response to a request that is not handled.
func (b *batchRequest) refuse(id wire.RequestID, err *peer.Error) {
	_, data := appendError(nil, id, err)
	b.add(id, data)
}

// add adds a response. After the end of the session, it ignores a second response to a
// request.
func (b *batchRequest) add(id wire.RequestID, data []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.responded[id] && !id.IsZero() && b.request.session.hasEnded() {
		return
	}
	if b.responded == nil {
		b.responded = make(map[wire.RequestID]bool)
	}
	b.responded[id] = true
	if b.responses == nil {
		b.responses = buffer.New()
	}
	buf := b.responses
	if buf.Hold(b.request.handler.opts.JSONRPC.Budget, b.request.transport.principal, len(buf.Bytes)+len(data)) != nil {
		b.request.handler.opts.refused.Add("JSONRPC.Budget")
		_, data = appendError(nil, id, errUnsendable)
	}
	buf.Bytes = batch.Append(buf.Bytes, data)
}

// end sends the responses, if there are any.
func (b *batchRequest) end(ctx context.Context) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.responses == nil {
		b.request.accept()
		return
	}
	defer b.responses.Free()
	if b.saves {
		if err := b.request.session.save(ctx); err != nil {
			b.request.refuseUnsaved(ctx, wire.RequestID{}, err)
			return
		}
	}
	b.request.respond(ctx, http.StatusOK, append(b.responses.Bytes, ']'))
}

// WriteMessage implements [jsonrpc.Writer].
func (b *batchRequest) WriteMessage(ctx context.Context, data []byte) error {
	return b.request.send(ctx, data)
}

// WriteWithInfo implements [jsonrpc.InfoWriter].
func (b *batchRequest) WriteWithInfo(ctx context.Context, e jsonrpc.MessageInfo, data []byte) error {
	if e.Method != "" {
		return b.request.send(ctx, data)
	}
	b.add(e.ID, data)
	return nil
}

// sendKeepAliveIfDue implements [sessionResponse].
func (b *batchRequest) sendKeepAliveIfDue(now, interval time.Duration) {
	b.request.sendKeepAliveIfDue(now, interval)
}

// isDisconnected implements [sessionResponse].
func (b *batchRequest) isDisconnected() bool { return b.request.isDisconnected() }
