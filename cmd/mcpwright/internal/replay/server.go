package replay

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpwright/mcp/cmd/mcpwright/internal/wiretrace"
	"github.com/mcpwright/mcp/generated/mcp"
)

// Player plays the side of the server. It is safe for concurrent use.
type Player struct {
	opts *Options
	// stream gets messages that belong to no POST request. It is nil if the client has a pipe.
	stream     *eventQueue
	background sync.WaitGroup // scripts of notifications that have arrived over HTTP

	mu      sync.Mutex
	turns   []*turn
	waiting map[string]chan *fields // for responses of the client, by the id of the request
	legacy  map[string]*eventQueue  // streams of the transport HTTP+SSE, by the parameter of their URL
}

// turn is a message of the client, and the messages that the server has sent for it.
type turn struct {
	message *Message
	script  []*Message // in order, with the responses of the client to requests of the server
	used    bool
}

// NewPlayer returns a player for the server of a recording.
func NewPlayer(r *Recording, opts *Options) *Player {
	p := &Player{opts: opts, waiting: map[string]chan *fields{}, legacy: map[string]*eventQueue{}}
	for _, list := range r.Connections {
		p.turns = append(p.turns, turnsOf(list)...)
	}
	return p
}

// turnsOf assigns each message of the server to the message of the client that it belongs
// to: the request that it responds to, or else the last message of the client.
func turnsOf(list []*Message) (turns []*turn) {
	byNumber := map[int]*turn{}
	requests := map[string]*turn{} // requests of the client, by id
	asked := map[string]*turn{}    // requests of the server, by id
	for _, m := range list {
		var of *turn
		if len(turns) > 0 {
			of = turns[len(turns)-1]
		}
		kind, id := m.kind(), string(m.fields.ID)
		switch {
		case m.From == fromClient && kind != wiretrace.Response:
			of = &turn{message: m}
			turns = append(turns, of)
			byNumber[m.N] = of
			if kind == wiretrace.Request {
				requests[id] = of
			}
			continue
		case m.From == fromClient: // a response belongs to the turn of the server's request
			of = asked[id]
		case kind == wiretrace.Response && requests[id] != nil:
			of = requests[id]
		case byNumber[m.RespondsTo] != nil:
			of = byNumber[m.RespondsTo]
		}
		if of == nil {
			continue // sent before any message of the client
		}
		if kind == wiretrace.Request {
			asked[id] = of
		}
		of.script = append(of.script, m)
	}
	return turns
}

// Serve reads the messages of a client, one on each line, and writes the recorded messages
// to it, until the input ends. It handles a message when the messages before it have been
// handled or wait for the client, so that each run writes the same order.
func (p *Player) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel() // no response of the client will come
	w := &lockedWriter{w: out}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			inOrder(&running, func(waits func()) { // ends at the latest after the timeouts of the requests of the server
				p.handle(ctx, line, w, waits)
			})
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the client: %w", err)
		}
	}
}

// inOrder calls a function in a goroutine. It returns when the function returns or calls
// waits, which the function may do more than once.
func inOrder(running *sync.WaitGroup, handle func(waits func())) {
	passed := make(chan struct{})
	waits := sync.OnceFunc(func() { close(passed) })
	running.Go(func() { // ends with the function
		defer waits()
		handle(waits)
	})
	<-passed
}

// lockedWriter writes whole messages.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

// Write implements [io.Writer].
func (w *lockedWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.w.Write(b)
}

// handle handles a message of the client, and writes the messages of the server. It calls
// waits before it waits for the client, so that the next message can be handled.
func (p *Player) handle(ctx context.Context, line []byte, out io.Writer, waits func()) {
	all, err := readAll(line)
	if err != nil {
		p.differ(Difference{Method: "message", Problem: fmt.Sprintf("the client has sent a message that is not JSON-RPC: %v", err)})
		return
	}
	if line = bytes.TrimSpace(line); line[0] == '[' {
		p.handleBatch(ctx, all, out, waits)
		return
	}
	p.handleMessage(ctx, all[0], out, waits)
}

// handleBatch handles the messages of a batch. The responses are a batch, too.
func (p *Player) handleBatch(ctx context.Context, all []*fields, out io.Writer, waits func()) {
	responses := &batchWriter{next: out}
	var running sync.WaitGroup
	var waiting atomic.Bool
	for _, f := range all {
		inOrder(&running, func(waits func()) {
			p.handleMessage(ctx, f, responses, func() {
				waiting.Store(true)
				waits()
			})
		})
	}
	if waiting.Load() {
		waits()
	}
	running.Wait()
	if len(responses.list) > 0 {
		_ = writeLine(out, join(responses.list)) // the reader finds out that the client has ended
	}
}

// batchWriter collects responses. Other messages are passed on.
type batchWriter struct {
	next io.Writer
	mu   sync.Mutex
	list []json.RawMessage
}

// Write writes one message.
func (w *batchWriter) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var f fields
	if json.Unmarshal(line, &f) == nil && f.kind() == wiretrace.Response {
		w.list = append(w.list, bytes.Clone(bytes.TrimSpace(line)))
		return len(line), nil
	}
	return w.next.Write(line)
}

// handleMessage handles one message.
func (p *Player) handleMessage(ctx context.Context, f *fields, out io.Writer, waits func()) {
	if f.kind() == wiretrace.Response {
		p.deliver(f)
		return
	}
	t := p.take(f)
	if t == nil {
		p.refuse(f, out)
		return
	}
	s := script{player: p, turn: t, received: f, out: out, waits: waits}
	s.play(ctx)
}

// deliver passes a response of the client to the script that waits for it.
func (p *Player) deliver(f *fields) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if waiter := p.waiting[string(f.ID)]; waiter != nil {
		delete(p.waiting, string(f.ID))
		waiter <- f
	}
}

