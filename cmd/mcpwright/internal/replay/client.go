package replay

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/mcpwright/mcp/cmd/mcpwright/internal/wiretrace"
	"github.com/mcpwright/mcp/generated/mcp"
)

// Link is a connection to a server, with one message on each line.
type Link struct {
	In  io.WriteCloser
	Out io.Reader
}

// Options configures a replay.
type Options struct {
	Ignore Ignore
	// Timeout limits the time to wait for each message. It must be positive.
	Timeout time.Duration
	// Notifications compares notifications of the server, too.
	Notifications bool
	// Report is called with each difference. Calls are not concurrent.
	Report func(Difference)
}

// ErrEnded is the error of a server that ends before the recording.
var ErrEnded = errors.New("the server has ended the connection")

// player plays the side of the client.
type player struct {
	opts    *Options
	link    *Link
	renewed map[string]string          // opaque values of the recording and of this run
	ids     map[string]json.RawMessage // ids of requests of the server, by the recorded ids

	writing sync.Mutex

	mu            sync.Mutex
	expected      map[string]int       // recorded requests of the server that have not arrived, by method
	responses     map[string]*fields   // by id
	requests      []*fields            // of the server, that are not compared yet
	unexpected    []string             // methods of requests that are not in the recording
	notifications map[string][]*fields // by method
	ended         bool
	changed       chan struct{} // has a value after a change
}

// Play plays the messages of the client of one connection to a server. It waits for each
// message of the server that the next message of the client depends on. The caller closes
// the link.
func Play(ctx context.Context, list []*Message, link *Link, opts *Options) error {
	p := &player{
		opts: opts, link: link, renewed: map[string]string{}, ids: map[string]json.RawMessage{},
		responses: map[string]*fields{}, notifications: map[string][]*fields{}, changed: make(chan struct{}, 1),
		expected: map[string]int{},
	}
	for _, m := range list {
		if m.From != fromClient && m.kind() == wiretrace.Request {
			p.expected[m.fields.Method]++
		}
	}
	go p.read() // ends with the output of the server, which ends after the caller has closed the link
	for _, m := range list {
		if err := p.step(ctx, m); err != nil {
			return fmt.Errorf("message %d: %w", m.N, err)
		}
	}
	p.finish(ctx, list)
	return ctx.Err()
}

// step sends a message of the client, or waits for a message of the server.
func (p *player) step(ctx context.Context, m *Message) error {
	switch kind := m.kind(); {
	case m.From == fromClient && m.inBatch && m.batch == nil:
		return nil // was sent with the first message of the batch
	case m.From == fromClient:
		return p.send(m)
	case kind == wiretrace.Response:
		var got *fields
		err := p.wait(ctx, func() bool {
			got = p.responses[string(m.fields.ID)]
			delete(p.responses, string(m.fields.ID))
			return got != nil
		})
		if errors.Is(err, errTimeout) {
			p.report(m, "", fmt.Sprintf("no response in %v", p.opts.Timeout))
			return nil
		}
		if err == nil {
			p.compare(m, got)
		}
		return err
	case kind == wiretrace.Request:
		return p.stepRequest(ctx, m)
	}
	return nil // notifications are compared at the end, because their order may differ
}

// stepRequest waits for a request of the server.
func (p *player) stepRequest(ctx context.Context, m *Message) error {
	var got *fields
	err := p.wait(ctx, func() bool {
		i := slices.IndexFunc(p.requests, func(r *fields) bool { return r.Method == m.fields.Method })
		if i < 0 {
			return false
		}
		got = p.requests[i]
		p.requests = slices.Delete(p.requests, i, i+1)
		return true
	})
	if errors.Is(err, errTimeout) {
		p.report(m, "", fmt.Sprintf("the server has not sent this request in %v", p.opts.Timeout))
		return nil
	}
	if err == nil {
		p.ids[string(m.fields.ID)] = got.ID
		p.compare(m, got)
	}
	return err
}

// send sends a message of the client, or a batch, with the ids and opaque values of this run.
func (p *player) send(m *Message) error {
	list := m.batch
	if list == nil {
		list = []*Message{m}
	}
	var all []json.RawMessage
	for _, m := range list {
		f := m.fields
		f.Params, f.Result, f.Error = p.renew(f.Params), p.renew(f.Result), p.renew(f.Error)
		if f.kind() == wiretrace.Response {
			id, ok := p.ids[string(f.ID)]
			if !ok {
				continue // the server has not sent the request, which was reported
			}
			f.ID = id
		}
		all = append(all, f.encode())
	}
	if len(all) == 0 {
		return nil
	}
	line := all[0]
	if m.batch != nil {
		line = join(all)
	}
	p.writing.Lock()
	defer p.writing.Unlock()
	if err := writeLine(p.link.In, line); err != nil {
		return fmt.Errorf("%w: %w", ErrEnded, err)
	}
	return nil
}

