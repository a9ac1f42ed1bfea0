package streamable

import (
	"context"
	"net/http"

	"github.com/mcpwright/mcp/runtime/internal/buffer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// servePerRequestNote handles a notification that is not of a session.
func (h *Handler) servePerRequestNote(w http.ResponseWriter, r *http.Request, m *wire.Message, f *wire.Frame) *refusal {
	p := h.newPost(w, r, m, f, accepted{})
	return p.serveNote(func(ctx context.Context) error {
		_, err := h.kernel.ServeStateless(ctx, &p.in, &h.opts.Connection)
		return err
	})
}

// serveStatelessNote handles what is no request where there are no sessions: nobody
// waits for an answer, and a notification is handled here, for nobody can find its
// session to end that. The client's absence does not.
func (h *Handler) serveStatelessNote(w http.ResponseWriter, r *http.Request, s *session, m *wire.Message, f *wire.Frame, buf *buffer.Buffer) *refusal {
	p := h.newPost(w, r, m, f, accepted{})
	p.ctx.Detached = true
	no := p.serveNote(func(ctx context.Context) error {
		if m.Method == "" {
			return nil // an answer that nobody waits for
		}
		_, err := h.kernel.Serve(ctx, s.conn, &p.in)
		return err
	})
	if no == nil {
		buf.Free()
	}
	return no
}

// serveNote handles a notification outside sessions. Nobody learns what became of
// it, unless there is no room for it.
func (p *post) serveNote(serve func(context.Context) error) *refusal {
	p.in.Back = nil
	if no := p.enter(); no != nil {
		return no
	}
	defer p.exit()
	exited := true
	defer func() {
		if exited {
			defer push(p.w, 0)()
		}
		p.accept()
	}()
	err := protect(&p.ctx, serve)
	if exited = false; err != nil {
		p.log(&p.ctx, &p.in, err)
	}
	return nil
}
