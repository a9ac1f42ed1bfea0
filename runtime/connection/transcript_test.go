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

	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

var update = flag.Bool("update", false, "write what is answered into the transcripts")

// transcript plays a conversation of a file: lines that begin with ">" go to the
// handler, one after another, those with "<" are what must come back before the
// next. "#" begins a comment, "---" a new pipe.
type transcript struct {
	t      *testing.T
	lines  []string
	played []string // the file as it should be
	frame  func(method string) *wire.Frame
	asked  int64 // the last id of a request to the client
}

// play plays a file. begin makes the handler of a pipe, and tells how what the
// server sends on its own is written.
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
			out := back{tr}
			handler, tr.frame = begin(out)
		case strings.HasPrefix(line, "> "):
			tr.deliver(handler, line[2:])
		case strings.HasPrefix(line, "< "):
			if *update {
				tr.played = tr.played[:len(tr.played)-1]
				continue
			}
			require.Fail(t, "nothing was sent", "%s: want %s", file, line)
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

// deliver does what a dispatcher does with a message.
func (tr *transcript) deliver(h peer.Handler, text string) {
	m, err := wire.ReadMessage([]byte(text), nil)
	require.NoError(tr.t, err, text)
	in := &peer.Inbound{Method: m.Method, ID: m.ID, Params: m.Params, Transport: pipe, Back: back{tr}}
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

// sent compares what the server sent with the file.
func (tr *transcript) sent(line string) {
	line = "< " + line
	if *update {
		tr.played = append(tr.played, line)
		return
	}
	require.NotEmpty(tr.t, tr.lines, "unexpected: %s", line)
	require.Equal(tr.t, tr.next(), line)
}

// back is the way to the client, during a request and outside.
type back struct{ *transcript }

func (b back) Call(_ context.Context, req peer.Message, res wire.Value, _ ...peer.CallOption) error {
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

func (b back) Notify(_ context.Context, n peer.Notification, _ ...peer.CallOption) error {
	line, err := wire.AppendNotification(nil, b.frame(n.Method()), n.Method(), n)
	if err != nil {
		return err
	}
	b.sent(string(line))
	return nil
}

func (b back) Progress(context.Context, peer.Progress) error { return errors.New("not used here") }
