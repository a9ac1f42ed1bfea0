package streamable

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// mostBatched is how many messages a batch may have.
const mostBatched = 100

// serveBatch serves several messages at once, one after another. Their answers
// are one.
func (h *Handler) serveBatch(w http.ResponseWriter, r *http.Request, revision wire.Revision, body []byte, takes accepted) *refusal {
	var list batchList
	if err := wire.Decode(body, nil, &list); err != nil {
		return unreadable(new(wire.Message), err)
	}
	s, no := h.sessionFor(r, revision, nil, false)
	if no != nil {
		return no
	}
	if !s.conn.Batches() || len(list) == 0 {
		s.discard(false)
		return refuse(http.StatusBadRequest, "Invalid request: the revision has no batches, or none that are empty")
	}
	b := &batch{post: s.newPost(w, r, takes)}
	if no := h.work.enter(&b.post.response); no != nil {
		s.discard(false)
		return no
	}
	ctx := context.WithoutCancel(r.Context())
	if b.post.apart != nil {
		ctx = b.post.apart
	}
	b.serve(ctx, list)
	return nil
}

// batch is several messages being answered with one. It is the [jsonrpc.Writer]
// of each.
type batch struct {
	post *sessionPost

	mu       sync.Mutex
	answers  []byte // without the bracket at the end, nil while there are none
	answered map[wire.RequestID]bool
}

// serve has the messages handled, one after another, and answers them, also where
// a handler ends the goroutine.
func (b *batch) serve(ctx context.Context, list batchList) {
	if len(list) == 0 {
		defer b.post.session.discard(false)
		defer b.post.handler.work.leave(&b.post.response)
		b.end(ctx)
		return
	}
	defer b.serve(ctx, list[1:])
	b.deliver(ctx, list[0])
}

var errBatched = &peer.Error{Code: mcp.CodeInvalidRequest, Message: "A batch cannot contain this request"}

// deliver has one message handled.
func (b *batch) deliver(ctx context.Context, raw json.RawMessage) {
	m, err := wire.ReadMessage(raw, nil)
	isRequest := m.Method != "" && !m.ID.IsZero()
	switch {
	case err != nil && looksLikeAnswer(raw):
		b.post.session.failCall(m.ID, err)
	case err != nil:
		no := unreadable(&m, err)
		b.refuse(no.id, no.err)
	case isRequest && m.Method == mcp.MethodInitialize:
		b.refuse(m.ID, errBatched)
	case isRequest && mayHaveMeta(m.Params) && namesOther(m.Params):
		b.refuse(m.ID, errOtherVersion)
	case isRequest && b.post.session.ended():
		b.refuse(m.ID, errGoodbye)
	case m.ID.IsZero() && m.Method != "" && b.post.session.id == "":
		b.note(ctx, &m)
	default:
		if m.Method == mcp.MethodInitialized && b.post.session.id != "" {
			b.post.handler.kernel.Confirm(ctx, b.post.session.conn, m.Params) // requests may overtake it otherwise
		}
		b.post.session.deliver(ctx, &m, jsonrpc.Source{Transport: &b.post.transport, Back: b})
		if isRequest && b.post.session.ended() {
			b.refuse(m.ID, errGoodbye) // unless the dispatcher has
		}
	}
}

// note handles a notification where there are no sessions: nobody could find its
// session to end that later.
func (b *batch) note(ctx context.Context, m *wire.Message) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	in := peer.Inbound{Method: m.Method, Params: m.Params, Transport: &b.post.transport}
	err := protect(ctx, func(ctx context.Context) error {
		_, err := b.post.handler.kernel.Serve(ctx, b.post.session.conn, &in)
		return err
	})
	if err != nil {
		b.post.log(ctx, &in, err)
	}
}

// refuse adds the answer to a request that is not handled.
func (b *batch) refuse(id wire.RequestID, err *peer.Error) {
	_, data := appendError(nil, id, err)
	b.add(id, data)
}

// add adds an answer: where the session has ended, only the first one to a request.
func (b *batch) add(id wire.RequestID, data []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.answered[id] && !id.IsZero() && b.post.session.ended() {
		return
	}
	if b.answered == nil {
		b.answered = make(map[wire.RequestID]bool)
	}
	b.answered[id] = true
	separator := byte(',')
	if b.answers == nil {
		separator = '['
	}
	b.answers = append(append(b.answers, separator), data...)
}

// end answers the batch, if anything in it has an answer.
func (b *batch) end(ctx context.Context) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.answers == nil {
		b.post.accept()
		return
	}
	b.post.answer(ctx, http.StatusOK, append(b.answers, ']'))
}

// WriteMessage implements [jsonrpc.Writer].
func (b *batch) WriteMessage(ctx context.Context, data []byte) error { return b.post.send(ctx, data) }

// WriteWithInfo implements [jsonrpc.InfoWriter].
func (b *batch) WriteWithInfo(ctx context.Context, e jsonrpc.MessageInfo, data []byte) error {
	if e.Method != "" {
		return b.post.send(ctx, data)
	}
	b.add(e.ID, data)
	return nil
}

// batchList is the messages of a batch. It is never written.
type batchList []json.RawMessage

// AppendJSON implements [wire.Value].
func (*batchList) AppendJSON(b []byte, e *wire.Encoder) []byte { return e.Missing(b, "a batch") }

// DecodeJSON implements [wire.Value].
func (l *batchList) DecodeJSON(d *wire.Decoder) {
	n := 0
	*l = wire.List(d, func(d *wire.Decoder) json.RawMessage {
		n++
		d.MaxItems(n, mostBatched)
		return d.Raw()
	})
}
