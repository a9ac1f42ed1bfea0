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

// reader is an Outbound that looks at what it is to send.
type reader struct{ sent []string }

func (r *reader) look(m peer.Message) error {
	r.sent = append(r.sent, m.Method())
	if reflect.ValueOf(m).IsNil() {
		return context.Canceled
	}
	return nil
}

func (r *reader) Call(_ context.Context, req peer.Message, _ wire.Value, _ ...peer.CallOption) error {
	return r.look(req)
}

func (r *reader) Notify(_ context.Context, n peer.Notification, _ ...peer.CallOption) error {
	return r.look(n)
}

func TestAViewSendsAnEmptyMessageInPlaceOfNil(t *testing.T) {
	var r reader
	for _, view := range []any{mcp.ServerPeer{Outbound: &r}, mcp.ClientPeer{Outbound: &r}} {
		v := reflect.ValueOf(view)
		for i := range v.NumMethod() {
			name, m := v.Type().Method(i).Name, v.Method(i)
			if m.Type().NumIn() != 2 || m.Type().IsVariadic() || m.Type().Out(m.Type().NumOut()-1) != reflect.TypeFor[error]() {
				continue // an iterator, or the view's own
			}
			out := m.Call([]reflect.Value{reflect.ValueOf(t.Context()), reflect.Zero(m.Type().In(1))})
			require.True(t, out[len(out)-1].IsNil(), name)
		}
	}
	require.Greater(t, len(r.sent), 30)
}
