package streamable_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/streamable"
)

func TestLoopbackAddressAcceptsOnlyLoopbackHosts(t *testing.T) {
	e := serve(t, nil, nil)
	for host, status := range map[string]int{
		"localhost": 200, "localhost:8080": 200, "LOCALHOST": 200, "127.0.0.1": 200, "127.0.0.1:1": 200, "127.8.8.8": 200, "[::1]:80": 200, "[::1]": 200,
		"evil.example.com": 421, "evil.example.com:80": 421, "localhost.evil.example": 421, "10.0.0.1": 421, "127.0.0.1.evil.example": 421, "[::2]": 421,
	} {
		require.Equal(t, status, e.call26("echo", "Host: "+host).status, host)
		require.Equal(t, status, e.post(initialize("2025-11-25"), "Host: "+host).status, host)
	}
	named := serve(t, nil, &streamable.Options{Hosts: []string{"mcp.example.com", "other.example.com:8080"}})
	for host, status := range map[string]int{
		"mcp.example.com": 200, "MCP.example.com:1234": 200, "other.example.com:8080": 200, "localhost": 200, "other.example.com": 421, "example.com": 421,
	} {
		require.Equal(t, status, named.call26("echo", "Host: "+host).status, host)
	}
	require.Equal(t, 200, serve(t, nil, &streamable.Options{Hosts: []string{"*"}}).call26("echo", "Host: evil.example.com").status)
}

func TestOtherOriginsAreRefused(t *testing.T) {
	e := serve(t, nil, nil)
	own := strings.TrimPrefix(e.url, "http://")
	for origin, status := range map[string]int{
		"": 200, "Origin: http://" + own: 200, "Origin: http://localhost:6274": 200, "Origin: http://[::1]:80": 200, "Sec-Fetch-Site: same-origin": 200, "Sec-Fetch-Site: none": 200,
		"Origin: https://evil.example.com": 403, "Origin: null": 403, "Origin: x": 403, "Origin: http://%zz": 403, "Origin: http://localhost.evil.example": 403,
		"Sec-Fetch-Site: cross-site": 403, "Sec-Fetch-Site: same-site": 403,
	} {
		var change []string
		if origin != "" {
			change = append(change, origin)
		}
		require.Equal(t, status, e.call26("echo", change...).status, origin)
	}
	require.Equal(t, 403, e.call26("echo", "Origin: http://"+own, "Origin: https://evil.example.com").status)
	require.Equal(t, 403, e.send(http.MethodGet, "", "Origin: https://evil.example.com").status)

	listed := serve(t, nil, &streamable.Options{Origins: []string{"https://app.example.com"}})
	require.Equal(t, 200, listed.call26("echo", "Origin: https://APP.example.com").status)
	require.Equal(t, 403, listed.call26("echo", "Origin: https://evil.example.com").status)
	require.Equal(t, 200, serve(t, nil, &streamable.Options{Origins: []string{"*"}}).call26("echo", "Origin: null").status)
}

func TestOtherAddressesAcceptAnyHostByDefault(t *testing.T) {
	status := func(h http.Handler, host string, change ...string) int {
		r := httptest.NewRequest(http.MethodPost, "http://"+host+"/", strings.NewReader(call26("echo")))
		r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1)}))
		for _, line := range append(headers26("echo"), append(change, "Content-Type: application/json")...) {
			name, value, _ := strings.Cut(line, ": ")
			r.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	open := streamable.NewHandler(newDispatcher(nil), nil)
	require.Equal(t, 200, status(open, "mcp.example.com"))
	require.Equal(t, 200, status(open, "mcp.example.com", "Origin: https://mcp.example.com"))
	require.Equal(t, 403, status(open, "mcp.example.com", "Origin: http://localhost:6274"), "pages of localhost are on another machine")
	named := streamable.NewHandler(newDispatcher(nil), &streamable.Options{Hosts: []string{"mcp.example.com"}})
	require.Equal(t, 200, status(named, "mcp.example.com:443"))
	require.Equal(t, 421, status(named, "evil.example.com"))
	require.Equal(t, 421, status(named, "localhost"))
}

