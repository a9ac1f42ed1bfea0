package page

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"sync"
	"time"

	"github.com/mcpwright/mcp/cmd/mcpwright/internal/wiretrace"
	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/apps"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/stdio"
	"github.com/mcpwright/mcp/runtime/tasks"
)

// side is a connection to the MCP server. The first side has the kind of revision that the client
// has negotiated, and the second side the other kind.
type side struct {
	server   *Server
	index    int
	recorder *wiretrace.Recorder
	work     sync.WaitGroup // goroutines that use the client

	mu      sync.Mutex // guards the fields below
	client  *mcpclient.Client
	attempt *attempt // the last attempt to connect, or nil
	closed  bool
	watches map[string]context.CancelFunc // by URI
	roots   []mcp.Root
}

// attempt is an attempt to connect.
type attempt struct {
	done   chan struct{} // closed at the end, after the fields below are set
	client *mcpclient.Client
	err    error
}

// state is the event of the state of a side.
type state struct {
	Side         int                     `json:"side"`
	State        string                  `json:"state"` // connecting, connected, failed, ended, or closed by the person
	Revision     string                  `json:"revision,omitempty"`
	Stateless    bool                    `json:"stateless"`
	Server       *mcp.Implementation     `json:"server,omitempty"`
	Capabilities *mcp.ServerCapabilities `json:"capabilities,omitempty"`
	Instructions string                  `json:"instructions,omitempty"`
	Error        string                  `json:"error,omitempty"`
	Exit         string                  `json:"exit,omitempty"` // exit status of a command
	Stderr       []string                `json:"stderr,omitempty"`
}

func newSide(s *Server, index int) *side {
	sd := &side{server: s, index: index, watches: map[string]context.CancelFunc{}, roots: []mcp.Root{}}
	sd.recorder = wiretrace.NewRecorder(wiretrace.Options{OnEvent: sd.observed, Mask: s.opts.Mask})
	return sd
}

// observed adds a message to the log. The message itself is sent on request.
func (sd *side) observed(e *wiretrace.Event) {
	type wireEvent struct {
		Side int `json:"side"`
		*wiretrace.Event
		Message *struct{} `json:"message,omitempty"` // hides the message and the text
		Text    string    `json:"text,omitempty"`
		Note    string    `json:"note,omitempty"`
	}
	detail := []byte(e.Message)
	if detail == nil {
		detail = []byte(e.Text)
	}
	sd.server.log.add(&entry{kind: "wire", detail: detail}, wireEvent{Side: sd.index, Event: e, Text: clip(e.Text, 200), Note: note(e)})
}

// clip shortens a text.
func clip(text string, length int) string {
	if len(text) > length {
		return text[:length] + "…"
	}
	return text
}

func (sd *side) show(s state) {
	s.Side = sd.index
	sd.server.log.add(&entry{key: fmt.Sprint("state ", sd.index), kind: "state", keep: true}, s)
}

// connect begins to connect, unless the side is connected or an attempt is in progress. It returns
// the attempt.
func (sd *side) connect() *attempt {
	sd.mu.Lock()
	defer sd.mu.Unlock()
	if a := sd.attempt; a != nil && (sd.client != nil || !a.ended()) {
		return a
	}
	a := &attempt{done: make(chan struct{})}
	sd.attempt = a
	if sd.closed {
		a.err = errors.New("the page is closed")
		close(a.done)
		return a
	}
	sd.show(state{State: "connecting"})
	sd.work.Go(func() { sd.run(a) }) // ends with the connection
	return a
}

func (a *attempt) ended() bool {
	select {
	case <-a.done:
		return true
	default:
		return false
	}
}

