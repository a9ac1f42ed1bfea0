package mcptest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/outbound"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// endpoint is a small Streamable HTTP endpoint for the server of these tests. It
// answers as a stream if stream says so.
type endpoint struct {
	kernel *connection.Dispatcher
	stream bool
	waits  chan bool // what its tool "wait" says

	mu       sync.Mutex
	sessions map[string]*connection.Connection
	deleted  []string
	headers  []http.Header
}

func newEndpoint(stream bool) *endpoint {
	waits := make(chan bool, 2)
	return &endpoint{kernel: newKernel(waits), stream: stream, waits: waits, sessions: map[string]*connection.Connection{}}
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	session := r.Header.Get("Mcp-Session-Id")
	e.mu.Lock()
	e.headers = append(e.headers, r.Header.Clone())
	conn := e.sessions[session]
	e.mu.Unlock()
	switch {
	case r.Method == http.MethodDelete:
		e.mu.Lock()
		defer e.mu.Unlock()
		e.deleted = append(e.deleted, session)
	case r.Method == http.MethodGet && conn != nil:
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "id: 1\r\ndata:\r\n\r\n: nothing\nevent: other\ndata: x\n\n",
			"data: {\"jsonrpc\":\"2.0\",\ndata: \"method\":\"notifications/tools/list_changed\"}\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	case r.Method == http.MethodPost:
		e.post(w, r, conn)
	default:
		http.Error(w, "no such thing", http.StatusMethodNotAllowed)
	}
}

func (e *endpoint) post(w http.ResponseWriter, r *http.Request, conn *connection.Connection) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	m, err := wire.ReadMessage(body, nil)
	if err != nil {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.WriteHeader(http.StatusBadRequest)
		answer, _ := wire.AppendError(nil, m.ID, &wire.ErrorObject{Code: mcp.CodeParse, Message: "Parse error"})
		_, _ = w.Write(answer)
		return
	}
	if m.Method == mcp.MethodInitialize {
		conn = connection.New(nil, nil)
		e.mu.Lock()
		session := strconv.Itoa(len(e.sessions) + 1)
		e.sessions[session] = conn
		e.mu.Unlock()
		w.Header().Set("Mcp-Session-Id", session)
	}
	answer := e.answer(r.Context(), conn, r.Header, m)
	switch {
	case m.ID.IsZero():
		w.WriteHeader(http.StatusAccepted)
	case e.stream:
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "id: 7\n\nevent: message\ndata: %s\n\n", answer)
		w.(http.Flusher).Flush()
	default:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer[:5])
		_, _ = w.Write(answer[5:])
	}
}

// answer handles a message in its session, or without one.
func (e *endpoint) answer(ctx context.Context, conn *connection.Connection, header http.Header, m wire.Message) []byte {
	in := &peer.Inbound{Method: m.Method, ID: m.ID, Params: m.Params, Back: outbound.None{}}
	var reply peer.Reply
	var err error
	if conn != nil {
		in.Transport = peer.NewTransport("http", false, header, "")
		reply, err = e.kernel.Serve(ctx, conn, in)
	} else {
		in.Transport = peer.NewTransport("http", false, header, "")
		reply, err = e.kernel.ServeStateless(ctx, in, nil)
	}
	if m.ID.IsZero() {
		return nil
	}
	var answer []byte
	if err == nil {
		answer, err = wire.AppendResult(nil, reply.Frame, m.ID, reply.Result)
	}
	if err != nil {
		x := peer.AsError(err)
		if x == nil {
			x = &peer.Error{Code: mcp.CodeInternal, Message: "Internal error"}
		}
		answer, _ = wire.AppendError(nil, m.ID, &wire.ErrorObject{Code: x.Code, Message: x.Message, Data: json.RawMessage(x.Data)})
	}
	return answer
}
