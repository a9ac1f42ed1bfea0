package peer_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

func TestMuxRoute(t *testing.T) {
	var mux peer.Mux
	var told string
	peer.Handle(&mux, func(_ context.Context, req *ask) (*answer, error) { return &answer{req.text + "!"}, nil })
	peer.HandleNotification(&mux, func(_ context.Context, n *tell) error { told = n.text; return nil })

	route, ok := mux.Route("test/ask")
	require.True(t, ok)
	require.Equal(t, &ask{}, route.New())
	require.NotSame(t, route.New(), route.New())
	require.True(t, route.Is(&ask{}))
	require.False(t, route.Is(&tell{}))
	res, err := route.Serve(t.Context(), &ask{"who"})
	require.NoError(t, err)
	require.Equal(t, &answer{"who!"}, res)

	route, ok = mux.Route("test/tell")
	require.True(t, ok)
	require.Equal(t, &tell{}, route.New())
	require.True(t, route.Is(&tell{}))
	res, err = route.Serve(t.Context(), &tell{"news"})
	require.NoError(t, err)
	require.True(t, res == nil, "a notification has no result, not even a typed nil")
	require.Equal(t, "news", told)
	require.Equal(t, []string{"test/ask", "test/tell"}, slices.Collect(mux.Methods()))
}

// extended is a request of an extension. Its method is also a method of the protocol.
type extended struct{ ask }

func (*extended) Extension() string { return "test/extension" }

func TestExtensionHasOwnMethods(t *testing.T) {
	var mux peer.Mux
	peer.Handle(&mux, func(context.Context, *extended) (*answer, error) { return &answer{"extension"}, nil })
	_, has := mux.Route("test/ask")
	require.False(t, has)
	peer.Handle(&mux, func(context.Context, *ask) (*answer, error) { return &answer{"protocol"}, nil })
	for want, find := range map[string]func(string) (peer.Route, bool){"extension": mux.Extension, "protocol": mux.Route} {
		route, has := find("test/ask")
		require.True(t, has)
		res, err := route.Serve(t.Context(), route.New())
		require.NoError(t, err)
		require.Equal(t, &answer{want}, res)
	}
	require.Equal(t, []string{"test/ask"}, slices.Collect(mux.Methods()))
	require.Panics(t, func() {
		peer.Handle(&mux, func(context.Context, *extended) (*answer, error) { return nil, nil })
	})
}

func TestEmptyMux(t *testing.T) {
	var mux peer.Mux
	_, ok := mux.Route("test/ask")
	require.False(t, ok)
	require.Empty(t, slices.Collect(mux.Methods()))
}

func TestHandlePanicsWithNilHandler(t *testing.T) {
	var m peer.Mux
	require.PanicsWithValue(t, `peer: nil handler for "test/ask"`, func() {
		peer.Handle(&m, (func(context.Context, *ask) (*answer, error))(nil))
	})
}

func TestHandlePanicsWithDuplicateHandler(t *testing.T) {
	var mux peer.Mux
	register := func() {
		peer.Handle(&mux, func(context.Context, *ask) (*answer, error) { return nil, nil })
	}
	register()
	require.PanicsWithValue(t, `peer: duplicate handler for "test/ask"`, register)
}

func TestHandlerErrorHasNoResult(t *testing.T) {
	var mux peer.Mux
	peer.Handle(&mux, func(context.Context, *ask) (*answer, error) { return &answer{"half"}, errBroken })
	route, _ := mux.Route("test/ask")
	res, err := route.Serve(t.Context(), &ask{})
	require.ErrorIs(t, err, errBroken)
	require.True(t, res == nil)
}

func TestHandlerReturnsNilResult(t *testing.T) {
	var mux peer.Mux
	peer.Handle(&mux, func(context.Context, *ask) (*answer, error) { return nil, nil })
	route, _ := mux.Route("test/ask")
	res, err := route.Serve(t.Context(), &ask{})
	require.NoError(t, err)
	require.Nil(t, res)
}

func TestAdd(t *testing.T) {
	var mux peer.Mux
	route := peer.Route{
		New:   func() peer.Message { return new(ask) },
		Serve: func(context.Context, peer.Message) (wire.Value, error) { return &answer{"encoded"}, nil },
	}
	mux.Add(route)
	added, ok := mux.Route("test/ask")
	require.True(t, ok)
	require.True(t, added.Is(&ask{}))
	require.False(t, added.Is(nil))
	require.False(t, route.Is(&ask{}), "not registered")
	res, err := added.Serve(t.Context(), added.New())
	require.NoError(t, err)
	require.Equal(t, &answer{"encoded"}, res)
	require.PanicsWithValue(t, `peer: duplicate handler for "test/ask"`, func() { mux.Add(route) })
	require.Panics(t, func() { mux.Add(peer.Route{}) })
	route.Serve = nil
	require.PanicsWithValue(t, `peer: nil handler for "test/ask"`, func() { new(peer.Mux).Add(route) })
}
