package server

import (
	"context"
	"errors"

	"github.com/mcpwright/mcp/compat/mcpgo/internal/convert"
	"github.com/mcpwright/mcp/compat/mcpgo/mcp"
	kit "github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Errors about questions.
var (
	ErrNoActiveSession         = errors.New("no active session")
	ErrNoClientSession         = errors.New("no active client session")
	ErrElicitationNotSupported = errors.New("session does not support elicitation")
	ErrRootsNotSupported       = errors.New("session does not support roots")
	errSamplingNotSupported    = errors.New("session does not support sampling")
)

// SessionWithElicitation is a session that can ask the user.
type SessionWithElicitation interface {
	ClientSession
	// RequestElicitation asks the user and returns the response.
	RequestElicitation(ctx context.Context, request mcp.ElicitationRequest) (*mcp.ElicitationResult, error)
}

// SessionWithSampling is a session that can ask the model of the client.
type SessionWithSampling interface {
	ClientSession
	// RequestSampling asks the model and returns its message.
	RequestSampling(ctx context.Context, request mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error)
}

// SessionWithRoots is a session that can ask for the roots of the client.
type SessionWithRoots interface {
	ClientSession
	// ListRoots returns the roots.
	ListRoots(ctx context.Context, request mcp.ListRootsRequest) (*mcp.ListRootsResult, error)
}

// WithElicitation does nothing: handlers can always ask clients that support it.
func WithElicitation() ServerOption { return func(*MCPServer) {} }

// WithRoots does nothing, as [WithElicitation].
func WithRoots() ServerOption { return WithElicitation() }

// EnableSampling does nothing, as [WithElicitation].
func (s *MCPServer) EnableSampling() {}

// RequestElicitation asks the user of the client whose request is being handled. In the revision
// 2026-07-28 it returns an error that the handler must return, wrapped or not, and the handler
// runs again with the response. The same is true for the other requests to clients.
func (s *MCPServer) RequestElicitation(ctx context.Context, request mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	session, err := sessionThat[SessionWithElicitation](ctx, ErrNoActiveSession, ErrElicitationNotSupported)
	if err != nil {
		return nil, err
	}
	return session.RequestElicitation(ctx, request)
}

// RequestURLElicitation asks the user of a client to visit a page, like [MCPServer.RequestElicitation]. It must
// be the client whose request is being handled.
func (s *MCPServer) RequestURLElicitation(ctx context.Context, session ClientSession, elicitationID, url, message string) (*mcp.ElicitationResult, error) {
	asker, ok := session.(SessionWithElicitation)
	switch {
	case session == nil:
		return nil, ErrNoActiveSession
	case !ok:
		return nil, ErrElicitationNotSupported
	}
	return asker.RequestElicitation(ctx, mcp.ElicitationRequest{Params: mcp.ElicitationParams{
		Mode: mcp.ElicitationModeURL, ElicitationID: elicitationID, URL: url, Message: message,
	}})
}

// SendElicitationComplete notifies a client that the user has visited a page.
func (s *MCPServer) SendElicitationComplete(_ context.Context, session ClientSession, elicitationID string) error {
	if session == nil {
		return ErrNoActiveSession
	}
	return enqueue(session, string(mcp.MethodNotificationElicitationComplete), map[string]any{"elicitationId": elicitationID})
}

// RequestSampling asks the model of the client whose request is being handled.
func (s *MCPServer) RequestSampling(ctx context.Context, request mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	session, err := sessionThat[SessionWithSampling](ctx, ErrNoActiveSession, errSamplingNotSupported)
	if err != nil {
		return nil, err
	}
	return session.RequestSampling(ctx, request)
}

// RequestRoots asks for the roots of the client whose request is being handled.
func (s *MCPServer) RequestRoots(ctx context.Context, request mcp.ListRootsRequest) (*mcp.ListRootsResult, error) {
	session, err := sessionThat[SessionWithRoots](ctx, ErrNoClientSession, ErrRootsNotSupported)
	if err != nil {
		return nil, err
	}
	return session.ListRoots(ctx, request)
}

// sessionThat returns the session in a context if it has the methods of S.
func sessionThat[S any](ctx context.Context, none, unsupported error) (session S, err error) {
	found := ClientSessionFromContext(ctx)
	session, ok := found.(S)
	switch {
	case found == nil:
		err = none
	case !ok:
		err = unsupported
	}
	return session, err
}

// RequestElicitation implements [SessionWithElicitation].
func (c *clientSession) RequestElicitation(ctx context.Context, request mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	session, err := c.asker(ctx, &kit.ClientCapabilities{Elicitation: &kit.ElicitationCapability{}}, ErrElicitationNotSupported)
	if err != nil {
		return nil, err
	}
	if request.Params.Mode == mcp.ElicitationModeURL {
		return ask[mcp.ElicitationResult](ctx, request.Params, new(kit.ElicitRequestURLParams), session.ElicitURL)
	}
	return ask[mcp.ElicitationResult](ctx, request.Params, new(kit.ElicitRequestFormParams), session.ElicitForm)
}

// RequestSampling implements [SessionWithSampling].
func (c *clientSession) RequestSampling(ctx context.Context, request mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	session, err := c.asker(ctx, &kit.ClientCapabilities{Sampling: &kit.SamplingCapability{}}, errSamplingNotSupported)
	if err != nil {
		return nil, err
	}
	whole := map[string]any{"method": mcp.MethodSamplingCreateMessage, "params": request.CreateMessageParams}
	result, err := ask[mcp.CreateMessageResult](ctx, whole, new(kit.CreateMessageRequest), session.CreateMessage)
	if err != nil {
		return nil, err
	}
	result.Content, err = convert.SamplingContent(result.Content)
	return result, err
}

// ListRoots implements [SessionWithRoots].
func (c *clientSession) ListRoots(ctx context.Context, _ mcp.ListRootsRequest) (*mcp.ListRootsResult, error) {
	session, err := c.asker(ctx, &kit.ClientCapabilities{Roots: &kit.RootsCapability{}}, ErrRootsNotSupported)
	if err != nil {
		return nil, err
	}
	roots, err := session.ListRoots(ctx)
	if err != nil {
		return nil, err
	}
	result := new(mcp.ListRootsResult)
	return result, convert.JSON(roots, result)
}

// asker returns the session of the message that is being handled, if its client has a capability.
func (c *clientSession) asker(ctx context.Context, needs *kit.ClientCapabilities, unsupported error) (*kit.ServerSession, error) {
	session := kit.SessionFromContext(ctx)
	switch {
	case session == nil:
		return nil, ErrNoActiveSession
	case !session.HasClientCapability(needs):
		return nil, unsupported
	}
	return session, nil
}

// ask sends a question with params of package mcp, and returns the response.
func ask[To, Params, From any, P interface {
	*Params
	wire.Value
}](ctx context.Context, params any, question P, send func(context.Context, P) (*From, error)) (*To, error) {
	if err := toKit(params, question); err != nil {
		return nil, err
	}
	answer, err := send(ctx, question)
	if err != nil {
		return nil, err
	}
	result := new(To)
	return result, convert.JSON(answer, result)
}
