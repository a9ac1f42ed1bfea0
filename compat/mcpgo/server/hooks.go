package server

import (
	"context"

	"github.com/mcpwright/mcp/compat/mcpgo/mcp"
)

// The functions of [Hooks].
type (
	// OnRegisterSessionHookFunc is called when a session has begun.
	OnRegisterSessionHookFunc func(ctx context.Context, session ClientSession)
	// OnUnregisterSessionHookFunc is called when a session has ended.
	OnUnregisterSessionHookFunc func(ctx context.Context, session ClientSession)
	// BeforeAnyHookFunc is called before a request is handled. The message is a pointer to a
	// request of package mcp.
	BeforeAnyHookFunc func(ctx context.Context, id any, method mcp.MCPMethod, message any)
	// OnSuccessHookFunc is called with the result of a request.
	OnSuccessHookFunc func(ctx context.Context, id any, method mcp.MCPMethod, message, result any)
	// OnErrorHookFunc is called with the error of a request. Its chain contains [ErrUnsupported] if the
	// server lacks a capability, and [ErrToolNotFound], [ErrPromptNotFound] or [ErrResourceNotFound] if there
	// is no such item. It contains an [UnparsableMessageError] if the request cannot be decoded.
	OnErrorHookFunc func(ctx context.Context, id any, method mcp.MCPMethod, message any, err error)
	// OnRequestInitializationFunc is called before all other hooks. Its error refuses the
	// request.
	OnRequestInitializationFunc func(ctx context.Context, id, message any) error
	// OnBeforeInitializeFunc is called before the request is handled.
	OnBeforeInitializeFunc func(ctx context.Context, id any, message *mcp.InitializeRequest)
	// OnAfterInitializeFunc is called with the result of the request.
	OnAfterInitializeFunc func(ctx context.Context, id any, message *mcp.InitializeRequest, result *mcp.InitializeResult)
	// OnBeforePingFunc is called before the request is handled.
	OnBeforePingFunc func(ctx context.Context, id any, message *mcp.PingRequest)
	// OnAfterPingFunc is called with the result of the request.
	OnAfterPingFunc func(ctx context.Context, id any, message *mcp.PingRequest, result *mcp.EmptyResult)
	// OnBeforeSetLevelFunc is called before the request is handled.
	OnBeforeSetLevelFunc func(ctx context.Context, id any, message *mcp.SetLevelRequest)
	// OnAfterSetLevelFunc is called with the result of the request.
	OnAfterSetLevelFunc func(ctx context.Context, id any, message *mcp.SetLevelRequest, result *mcp.EmptyResult)
	// OnBeforeListResourcesFunc is called before the request is handled.
	OnBeforeListResourcesFunc func(ctx context.Context, id any, message *mcp.ListResourcesRequest)
	// OnAfterListResourcesFunc is called with the result of the request.
	OnAfterListResourcesFunc func(ctx context.Context, id any, message *mcp.ListResourcesRequest, result *mcp.ListResourcesResult)
	// OnBeforeListResourceTemplatesFunc is called before the request is handled.
	OnBeforeListResourceTemplatesFunc func(ctx context.Context, id any, message *mcp.ListResourceTemplatesRequest)
	// OnAfterListResourceTemplatesFunc is called with the result of the request.
	OnAfterListResourceTemplatesFunc func(ctx context.Context, id any, message *mcp.ListResourceTemplatesRequest, result *mcp.ListResourceTemplatesResult)
	// OnBeforeReadResourceFunc is called before the request is handled.
	OnBeforeReadResourceFunc func(ctx context.Context, id any, message *mcp.ReadResourceRequest)
	// OnAfterReadResourceFunc is called with the result of the request.
	OnAfterReadResourceFunc func(ctx context.Context, id any, message *mcp.ReadResourceRequest, result *mcp.ReadResourceResult)
	// OnBeforeSubscribeFunc is called before the request is handled.
	OnBeforeSubscribeFunc func(ctx context.Context, id any, message *mcp.SubscribeRequest)
	// OnAfterSubscribeFunc is called with the result of the request.
	OnAfterSubscribeFunc func(ctx context.Context, id any, message *mcp.SubscribeRequest, result *mcp.EmptyResult)
	// OnBeforeUnsubscribeFunc is called before the request is handled.
	OnBeforeUnsubscribeFunc func(ctx context.Context, id any, message *mcp.UnsubscribeRequest)
	// OnAfterUnsubscribeFunc is called with the result of the request.
	OnAfterUnsubscribeFunc func(ctx context.Context, id any, message *mcp.UnsubscribeRequest, result *mcp.EmptyResult)
	// OnBeforeListPromptsFunc is called before the request is handled.
	OnBeforeListPromptsFunc func(ctx context.Context, id any, message *mcp.ListPromptsRequest)
	// OnAfterListPromptsFunc is called with the result of the request.
	OnAfterListPromptsFunc func(ctx context.Context, id any, message *mcp.ListPromptsRequest, result *mcp.ListPromptsResult)
	// OnBeforeGetPromptFunc is called before the request is handled.
	OnBeforeGetPromptFunc func(ctx context.Context, id any, message *mcp.GetPromptRequest)
	// OnAfterGetPromptFunc is called with the result of the request.
	OnAfterGetPromptFunc func(ctx context.Context, id any, message *mcp.GetPromptRequest, result *mcp.GetPromptResult)
	// OnBeforeListToolsFunc is called before the request is handled.
	OnBeforeListToolsFunc func(ctx context.Context, id any, message *mcp.ListToolsRequest)
	// OnAfterListToolsFunc is called with the result of the request.
	OnAfterListToolsFunc func(ctx context.Context, id any, message *mcp.ListToolsRequest, result *mcp.ListToolsResult)
	// OnBeforeCallToolFunc is called before the request is handled.
	OnBeforeCallToolFunc func(ctx context.Context, id any, message *mcp.CallToolRequest)
	// OnAfterCallToolFunc is called with the result of the request, a *mcp.CallToolResult.
	OnAfterCallToolFunc func(ctx context.Context, id any, message *mcp.CallToolRequest, result any)
	// OnBeforeDiscoverFunc is called before the request is handled.
	OnBeforeDiscoverFunc func(ctx context.Context, id any, message *mcp.DiscoverRequest)
	// OnAfterDiscoverFunc is called with the result of the request.
	OnAfterDiscoverFunc func(ctx context.Context, id any, message *mcp.DiscoverRequest, result *mcp.DiscoverResult)
	// OnBeforeSubscriptionsListenFunc is called before the request is handled.
	OnBeforeSubscriptionsListenFunc func(ctx context.Context, id any, message *mcp.SubscriptionsListenRequest)
	// OnAfterSubscriptionsListenFunc is called with the result of the request, when the stream ends.
	OnAfterSubscriptionsListenFunc func(ctx context.Context, id any, message *mcp.SubscriptionsListenRequest, result *mcp.SubscriptionsListenResult)
	// OnBeforeGetTaskFunc is called before the request is handled.
	OnBeforeGetTaskFunc func(ctx context.Context, id any, message *mcp.GetTaskRequest)
	// OnAfterGetTaskFunc is called with the result of the request.
	OnAfterGetTaskFunc func(ctx context.Context, id any, message *mcp.GetTaskRequest, result *mcp.GetTaskResult)
	// OnBeforeListTasksFunc is called before the request is handled.
	OnBeforeListTasksFunc func(ctx context.Context, id any, message *mcp.ListTasksRequest)
	// OnAfterListTasksFunc is called with the result of the request.
	OnAfterListTasksFunc func(ctx context.Context, id any, message *mcp.ListTasksRequest, result *mcp.ListTasksResult)
	// OnBeforeTaskResultFunc is called before the request is handled.
	OnBeforeTaskResultFunc func(ctx context.Context, id any, message *mcp.TaskResultRequest)
	// OnAfterTaskResultFunc is called with the result of the request.
	OnAfterTaskResultFunc func(ctx context.Context, id any, message *mcp.TaskResultRequest, result *mcp.TaskResultResult)
	// OnBeforeCancelTaskFunc is called before the request is handled.
	OnBeforeCancelTaskFunc func(ctx context.Context, id any, message *mcp.CancelTaskRequest)
	// OnAfterCancelTaskFunc is called with the result of the request.
	OnAfterCancelTaskFunc func(ctx context.Context, id any, message *mcp.CancelTaskRequest, result *mcp.CancelTaskResult)
	// OnBeforeCompleteFunc is called before the request is handled.
	OnBeforeCompleteFunc func(ctx context.Context, id any, message *mcp.CompleteRequest)
	// OnAfterCompleteFunc is called with the result of the request.
	OnAfterCompleteFunc func(ctx context.Context, id any, message *mcp.CompleteRequest, result *mcp.CompleteResult)
)