// renew replaces the opaque values of the recording.
func (p *player) renew(raw json.RawMessage) json.RawMessage {
	if len(p.renewed) == 0 || raw == nil {
		return raw
	}
	return encode(mapStrings(decode(raw), "", func(_, text string) string {
		if renewed, ok := p.renewed[text]; ok {
			return renewed
		}
		return text
	}))
}

// compare compares a message of the server with the recorded one.
func (p *player) compare(m *Message, got *fields) {
	c := comparison{ignore: p.opts.Ignore, renewed: p.renewed, report: func(pointer, problem string) { p.report(m, pointer, problem) }}
	c.compareMessages(&m.fields, got)
}

// compareMessages compares the members of two messages, except the ids.
func (c *comparison) compareMessages(recorded, received *fields) {
	members := func(f *fields) map[string]any {
		all := map[string]any{}
		for name, raw := range map[string]json.RawMessage{"params": f.Params, "result": f.Result, "error": f.Error} {
			if raw != nil {
				all[name] = decode(raw)
			}
		}
		return all
	}
	c.compareObjects("", members(recorded), members(received))
}

func (p *player) report(m *Message, pointer, problem string) {
	p.opts.Report(Difference{N: m.N, Method: m.Event.Method, Pointer: pointer, Problem: problem})
}

var errTimeout = errors.New("timeout")

// wait calls done after each change until it returns true.
func (p *player) wait(ctx context.Context, done func() bool) error {
	deadline := time.NewTimer(p.opts.Timeout)
	defer deadline.Stop()
	for {
		p.mu.Lock()
		ok, ended := done(), p.ended
		p.mu.Unlock()
		switch {
		case ok:
			return nil
		case ended:
			return ErrEnded
		}
		select {
		case <-p.changed:
		case <-deadline.C:
			return errTimeout
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// read stores the messages of the server.
func (p *player) read() {
	lines := bufio.NewReader(p.link.Out)
	for {
		line, err := lines.ReadBytes('\n')
		p.mu.Lock()
		all, invalid := readAll(line)
		if invalid == nil {
			for _, f := range all {
				p.receive(f)
			}
		}
		p.ended = p.ended || err != nil
		p.mu.Unlock()
		select {
		case p.changed <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

// receive stores a message of the server. The mutex is locked.
func (p *player) receive(f *fields) {
	switch f.kind() {
	case wiretrace.Request:
		p.addRequest(f)
	case wiretrace.Notification:
		p.notifications[f.Method] = append(p.notifications[f.Method], f)
	default:
		p.responses[string(f.ID)] = f
	}
}

// addRequest stores a request of the server. The server would wait for the response to a
// request that is not in the recording, so it gets an error. The mutex is locked.
func (p *player) addRequest(f *fields) {
	if p.expected[f.Method] > 0 {
		p.expected[f.Method]--
		p.requests = append(p.requests, f)
		return
	}
	response := fields{ID: f.ID, Error: json.RawMessage(`{"code":-32601,"message":"the recording has no such request"}`)}
	if f.Method == mcp.MethodPing {
		response = fields{ID: f.ID, Result: json.RawMessage("{}")}
	} else {
		p.unexpected = append(p.unexpected, f.Method)
	}
	go func() { // ends when the server reads its input, at the latest when the link is closed
		p.writing.Lock()
		defer p.writing.Unlock()
		_ = response.write(p.link.In) // the reader finds out that the server has ended
	}()
}

// finish compares notifications, and reports requests of the server that are not in the
// recording.
func (p *player) finish(ctx context.Context, list []*Message) {
	recorded := map[string][]*Message{}
	for _, m := range list {
		if m.From != fromClient && m.kind() == wiretrace.Notification && p.opts.Notifications {
			recorded[m.fields.Method] = append(recorded[m.fields.Method], m)
		}
	}
	_ = p.wait(ctx, func() bool { // missing notifications are reported below
		for method, want := range recorded {
			if len(p.notifications[method]) < len(want) {
				return false
			}
		}
		return true
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range list {
		if m.From == fromClient || m.kind() != wiretrace.Notification || !p.opts.Notifications {
			continue
		}
		got := p.notifications[m.fields.Method]
		if len(got) == 0 {
			p.report(m, "", "the server has not sent this notification")
			continue
		}
		p.notifications[m.fields.Method] = got[1:]
		p.compare(m, got[0])
	}
	for method, more := range p.notifications {
		if len(more) > 0 && p.opts.Notifications {
			p.opts.Report(Difference{Method: method, Problem: fmt.Sprintf("the server has sent %d more notifications than recorded", len(more))})
		}
	}
	for _, method := range p.unexpected {
		p.opts.Report(Difference{Method: method, Problem: "the server has sent this request, which is not in the recording"})
	}
}