func TestBodyMustBeJSONWithinLimit(t *testing.T) {
	e := serve(t, nil, &streamable.Options{MaxBody: 500})
	for kind, status := range map[string]int{
		"application/json": 200, "Application/JSON; charset=utf-8": 200, "application/json ;v=1": 200,
		"text/plain": 415, "application/jsonx": 415, "application/x-www-form-urlencoded": 415, "multipart/form-data; a=application/json": 415,
	} {
		require.Equal(t, status, e.call26("echo", "Content-Type: "+kind).status, kind)
		if status != 200 {
			require.Equal(t, status, e.post(initialize("2025-11-25"), "Content-Type: "+kind).status, kind)
		}
	}
	require.Equal(t, 415, e.call26("echo", "Content-Type").status)
	require.Equal(t, 415, e.call26("echo", "Content-Type: application/json", "Content-Type: text/plain").status)
	long := call26("echo") + strings.Repeat(" ", 500)
	require.Equal(t, 413, e.post(long, headers26("echo")...).status)
	require.Equal(t, 413, e.post(long).status)

	r := e.request(t.Context(), http.MethodPost, "", headers26("echo"))
	r.Body, r.ContentLength = http.NoBody, -1
	r.Body = struct{ *neverEnding }{new(neverEnding)}
	res, err := e.client.Do(r)
	require.NoError(t, err)
	res.Body.Close()
	require.Equal(t, 413, res.StatusCode, "a body without Content-Length")
}

// neverEnding is a body without an end.
type neverEnding struct{}

func (*neverEnding) Read(b []byte) (int, error) { return copy(b, spaces), nil }
func (*neverEnding) Close() error               { return nil }

var spaces = strings.Repeat(" ", 64<<10)

func TestLargeBodyWithinLimitIsAccepted(t *testing.T) {
	e := serve(t, nil, nil)
	long := call26("echo") + strings.Repeat(" ", 3<<20)
	require.Equal(t, 200, e.post(long, headers26("echo")...).status)
	require.Equal(t, 413, e.post(long+strings.Repeat(" ", 2<<20), headers26("echo")...).status)
	require.Equal(t, 200, serve(t, nil, &streamable.Options{MaxBody: -1}).post(long+strings.Repeat(" ", 2<<20), headers26("echo")...).status)
}

// upload starts a POST request with the first part of a body. It returns a writer for
// the rest of the body and a function that reads the response.
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

// serveUploads runs a test with a server in memory, which receives bodies step by step.
func serveUploads(t *testing.T, opts *streamable.Options, test func(t *testing.T, e *endpoint)) {
	synctest.Test(t, func(t *testing.T) {
		h := streamable.NewHandler(newDispatcher(nil), opts)
		e, stop := inMemory(t, h, h.Close)
		defer time.Sleep(time.Second) // net/http closes connections with unread data after a delay
		defer stop()
		test(t, e)
	})
}

func TestMaxUploadsLimitsLargeBodies(t *testing.T) {
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
			require.True(t, res.Close, "the rest of the body is not read")
		}
		require.Equal(t, http.StatusOK, e.call26("echo", "X-User: ann").status, "small bodies are not counted")
		io.WriteString(first, rest)
		require.Equal(t, http.StatusBadRequest, answered().StatusCode, "the request has no session")
		_, answered = e.upload("ann", length, begin+rest)
		require.Equal(t, http.StatusBadRequest, answered().StatusCode, "the count has decreased")
	})
}

func TestAnonymousUploadsLeaveRoomForPrincipals(t *testing.T) {
	opts := &streamable.Options{MaxUploads: 8, Principal: func(r *http.Request) string { return r.Header.Get("X-User") }}
	serveUploads(t, opts, func(t *testing.T, e *endpoint) {
		begin := `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"` + strings.Repeat("x", 20<<10)
		length := fmt.Sprintf("Content-Length: %d", len(begin)+3)
		for range 6 {
			e.upload("", length, begin)
		}
		for range 2 {
			_, refused := e.upload("", length, begin)
			require.Equal(t, http.StatusServiceUnavailable, refused().StatusCode)
		}
		for _, user := range []string{"ann", "bob"} {
			rest, answered := e.upload(user, length, begin)
			_, refused := e.upload(user, length, begin)
			require.Equal(t, http.StatusServiceUnavailable, refused().StatusCode, "the rest is for other principals")
			io.WriteString(rest, `"}}`)
			require.Equal(t, http.StatusBadRequest, answered().StatusCode, "the body was read, but the request has no session")
		}
	})
}

func TestMaxInFlightLimitsLargeBodies(t *testing.T) {
	serveUploads(t, &streamable.Options{MaxInFlight: 1}, func(t *testing.T, e *endpoint) {
		body := strings.Repeat(" ", 20<<10)
		e.upload("", "Content-Length: 4000000", body)
		_, refused := e.upload("", "Content-Length: 4000000", body)
		require.Equal(t, http.StatusServiceUnavailable, refused().StatusCode)
	})
}

func TestCompressedBodyIsRefused(t *testing.T) {
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
