package main

import (
	"bytes"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBalancerSendsTheBodyToTheNextReplica sends requests of which each second one is refused by a replica that
// has just ended.
func TestBalancerSendsTheBodyToTheNextReplica(t *testing.T) {
	ended, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, ended.Close())
	runs := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }))
	defer runs.Close()
	b := &balancer{hosts: []string{ended.Addr().String(), runs.Listener.Addr().String()}}
	front := httptest.NewServer(b.handler())
	defer front.Close()
	for _, body := range []string{"", "short", strings.Repeat("long", 1<<18)} {
		for range 4 {
			res, err := http.Post(front.URL, "text/plain", strings.NewReader(body))
			require.NoError(t, err)
			echo, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			require.NoError(t, res.Body.Close())
			require.Equal(t, http.StatusOK, res.StatusCode)
			require.Equal(t, body, string(echo))
		}
	}
}

func TestBalancerWithoutReplicas(t *testing.T) {
	var messages bytes.Buffer
	front := httptest.NewUnstartedServer((&balancer{hosts: make([]string, replicas)}).handler())
	front.Config.ErrorLog = log.New(&messages, "", 0)
	front.Start()
	for range 10 {
		res, err := http.Post(front.URL, "application/json", strings.NewReader("{}"))
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, http.StatusServiceUnavailable, res.StatusCode)
	}
	front.Close()
	require.Empty(t, messages.String())
}
