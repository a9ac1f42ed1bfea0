package replay

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/mcpwright/mcp/cmd/mcpwright/internal/wiretrace"
	"github.com/mcpwright/mcp/generated/mcp"
)

// maxBody limits the body of a request.
const maxBody = 64 << 20

// Handler returns a handler for a Streamable HTTP endpoint. It has no streams that a
// client opens with GET.
func (p *Player) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodPost:
			p.post(w, r)
		case http.MethodDelete:
			w.WriteHeader(http.StatusNoContent)
		default:
			w.Header().Set("Allow", "POST, DELETE")
			http.Error(w, "mcpwright replay has no such stream", http.StatusMethodNotAllowed)
		}
	})
}

// post handles a message of the client.
func (p *Player) post(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, fmt.Sprintf("read the message: %v", err), http.StatusBadRequest)
		return
	}
	var f fields
	if err := json.Unmarshal(body, &f); err != nil {
		http.Error(w, fmt.Sprintf("read the message: %v", err), http.StatusBadRequest)
		return
	}
	if f.kind() != wiretrace.Request {
		p.handle(r.Context(), body, io.Discard, func() {})
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if f.Method == mcp.MethodInitialize {
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
	_ = json.Unmarshal(line, &f) // is a message
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
