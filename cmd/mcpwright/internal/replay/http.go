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
// gets the recorded messages that belong to no POST request. The context ends before Finish.
func (p *Player) Handler(ctx context.Context) http.Handler {
	p.stream = newEventQueue()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodPost:
			p.post(ctx, w, r)
		case http.MethodGet:
			p.get(w, r)
		case http.MethodDelete:
			w.WriteHeader(http.StatusNoContent)
		default:
			w.Header().Set("Allow", "POST, GET, DELETE")
			http.Error(w, "mcpwright replay has no such stream", http.StatusMethodNotAllowed)
		}
	})
}

// get sends messages of the stream until the client has gone.
func (p *Player) get(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	stop := context.AfterFunc(r.Context(), p.stream.wake)
	defer stop()
	out := http.NewResponseController(w)
	if out.Flush() != nil {
		return
	}
	for {
		line, ok := p.stream.next(func() bool { return r.Context().Err() != nil })
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
	if !slices.ContainsFunc(all, func(f *fields) bool { return f.kind() == wiretrace.Request }) {
		started := make(chan struct{})
		p.background.Go(func() { // ends with the script of the message, at the latest with ctx
			p.handle(ctx, body, io.Discard, sync.OnceFunc(func() { close(started) }))
		})
		<-started
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