// connected returns the client. It connects if the side is not connected.
func (sd *side) connected(ctx context.Context) (*mcpclient.Client, error) {
	a := sd.connect()
	select {
	case <-a.done:
		return a.client, a.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// run connects, and waits for the end of the connection.
func (sd *side) run(a *attempt) {
	client, err := sd.open()
	a.client, a.err = client, err
	sd.mu.Lock()
	sd.client = client
	sd.mu.Unlock()
	if err != nil {
		sd.show(ended("failed", err))
		close(a.done)
		return
	}
	sd.show(state{
		State: "connected", Revision: client.Revision().String(), Stateless: client.NoHandshake(),
		Server: client.ServerInfo(), Capabilities: client.ServerCapabilities(), Instructions: client.Instructions(),
	})
	close(a.done)
	sd.work.Go(func() { sd.readOffer(client) }) // ends with the client
	select {
	case <-client.Done():
	case <-sd.server.life.Done():
		client.Close()
	}
	sd.mu.Lock()
	if sd.client == client {
		sd.client = nil
	}
	for _, cancel := range sd.watches {
		cancel()
	}
	sd.mu.Unlock()
	if err := client.Err(); err != nil {
		sd.show(ended("ended", err))
	} else {
		sd.show(state{State: "closed"})
	}
}

// ended returns the state after a connection has ended, or could not be opened.
func ended(name string, err error) state {
	s := state{State: name}
	if err != nil {
		s.Error = err.Error()
	}
	if exit, ok := errors.AsType[*stdio.ExitError](err); ok {
		s.Stderr = exit.Stderr
		if exit.State != nil {
			s.Exit = exit.State.String()
		}
	}
	return s
}

// open opens a connection.
func (sd *side) open() (*mcpclient.Client, error) {
	opts := &mcpclient.Options{LogLevel: mcp.LoggingLevelDebug, OnLog: sd.logged, OnTask: sd.sawTask}
	sd.mu.Lock()
	opts.Roots = sd.roots
	sd.mu.Unlock()
	sd.server.ask.handlers(sd.index, opts)
	if sd.server.frames.host != "" {
		apps.Declare(&opts.Capabilities)
	}
	opts.OnToolListChanged = func(context.Context, *mcp.ToolListChangedNotification) error {
		sd.changed(readTools)
		return nil
	}
	opts.OnPromptListChanged = func(context.Context, *mcp.PromptListChangedNotification) error {
		sd.changed(readPrompts)
		return nil
	}
	opts.OnResourceListChanged = func(context.Context, *mcp.ResourceListChangedNotification) error {
		sd.changed(readResources, readTemplates)
		return nil
	}
	to := &Connection{Second: sd.index > 0, Client: opts, Recorder: sd.recorder, Stderr: &lineWriter{line: sd.wroteStderr}, Login: sd.login}
	if to.Second {
		first, err := sd.server.sides[0].connected(sd.server.life)
		if err != nil {
			return nil, fmt.Errorf("the other kind of revision is unknown: %w", err)
		}
		opts.Mode = mcpclient.NoHandshake
		if first.NoHandshake() {
			opts.Mode = mcpclient.Handshake
		}
	}
	return sd.server.opts.Connect(sd.server.life, to)
}

// close ends the connection and waits for all goroutines of the side. The life of the server has
// ended.
func (sd *side) close() {
	sd.mu.Lock()
	sd.closed = true
	sd.mu.Unlock()
	sd.work.Wait()
	sd.recorder.Close(time.Second)
}

// side returns a side by its index.
func (s *Server) side(index int) (*side, error) {
	if index < 0 || index >= len(s.sides) {
		return nil, badRequest("there is no side %d", index)
	}
	return s.sides[index], nil
}

// sideRequest is the body of a request about a side.
type sideRequest struct {
	Side int `json:"side"`
	// Disconnect closes the connection.
	Disconnect bool `json:"disconnect"`
}

// serveConnect connects a side, or disconnects it.
func (s *Server) serveConnect(in *sideRequest) (any, error) {
	sd, err := s.side(in.Side)
	if err != nil {
		return nil, err
	}
	if !in.Disconnect {
		sd.connect()
		return struct{}{}, nil
	}
	sd.mu.Lock()
	client := sd.client
	sd.mu.Unlock()
	if client != nil {
		client.Close()
	}
	return struct{}{}, nil
}

// The lists of a server.
var (
	readTools = listReader{"tools", func(ctx context.Context, c *mcpclient.Client) (any, error) {
		return collect(c.Uncached().ListToolsAll(ctx, nil))
	}}
	readResources = listReader{"resources", func(ctx context.Context, c *mcpclient.Client) (any, error) {
		return collect(c.Uncached().ListResourcesAll(ctx, nil))
	}}
	readTemplates = listReader{"templates", func(ctx context.Context, c *mcpclient.Client) (any, error) {
		return collect(c.Uncached().ListResourceTemplatesAll(ctx, nil))
	}}
	readPrompts = listReader{"prompts", func(ctx context.Context, c *mcpclient.Client) (any, error) {
		return collect(c.Uncached().ListPromptsAll(ctx, nil))
	}}
)

// listReader reads a list of a server.
type listReader struct {
	name string
	read func(ctx context.Context, c *mcpclient.Client) (any, error)
}

// maxListed limits the entries of a list that the page shows.
const maxListed = 10_000

func collect[T any](entries iter.Seq2[*T, error]) ([]*T, error) {
	list := []*T{}
	for entry, err := range entries {
		if err != nil {
			return list, err
		}
		if list = append(list, entry); len(list) >= maxListed {
			return list, fmt.Errorf("the list has more than %d entries", maxListed)
		}
	}
	return list, nil
}

// readOffer reads the lists that the server declares.
func (sd *side) readOffer(client *mcpclient.Client) {
	caps := client.ServerCapabilities()
	if caps == nil {
		caps = &mcp.ServerCapabilities{}
	}
	sd.read(client, readTools, caps.Tools != nil)
	sd.read(client, readResources, caps.Resources != nil)
	sd.read(client, readTemplates, caps.Resources != nil)
	sd.read(client, readPrompts, caps.Prompts != nil)
}

// read reads a list and shows it. A list that the server does not declare is empty.
func (sd *side) read(client *mcpclient.Client, r listReader, declared bool) {
	var list any = []struct{}{}
	var text string
	if declared {
		var err error
		if list, err = r.read(sd.server.life, client); err != nil {
			text = err.Error()
		}
	}
	sd.server.log.add(&entry{key: fmt.Sprint("offer ", sd.index, r.name), kind: "offer", keep: true},
		map[string]any{"side": sd.index, "kind": r.name, "list": list, "error": text, "declared": declared})
}

// changed reads lists again, outside of the handler of the notification.
func (sd *side) changed(lists ...listReader) {
	sd.mu.Lock()
	defer sd.mu.Unlock()
	client := sd.client
	if client == nil || sd.closed {
		return
	}
	sd.work.Go(func() { // ends with the client
		for _, r := range lists {
			sd.read(client, r, true)
		}
	})
}

// serveRefresh reads all lists of a side again.
func (s *Server) serveRefresh(in *sideRequest) (any, error) {
	sd, err := s.side(in.Side)
	if err != nil {
		return nil, err
	}
	sd.mu.Lock()
	defer sd.mu.Unlock()
	if sd.client == nil || sd.closed {
		return nil, &statusError{http.StatusConflict, errors.New("the server is not connected")}
	}
	client := sd.client
	sd.work.Go(func() { sd.readOffer(client) }) // ends with the client
	return struct{}{}, nil
}

// rootsRequest is the body of a request that sets the roots.
type rootsRequest struct {
	Roots []mcp.Root `json:"roots"`
}

// serveRoots sets the roots of all sides and notifies the MCP server.
func (s *Server) serveRoots(in *rootsRequest) (any, error) {
	if in.Roots == nil {
		in.Roots = []mcp.Root{}
	}
	for _, sd := range s.sides {
		sd.mu.Lock()
		sd.roots = in.Roots
		client := sd.client
		sd.mu.Unlock()
		if client == nil {
			continue
		}
		if err := client.SetRoots(s.life, in.Roots); err != nil {
			return nil, badRequest("set roots: %w", err)
		}
	}
	s.log.add(&entry{key: "roots", kind: "roots", keep: true}, in)
	return struct{}{}, nil
}

// logged shows a log message.
func (sd *side) logged(_ context.Context, n *mcp.LoggingMessageNotification) error {
	sd.server.log.add(&entry{kind: "log"}, map[string]any{"side": sd.index, "time": time.Now(), "level": n.Level, "logger": n.Logger, "data": n.Data})
	return nil
}

// wroteStderr shows a line of the standard error.
func (sd *side) wroteStderr(line string) {
	text := line
	if m := sd.server.opts.Mask; m != nil {
		text = m.String(line)
	}
	sd.server.log.add(&entry{kind: "log"}, map[string]any{"side": sd.index, "time": time.Now(), "level": "stderr", "text": text})
}

// login shows the URL of a page for a login, or hides it.
func (sd *side) login(url string) {
	sd.server.log.add(&entry{key: fmt.Sprint("login ", sd.index), kind: "login", keep: true}, map[string]any{"side": sd.index, "url": url})
}

// sawTask shows the state of a task.
func (sd *side) sawTask(ctx context.Context, t *tasks.Task) {
	action, _ := ctx.Value(actionKey{}).(int)
	sd.server.log.add(&entry{key: fmt.Sprint("task ", sd.index, t.ID), kind: "task"}, map[string]any{
		"side": sd.index, "id": t.ID, "status": t.Status, "message": t.StatusMessage, "action": action,
		"created": t.CreatedAt, "updated": t.LastUpdatedAt, "finished": t.Finished(),
	})
}

// lineWriter calls a function with each line. A long line is split.
type lineWriter struct {
	line    func(string)
	pending []byte
}

const maxLine = 8 << 10

// Write implements [io.Writer].
func (w *lineWriter) Write(b []byte) (int, error) {
	n := len(b)
	for {
		line, rest, complete := bytes.Cut(b, []byte{'\n'})
		w.pending = append(w.pending, line...)
		if !complete && len(w.pending) < maxLine {
			return n, nil
		}
		w.line(string(bytes.TrimRight(w.pending, "\r")))
		w.pending = w.pending[:0]
		if b = rest; !complete {
			return n, nil
		}
	}
}
