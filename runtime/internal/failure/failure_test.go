package failure_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/internal/failure"
	"github.com/mcpwright/mcp/runtime/peer"
)

var errBroken = errors.New("broken")

// panics returns the error of a function that panics with a value.
func panics(value any) (err error) {
	defer failure.Recover(&err)
	panic(value)
}

func TestRecover(t *testing.T) {
	err := panics(errBroken)
	require.ErrorIs(t, err, errBroken)
	require.EqualError(t, err, "handler panicked: broken")
	var p *failure.PanicError
	require.ErrorAs(t, panics("text"), &p)
	require.Equal(t, "text", p.Value)
	require.Contains(t, p.Stack, "failure_test.panics")
	require.NoError(t, p.Unwrap())
}

func TestForPeer(t *testing.T) {
	refused := &peer.Error{Code: 1, Message: "refused"}
	require.Same(t, refused, failure.ForPeer(fmt.Errorf("wrapped: %w", refused)))
	require.Same(t, failure.Internal, failure.ForPeer(errBroken))
	err := failure.ResultError{Err: errBroken}
	require.Same(t, failure.InvalidResult, failure.ForPeer(err))
	require.ErrorIs(t, err, errBroken)
	require.EqualError(t, err, "broken")
}

func TestLog(t *testing.T) {
	cancelled, cancel := context.WithCancelCause(context.Background())
	cancel(errBroken)
	refused := &peer.Error{Code: 1, Message: "refused"}
	for _, c := range []struct {
		ctx  context.Context
		err  error
		sent bool
		want string
	}{
		{nil, panics("text"), true, `level=ERROR msg="handler panicked"`},
		{nil, failure.ResultError{Err: errBroken}, true, `level=ERROR msg="handler returned an invalid result"`},
		{cancelled, context.Canceled, true, `level=DEBUG msg="handler stopped"`},
		{cancelled, errBroken, true, `level=DEBUG msg="handler stopped"`},
		{nil, refused, true, `level=DEBUG msg="request refused"`},
		{nil, refused, false, `level=ERROR msg="handler failed"`},
		{nil, errBroken, true, `level=ERROR msg="handler failed"`},
	} {
		if c.ctx == nil {
			c.ctx = context.Background()
		}
		var b bytes.Buffer
		log := slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug}))
		failure.Log(c.ctx, log, &peer.Inbound{Method: "m"}, c.err, c.sent)
		require.Contains(t, b.String(), c.want)
		require.Contains(t, b.String(), "method=m")
	}
}

func TestLogPanics(t *testing.T) {
	var b bytes.Buffer
	failure.LogPanics(slog.New(slog.NewTextHandler(&b, nil)), "hook", func() { panic("text") })
	require.Contains(t, b.String(), `msg="hook panicked" panic=text`)
}
