package mcpclient_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/mcpclient"
)

// script is a server that answers line by line as a test says.
type script struct {
	// answer returns what is written for a message, nothing for "", and hangs
	// up for hangUp. $ID stands for the id of the message.
	answer func(m message) string

	mu    sync.Mutex
	heard []message
	conns []io.Closer
}

// message is a message as the script reads it.
type message struct {
	ID     json.RawMessage
	Method string
	Params map[string]json.RawMessage
	Result json.RawMessage
	Error  json.RawMessage
}

const hangUp = "hang up"

// ok is an answer with a result.
func ok(result string) string { return `{"jsonrpc":"2.0","id":$ID,"result":` + result + `}` }

// fail is an answer with an error.
func fail(code int, data string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":$ID,"error":{"code":%d,"message":"no","data":%s}}`, code, data)
}

const (
	welcome    = `{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"old","version":"1"}}`
	discovered = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"ttlMs":0,"cacheScope":"private"}`
)

// endpoint is where the script is reached, as often as one likes.
func (s *script) endpoint(t testing.TB) mcpclient.Endpoint {
	var all sync.WaitGroup
	t.Cleanup(all.Wait)
	return mcpclient.Dial("script", func(ctx context.Context, opts *jsonrpc.Options) (mcpclient.Conn, error) {
		ours, theirs := net.Pipe()
		s.mu.Lock()
		s.conns = append(s.conns, theirs)
		s.mu.Unlock()
		all.Go(func() { s.play(theirs) }) // ends with the pipe
		return mcpclient.StreamLink(ctx, ours, ours, opts), nil
	})
}

func (s *script) play(conn net.Conn) {
	defer conn.Close()
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		var m message
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			panic(err)
		}
		s.mu.Lock()
		s.heard = append(s.heard, m)
		s.mu.Unlock()
		switch text := s.answer(m); text {
		case hangUp:
			return
		case "":
		default:
			fmt.Fprintln(conn, strings.ReplaceAll(text, "$ID", string(m.ID)))
		}
	}
}

// hangUp ends all connections.
func (s *script) hangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		c.Close()
	}
}

// messages is what was heard so far.
func (s *script) messages() []message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]message(nil), s.heard...)
}

// methods is the methods of what was heard so far.
func (s *script) methods() []string {
	var names []string
	for _, m := range s.messages() {
		names = append(names, m.Method)
	}
	return names
}
