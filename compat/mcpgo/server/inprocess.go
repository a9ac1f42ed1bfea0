package server

import (
	"context"
	"crypto/rand"
	"sync"

	"github.com/mcpwright/mcp/compat/mcpgo/mcp"
)

type (
	// SamplingHandler responds to [MCPServer.RequestSampling] in an [InProcessSession].
	SamplingHandler interface {
		CreateMessage(ctx context.Context, request mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error)
	}
	// ElicitationHandler responds to [MCPServer.RequestElicitation] in an [InProcessSession].
	ElicitationHandler interface {
		Elicit(ctx context.Context, request mcp.ElicitationRequest) (*mcp.ElicitationResult, error)
	}
	// RootsHandler responds to [MCPServer.RequestRoots] in an [InProcessSession].
	RootsHandler interface {
		ListRoots(ctx context.Context, request mcp.ListRootsRequest) (*mcp.ListRootsResult, error)
	}
)

// InProcessSession is a session of a program's own, for [MCPServer.WithContext] and
// [MCPServer.RegisterSession]. It has no connection: the program receives its notifications and supplies
// the responses to questions. Clients in process have sessions without it.
type InProcessSession struct {
	id          string
	queue       chan mcp.JSONRPCNotification
	sampling    SamplingHandler
	elicitation ElicitationHandler
	roots       RootsHandler

	mu          sync.Mutex
	initialized bool
	level       mcp.LoggingLevel
	info        mcp.Implementation
	caps        mcp.ClientCapabilities
	revision    string
}

// NewInProcessSession returns a session. The handler may be nil.
func NewInProcessSession(sessionID string, samplingHandler SamplingHandler) *InProcessSession {
	return NewInProcessSessionWithHandlers(sessionID, samplingHandler, nil, nil)
}

// NewInProcessSessionWithHandlers returns a session. The handlers may be nil.
func NewInProcessSessionWithHandlers(sessionID string, samplingHandler SamplingHandler, elicitationHandler ElicitationHandler, rootsHandler RootsHandler) *InProcessSession {
	return &InProcessSession{
		id: sessionID, queue: make(chan mcp.JSONRPCNotification, 100), level: mcp.LoggingLevelError,
		sampling: samplingHandler, elicitation: elicitationHandler, roots: rootsHandler,
	}
}

// GenerateInProcessSessionID returns a random id.
func GenerateInProcessSessionID() string { return "inprocess-" + rand.Text() }

// GenerateInProcessSessionID is the function of the same name.
func (s *MCPServer) GenerateInProcessSessionID() string { return GenerateInProcessSessionID() }

// SessionID implements [ClientSession].
func (s *InProcessSession) SessionID() string { return s.id }

// NotificationChannel implements [ClientSession].
func (s *InProcessSession) NotificationChannel() chan<- mcp.JSONRPCNotification { return s.queue }

// ClientNotifications returns the channel from which the program receives notifications.
func (s *InProcessSession) ClientNotifications() <-chan mcp.JSONRPCNotification { return s.queue }

// Initialize implements [ClientSession].
func (s *InProcessSession) Initialize() { set(&s.mu, &s.initialized, true) }

// Initialized implements [ClientSession].
func (s *InProcessSession) Initialized() bool { return get(&s.mu, &s.initialized) }

// SetLogLevel implements [SessionWithLogging].
func (s *InProcessSession) SetLogLevel(level mcp.LoggingLevel) { set(&s.mu, &s.level, level) }

// GetLogLevel implements [SessionWithLogging]. The level is [mcp.LoggingLevelError] until it is set.
func (s *InProcessSession) GetLogLevel() mcp.LoggingLevel { return get(&s.mu, &s.level) }

// SetClientInfo sets the name and version of the client.
func (s *InProcessSession) SetClientInfo(clientInfo mcp.Implementation) {
	set(&s.mu, &s.info, clientInfo)
}

// GetClientInfo implements [SessionWithClientInfo].
func (s *InProcessSession) GetClientInfo() mcp.Implementation { return get(&s.mu, &s.info) }

// SetClientCapabilities sets the capabilities of the client.
func (s *InProcessSession) SetClientCapabilities(clientCapabilities mcp.ClientCapabilities) {
	set(&s.mu, &s.caps, clientCapabilities)
}

// GetClientCapabilities implements [SessionWithClientInfo].
func (s *InProcessSession) GetClientCapabilities() mcp.ClientCapabilities { return get(&s.mu, &s.caps) }

// SetProtocolVersion sets the revision.
func (s *InProcessSession) SetProtocolVersion(version string) { set(&s.mu, &s.revision, version) }

// ProtocolVersion returns the revision that was set.
func (s *InProcessSession) ProtocolVersion() string { return get(&s.mu, &s.revision) }

// RequestSampling implements [SessionWithSampling].
func (s *InProcessSession) RequestSampling(ctx context.Context, request mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	if s.sampling == nil {
		return nil, errSamplingNotSupported
	}
	return s.sampling.CreateMessage(ctx, request)
}

// RequestElicitation implements [SessionWithElicitation].
func (s *InProcessSession) RequestElicitation(ctx context.Context, request mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	if s.elicitation == nil {
		return nil, ErrElicitationNotSupported
	}
	return s.elicitation.Elicit(ctx, request)
}

// ListRoots implements [SessionWithRoots].
func (s *InProcessSession) ListRoots(ctx context.Context, request mcp.ListRootsRequest) (*mcp.ListRootsResult, error) {
	if s.roots == nil {
		return nil, ErrRootsNotSupported
	}
	return s.roots.ListRoots(ctx, request)
}
