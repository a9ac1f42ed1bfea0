// Package page serves the page of "mcpwright inspect" to a browser on the same machine. The page
// shows what a server offers, calls it, answers its questions, and shows all messages.
//
// Other pages and other users of the machine must not reach it: each request needs the Host of this
// listener, an Origin that is this page or none, and, unless it is for a file of the page, a random
// token. The URL of the page has the token in its fragment, which browsers do not send. The page
// sends the token in a header. A cookie would reach all ports of the host.
package page

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/mcpwright/mcp/cmd/mcpwright/internal/wiretrace"
	"github.com/mcpwright/mcp/runtime/mcpclient"
)

// Options configures a [Server].
type Options struct {
	// Name is the name of the MCP server.
	Name string
	// Command reports whether the MCP server is a command, and not a URL.
	Command bool
	// Connect opens a connection to the MCP server.
	Connect func(ctx context.Context, to *Connection) (*mcpclient.Client, error)
	// Frames is the address of the listener for [Server.Frames], or nil to show no MCP Apps.
	Frames net.Addr
	// Mask replaces secrets in the messages that the page shows. Nil is the default mask.
	Mask *wiretrace.Mask
}

// Connection describes a connection that [Options].Connect opens.
type Connection struct {
	// Second is true for the connection with the other kind of revision. Client.Mode is then the
	// kind.
	Second bool
	// Client are the options of the client. They have the handlers of the page.
	Client *mcpclient.Options
	// Recorder observes the messages.
	Recorder *wiretrace.Recorder
	// Stderr receives the standard error of a command.
	Stderr io.Writer
	// Login shows the URL of a page on which the person logs in to the MCP server. An empty URL
	// hides it.
	Login func(url string)
}

//go:embed static
var embedded embed.FS

// Server serves the page. It is an [http.Handler].
type Server struct {
	opts    Options
	token   string
	hosts   []string
	log     *eventLog
	sides   [2]*side
	ask     questions
	running actions
	frames  *frames
	routes  http.Handler
	life    context.Context // ends with Close
	end     context.CancelFunc
}

// New returns the server of a page for a listener, and begins to connect to the MCP server. Close
// it.
func New(addr net.Addr, opts Options) *Server {
	s := &Server{opts: opts, token: rand.Text(), log: newLog()}
	s.life, s.end = context.WithCancel(context.Background())
	_, port, _ := net.SplitHostPort(addr.String())
	s.hosts = []string{addr.String(), net.JoinHostPort("localhost", port)}
	s.frames = newFrames(opts.Frames, s.hosts)
	s.ask = questions{log: s.log, open: map[int]*question{}}
	s.log.add(&entry{key: "page", kind: "page", keep: true}, map[string]any{"name": opts.Name, "command": opts.Command})
	for i := range s.sides {
		s.sides[i] = newSide(s, i)
	}
	s.routes = s.mux()
	s.sides[0].connect()
	return s
}

// URL returns the address of the page with its token.
func (s *Server) URL() string { return "http://" + s.hosts[0] + "/#" + s.token }

// Frames returns the handler for the listener of the frames of MCP Apps.
func (s *Server) Frames() http.Handler { return s.frames }

// Close ends the connections to the MCP server. It returns when they have ended.
func (s *Server) Close() {
	s.end()
	for _, side := range s.sides {
		side.close()
	}
}

// mux returns the handler of requests that have been checked.
func (s *Server) mux() http.Handler {
	files, err := fs.Sub(embedded, "static")
	if err != nil {
		panic(err) // the folder is part of the program
	}
	mux := http.NewServeMux()
	mux.Handle("GET /", http.FileServerFS(files))
	handle := func(pattern string, h func(http.ResponseWriter, *http.Request) error) {
		mux.Handle(pattern, s.withToken(h))
	}
	handle("GET /api/events", s.serveEvents)
	handle("GET /api/message/{seq}", s.serveMessage)
	handle("POST /api/connect", post(s.serveConnect))
	handle("POST /api/request", post(s.serveRequest))
	handle("POST /api/cancel", post(s.serveCancel))
	handle("POST /api/answer", post(s.serveAnswer))
	handle("POST /api/watch", post(s.serveWatch))
	handle("POST /api/refresh", post(s.serveRefresh))
	handle("POST /api/roots", post(s.serveRoots))
	handle("POST /api/view", post(s.serveView))
	return mux
}

