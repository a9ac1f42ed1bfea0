package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"github.com/mcpwright/mcp/compat/mcpgo/mcp"
	kit "github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// observed is a request whose hooks are called.
type observed struct {
	ctx   context.Context
	in    *peer.Inbound
	next  peer.Handler
	reply peer.Reply
	err   error
}

// around handles a request and calls its hooks.
func around[Req, Res any, B ~func(context.Context, any, *Req), A ~func(context.Context, any, *Req, *Res)](h *Hooks, c *observed, before []B, after []A) {
	if len(before)+len(after)+len(h.OnRequestInitialization)+len(h.OnBeforeAny)+len(h.OnSuccess)+len(h.OnError) == 0 {
		c.reply, c.err = c.next.Handle(c.ctx, c.in)
		return
	}
	ctx, id, method := c.ctx, requestID(c.in.ID), mcp.MCPMethod(c.in.Method)
	req := new(Req)
	sent, err := readRequest(c.in, req)
	if err != nil {
		c.reply, c.err = c.next.Handle(ctx, c.in) // refuses the request
		if c.err != nil {
			h.failed(c, req, &UnparsableMessageError{sent, method, c.err})
		}
		return
	}
	for _, hook := range h.OnRequestInitialization {
		if c.err = hook(ctx, id, req); c.err != nil {
			c.err = &peer.Error{Code: mcp.INVALID_REQUEST, Message: c.err.Error()}
			return
		}
	}
	for _, hook := range h.OnBeforeAny {
		hook(ctx, id, method, req)
	}
	for _, hook := range before {
		hook(ctx, id, req)
	}
	in := c.in
	if changed, err := json.Marshal(req); err == nil && !bytes.Equal(changed, sent) {
		in = withParams(in, changed)
	}
	c.reply, c.err = c.next.Handle(ctx, in)
	if c.err != nil {
		h.failed(c, req, hookError(c.err))
		return
	}
	if len(after) == 0 && len(h.OnSuccess) == 0 {
		return
	}
	changeResult(c, func(res *Res) {
		for _, hook := range after {
			hook(ctx, id, req, res)
		}
		for _, hook := range h.OnSuccess {
			hook(ctx, id, method, req, res)
		}
	})
}

// failed calls the hooks for an error.
func (h *Hooks) failed(c *observed, req any, err error) {
	for _, hook := range h.OnError {
		hook(c.ctx, requestID(c.in.ID), mcp.MCPMethod(c.in.Method), req, err)
	}
}

// UnparsableMessageError is the error of a request that cannot be decoded.
type UnparsableMessageError struct {
	message json.RawMessage
	method  mcp.MCPMethod
	err     error
}

// Error implements error.
func (e *UnparsableMessageError) Error() string {
	return fmt.Sprintf("decode request %q: %v", e.method, e.err)
}

// Unwrap returns the reason.
func (e *UnparsableMessageError) Unwrap() error { return e.err }

// GetMessage returns the request with its method and params.
func (e *UnparsableMessageError) GetMessage() json.RawMessage { return e.message }

// GetMethod returns the method.
func (e *UnparsableMessageError) GetMethod() mcp.MCPMethod { return e.method }

// hookError returns an error for hooks. If the kit has refused the request, its chain contains the error of
// this package for the reason.
func hookError(err error) error {
	var own *handlerError
	sent := peer.AsError(err)
	if sent == nil || errors.As(err, &own) {
		return err
	}
	var reason error
	switch {
	case sent.Code == mcp.METHOD_NOT_FOUND:
		reason = ErrUnsupported
	case sent.Code == mcp.RESOURCE_NOT_FOUND:
		reason = ErrResourceNotFound
	case strings.HasPrefix(sent.Message, unknownTool):
		reason = ErrToolNotFound
	case strings.HasPrefix(sent.Message, unknownPrompt):
		reason = ErrPromptNotFound
	default:
		return err
	}
	return fmt.Errorf("%w: %w", reason, err)
}

// readRequest decodes a request into a type of package mcp, and returns its encoding. If that fails, it returns
// the request as it was received.
func readRequest(in *peer.Inbound, req any) ([]byte, error) {
	params, err := paramsOf(in)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(map[string]any{"method": in.Method, "params": json.RawMessage(params)})
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, req); err != nil {
		return data, err
	}
	if header := headerOf(in.Transport); header != nil {
		reflect.ValueOf(req).Elem().FieldByName("Header").Set(reflect.ValueOf(header))
	}
	return json.Marshal(req)
}

// paramsOf returns the params of a message as JSON.
func paramsOf(in *peer.Inbound) ([]byte, error) {
	switch {
	case in.Params != nil:
		return in.Params, nil
	case in.Value != nil:
		return wire.AppendParams(nil, in.Frame, in.Value)
	case in.Message != nil:
		return wire.AppendParams(nil, in.Frame, in.Message)
	}
	return []byte("{}"), nil
}

// withParams returns a copy of a message with the params of an encoded request.
func withParams(in *peer.Inbound, request []byte) *peer.Inbound {
	var members struct{ Params json.RawMessage }
	if json.Unmarshal(request, &members) != nil {
		return in
	}
	changed := *in
	changed.Params, changed.Value, changed.Message = members.Params, nil, nil
	return &changed
}

// changeResult decodes the result of a request for hooks, and encodes it again if they have
// changed it.
func changeResult[Res any](c *observed, call func(*Res)) {
	res := new(Res)
	data, err := wire.Append(nil, c.reply.Frame, c.reply.Result)
	if err == nil {
		err = json.Unmarshal(data, res)
	}
	if err != nil {
		return // a result of another kind, for example one that asks a question
	}
	sent, _ := json.Marshal(res)
	call(res)
	changed, err := json.Marshal(res)
	if err != nil || bytes.Equal(changed, sent) {
		return
	}
	if result := newResult(c.in.Method); result != nil {
		frame := wire.Frame{KeepFalse: true}
		if c.reply.Frame != nil {
			frame.Revision = c.reply.Frame.Revision
		}
		if c.err = wire.Decode(changed, &frame, result); c.err == nil {
			c.reply.Result = result
		}
	}
}

// newResult returns an empty result of a method whose result hooks may change, or nil.
func newResult(method string) wire.Value {
	switch mcp.MCPMethod(method) {
	case mcp.MethodInitialize:
		return new(kit.InitializeResult)
	case mcp.MethodToolsList:
		return new(kit.ListToolsResult)
	case mcp.MethodToolsCall:
		return new(kit.CallToolResult)
	case mcp.MethodPromptsList:
		return new(kit.ListPromptsResult)
	case mcp.MethodPromptsGet:
		return new(kit.GetPromptResult)
	case mcp.MethodResourcesList:
		return new(kit.ListResourcesResult)
	case mcp.MethodResourcesTemplatesList:
		return new(kit.ListResourceTemplatesResult)
	case mcp.MethodResourcesRead:
		return new(kit.ReadResourceResult)
	case mcp.MethodServerDiscover:
		return new(kit.DiscoverResult)
	case mcp.MethodCompletionComplete:
		return new(kit.CompleteResult)
	}
	return nil
}

func requestID(id wire.RequestID) any {
	if text, ok := id.Text(); ok {
		return text
	}
	n, _ := id.Int64()
	return n
}

func headerOf(t peer.TransportContext) http.Header {
	if t == nil {
		return nil
	}
	return http.Header(t.Header())
}
