package mcpserver

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"sort"
	"sync"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/revisions"
)

// ErrNoSession is returned for tools of a client that has no session: in the stateless revisions,
// over HTTP if sessions are disabled, and after the session has ended.
var ErrNoSession = errors.New("mcpserver: the client has no session")

// AddSessionTool is like [AddTool] for a tool that only one session has. The connection is the
// argument of [Hooks].SessionStart or, in a handler, the result of [connection.FromContext]:
//
//	err := mcpserver.AddSessionTool(server, connection.FromContext(ctx), &mcp.Tool{Name: "deploy"}, deploy)
//
// The tool replaces a tool of the server with the same name, for this session. The client is
// notified. Options for tools, such as Filter and ToolScopes, apply. Clients that began their
// session before the server had any tool, or declared them in [Options].Capabilities, do not
// expect tools.
//
// AddSessionTool returns [ErrNoSession] or a [*RegistrationError]. The tools of a session end with
// it. They are not part of a session that continues at another replica: add them in SessionStart,
// which is called there, too.
func AddSessionTool[In, Out any](s *Server, conn *connection.Connection, t *mcp.Tool, h func(context.Context, *mcp.ServerSession, In) (Out, error)) error {
	x := newTypedTool(s, t, reflect.TypeFor[In](), reflect.TypeFor[Out]())
	made, err := x.complete(t, newTypedCall(x, h))
	if err != nil {
		return err
	}
	return s.addSessionTool(conn, made)
}

// AddRawSessionTool is like [AddSessionTool] for a tool with given schemas, see
// [Server.AddRawTool].
func (s *Server) AddRawSessionTool(conn *connection.Connection, t *mcp.Tool, call ToolHandler) error {
	made, err := s.newRawTool(t, call)
	if err != nil {
		return err
	}
	return s.addSessionTool(conn, made)
}

// RemoveSessionTools removes tools that only one session has, and notifies its client. Names that
// the session does not have are ignored.
func (s *Server) RemoveSessionTools(conn *connection.Connection, names ...string) {
	own, has := sessionToolsKey.Get(conn.State())
	if !has {
		return
	}
	own.change(func(tools registry) (registry, bool) { return tools.without(names) })
}

func (s *Server) addSessionTool(conn *connection.Connection, t *tool) error {
	if !revisions.Handshake(conn.Revision()) || !conn.HasStandaloneChannel() {
		return ErrNoSession
	}
	s.change(Event{}, func(c *catalog) bool {
		if c.sessionTools {
			return false
		}
		c.sessionTools = true
		return true
	})
	made := false
	own := sessionToolsKey.Update(conn.State(), func(own *sessionTools) *sessionTools {
		if made = own == nil; made {
			own = newSessionTools(s, conn)
		}
		return own
	})
	if made {
		conn.OnClose(own.close)
	}
	if !own.change(func(tools registry) (registry, bool) { return tools.with(t.Name, t), true }) {
		return ErrNoSession
	}
	return nil
}

// sessionTools are the tools that only one session has.
type sessionTools struct {
	mu     sync.Mutex // serializes changes and their notifications
	tools  registry
	closed bool              // the tools do not change anymore, and no more notifications are sent
	client sessionSubscriber // notifies the client; it does not subscribe to events
}

var sessionToolsKey = connection.NewKey[*sessionTools]("tools of the session")

func newSessionTools(s *Server, conn *connection.Connection) *sessionTools {
	own := &sessionTools{client: sessionSubscriber{subscribers: &s.subscribers, conn: conn}}
	own.client.ctx.Context = context.Background()
	return own
}

// change changes the tools, and notifies the client if edit reports a change. It returns false if
// the connection is closed.
func (own *sessionTools) change(edit func(registry) (registry, bool)) bool {
	own.mu.Lock()
	defer own.mu.Unlock()
	if own.closed {
		return false
	}
	tools, changed := edit(own.tools)
	own.tools = tools
	if changed && own.client.conn.State().Initialized() {
		own.client.notify(newEventMessage(Event{Method: mcp.MethodToolListChanged}))
	}
	return true
}

// close is called when the connection is closed.
func (own *sessionTools) close(ctx context.Context) error {
	own.mu.Lock()
	own.closed = true
	own.mu.Unlock()
	return own.client.close(ctx)
}

// list returns the tools.
func (own *sessionTools) list() registry {
	own.mu.Lock()
	defer own.mu.Unlock()
	return own.tools
}

// toolsOf returns the tools that the client of a request has: the tools of the server, and the
// tools of its session.
func toolsOf(ctx context.Context, c *catalog) registry {
	own := ownTools(ctx, c)
	if len(own) == 0 {
		return c.tools
	}
	all := slices.Concat(own, c.tools) // the sort is stable: of equal names, the tool of the session is first
	sort.SliceStable(all, func(i, j int) bool { return all[i].key < all[j].key })
	return slices.CompactFunc(all, func(a, b entry) bool { return a.key == b.key })
}

// findTool returns the tool with a name that the client of a request has, or nil.
func findTool(ctx context.Context, c *catalog, name string) *tool {
	if t := find[tool](ownTools(ctx, c), name); t != nil {
		return t
	}
	return find[tool](c.tools, name)
}

// ownTools returns the tools that only the session of a request has.
func ownTools(ctx context.Context, c *catalog) registry {
	if !c.sessionTools {
		return nil
	}
	own, has := sessionToolsKey.Get(connection.FromContext(ctx).State())
	if !has {
		return nil
	}
	return own.list()
}