// Hooks are functions that are called for requests and sessions, in the order in which they were
// added. They are called for the requests that have a pair of fields below. A hook may change the
// message or the result that it gets a pointer to. The id is an int64 or a string.
//
// Hooks may be added until the server begins to serve. Requests of clients of the revision
// 2026-07-28 have no session, and no initialize request.
type Hooks struct {
	OnRegisterSession             []OnRegisterSessionHookFunc
	OnUnregisterSession           []OnUnregisterSessionHookFunc
	OnBeforeAny                   []BeforeAnyHookFunc
	OnSuccess                     []OnSuccessHookFunc
	OnError                       []OnErrorHookFunc
	OnRequestInitialization       []OnRequestInitializationFunc
	OnBeforeInitialize            []OnBeforeInitializeFunc
	OnAfterInitialize             []OnAfterInitializeFunc
	OnBeforePing                  []OnBeforePingFunc
	OnAfterPing                   []OnAfterPingFunc
	OnBeforeSetLevel              []OnBeforeSetLevelFunc
	OnAfterSetLevel               []OnAfterSetLevelFunc
	OnBeforeListResources         []OnBeforeListResourcesFunc
	OnAfterListResources          []OnAfterListResourcesFunc
	OnBeforeListResourceTemplates []OnBeforeListResourceTemplatesFunc
	OnAfterListResourceTemplates  []OnAfterListResourceTemplatesFunc
	OnBeforeReadResource          []OnBeforeReadResourceFunc
	OnAfterReadResource           []OnAfterReadResourceFunc
	OnBeforeSubscribe             []OnBeforeSubscribeFunc
	OnAfterSubscribe              []OnAfterSubscribeFunc
	OnBeforeUnsubscribe           []OnBeforeUnsubscribeFunc
	OnAfterUnsubscribe            []OnAfterUnsubscribeFunc
	OnBeforeListPrompts           []OnBeforeListPromptsFunc
	OnAfterListPrompts            []OnAfterListPromptsFunc
	OnBeforeGetPrompt             []OnBeforeGetPromptFunc
	OnAfterGetPrompt              []OnAfterGetPromptFunc
	OnBeforeListTools             []OnBeforeListToolsFunc
	OnAfterListTools              []OnAfterListToolsFunc
	OnBeforeCallTool              []OnBeforeCallToolFunc
	OnAfterCallTool               []OnAfterCallToolFunc
	OnBeforeDiscover              []OnBeforeDiscoverFunc
	OnAfterDiscover               []OnAfterDiscoverFunc
	OnBeforeSubscriptionsListen   []OnBeforeSubscriptionsListenFunc
	OnAfterSubscriptionsListen    []OnAfterSubscriptionsListenFunc
	OnBeforeGetTask               []OnBeforeGetTaskFunc
	OnAfterGetTask                []OnAfterGetTaskFunc
	OnBeforeListTasks             []OnBeforeListTasksFunc
	OnAfterListTasks              []OnAfterListTasksFunc
	OnBeforeTaskResult            []OnBeforeTaskResultFunc
	OnAfterTaskResult             []OnAfterTaskResultFunc
	OnBeforeCancelTask            []OnBeforeCancelTaskFunc
	OnAfterCancelTask             []OnAfterCancelTaskFunc
	OnBeforeComplete              []OnBeforeCompleteFunc
	OnAfterComplete               []OnAfterCompleteFunc
}

