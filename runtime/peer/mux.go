package peer

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/mcpwright/mcp/runtime/wire"
)

// A Route handles the messages of one method.
type Route struct {
	// New returns an empty message for params to be read into.
	New func() Message
	// Is tells whether a message is of the type that New makes.
	Is func(Message) bool
	// Serve handles the message that New made. The value is nil for a
	// notification.
	Serve func(ctx context.Context, m Message) (wire.Value, error)
}

// A Mux finds the handler of a method. The zero Mux is empty and ready. It is
// filled before the first message arrives and only read from then on.
type Mux struct {
	routes     map[string]Route
	extensions map[string]Route // of messages that are an [Extension]
}

// Handle registers h for the method of its request type. A second handler for
// a method panics, and so does nil.
func Handle[Req any, P interface {
	*Req
	Request[R]
}, R wire.Value](m *Mux, h func(context.Context, P) (R, error)) {
	m.add(P(new(Req)), h != nil, Route{
		New: func() Message { return P(new(Req)) },
		Is:  func(m Message) bool { _, ok := m.(P); return ok },
		Serve: func(ctx context.Context, req Message) (wire.Value, error) {
			res, err := h(ctx, req.(P))
			if err != nil {
				return nil, err
			}
			return res, nil
		},
	})
}

// HandleValue is [Handle] for an answer that is written as the request's result is,
// whatever its type: one that has been written down before, for example.
func HandleValue[Req any, P interface {
	*Req
	Message
}](m *Mux, h func(context.Context, P) (wire.Value, error)) {
	m.add(P(new(Req)), h != nil, Route{
		New:   func() Message { return P(new(Req)) },
		Is:    func(m Message) bool { _, ok := m.(P); return ok },
		Serve: func(ctx context.Context, req Message) (wire.Value, error) { return h(ctx, req.(P)) },
	})
}

// HandleNotification registers h for the method of its notification type. A
// second handler for a method panics, and so does nil.
func HandleNotification[N any, P interface {
	*N
	Notification
}](m *Mux, h func(context.Context, P) error) {
	m.add(P(new(N)), h != nil, Route{
		New:   func() Message { return P(new(N)) },
		Is:    func(m Message) bool { _, ok := m.(P); return ok },
		Serve: func(ctx context.Context, n Message) (wire.Value, error) { return nil, h(ctx, n.(P)) },
	})
}

func (m *Mux) add(of Message, handled bool, r Route) {
	routes, method := &m.routes, of.Method()
	if !handled {
		panic(fmt.Sprintf("peer: nil is no handler for %q", method))
	}
	if _, is := of.(Extension); is {
		routes = &m.extensions
	}
	if _, taken := (*routes)[method]; taken {
		panic(fmt.Sprintf("peer: a second handler for %q", method))
	}
	if *routes == nil {
		*routes = make(map[string]Route)
	}
	(*routes)[method] = r
}

// Route returns the route of a method and whether there is one. That of an
// extension is not.
func (m *Mux) Route(method string) (Route, bool) {
	r, ok := m.routes[method]
	return r, ok
}

// Extension is [Mux.Route] for a method of an extension.
func (m *Mux) Extension(method string) (Route, bool) {
	r, ok := m.extensions[method]
	return r, ok
}

// Methods lists the methods that have a handler, in order.
func (m *Mux) Methods() iter.Seq[string] {
	methods := slices.AppendSeq(slices.Collect(maps.Keys(m.routes)), maps.Keys(m.extensions))
	slices.Sort(methods)
	return slices.Values(slices.Compact(methods))
}
