package dispatch_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/dispatch"
)

// What is refused without an answer would hang at its sender until that loses
// patience.
func TestEveryRequestOverTheLimitIsToldSo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, r := newConn(t, &dispatch.Options{Handler: handlers{"wait": untilDone}})
		const asked = 5000
		for id := range asked {
			deliver(c, request(id, "wait"))
		}
		require.Len(t, r.take(), asked-256)
	})
}

func TestRefusalsDoNotDependOnTheLengthOfMessages(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, r := newConn(t, &dispatch.Options{MaxMessage: 200, MaxInFlight: 1, Handler: handlers{"wait": untilDone}})
		for id := range 100 {
			deliver(c, request(id, "wait"))
		}
		require.Len(t, r.take(), 99)
	})
}