// AddOnRegisterSession adds a hook to OnRegisterSession.
func (h *Hooks) AddOnRegisterSession(hook OnRegisterSessionHookFunc) {
	h.OnRegisterSession = append(h.OnRegisterSession, hook)
}

// AddOnUnregisterSession adds a hook to OnUnregisterSession.
func (h *Hooks) AddOnUnregisterSession(hook OnUnregisterSessionHookFunc) {
	h.OnUnregisterSession = append(h.OnUnregisterSession, hook)
}

// RegisterSession calls the hooks in OnRegisterSession, for tests of hooks.
func (h *Hooks) RegisterSession(ctx context.Context, session ClientSession) {
	for _, hook := range h.OnRegisterSession {
		hook(ctx, session)
	}
}

// UnregisterSession calls the hooks in OnUnregisterSession, for tests of hooks.
func (h *Hooks) UnregisterSession(ctx context.Context, session ClientSession) {
	for _, hook := range h.OnUnregisterSession {
		hook(ctx, session)
	}
}

// AddBeforeAny adds a hook to OnBeforeAny.
func (h *Hooks) AddBeforeAny(hook BeforeAnyHookFunc) { h.OnBeforeAny = append(h.OnBeforeAny, hook) }

// AddOnSuccess adds a hook to OnSuccess.
func (h *Hooks) AddOnSuccess(hook OnSuccessHookFunc) { h.OnSuccess = append(h.OnSuccess, hook) }

