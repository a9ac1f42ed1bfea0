package workload

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/mcpwright/mcp/bench/child"
	"github.com/mcpwright/mcp/bench/peer"
)

// lines measures servers on their standard streams, without a client of an SDK.
func lines() []Workload {
	return []Workload{
		{"stdio server, 2025-11-25, one call at a time", Time, 0, pipeline(false, 1)},
		{"stdio server, 2025-11-25, 64 calls in flight", Time, 0, pipeline(false, 64)},
		{"stdio server, 2026-07-28, one call at a time", Time, 0, pipeline(true, 1)},
		{"stdio server, 2026-07-28, 64 calls in flight", Time, 0, pipeline(true, 64)},
	}
}

func pipeline(modern bool, window int) func(context.Context, peer.Peer) (*Subject, error) {
	return func(ctx context.Context, p peer.Peer) (*Subject, error) {
		if peer.OnlyHTTP(p) {
			return nil, peer.ErrUnsupported
		}
		c, err := child.Lines(p.Name())
		if err != nil {
			return nil, err
		}
		d := &lineDriver{child: c, window: window}
		head, tail, _ := strings.Cut(peer.ToolCall(0, modern), ":0,")
		d.head, d.tail = head+":", ","+tail+"\n"
		s := &Subject{
			Apart: true,
			Run:   func(n int) (Sample, error) { return measureChild(c, n, func() error { return d.drive(n) }) },
			Close: func() { _ = c.Close() },
		}
		if !modern {
			err = d.handshake()
		}
		if err != nil {
			s.Close()
		}
		return s, err
	}
}

// A lineDriver is the client's end of a pipe. It keeps a window of calls in flight, and writes calls
// that are sent together with one Write.
type lineDriver struct {
	child  *child.Child
	window int
	head   string // the parts of a call before and after its id
	tail   string
	id     int
	out    []byte
}

func (d *lineDriver) handshake() error {
	if _, err := io.WriteString(d.child.In, peer.Initialize+"\n"); err != nil {
		return err
	}
	if _, err := d.child.Out.ReadSlice('\n'); err != nil {
		return err
	}
	_, err := io.WriteString(d.child.In, peer.Initialized+"\n")
	return err
}

func (d *lineDriver) drive(n int) error {
	sent, answered := 0, 0
	for answered < n {
		room := min(d.window-(sent-answered), n-sent)
		if err := d.send(room); err != nil {
			return err
		}
		sent += room
		got, err := d.receive()
		if err != nil {
			return err
		}
		answered += got
	}
	return nil
}

func (d *lineDriver) send(n int) error {
	if n == 0 {
		return nil
	}
	d.out = d.out[:0]
	for range n {
		d.id++
		d.out = append(strconv.AppendInt(append(d.out, d.head...), int64(d.id), 10), d.tail...)
	}
	_, err := d.child.In.Write(d.out)
	return err
}

// receive reads the available responses, at least one.
func (d *lineDriver) receive() (int, error) {
	for n := 1; ; n++ {
		line, err := d.child.Out.ReadSlice('\n')
		if err != nil {
			return n, err
		}
		if !bytes.Contains(line, []byte(peer.GreetText)) {
			return n, fmt.Errorf("unexpected response %s", line)
		}
		if d.child.Out.Buffered() == 0 {
			return n, nil
		}
	}
}