// policy allows the page its own files, pictures and sound from results, and frames of MCP Apps. No
// script can be inserted, also not by code of the page.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:; media-src data: blob:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'; frame-src "

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy+s.frames.source())
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	if err := s.checkSource(r); err != nil {
		writeError(w, err)
		return
	}
	s.routes.ServeHTTP(w, r)
}

// checkSource checks that a request is for this listener, and not from another page.
func (s *Server) checkSource(r *http.Request) error {
	host := strings.ToLower(r.Host)
	if host != s.hosts[0] && host != s.hosts[1] {
		return &statusError{http.StatusMisdirectedRequest, fmt.Errorf("host %q is not the host of this page", r.Host)}
	}
	for _, origin := range r.Header.Values("Origin") {
		if origin != "http://"+host {
			return &statusError{http.StatusForbidden, fmt.Errorf("origin %q is not this page", origin)}
		}
	}
	switch site := r.Header.Get("Sec-Fetch-Site"); site {
	case "", "same-origin", "none":
		return nil
	default:
		// A link of another page may open this one, which is useless without the token.
		if r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.URL.Path == "/" {
			return nil
		}
		return &statusError{http.StatusForbidden, fmt.Errorf("the request is from another site (%s)", site)}
	}
}

// withToken returns a handler that requires the token.
func (s *Server) withToken(h func(http.ResponseWriter, *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !ok || subtle.ConstantTimeCompare([]byte(token), []byte(s.token)) != 1 {
			writeError(w, &statusError{http.StatusUnauthorized, errors.New("the token is missing or wrong: open the URL that mcpwright inspect has printed")})
			return
		}
		if err := h(w, r); err != nil {
			writeError(w, err)
		}
	})
}

// statusError is an error with a status of HTTP.
type statusError struct {
	status int
	error
}

func (e *statusError) Unwrap() error { return e.error }

func badRequest(format string, args ...any) error {
	return &statusError{http.StatusBadRequest, fmt.Errorf(format, args...)}
}

func writeError(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	if e, ok := errors.AsType[*statusError](err); ok {
		status = e.status
	}
	writeJSON(w, status, map[string]string{"error": err.Error()})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the browser has gone
}

// maxBody limits the body of a request.
const maxBody = 32 << 20

// post returns a handler that decodes the body of a request.
func post[In any](h func(in *In) (out any, err error)) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		if media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); media != "application/json" {
			return &statusError{http.StatusUnsupportedMediaType, errors.New("the content type is not application/json")}
		}
		in := new(In)
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(in); err != nil {
			return badRequest("read body: %w", err)
		}
		out, err := h(in)
		if err == nil {
			writeJSON(w, http.StatusOK, out)
		}
		return err
	}
}

// Limits of a stream of events.
const (
	maxEventsAtOnce = 200
	keepAlive       = 15 * time.Second
)

// serveEvents sends the entries of the log as server-sent events, from the one after Last-Event-ID.
func (s *Server) serveEvents(w http.ResponseWriter, r *http.Request) error {
	var seq int64
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		var err error
		if seq, err = strconv.ParseInt(last, 10, 64); err != nil || seq < 0 {
			return badRequest("event id %q is not a number", last)
		}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	tick := time.NewTicker(keepAlive)
	defer tick.Stop()
	for {
		list, gap, more := s.log.after(seq, maxEventsAtOnce)
		if gap && seq > 0 {
			_, _ = io.WriteString(w, "event: gap\ndata: {}\n\n")
		}
		for _, e := range list {
			fmt.Fprintf(w, "id: %d\nevent: %s\ndata: %s\n\n", e.seq, e.kind, e.data)
			seq = e.seq
		}
		if err := out.Flush(); err != nil {
			return nil // the browser has gone
		}
		if len(list) == maxEventsAtOnce {
			continue
		}
		select {
		case <-more:
		case <-tick.C:
			_, _ = io.WriteString(w, ": wait\n\n")
		case <-r.Context().Done():
			return nil
		case <-s.life.Done():
			return nil
		}
	}
}

// serveMessage sends the bytes of a message.
func (s *Server) serveMessage(w http.ResponseWriter, r *http.Request) error {
	seq, err := strconv.ParseInt(r.PathValue("seq"), 10, 64)
	if err != nil {
		return badRequest("%q is not the number of a message", r.PathValue("seq"))
	}
	detail := s.log.detail(seq)
	if detail == nil {
		return &statusError{http.StatusNotFound, fmt.Errorf("message %d is not stored any more", seq)}
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write(detail)
	return nil
}