// AddOnError adds a hook to OnError.
func (h *Hooks) AddOnError(hook OnErrorHookFunc) { h.OnError = append(h.OnError, hook) }

// AddOnRequestInitialization adds a hook to OnRequestInitialization.
func (h *Hooks) AddOnRequestInitialization(hook OnRequestInitializationFunc) {
	h.OnRequestInitialization = append(h.OnRequestInitialization, hook)
}

// AddBeforeInitialize adds a hook to OnBeforeInitialize.
func (h *Hooks) AddBeforeInitialize(hook OnBeforeInitializeFunc) {
	h.OnBeforeInitialize = append(h.OnBeforeInitialize, hook)
}

// AddAfterInitialize adds a hook to OnAfterInitialize.
func (h *Hooks) AddAfterInitialize(hook OnAfterInitializeFunc) {
	h.OnAfterInitialize = append(h.OnAfterInitialize, hook)
}

// AddBeforePing adds a hook to OnBeforePing.
func (h *Hooks) AddBeforePing(hook OnBeforePingFunc) {
	h.OnBeforePing = append(h.OnBeforePing, hook)
}

// AddAfterPing adds a hook to OnAfterPing.
func (h *Hooks) AddAfterPing(hook OnAfterPingFunc) {
	h.OnAfterPing = append(h.OnAfterPing, hook)
}

// AddBeforeSetLevel adds a hook to OnBeforeSetLevel.
func (h *Hooks) AddBeforeSetLevel(hook OnBeforeSetLevelFunc) {
	h.OnBeforeSetLevel = append(h.OnBeforeSetLevel, hook)
}

// AddAfterSetLevel adds a hook to OnAfterSetLevel.
func (h *Hooks) AddAfterSetLevel(hook OnAfterSetLevelFunc) {
	h.OnAfterSetLevel = append(h.OnAfterSetLevel, hook)
}

