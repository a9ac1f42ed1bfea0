// Package engineoutage tests replicas whose engine cannot be used for a while. The tests of engines use it with real
// servers of NATS and Redis.
package engineoutage

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/engine"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/scale"
)

// store is an engine.
type store interface {
	engine.Table
	engine.Log
}

const lease = time.Second

// Run requires that a replica does not start during an outage, with an error that contains a text, that a replica that
// runs serves its sessions and refuses new ones with the header Retry-After, and that it needs no restart afterwards.
// The function set begins the outage, or ends it.
func Run(t *testing.T, e store, text string, set func(outage bool)) {
	if testing.Short() {
		t.Skip("operations with the engine end after seconds")
	}
	t.Parallel() // it waits most of the time
	front := httptest.NewUnstartedServer(nil)
	opts := &scale.Options{
		Address: "http://" + front.Listener.Addr().String(), Lease: lease, Logger: slog.New(slog.DiscardHandler),
		Keys: [][]byte{[]byte("a key of thirty-two bytes, or so")},
	}
	set(true)
	_, err := scale.NewNode(e, e, opts)
	require.ErrorContains(t, err, "scale: the engine refused the record of this replica: ")
	require.ErrorContains(t, err, text)
	set(false)

	node := start(t, e, opts)
	s := mcpserver.New(mcp.Implementation{Name: "outage", Version: "1"}, &mcpserver.Options{Logger: opts.Logger})
	front.Config.Handler = node.Handler(s, nil)
	front.Start()
	t.Cleanup(func() {
		ctx := context.Background() // the context of the test has ended
		require.NoError(t, node.Shutdown(ctx))
		require.NoError(t, s.Shutdown(ctx))
		front.Close()
	})
	c := &client{t: t, url: front.URL}
	begun := c.begin()
	require.Equal(t, http.StatusOK, begun.StatusCode)
	c.session = begun.Header.Get("Mcp-Session-Id")
	require.Equal(t, http.StatusOK, c.ping())

	set(true)
	time.Sleep(2 * lease) // the lease ends
	require.Equal(t, http.StatusOK, c.ping())
	refused := (&client{t: t, url: front.URL}).begin()
	require.Equal(t, http.StatusServiceUnavailable, refused.StatusCode)
	require.Equal(t, "1", refused.Header.Get("Retry-After"))
	set(false)

	require.Eventually(t, func() bool {
		return (&client{t: t, url: front.URL}).begin().StatusCode == http.StatusOK
	}, 30*time.Second, 100*time.Millisecond)
	require.Equal(t, http.StatusOK, c.ping())
}

// start starts a replica when the engine can be used again.
func start(t *testing.T, e store, opts *scale.Options) (node *scale.Node) {
	require.Eventually(t, func() bool {
		var err error
		node, err = scale.NewNode(e, e, opts)
		return err == nil
	}, 30*time.Second, 100*time.Millisecond)
	return node
}

// client is a client of 2025-11-25.
type client struct {
	t            *testing.T
	url, session string
}

func (c *client) begin() *http.Response {
	return c.post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
}

func (c *client) ping() (status int) {
	return c.post(`{"jsonrpc":"2.0","id":2,"method":"ping"}`).StatusCode
}

func (c *client) post(body string) *http.Response {
	r, err := http.NewRequest(http.MethodPost, c.url, strings.NewReader(body))
	require.NoError(c.t, err)
	r.Header = http.Header{"Accept": {"application/json, text/event-stream"}, "Content-Type": {"application/json"}, "Mcp-Protocol-Version": {"2025-11-25"}}
	if c.session != "" {
		r.Header["Mcp-Session-Id"] = []string{c.session}
	}
	res, err := http.DefaultClient.Do(r)
	require.NoError(c.t, err)
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	require.NoError(c.t, err)
	return res
}
