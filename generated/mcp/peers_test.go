package mcp_test

import (
	"context"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// recorder is an Outbound that records the methods of the messages to send.
type recorder struct{ sent []string }

func (r *recorder) record(m peer.Message) error {
	r.sent = append(r.sent, m.Method())
	if reflect.ValueOf(m).IsNil() {
		return context.Canceled
	}
	return nil
}

func (r *recorder) Call(_ context.Context, req peer.Message, _ wire.Value, _ ...peer.CallOption) error {
	return r.record(req)
}

func (r *recorder) Notify(_ context.Context, n peer.Notification, _ ...peer.CallOption) error {
	return r.record(n)
}

func TestPeersSendEmptyMessageForNil(t *testing.T) {
	var r recorder
	for _, p := range []any{mcp.ServerPeer{Outbound: &r}, mcp.ClientPeer{Outbound: &r}} {
		v := reflect.ValueOf(p)
		for i := range v.NumMethod() {
			name, m := v.Type().Method(i).Name, v.Method(i)
			if m.Type().NumIn() != 2 || m.Type().IsVariadic() || m.Type().Out(m.Type().NumOut()-1) != reflect.TypeFor[error]() {
				continue // an iterator, or not a call
			}
			out := m.Call([]reflect.Value{reflect.ValueOf(t.Context()), reflect.Zero(m.Type().In(1))})
			require.True(t, out[len(out)-1].IsNil(), name)
		}
	}
	require.Greater(t, len(r.sent), 30)
}