// AddBeforeListResources adds a hook to OnBeforeListResources.
func (h *Hooks) AddBeforeListResources(hook OnBeforeListResourcesFunc) {
	h.OnBeforeListResources = append(h.OnBeforeListResources, hook)
}

// AddAfterListResources adds a hook to OnAfterListResources.
func (h *Hooks) AddAfterListResources(hook OnAfterListResourcesFunc) {
	h.OnAfterListResources = append(h.OnAfterListResources, hook)
}

// AddBeforeListResourceTemplates adds a hook to OnBeforeListResourceTemplates.
func (h *Hooks) AddBeforeListResourceTemplates(hook OnBeforeListResourceTemplatesFunc) {
	h.OnBeforeListResourceTemplates = append(h.OnBeforeListResourceTemplates, hook)
}

// AddAfterListResourceTemplates adds a hook to OnAfterListResourceTemplates.
func (h *Hooks) AddAfterListResourceTemplates(hook OnAfterListResourceTemplatesFunc) {
	h.OnAfterListResourceTemplates = append(h.OnAfterListResourceTemplates, hook)
}

// AddBeforeReadResource adds a hook to OnBeforeReadResource.
func (h *Hooks) AddBeforeReadResource(hook OnBeforeReadResourceFunc) {
	h.OnBeforeReadResource = append(h.OnBeforeReadResource, hook)
}

// AddAfterReadResource adds a hook to OnAfterReadResource.
func (h *Hooks) AddAfterReadResource(hook OnAfterReadResourceFunc) {
	h.OnAfterReadResource = append(h.OnAfterReadResource, hook)
}

// AddBeforeSubscribe adds a hook to OnBeforeSubscribe.
func (h *Hooks) AddBeforeSubscribe(hook OnBeforeSubscribeFunc) {
	h.OnBeforeSubscribe = append(h.OnBeforeSubscribe, hook)
}

// AddAfterSubscribe adds a hook to OnAfterSubscribe.
func (h *Hooks) AddAfterSubscribe(hook OnAfterSubscribeFunc) {
	h.OnAfterSubscribe = append(h.OnAfterSubscribe, hook)
}

// AddBeforeUnsubscribe adds a hook to OnBeforeUnsubscribe.
func (h *Hooks) AddBeforeUnsubscribe(hook OnBeforeUnsubscribeFunc) {
	h.OnBeforeUnsubscribe = append(h.OnBeforeUnsubscribe, hook)
}

// AddAfterUnsubscribe adds a hook to OnAfterUnsubscribe.
func (h *Hooks) AddAfterUnsubscribe(hook OnAfterUnsubscribeFunc) {
	h.OnAfterUnsubscribe = append(h.OnAfterUnsubscribe, hook)
}

// AddBeforeListPrompts adds a hook to OnBeforeListPrompts.
func (h *Hooks) AddBeforeListPrompts(hook OnBeforeListPromptsFunc) {
	h.OnBeforeListPrompts = append(h.OnBeforeListPrompts, hook)
}

// AddAfterListPrompts adds a hook to OnAfterListPrompts.
func (h *Hooks) AddAfterListPrompts(hook OnAfterListPromptsFunc) {
	h.OnAfterListPrompts = append(h.OnAfterListPrompts, hook)
}

// AddBeforeGetPrompt adds a hook to OnBeforeGetPrompt.
func (h *Hooks) AddBeforeGetPrompt(hook OnBeforeGetPromptFunc) {
	h.OnBeforeGetPrompt = append(h.OnBeforeGetPrompt, hook)
}

// AddAfterGetPrompt adds a hook to OnAfterGetPrompt.
func (h *Hooks) AddAfterGetPrompt(hook OnAfterGetPromptFunc) {
	h.OnAfterGetPrompt = append(h.OnAfterGetPrompt, hook)
}

// AddBeforeListTools adds a hook to OnBeforeListTools.
func (h *Hooks) AddBeforeListTools(hook OnBeforeListToolsFunc) {
	h.OnBeforeListTools = append(h.OnBeforeListTools, hook)
}

