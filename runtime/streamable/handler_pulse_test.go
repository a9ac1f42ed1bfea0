package streamable_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/streamable"
)

// The race detector watches.
func TestAPulseMayBeatAtOnce(t *testing.T) {
	hasty := &streamable.Options{KeepAlive: time.Nanosecond}
	c := serve(t, nil, hasty).open("2025-11-25")
	for range 500 {
		require.Equal(t, http.StatusOK, c.call("echo").status)
	}
	legacy := streamable.NewLegacySSEHandler(newKernel(nil), hasty)
	defer legacy.Close()
	e := &endpoint{t: t, url: wrapped(t, legacy), client: &http.Client{Transport: new(http.Transport)}}
	for range 100 {
		l := e.stream(http.MethodGet, "")
		l.event()
		l.stop()
	}
}
