package streamable_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/streamable"
)

// upload begins to send a body, and returns what takes the rest of it and what
// reads the answer.
func (e *endpoint) upload(user, length, begin string) (io.Writer, func() *http.Response) {
	conn := e.dial()
	fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nX-User: %s\r\n%s\r\n\r\n", user, length)
	go io.WriteString(conn, begin) // ends with the connection
	synctest.Wait()
	return conn, func() *http.Response {
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(e.t, err)
		return res
	}
}

// serveUploads runs a test against a server that gets bodies as they come.
func serveUploads(t *testing.T, opts *streamable.Options, test func(t *testing.T, e *endpoint)) {
	synctest.Test(t, func(t *testing.T) {
		h := streamable.NewHandler(newKernel(nil), opts)
		e, stop := inMemory(t, h, h.Close)
		defer time.Sleep(time.Second) // connections with something unread linger
		defer stop()
		test(t, e)
	})
}

func TestLargeBodiesAreCountedWhileTheyCome(t *testing.T) {
	opts := &streamable.Options{
		MaxUploads: 2, MaxUploadsPerPrincipal: 1, Principal: func(r *http.Request) string { return r.Header.Get("X-User") },
	}
	serveUploads(t, opts, func(t *testing.T, e *endpoint) {
		begin := `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"` + strings.Repeat("x", 20<<10)
		rest := `"}}`
		length := fmt.Sprintf("Content-Length: %d", len(begin)+len(rest))
		first, answered := e.upload("ann", length, begin)
		_, refused := e.upload("ann", length, begin)
		require.Equal(t, http.StatusTooManyRequests, refused().StatusCode)
		e.upload("bob", length, begin)
		for _, length := range []string{length, "Transfer-Encoding: chunked"} {
			body := begin
			if strings.Contains(length, "chunked") {
				body = fmt.Sprintf("%x\r\n%s\r\n", len(begin), begin)
			}
			_, refused := e.upload("cho", length, body)
			res := refused()
			require.Equal(t, http.StatusServiceUnavailable, res.StatusCode)
			require.Equal(t, "1", res.Header.Get("Retry-After"))
			require.True(t, res.Close, "nobody reads the rest")
		}
		require.Equal(t, http.StatusOK, e.call26("echo", "X-User: ann").status, "small ones are not counted")
		io.WriteString(first, rest)
		require.Equal(t, http.StatusBadRequest, answered().StatusCode, "it has no session")
		_, answered = e.upload("ann", length, begin+rest)
		require.Equal(t, http.StatusBadRequest, answered().StatusCode, "there is room again")
	})
}

func TestNoMoreBodiesComeThanRequestsMayBeInFlight(t *testing.T) {
	serveUploads(t, &streamable.Options{MaxInFlight: 1}, func(t *testing.T, e *endpoint) {
		body := strings.Repeat(" ", 20<<10)
		e.upload("", "Content-Length: 4000000", body)
		_, refused := e.upload("", "Content-Length: 4000000", body)
		require.Equal(t, http.StatusServiceUnavailable, refused().StatusCode)
	})
}

func TestABodyThatIsCompressedIsRefused(t *testing.T) {
	e := serve(t, nil, nil)
	legacy, _ := serveLegacy(t, nil, nil)
	_, to := legacy.legacy()
	for _, e := range []*endpoint{e, to} {
		a := e.post("\x1f\x8b", "Content-Encoding: gzip")
		require.Equal(t, http.StatusUnsupportedMediaType, a.status)
		require.Equal(t, mcp.CodeInvalidRequest, a.code())
		require.Contains(t, a.body, "Content-Encoding")
	}
	require.Equal(t, http.StatusOK, e.call26("echo", "Content-Encoding: identity").status)
}
