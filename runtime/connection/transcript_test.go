package connection_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

func TestHandshakeTranscript(t *testing.T) {
	k := newDispatcher(nil)
	play(t, "handshake.jsonl", func(out peer.Outbound) (peer.Handler, func(string) *wire.Frame) {
		conn := connection.New(out, &connection.Options{Logger: discardLog})
		return k.Handler(conn), conn.Frame
	})
}

func TestRevisionsTranscript(t *testing.T) {
	k := newDispatcher(func(o *connection.DispatcherOptions) {
		o.Revisions = []wire.Revision{mcp.Revision20250326, mcp.Revision20250618, mcp.Revision20260728}
	})
	play(t, "revisions.jsonl", func(out peer.Outbound) (peer.Handler, func(string) *wire.Frame) {
		conn := connection.New(out, nil)
		return k.Handler(conn), conn.Frame
	})
}

func newPipe(k *connection.Dispatcher) func(peer.Outbound) (peer.Handler, func(string) *wire.Frame) {
	return func(out peer.Outbound) (peer.Handler, func(string) *wire.Frame) {
		d := connection.NewPipe(k, &connection.Options{Logger: discardLog})
		d.Attach(out, nil)
		return d, d.Frame
	}
}

// firstFiveRevisions limits the options to the revisions that the transcripts list.
func firstFiveRevisions(o *connection.DispatcherOptions) {
	for _, r := range mcp.Revisions[:5] {
		o.Revisions = append(o.Revisions, r.Revision)
	}
}

func TestStatelessTranscript(t *testing.T) {
	play(t, "stateless.jsonl", newPipe(newDispatcher(firstFiveRevisions)))
}

func TestFirstRequestTranscript(t *testing.T) {
	play(t, "first-request.jsonl", newPipe(newDispatcher(firstFiveRevisions)))
}

func TestHandshakeOnlyTranscript(t *testing.T) {
	play(t, "handshake-only.jsonl", newPipe(newDispatcher(func(o *connection.DispatcherOptions) {
		o.Revisions = []wire.Revision{mcp.Revision20251125}
	})))
}

func TestStatelessOnlyTranscript(t *testing.T) {
	play(t, "stateless-only.jsonl", newPipe(newDispatcher(func(o *connection.DispatcherOptions) {
		o.Revisions, o.OmitServerInfo = []wire.Revision{mcp.Revision20260728}, true
	})))
}

var update = flag.Bool("update", false, "write the actual messages to the transcripts")

// transcript runs the messages of a file. Lines that begin with ">" are sent to the
// handler one after another. Lines that begin with "<" are the messages that must be
// received before the next one is sent. "#" begins a comment, and "---" a new pipe.
type transcript struct {
	t      *testing.T
	lines  []string
	played []string // the file with the actual messages
	frame  func(method string) *wire.Frame
	asked  int64 // the last id of a request to the client
}

// play runs a file. The function begin returns the handler of a pipe, and how messages of the
// server are encoded.
func play(t *testing.T, file string, begin func(out peer.Outbound) (peer.Handler, func(string) *wire.Frame)) {
	path := filepath.Join("testdata", file)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	tr := &transcript{t: t, lines: strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")}
	var handler peer.Handler
	for len(tr.lines) > 0 {
		line := tr.next()
		switch {
		case line == "---":
			out := transcriptChannel{tr}
			handler, tr.frame = begin(out)
		case strings.HasPrefix(line, "> "):
			tr.deliver(handler, line[2:])
		case strings.HasPrefix(line, "< "):
			if *update {
				tr.played = tr.played[:len(tr.played)-1]
				continue
			}
			require.Fail(t, "no message was sent", "%s: want %s", file, line)
		}
	}
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(strings.Join(tr.played, "\n")+"\n"), 0o644))
	}
}

func (tr *transcript) next() string {
	line := tr.lines[0]
	tr.lines = tr.lines[1:]
	tr.played = append(tr.played, line)
	return line
}

// deliver handles a message as a jsonrpc.Conn does.
func (tr *transcript) deliver(h peer.Handler, text string) {
	m, err := wire.ReadMessage([]byte(text), nil)
	require.NoError(tr.t, err, text)
	in := &peer.Inbound{Method: m.Method, ID: m.ID, Params: m.Params, Transport: testTransport, Back: transcriptChannel{tr}}
	reply, err := h.Handle(tr.t.Context(), in)
	if m.ID.IsZero() {
		require.NoError(tr.t, err)
		return
	}
	var line []byte
	if err == nil {
		line, err = wire.AppendResult(nil, reply.Frame, m.ID, reply.Result)
	}
	if err != nil {
		e := peer.AsError(err)
		if e == nil {
			e = &peer.Error{Code: -32603, Message: "Internal error"}
		}
		line, err = wire.AppendError(nil, m.ID, &wire.ErrorObject{Code: e.Code, Message: e.Message, Data: e.Data})
		require.NoError(tr.t, err)
	}
	tr.sent(string(line))
}

// sent compares a message of the server with the file.
func (tr *transcript) sent(line string) {
	line = "< " + line
	if *update {
		tr.played = append(tr.played, line)
		return
	}
	require.NotEmpty(tr.t, tr.lines, "unexpected: %s", line)
	require.Equal(tr.t, tr.next(), line)
}

// transcriptChannel is the channel to the client, for messages related to a request and others.
type transcriptChannel struct{ *transcript }

func (b transcriptChannel) Call(_ context.Context, req peer.Message, res wire.Value, _ ...peer.CallOption) error {
	b.asked++
	line, err := wire.AppendRequest(nil, b.frame(req.Method()), wire.IntID(b.asked), req.Method(), req)
	if err != nil {
		return err
	}
	b.sent(string(line))
	for *update && strings.HasPrefix(b.lines[0], "< ") {
		b.lines = b.lines[1:]
	}
	m, err := wire.ReadMessage([]byte(b.next()[2:]), nil)
	require.NoError(b.t, err)
	if m.Error != nil {
		return &peer.Error{Code: m.Error.Code, Message: m.Error.Message, Data: m.Error.Data}
	}
	return wire.Decode(m.Result, b.frame(req.Method()), res)
}

func (b transcriptChannel) Notify(_ context.Context, n peer.Notification, _ ...peer.CallOption) error {
	line, err := wire.AppendNotification(nil, b.frame(n.Method()), n.Method(), n)
	if err != nil {
		return err
	}
	b.sent(string(line))
	return nil
}

func (b transcriptChannel) Progress(context.Context, peer.Progress) error {
	return errors.New("unexpected progress")
}