// refuse responds to a message that is not in the recording.
func (p *Player) refuse(f *fields, out io.Writer) {
	if f.Method == mcp.MethodPing {
		_ = (&fields{ID: f.ID, Result: json.RawMessage("{}")}).write(out) // the reader finds out that the client has ended
		return
	}
	p.differ(Difference{Method: f.Method, Problem: "the client has sent this message, which is not in the recording"})
	if f.ID != nil {
		_ = (&fields{ID: f.ID, Error: json.RawMessage(`{"code":-32601,"message":"the recording has no such request"}`)}).write(out)
	}
}

func (p *Player) differ(d Difference) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.opts.Report(d)
}

// take returns the recorded turn for a message of the client: the first unused turn with
// the same params, or else the first unused turn, or else a used turn with the same params.
// It reports differences in the params.
func (p *Player) take(f *fields) *turn {
	p.mu.Lock()
	defer p.mu.Unlock()
	var first, again *turn
	for _, t := range p.turns {
		if t.message.fields.Method != f.Method || (t.message.fields.ID == nil) != (f.ID == nil) {
			continue
		}
		same := len(p.differences(t, f)) == 0
		switch {
		case same && !t.used:
			t.used = true
			return t
		case same && again == nil:
			again = t
		case !t.used && first == nil:
			first = t
		}
	}
	if first == nil {
		return again
	}
	first.used = true
	for _, d := range p.differences(first, f) {
		p.opts.Report(d)
	}
	return first
}

// differences compares a message of the client with a recorded message. Message metadata
// differs between runs. The mutex is locked.
func (p *Player) differences(t *turn, f *fields) (list []Difference) {
	ignore := slices.Concat(p.opts.Ignore, Ignore{"/params/_meta", "/params/requestId", "/params/clientInfo"})
	c := comparison{ignore: ignore, report: func(pointer, problem string) {
		list = append(list, Difference{N: t.message.N, Method: f.Method, Pointer: pointer, Problem: problem})
	}}
	c.compareMessages(&t.message.fields, f)
	return list
}

// Finish waits for the scripts that still run, and reports the requests of the recording that the client has not sent.
func (p *Player) Finish() {
	p.background.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, t := range p.turns {
		if !t.used && t.message.kind() == wiretrace.Request && t.message.fields.Method != mcp.MethodPing {
			p.opts.Report(Difference{N: t.message.N, Method: t.message.fields.Method, Problem: "the client has not sent this request"})
		}
	}
}

// script plays the messages of a turn.
type script struct {
	player   *Player
	turn     *turn
	received *fields // the message of the client
	out      io.Writer
	waits    func() // is called before the script waits for the client
}

// play sends the messages of the server in order. A request waits for its response.
func (s *script) play(ctx context.Context) {
	responses := map[string]*Message{} // of the client
	for _, m := range s.turn.script {
		if m.From == fromClient {
			responses[string(m.fields.ID)] = m
		}
	}
	for _, m := range s.turn.script {
		if m.From == fromClient {
			continue
		}
		f := m.fields
		switch m.kind() {
		case wiretrace.Response:
			f.ID = s.received.ID
		case wiretrace.Notification:
			f.Params = s.renew(f.Params)
		case wiretrace.Request:
			if !s.ask(ctx, m, responses[string(f.ID)]) {
				return
			}
			continue
		}
		if f.write(s.writer(m)) != nil {
			return // the client has ended, which the reader finds out
		}
	}
}

// writer returns where a message of the server is sent.
func (s *script) writer(m *Message) io.Writer {
	if _, legacy := s.out.(*eventQueue); !legacy && s.player.stream != nil && (m.onStream || s.received.ID == nil) {
		return s.player.stream
	}
	return s.out
}

// ask sends a request of the server, and compares the response of the client.
func (s *script) ask(ctx context.Context, m, recorded *Message) bool {
	p := s.player
	waiter := make(chan *fields, 1)
	p.mu.Lock()
	p.waiting[string(m.fields.ID)] = waiter
	p.mu.Unlock()
	if m.fields.write(s.writer(m)) != nil {
		return false
	}
	if recorded == nil {
		return true // the client did not respond
	}
	s.waits()
	timeout := time.NewTimer(p.opts.Timeout)
	defer timeout.Stop()
	select {
	case f := <-waiter:
		p.mu.Lock()
		defer p.mu.Unlock()
		c := comparison{ignore: p.opts.Ignore, report: func(pointer, problem string) {
			p.opts.Report(Difference{N: recorded.N, Method: m.fields.Method, Pointer: pointer, Problem: problem})
		}}
		c.compareMessages(&recorded.fields, f)
	case <-timeout.C:
		p.differ(Difference{N: recorded.N, Method: m.fields.Method, Problem: fmt.Sprintf("the client has not responded in %v", p.opts.Timeout)})
	case <-ctx.Done():
		return false
	}
	return true
}

// renew replaces the progress token and the id of the recorded request.
func (s *script) renew(params json.RawMessage) json.RawMessage {
	object, ok := decode(params).(map[string]any)
	if !ok {
		return params
	}
	token := func(raw json.RawMessage) any {
		all, _ := decode(raw).(map[string]any)
		meta, _ := all["_meta"].(map[string]any)
		return meta["progressToken"]
	}
	if now := token(s.received.Params); object["progressToken"] != nil && object["progressToken"] == token(s.turn.message.fields.Params) && now != nil {
		object["progressToken"] = now
	}
	if id, ok := object["requestId"]; ok && strings.TrimSpace(string(s.turn.message.fields.ID)) == string(encode(id)) {
		object["requestId"] = decode(s.received.ID)
	}
	return encode(object)
}
