package server

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/mcpwright/mcp/compat/mcpgo/internal/convert"
	"github.com/mcpwright/mcp/compat/mcpgo/mcp"
	kit "github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Errors about sessions.
var (
	ErrSessionNotFound                        = errors.New("session not found")
	ErrSessionExists                          = errors.New("session already exists")
	ErrSessionNotInitialized                  = errors.New("session not properly initialized")
	ErrSessionDoesNotSupportTools             = errors.New("session does not support per-session tools")
	ErrSessionDoesNotSupportResources         = errors.New("session does not support per-session resources")
	ErrSessionDoesNotSupportResourceTemplates = errors.New("session does not support per-session resource templates")
	ErrSessionDoesNotSupportLogging           = errors.New("session does not support log levels")
	ErrNotificationNotInitialized             = errors.New("notification channel not initialized")
	ErrNotificationChannelBlocked             = errors.New("notification channel queue is full")
)

// ClientSession is a session of a client. The sessions of the server's transports also implement
// [SessionWithTools], [SessionWithResources], [SessionWithResourceTemplates], [SessionWithLogging],
// [SessionWithClientInfo], [SessionWithElicitation], [SessionWithSampling] and [SessionWithRoots]. Their SessionID is "stdio" on standard input
// and output, and empty if the client has no session: with [WithStateLess], and in the revision
// 2026-07-28.
type ClientSession interface {
	// Initialize marks the session as ready for notifications.
	Initialize()
	// Initialized reports whether Initialize was called. It is always true if the client has no
	// handshake.
	Initialized() bool
	// NotificationChannel returns a channel of notifications that are sent to the client.
	NotificationChannel() chan<- mcp.JSONRPCNotification
	// SessionID returns the id of the session.
	SessionID() string
}

// SessionWithClientInfo is a session that contains a description of its client.
type SessionWithClientInfo interface {
	ClientSession
	// GetClientInfo returns the name and version of the client.
	GetClientInfo() mcp.Implementation
	// GetClientCapabilities returns the capabilities of the client.
	GetClientCapabilities() mcp.ClientCapabilities
}

// SessionWithLogging is a session that contains the lowest level of the log messages for its client.
type SessionWithLogging interface {
	ClientSession
	// SetLogLevel sets the level.
	SetLogLevel(level mcp.LoggingLevel)
	// GetLogLevel returns the level. It is empty if the client has not set a level.
	GetLogLevel() mcp.LoggingLevel
}

type sessionKey struct{}

// ClientSessionFromContext returns the session in the context of a handler, or nil.
func ClientSessionFromContext(ctx context.Context) ClientSession {
	session, _ := ctx.Value(sessionKey{}).(ClientSession)
	return session
}

// WithContext returns a context with a session, for tests that call handlers.
func (s *MCPServer) WithContext(ctx context.Context, session ClientSession) context.Context {
	return context.WithValue(ctx, sessionKey{}, session)
}

// RegisterSession adds a session of the program's own, and calls the hooks. The server adds the
// sessions of its transports itself, when their initialize request has succeeded.
func (s *MCPServer) RegisterSession(ctx context.Context, session ClientSession) error {
	s.mu.Lock()
	if _, ok := s.sessions[session.SessionID()]; ok {
		s.mu.Unlock()
		return ErrSessionExists
	}
	s.sessions[session.SessionID()] = session
	s.mu.Unlock()
	s.hooks.RegisterSession(ctx, session)
	return nil
}

// UnregisterSession removes a session, and calls the hooks. A session that is not registered is
// ignored.
func (s *MCPServer) UnregisterSession(ctx context.Context, sessionID string) {
	s.mu.Lock()
	session, ok := s.sessions[sessionID]
	delete(s.sessions, sessionID)
	s.mu.Unlock()
	if ok {
		s.hooks.UnregisterSession(ctx, session)
	}
}

func (s *MCPServer) session(id string) (ClientSession, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	session, ok := s.sessions[id]
	if !ok {
		return nil, ErrSessionNotFound
	}
	return session, nil
}

func (s *MCPServer) initializedSession(id string) (ClientSession, error) {
	session, err := s.session(id)
	if err == nil && !session.Initialized() {
		err = ErrSessionNotInitialized
	}
	return session, err
}

// clientSession is a session of a connection.
type clientSession struct {
	id   string
	conn *connection.Connection

	mu          sync.Mutex
	initialized bool
	tools       map[string]ServerTool
	resources   map[string]ServerResource
	templates   map[string]ServerResourceTemplate
	queue       chan mcp.JSONRPCNotification // nil until it is used
	closed      chan struct{}                // closed with the connection if there is a queue
}

var clientSessions = connection.NewKey[*clientSession]("mcp-go session")

// sessionOf returns the session of a message: the session of its connection, or the session that a
// program has passed to [MCPServer.HandleMessage], which may be nil.
func (s *MCPServer) sessionOf(ctx context.Context, in *peer.Inbound) ClientSession {
	if own, ok := ctx.Value(messageKey{s}).(messageSession); ok {
		return own.ClientSession
	}
	conn := connection.FromContext(ctx)
	return clientSessions.Update(conn.State(), func(session *clientSession) *clientSession {
		if session != nil {
			return session
		}
		session = &clientSession{id: sessionID(conn, in.Transport), conn: conn, closed: make(chan struct{})}
		session.initialized = in.Method != string(mcp.MethodInitialize) // then there is no handshake
		return session
	})
}

// sessionID returns the id of the session of a connection, see [ClientSession].
func sessionID(conn *connection.Connection, t peer.TransportContext) string {
	if id := conn.SessionID(); id != "" || headerOf(t) != nil {
		return id
	}
	return "stdio"
}

func (c *clientSession) SessionID() string { return c.id }