// AddAfterListTools adds a hook to OnAfterListTools.
func (h *Hooks) AddAfterListTools(hook OnAfterListToolsFunc) {
	h.OnAfterListTools = append(h.OnAfterListTools, hook)
}

// AddBeforeCallTool adds a hook to OnBeforeCallTool.
func (h *Hooks) AddBeforeCallTool(hook OnBeforeCallToolFunc) {
	h.OnBeforeCallTool = append(h.OnBeforeCallTool, hook)
}

// AddAfterCallTool adds a hook to OnAfterCallTool.
func (h *Hooks) AddAfterCallTool(hook OnAfterCallToolFunc) {
	h.OnAfterCallTool = append(h.OnAfterCallTool, hook)
}

// AddBeforeDiscover adds a hook to OnBeforeDiscover.
func (h *Hooks) AddBeforeDiscover(hook OnBeforeDiscoverFunc) {
	h.OnBeforeDiscover = append(h.OnBeforeDiscover, hook)
}

// AddAfterDiscover adds a hook to OnAfterDiscover.
func (h *Hooks) AddAfterDiscover(hook OnAfterDiscoverFunc) {
	h.OnAfterDiscover = append(h.OnAfterDiscover, hook)
}

// AddBeforeSubscriptionsListen adds a hook to OnBeforeSubscriptionsListen.
func (h *Hooks) AddBeforeSubscriptionsListen(hook OnBeforeSubscriptionsListenFunc) {
	h.OnBeforeSubscriptionsListen = append(h.OnBeforeSubscriptionsListen, hook)
}

// AddAfterSubscriptionsListen adds a hook to OnAfterSubscriptionsListen.
func (h *Hooks) AddAfterSubscriptionsListen(hook OnAfterSubscriptionsListenFunc) {
	h.OnAfterSubscriptionsListen = append(h.OnAfterSubscriptionsListen, hook)
}

// AddBeforeGetTask adds a hook to OnBeforeGetTask.
func (h *Hooks) AddBeforeGetTask(hook OnBeforeGetTaskFunc) {
	h.OnBeforeGetTask = append(h.OnBeforeGetTask, hook)
}

// AddAfterGetTask adds a hook to OnAfterGetTask.
func (h *Hooks) AddAfterGetTask(hook OnAfterGetTaskFunc) {
	h.OnAfterGetTask = append(h.OnAfterGetTask, hook)
}

// AddBeforeListTasks adds a hook to OnBeforeListTasks.
func (h *Hooks) AddBeforeListTasks(hook OnBeforeListTasksFunc) {
	h.OnBeforeListTasks = append(h.OnBeforeListTasks, hook)
}

// AddAfterListTasks adds a hook to OnAfterListTasks.
func (h *Hooks) AddAfterListTasks(hook OnAfterListTasksFunc) {
	h.OnAfterListTasks = append(h.OnAfterListTasks, hook)
}

// AddBeforeTaskResult adds a hook to OnBeforeTaskResult.
func (h *Hooks) AddBeforeTaskResult(hook OnBeforeTaskResultFunc) {
	h.OnBeforeTaskResult = append(h.OnBeforeTaskResult, hook)
}

// AddAfterTaskResult adds a hook to OnAfterTaskResult.
func (h *Hooks) AddAfterTaskResult(hook OnAfterTaskResultFunc) {
	h.OnAfterTaskResult = append(h.OnAfterTaskResult, hook)
}

// AddBeforeCancelTask adds a hook to OnBeforeCancelTask.
func (h *Hooks) AddBeforeCancelTask(hook OnBeforeCancelTaskFunc) {
	h.OnBeforeCancelTask = append(h.OnBeforeCancelTask, hook)
}

