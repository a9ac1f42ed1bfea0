package workload

import (
	"cmp"
	"context"
	"fmt"

	"github.com/mcpwright/mcp/bench/child"
	"github.com/mcpwright/mcp/bench/httpload"
	"github.com/mcpwright/mcp/bench/peer"
)

// posts measures HTTP servers over raw keep-alive connections.
func posts() []Workload {
	var all []Workload
	for _, mode := range []peer.Mode{peer.Stateful, peer.Stateless, peer.Modern} {
		title := map[peer.Mode]string{
			peer.Stateful: "2025-11-25 with sessions", peer.Stateless: "2025-11-25 without", peer.Modern: "2026-07-28",
		}[mode]
		for _, conns := range []int{1, 16, 64} {
			all = append(all, Workload{fmt.Sprintf("HTTP server, %s, connections: %d", title, conns), CPU, 0, post(mode, conns)})
		}
	}
	return append(all,
		Workload{"HTTP server, list of 1,000 tools", CPU, 0, exchange(peer.Large, 1, peer.ListTools, `"tool_999"`)},
		Workload{"HTTP server, result of 10 MiB", CPU, 0, exchange(peer.Large, 1, peer.TextCall, peer.TextEnd)})
}

// post measures tool calls.
func post(mode peer.Mode, conns int) func(context.Context, peer.Peer) (*Subject, error) {
	return exchange(mode, conns, "", peer.GreetText)
}

// exchange measures requests with a body, or tool calls if it is empty. Each response must contain a text.
func exchange(mode peer.Mode, conns int, body, want string) func(context.Context, peer.Peer) (*Subject, error) {
	return func(_ context.Context, p peer.Peer) (*Subject, error) {
		if _, err := p.HTTP(mode); err != nil {
			return nil, err
		}
		c, err := child.HTTP(p.Name(), mode)
		if err != nil {
			return nil, err
		}
		d := &postDriver{mode: mode, address: c.Address, body: body}
		s := &Subject{
			Apart: true,
			Run: func(n int) (Sample, error) {
				return measureChild(c, n, func() error { return httpload.Run(d.conns, d.requests, n, []byte(want)) })
			},
			Close: func() { d.close(); _ = c.Close() },
		}
		for range conns {
			if err := d.open(); err != nil {
				s.Close()
				return nil, err
			}
		}
		return s, nil
	}
}

// A postDriver has connections and the requests that each connection sends in turn. If the mode has
// sessions, each connection has its own.
type postDriver struct {
	mode     peer.Mode
	address  string
	body     string // of all requests, or empty for tool calls
	conns    []*httpload.Conn
	requests [][][]byte
}

func (d *postDriver) close() {
	for _, c := range d.conns {
		_ = c.Close()
	}
}

func (d *postDriver) open() error {
	c, err := httpload.Dial(d.address)
	if err != nil {
		return err
	}
	d.conns = append(d.conns, c)
	header, err := session(c, d.address, d.mode)
	if err != nil {
		return err
	}
	var requests [][]byte
	for id := range 16 {
		body := cmp.Or(d.body, peer.ToolCall(id+1, d.mode == peer.Modern))
		requests = append(requests, httpload.Post(d.address, body, header...))
	}
	d.requests = append(d.requests, requests)
	return nil
}

// session returns the headers of a call. If the mode has sessions, it opens a session.
func session(c *httpload.Conn, address string, mode peer.Mode) ([]string, error) {
	switch mode {
	case peer.Modern:
		return []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "greet"}, nil
	case peer.Stateless, peer.Large:
		return []string{"Mcp-Protocol-Version", "2025-11-25"}, nil
	}
	c.SessionID = ""
	body, err := c.Do(httpload.Post(address, peer.Initialize))
	if err != nil {
		return nil, err
	}
	if c.Status != 200 || c.SessionID == "" {
		return nil, fmt.Errorf("initialize: status %d, session %q, body %s", c.Status, c.SessionID, body)
	}
	header := []string{"Mcp-Protocol-Version", "2025-11-25", "Mcp-Session-Id", c.SessionID}
	if body, err = c.Do(httpload.Post(address, peer.Initialized, header...)); err == nil && c.Status != 202 && c.Status != 200 {
		err = fmt.Errorf("notifications/initialized: status %d, body %s", c.Status, body)
	}
	return header, err
}