func (c *clientSession) Initialize() { set(&c.mu, &c.initialized, true) }

func (c *clientSession) Initialized() bool { return get(&c.mu, &c.initialized) }

// get returns a field that a mutex guards.
func get[T any](mu *sync.Mutex, field *T) T {
	mu.Lock()
	defer mu.Unlock()
	return *field
}

// set sets a field that a mutex guards.
func set[T any](mu *sync.Mutex, field *T, value T) {
	mu.Lock()
	defer mu.Unlock()
	*field = value
}

// NotificationChannel starts a goroutine when it is called for the first time.
func (c *clientSession) NotificationChannel() chan<- mcp.JSONRPCNotification {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.queue == nil {
		c.queue = make(chan mcp.JSONRPCNotification, 100)
		c.conn.OnClose(func(context.Context) error { close(c.closed); return nil })
		go c.sendQueued(c.queue) // ends when the connection is closed
	}
	return c.queue
}

func (c *clientSession) sendQueued(queue <-chan mcp.JSONRPCNotification) {
	for {
		select {
		case n := <-queue:
			if message, err := newNotification(n.Method, n.Params); err == nil {
				_ = c.conn.Notify(context.Background(), message) // the channel has no way to return the error
			}
		case <-c.closed:
			return
		}
	}
}

func (c *clientSession) SetLogLevel(level mcp.LoggingLevel) {
	c.conn.State().SetLogLevel(kit.LoggingLevel(level))
}

func (c *clientSession) GetLogLevel() mcp.LoggingLevel {
	return mcp.LoggingLevel(c.conn.State().LogLevel())
}

func (c *clientSession) GetClientInfo() (info mcp.Implementation) {
	if known := c.conn.ClientInfo(); known != nil {
		_ = convert.JSON(known, &info) // both types have the same JSON
	}
	return info
}

func (c *clientSession) GetClientCapabilities() (caps mcp.ClientCapabilities) {
	if known := c.conn.ClientCapabilities(); known != nil {
		_ = convert.JSON(known, &caps) // both types have the same JSON
	}
	return caps
}

// SendNotificationToClient sends a notification to the client whose request is being handled. The
// method must be one of the protocol.
func (s *MCPServer) SendNotificationToClient(ctx context.Context, method string, params map[string]any) error {
	session := ClientSessionFromContext(ctx)
	own := kit.SessionFromContext(ctx)
	if _, ok := session.(*clientSession); ok && own != nil { // the initialized notification may be handled later
		n, err := newNotification(method, mcp.NotificationParams{AdditionalFields: params})
		if err != nil {
			return err
		}
		return peer.SendNotification(ctx, own, n)
	}
	if session == nil || !session.Initialized() {
		return ErrNotificationNotInitialized
	}
	return enqueue(session, method, params)
}

// SendLogMessageToClient sends a log message to the client whose request is being handled, unless
// its level is below the level that the client has set. The server needs [WithLogging].
func (s *MCPServer) SendLogMessageToClient(ctx context.Context, n mcp.LoggingMessageNotification) error {
	own := kit.SessionFromContext(ctx)
	if own == nil {
		return ErrNotificationNotInitialized
	}
	message := new(kit.LoggingMessageNotification)
	data, err := json.Marshal(n.Params)
	if err != nil {
		return err
	}
	if err := wire.DecodeParams(data, nil, message); err != nil {
		return err
	}
	return own.SendLogMessage(ctx, message)
}

// SendLogMessageToSpecificClient sends a log message to the client of a session, unless its level is
// below the level that the client has set. The server needs [WithLogging].
func (s *MCPServer) SendLogMessageToSpecificClient(sessionID string, n mcp.LoggingMessageNotification) error {
	session, err := s.initializedSession(sessionID)
	if err != nil {
		return err
	}
	logging, ok := session.(SessionWithLogging)
	if !ok {
		return ErrSessionDoesNotSupportLogging
	}
	if !n.Params.Level.ShouldSendTo(logging.GetLogLevel()) {
		return nil
	}
	params := map[string]any{"level": n.Params.Level, "data": n.Params.Data}
	if n.Params.Logger != "" {
		params["logger"] = n.Params.Logger
	}
	return enqueue(session, string(mcp.MethodNotificationMessage), params)
}

// SendNotificationToSpecificClient sends a notification to the client of a session.
func (s *MCPServer) SendNotificationToSpecificClient(sessionID, method string, params map[string]any) error {
	session, err := s.initializedSession(sessionID)
	if err != nil {
		return err
	}
	return enqueue(session, method, params)
}

// SendNotificationToAllClients sends a notification to the clients of all sessions. A session
// whose queue is full does not receive it.
func (s *MCPServer) SendNotificationToAllClients(method string, params map[string]any) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, session := range s.sessions {
		if session.Initialized() {
			_ = enqueue(session, method, params)
		}
	}
}

func enqueue(session ClientSession, method string, params map[string]any) error {
	n := mcp.JSONRPCNotification{JSONRPC: mcp.JSONRPC_VERSION, Notification: mcp.Notification{
		Method: method, Params: mcp.NotificationParams{AdditionalFields: params},
	}}
	select {
	case session.NotificationChannel() <- n:
		return nil
	default:
		return ErrNotificationChannelBlocked
	}
}

// notification is a notification whose params are encoded.
type notification struct {
	method string
	params json.RawMessage
}

func newNotification(method string, params mcp.NotificationParams) (*notification, error) {
	data, err := json.Marshal(params)
	return &notification{method, data}, err
}

func (n *notification) Method() string { return n.method }

func (n *notification) IsNotification() {}

func (n *notification) AppendParams(b []byte, _ *wire.Encoder) []byte { return append(b, n.params...) }

func (n *notification) DecodeParams(*wire.Decoder) {}
