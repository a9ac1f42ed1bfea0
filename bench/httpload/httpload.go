// Package httpload sends requests to an HTTP/1.1 server over raw keep-alive connections. Each connection
// has a goroutine. The requests are prepared, and reading a response allocates nothing.
package httpload

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Post returns the bytes of a POST to /mcp. The headers are pairs of names and values.
func Post(host, body string, header ...string) []byte {
	return fmt.Appendf(nil, "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: %d\r\n%s\r\n%s",
		host, len(body), lines(header), body)
}

// Get returns the bytes of a GET that opens the stream of a session.
func Get(host string, header ...string) []byte {
	return fmt.Appendf(nil, "GET /mcp HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\n%s\r\n", host, lines(header))
}

func lines(header []string) string {
	var b strings.Builder
	for i := 0; i+1 < len(header); i += 2 {
		b.WriteString(header[i] + ": " + header[i+1] + "\r\n")
	}
	return b.String()
}

// Conn is one keep-alive connection.
type Conn struct {
	c    net.Conn
	br   *bufio.Reader
	body []byte
	// SessionID is the session id of the last response that had one.
	SessionID string
	// Status is the status of the last response.
	Status int
}

// Dial opens a connection.
func Dial(addr string) (*Conn, error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	return &Conn{c: c, br: bufio.NewReaderSize(c, 16<<10)}, nil
}

// Close closes the connection.
func (c *Conn) Close() error { return c.c.Close() }

// Do writes a request and reads the whole response. The body is valid until
// the next call.
func (c *Conn) Do(req []byte) ([]byte, error) {
	if _, err := c.c.Write(req); err != nil {
		return nil, err
	}
	return c.Read()
}

// Write sends a request without reading the response.
func (c *Conn) Write(req []byte) error { _, err := c.c.Write(req); return err }

var (
	hCL  = []byte("content-length:")
	hTE  = []byte("transfer-encoding:")
	hSID = []byte("mcp-session-id:")
)

// Header reads the status line and header, and returns the content length, or
// -1 for a chunked body.
func (c *Conn) Header() (int, error) {
	line, err := c.br.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	if len(line) < 12 {
		return 0, fmt.Errorf("bad status line %q", line)
	}
	c.Status = int(line[9]-'0')*100 + int(line[10]-'0')*10 + int(line[11]-'0')
	n := 0
	for {
		line, err := c.br.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		if len(line) <= 2 {
			return n, nil
		}
		switch line[0] | 0x20 {
		case 'c':
			if len(line) > len(hCL) && bytes.EqualFold(line[:len(hCL)], hCL) {
				v := 0
				for _, d := range bytes.TrimSpace(line[len(hCL):]) {
					v = v*10 + int(d-'0')
				}
				n = v
			}
		case 't':
			if len(line) > len(hTE) && bytes.EqualFold(line[:len(hTE)], hTE) {
				n = -1
			}
		case 'm':
			if c.SessionID == "" && len(line) > len(hSID) && bytes.EqualFold(line[:len(hSID)], hSID) {
				c.SessionID = string(bytes.TrimSpace(line[len(hSID):]))
			}
		}
	}
}

// chunk reads one chunk and reports whether it was the last one.
func (c *Conn) chunk() (last bool, err error) {
	line, err := c.br.ReadSlice('\n')
	if err != nil {
		return false, err
	}
	n, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 16, 64)
	if err != nil {
		return false, err
	}
	if err := c.read(int(n)); err != nil {
		return false, err
	}
	_, err = c.br.Discard(2)
	return n == 0, err
}

func (c *Conn) read(n int) error {
	l := len(c.body)
	c.body = slices.Grow(c.body, n)[:l+n]
	_, err := io.ReadFull(c.br, c.body[l:])
	return err
}

// Read reads a whole response. The body is valid until the next call.
func (c *Conn) Read() ([]byte, error) {
	n, err := c.Header()
	if err != nil {
		return nil, err
	}
	c.body = c.body[:0]
	if n >= 0 {
		err := c.read(n)
		return c.body, err
	}
	for {
		if last, err := c.chunk(); last || err != nil {
			return c.body, err
		}
	}
}

// Await reads chunks of a stream until one contains want. It waits at most 10 seconds for each.
func (c *Conn) Await(want []byte) error {
	if err := c.c.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return err
	}
	for {
		c.body = c.body[:0]
		switch last, err := c.chunk(); {
		case err != nil:
			return err
		case last:
			return io.ErrUnexpectedEOF
		case bytes.Contains(c.body, want):
			return nil
		}
	}
}

// Run sends n requests over the connections, each of which sends its own
// requests in turn. Every response must have status 200 and contain want.
func Run(conns []*Conn, requests [][][]byte, n int, want []byte) error {
	var begun atomic.Int64
	var wg sync.WaitGroup
	failed := make(chan error, len(conns))
	for i, c := range conns {
		wg.Go(func() { // returns when n requests are done
			for k := 0; begun.Add(1) <= int64(n); k++ {
				body, err := c.Do(requests[i][k%len(requests[i])])
				if err == nil && (c.Status != 200 || !bytes.Contains(body, want)) {
					err = fmt.Errorf("status %d, body %.600s", c.Status, body)
				}
				if err != nil {
					failed <- err
					return
				}
			}
		})
	}
	wg.Wait()
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}
