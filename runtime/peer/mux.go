package peer

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"sort"

	"github.com/mcpwright/mcp/runtime/wire"
)

// Route handles the messages of one method.
type Route struct {
	// New returns an empty message, for decoding params.
	New func() Message
	// Serve handles a message of the type that New returns. The result is nil for a notification.
	Serve func(ctx context.Context, m Message) (wire.Value, error)

	of Message // a message of the type that New returns; nil before the route is registered
}

// Is reports whether a message has the type that New returns. The route must be one of a [Mux].
func (r Route) Is(m Message) bool { return m != nil && reflect.TypeOf(m) == reflect.TypeOf(r.of) }

// Mux finds the handler of a method. The zero Mux is empty. Handlers must be registered before it
// is used; afterwards it is safe for concurrent use.
type Mux struct {
	routes     map[string]Route
	extensions map[string]Route // for messages that implement [Extension]
}

// Handle registers h for the method of its request type. It panics if h is nil or the method has a
// handler.
func Handle[Req any, P interface {
	*Req
	Request[R]
}, R wire.Value](m *Mux, h func(context.Context, P) (R, error)) {
	m.add(h != nil, Route{
		New: func() Message { return P(new(Req)) },
		Serve: func(ctx context.Context, req Message) (wire.Value, error) {
			res, err := h(ctx, req.(P))
			if err != nil {
				return nil, err
			}
			return res, nil
		},
	})
}

// HandleNotification registers h for the method of its notification type. It panics if h is nil or
// the method has a handler.
func HandleNotification[N any, P interface {
	*N
	Notification
}](m *Mux, h func(context.Context, P) error) {
	m.add(h != nil, Route{
		New:   func() Message { return P(new(N)) },
		Serve: func(ctx context.Context, n Message) (wire.Value, error) { return nil, h(ctx, n.(P)) },
	})
}

// Add registers a route for the method of its messages. It is for handlers that do not fit
// [Handle], for example because their results have been encoded before. It panics if a function is
// nil or the method has a handler.
func (m *Mux) Add(r Route) { m.add(r.Serve != nil, r) }

func (m *Mux) add(complete bool, r Route) {
	if r.New == nil {
		panic("peer: route without New")
	}
	of := r.New()
	routes, method := &m.routes, of.Method()
	if !complete {
		panic(fmt.Sprintf("peer: nil handler for %q", method))
	}
	if _, is := of.(Extension); is {
		routes = &m.extensions
	}
	if _, taken := (*routes)[method]; taken {
		panic(fmt.Sprintf("peer: duplicate handler for %q", method))
	}
	if *routes == nil {
		*routes = make(map[string]Route)
	}
	r.of = of
	(*routes)[method] = r
}

// Route returns the route of a method, and reports whether there is one. It ignores methods of
// extensions.
func (m *Mux) Route(method string) (Route, bool) {
	r, ok := m.routes[method]
	return r, ok
}

// Extension is like [Mux.Route] for a method of an extension.
func (m *Mux) Extension(method string) (Route, bool) {
	r, ok := m.extensions[method]
	return r, ok
}

// Methods returns the methods that have a handler, in alphabetical order.
func (m *Mux) Methods() iter.Seq[string] {
	methods := slices.AppendSeq(slices.Collect(maps.Keys(m.routes)), maps.Keys(m.extensions))
	sort.Strings(methods)
	return slices.Values(slices.Compact(methods))
}
