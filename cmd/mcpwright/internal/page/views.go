package page

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/mcpwright/mcp/runtime/apps"
)

// maxViews limits the documents of MCP Apps that are stored. The oldest are forgotten.
const maxViews = 50

// frames serves the documents of MCP Apps to frames of the page. They come from the MCP server and
// are not trusted, so the listener has another port, and so another origin, than the page. A frame
// has no origin of its own at all, because it is sandboxed. The path of a document is random.
type frames struct {
	page []string // hosts of the page, which may show the frames
	host string   // of the listener, or "" without a listener

	mu        sync.Mutex // guards the fields below
	documents map[string]*apps.Document
	order     []string // names of the documents, the oldest first
}

// newFrames returns the frames of a page for a listener, which may be nil.
func newFrames(addr net.Addr, page []string) *frames {
	f := &frames{page: page, documents: map[string]*apps.Document{}}
	if addr != nil {
		f.host = addr.String()
	}
	return f
}

// origin returns the origin of the documents.
func (f *frames) origin() string { return "http://" + f.host }

// source returns the origin for a policy, or 'none'.
func (f *frames) source() string {
	if f.host == "" {
		return "'none'"
	}
	return f.origin()
}

// add stores a document and returns its URL.
func (f *frames) add(d *apps.Document) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	name := rand.Text()
	f.documents[name] = d
	if f.order = append(f.order, name); len(f.order) > maxViews {
		delete(f.documents, f.order[0])
		f.order = slices.Delete(f.order, 0, 1)
	}
	return f.origin() + "/" + name
}

func (f *frames) find(path string) *apps.Document {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.documents[strings.TrimPrefix(path, "/")]
}

// sandbox are the flags of a frame. A view cannot open windows, leave its frame or use the origin
// of its document. Its policy allows it to handle forms, but not to send them.
const sandbox = "allow-scripts allow-forms"

// ServeHTTP implements [http.Handler].
func (f *frames) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	if r.Host != f.host {
		http.Error(w, fmt.Sprintf("host %q is not the host of the frames", r.Host), http.StatusMisdirectedRequest)
		return
	}
	d := f.find(r.URL.Path)
	if d == nil || r.Method != http.MethodGet {
		http.Error(w, "there is no such view", http.StatusNotFound)
		return
	}
	ancestors := "http://" + strings.Join(f.page, " http://")
	h.Set("Content-Security-Policy", d.Policy()+"; sandbox "+sandbox+"; frame-ancestors "+ancestors)
	h.Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(w, d.HTML) // the browser has gone
}

// viewRequest is the body of a request for a view.
type viewRequest struct {
	Side int    `json:"side"`
	URI  string `json:"uri"`
}

// viewResponse describes how to show a view.
type viewResponse struct {
	URL     string `json:"url"`
	Sandbox string `json:"sandbox"`
	Border  bool   `json:"border"`
}

// serveView reads a view and returns the URL of its document.
func (s *Server) serveView(in *viewRequest) (any, error) {
	sd, err := s.side(in.Side)
	if err != nil {
		return nil, err
	}
	if s.frames.host == "" {
		return nil, errors.New("the page has no listener for views")
	}
	client, err := sd.connected(s.life)
	if err != nil {
		return nil, err
	}
	d, err := apps.ReadView(s.life, client.Uncached(), in.URI)
	if err != nil {
		return nil, err
	}
	return viewResponse{s.frames.add(d), sandbox, d.Meta.PrefersBorder}, nil
}