// AddAfterCancelTask adds a hook to OnAfterCancelTask.
func (h *Hooks) AddAfterCancelTask(hook OnAfterCancelTaskFunc) {
	h.OnAfterCancelTask = append(h.OnAfterCancelTask, hook)
}

// AddBeforeComplete adds a hook to OnBeforeComplete.
func (h *Hooks) AddBeforeComplete(hook OnBeforeCompleteFunc) {
	h.OnBeforeComplete = append(h.OnBeforeComplete, hook)
}

// AddAfterComplete adds a hook to OnAfterComplete.
func (h *Hooks) AddAfterComplete(hook OnAfterCompleteFunc) {
	h.OnAfterComplete = append(h.OnAfterComplete, hook)
}

// observe handles a request with its hooks. It returns false if the method has no hooks.
func (h *Hooks) observe(c *observed) bool {
	switch mcp.MCPMethod(c.in.Method) {
	case mcp.MethodInitialize:
		around(h, c, h.OnBeforeInitialize, h.OnAfterInitialize)
	case mcp.MethodPing:
		around(h, c, h.OnBeforePing, h.OnAfterPing)
	case mcp.MethodSetLogLevel:
		around(h, c, h.OnBeforeSetLevel, h.OnAfterSetLevel)
	case mcp.MethodResourcesList:
		around(h, c, h.OnBeforeListResources, h.OnAfterListResources)
	case mcp.MethodResourcesTemplatesList:
		around(h, c, h.OnBeforeListResourceTemplates, h.OnAfterListResourceTemplates)
	case mcp.MethodResourcesRead:
		around(h, c, h.OnBeforeReadResource, h.OnAfterReadResource)
	case mcp.MethodResourcesSubscribe:
		around(h, c, h.OnBeforeSubscribe, h.OnAfterSubscribe)
	case mcp.MethodResourcesUnsubscribe:
		around(h, c, h.OnBeforeUnsubscribe, h.OnAfterUnsubscribe)
	case mcp.MethodPromptsList:
		around(h, c, h.OnBeforeListPrompts, h.OnAfterListPrompts)
	case mcp.MethodPromptsGet:
		around(h, c, h.OnBeforeGetPrompt, h.OnAfterGetPrompt)
	case mcp.MethodToolsList:
		around(h, c, h.OnBeforeListTools, h.OnAfterListTools)
	case mcp.MethodToolsCall:
		after := make([]func(context.Context, any, *mcp.CallToolRequest, *mcp.CallToolResult), 0, len(h.OnAfterCallTool))
		for _, hook := range h.OnAfterCallTool {
			after = append(after, func(ctx context.Context, id any, req *mcp.CallToolRequest, res *mcp.CallToolResult) {
				hook(ctx, id, req, res)
			})
		}
		around(h, c, h.OnBeforeCallTool, after)
	default:
		return h.observeMore(c)
	}
	return true
}

// observeMore is observe for the methods that few servers have hooks for.
func (h *Hooks) observeMore(c *observed) bool {
	switch mcp.MCPMethod(c.in.Method) {
	case mcp.MethodServerDiscover:
		around(h, c, h.OnBeforeDiscover, h.OnAfterDiscover)
	case mcp.MethodSubscriptionsListen:
		around(h, c, h.OnBeforeSubscriptionsListen, h.OnAfterSubscriptionsListen)
	case mcp.MethodTasksGet:
		around(h, c, h.OnBeforeGetTask, h.OnAfterGetTask)
	case mcp.MethodTasksList:
		around(h, c, h.OnBeforeListTasks, h.OnAfterListTasks)
	case mcp.MethodTasksResult:
		around(h, c, h.OnBeforeTaskResult, h.OnAfterTaskResult)
	case mcp.MethodTasksCancel:
		around(h, c, h.OnBeforeCancelTask, h.OnAfterCancelTask)
	case mcp.MethodCompletionComplete:
		around(h, c, h.OnBeforeComplete, h.OnAfterComplete)
	default:
		return false
	}
	return true
}
