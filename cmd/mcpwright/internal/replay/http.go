package replay

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"

	"github.com/mcpwright/mcp/cmd/mcpwright/internal/wiretrace"
	"github.com/mcpwright/mcp/generated/mcp"
)

// maxBody limits the body of a request.
const maxBody = 64 << 20

// Handler returns a handler for a Streamable HTTP endpoint. A stream that a client opens with GET
// gets the recorded messages that belong to no POST request. A client of the transport HTTP+SSE, which
// opens a stream before it has a session, gets all messages on this stream. The context ends before Finish.
func (p *Player) Handler(ctx context.Context) http.Handler {
	p.stream = newEventQueue()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodPost:
			p.post(ctx, w, r)
		case http.MethodGet:
			if r.Header.Get("Mcp-Session-Id") == "" && r.Header.Get("MCP-Protocol-Version") == "" {
				p.getLegacy(w, r)
				return
			}
			p.get(w, r, p.stream)
		case http.MethodDelete:
			w.WriteHeader(http.StatusNoContent)
		default:
			w.Header().Set("Allow", "POST, GET, DELETE")
			http.Error(w, "mcpwright replay has no such stream", http.StatusMethodNotAllowed)
		}
	})
}

// legacyParameter is the parameter of the URL for messages of the transport HTTP+SSE.
const legacyParameter = "stream"

// getLegacy sends the URL for messages, and then the messages of the server for it.
func (p *Player) getLegacy(w http.ResponseWriter, r *http.Request) {
	id, queue := rand.Text(), newEventQueue()
	p.mu.Lock()
	p.legacy[id] = queue
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.legacy, id)
	}()
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "event: endpoint\ndata: %s?%s=%s\n\n", r.URL.EscapedPath(), legacyParameter, id)
	p.get(w, r, queue)
}

// get sends messages of a stream until the client has gone.
func (p *Player) get(w http.ResponseWriter, r *http.Request, queue *eventQueue) {
	w.Header().Set("Content-Type", "text/event-stream")
	stop := context.AfterFunc(r.Context(), queue.wake)
	defer stop()
	out := http.NewResponseController(w)
	if out.Flush() != nil {
		return
	}
	for {
		line, ok := queue.next(func() bool { return r.Context().Err() != nil })
		if !ok {
			return
		}
		if _, err := fmt.Fprintf(w, "data: %s\n\n", line); err != nil || out.Flush() != nil {
			return
		}
	}
}

// eventQueue has messages that wait for a stream.
type eventQueue struct {
	mu    sync.Mutex // guards the fields below
	ready *sync.Cond
	list  [][]byte
}

func newEventQueue() *eventQueue {
	q := &eventQueue{}
	q.ready = sync.NewCond(&q.mu)
	return q
}

// Write adds one message.
func (q *eventQueue) Write(line []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.list = append(q.list, bytes.Clone(bytes.TrimSpace(line)))
	q.ready.Signal()
	return len(line), nil
}

// wake wakes up all readers.
func (q *eventQueue) wake() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ready.Broadcast()
}

// next waits for a message. It returns false if the reader has ended.
func (q *eventQueue) next(ended func() bool) ([]byte, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.list) == 0 && !ended() {
		q.ready.Wait()
	}
	if ended() {
		q.ready.Signal() // another reader may wait
		return nil, false
	}
	line := q.list[0]
	q.list = q.list[1:]
	return line, true
}

// post handles a message of the client, or a batch.
func (p *Player) post(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, fmt.Sprintf("read the message: %v", err), http.StatusBadRequest)
		return
	}
	all, err := readAll(body)
	if err != nil {
		http.Error(w, fmt.Sprintf("read the message: %v", err), http.StatusBadRequest)
		return
	}
	var later io.Writer // for the messages of the server, if they are not in the response
	if id := r.URL.Query().Get(legacyParameter); id != "" {
		p.mu.Lock()
		queue := p.legacy[id]
		p.mu.Unlock()
		if queue == nil {
			http.Error(w, fmt.Sprintf("there is no stream %q", id), http.StatusNotFound)
			return
		}
		later = queue
	} else if !slices.ContainsFunc(all, func(f *fields) bool { return f.kind() == wiretrace.Request }) {
		later = io.Discard
	}
	if later != nil {
		inOrder(&p.background, func(waits func()) { // ends at the latest with ctx
			p.handle(ctx, body, later, waits)
		})
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if all[0].Method == mcp.MethodInitialize {
		w.Header().Set("Mcp-Session-Id", rand.Text())
	}
	p.handle(r.Context(), body, &responseWriter{w: w}, func() {})
}

// responseWriter writes the messages of a response: one response as JSON, or else a stream.
type responseWriter struct {
	w      http.ResponseWriter
	stream bool
}

// Write writes one message.
func (r *responseWriter) Write(line []byte) (int, error) {
	var f fields
	_ = json.Unmarshal(line, &f) // is a message, or a batch of responses
	if !r.stream && f.kind() == wiretrace.Response {
		r.w.Header().Set("Content-Type", "application/json")
		return r.w.Write(line)
	}
	if !r.stream {
		r.stream = true
		r.w.Header().Set("Content-Type", "text/event-stream")
	}
	if _, err := fmt.Fprintf(r.w, "data: %s\n\n", bytes.TrimSpace(line)); err != nil {
		return 0, err
	}
	return len(line), http.NewResponseController(r.w).Flush()
}
