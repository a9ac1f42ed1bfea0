package mcp

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
)

// MCPMethod is the name of a method.
type MCPMethod string

// The methods.
const (
	MethodInitialize                            MCPMethod = "initialize"
	MethodPing                                  MCPMethod = "ping"
	MethodResourcesList                         MCPMethod = "resources/list"
	MethodResourcesTemplatesList                MCPMethod = "resources/templates/list"
	MethodResourcesRead                         MCPMethod = "resources/read"
	MethodResourcesSubscribe                    MCPMethod = "resources/subscribe"
	MethodResourcesUnsubscribe                  MCPMethod = "resources/unsubscribe"
	MethodPromptsList                           MCPMethod = "prompts/list"
	MethodPromptsGet                            MCPMethod = "prompts/get"
	MethodToolsList                             MCPMethod = "tools/list"
	MethodToolsCall                             MCPMethod = "tools/call"
	MethodSetLogLevel                           MCPMethod = "logging/setLevel"
	MethodElicitationCreate                     MCPMethod = "elicitation/create"
	MethodSamplingCreateMessage                 MCPMethod = "sampling/createMessage"
	MethodListRoots                             MCPMethod = "roots/list"
	MethodCompletionComplete                    MCPMethod = "completion/complete"
	MethodServerDiscover                        MCPMethod = "server/discover"
	MethodSubscriptionsListen                   MCPMethod = "subscriptions/listen"
	MethodTasksGet                              MCPMethod = "tasks/get"
	MethodTasksList                             MCPMethod = "tasks/list"
	MethodTasksResult                           MCPMethod = "tasks/result"
	MethodTasksCancel                           MCPMethod = "tasks/cancel"
	MethodNotificationInitialized               MCPMethod = "notifications/initialized"
	MethodNotificationCancelled                 MCPMethod = "notifications/cancelled"
	MethodNotificationProgress                  MCPMethod = "notifications/progress"
	MethodNotificationMessage                   MCPMethod = "notifications/message"
	MethodNotificationElicitationComplete       MCPMethod = "notifications/elicitation/complete"
	MethodNotificationResourcesListChanged                = "notifications/resources/list_changed"
	MethodNotificationResourceUpdated                     = "notifications/resources/updated"
	MethodNotificationPromptsListChanged                  = "notifications/prompts/list_changed"
	MethodNotificationToolsListChanged                    = "notifications/tools/list_changed"
	MethodNotificationRootsListChanged                    = "notifications/roots/list_changed"
	MethodNotificationTasksStatus                         = "notifications/tasks/status"
	MethodNotificationSubscriptionsAcknowledged           = "notifications/subscriptions/acknowledged"
)

// LATEST_PROTOCOL_VERSION is the newest handshake revision. The server also supports
// 2026-07-28.
const LATEST_PROTOCOL_VERSION = "2025-11-25"

// JSONRPC_VERSION is the version of JSON-RPC.
const JSONRPC_VERSION = "2.0"

// The codes of errors.
const (
	PARSE_ERROR        = -32700
	INVALID_REQUEST    = -32600
	METHOD_NOT_FOUND   = -32601
	INVALID_PARAMS     = -32602
	INTERNAL_ERROR     = -32603
	RESOURCE_NOT_FOUND = -32002
)

// Errors of decoded contents.
var (
	ErrEmbeddedResourceMissingVariant = errors.New("missing text or blob field")
	ErrEmbeddedResourceMissingURI     = errors.New("resource uri is missing")
)

// Request is embedded in all requests.
type Request struct {
	Method string        `json:"method"`
	Params RequestParams `json:"params,omitzero"`
}

// RequestParams are the params that all requests may have.
type RequestParams struct {
	Meta *Meta `json:"_meta,omitempty"`
}

// Result is embedded in all results.
type Result struct {
	Meta *Meta `json:"_meta,omitempty"`
}

// EmptyResult is a result without members.
type EmptyResult Result

// PaginatedRequest is embedded in requests for lists.
type PaginatedRequest struct {
	Request
	Params PaginatedParams `json:"params,omitzero"`
}

// PaginatedParams are the params of requests for lists.
type PaginatedParams struct {
	Cursor Cursor `json:"cursor,omitempty"`
	Meta   *Meta  `json:"_meta,omitempty"`
}

// PaginatedResult is embedded in pages of lists.
type PaginatedResult struct {
	Result
	NextCursor Cursor `json:"nextCursor,omitempty"`
}

// PingRequest is answered with an empty result.
type PingRequest struct {
	Request
	Header http.Header `json:"-"`
}

// ListToolsRequest asks for a page of tools.
type ListToolsRequest struct {
	PaginatedRequest
	Header http.Header `json:"-"`
}

// ListToolsResult is a page of tools.
type ListToolsResult struct {
	PaginatedResult
	Tools []Tool `json:"tools"`
}

// ListPromptsRequest asks for a page of prompts.
type ListPromptsRequest struct {
	PaginatedRequest
	Header http.Header `json:"-"`
}

// ListPromptsResult is a page of prompts.
type ListPromptsResult struct {
	PaginatedResult
	Prompts []Prompt `json:"prompts"`
}

// ListResourcesRequest asks for a page of resources.
type ListResourcesRequest struct {
	PaginatedRequest
	Header http.Header `json:"-"`
}

// ListResourcesResult is a page of resources.
type ListResourcesResult struct {
	PaginatedResult
	Resources []Resource `json:"resources"`
}

// ListResourceTemplatesRequest asks for a page of resource templates.
type ListResourceTemplatesRequest struct {
	PaginatedRequest
	Header http.Header `json:"-"`
}

// ListResourceTemplatesResult is a page of resource templates.
type ListResourceTemplatesResult struct {
	PaginatedResult
	ResourceTemplates []ResourceTemplate `json:"resourceTemplates"`
}

// InitializeRequest begins a session.
type InitializeRequest struct {
	Request
	Params InitializeParams `json:"params"`
	Header http.Header      `json:"-"`
}

// InitializeParams are the params of an [InitializeRequest].
type InitializeParams struct {
	ProtocolVersion string             `json:"protocolVersion"`
	Capabilities    ClientCapabilities `json:"capabilities"`
	ClientInfo      Implementation     `json:"clientInfo"`
}

// InitializeResult is the response to an [InitializeRequest].
type InitializeResult struct {
	Result
	ProtocolVersion string             `json:"protocolVersion"`
	Capabilities    ServerCapabilities `json:"capabilities"`
	ServerInfo      Implementation     `json:"serverInfo"`
	Instructions    string             `json:"instructions,omitempty"`
}

// ClientCapabilities are the capabilities of a client.
type ClientCapabilities struct {
	Extensions   map[string]any `json:"extensions,omitempty"`
	Experimental map[string]any `json:"experimental,omitempty"`
	Roots        *struct {
		ListChanged bool `json:"listChanged,omitempty"`
	} `json:"roots,omitempty"`
	Sampling    *struct{}              `json:"sampling,omitempty"`
	Elicitation *ElicitationCapability `json:"elicitation,omitempty"`
}

// ElicitationCapability describes which questions a client can ask its user.
type ElicitationCapability struct {
	Form *struct{} `json:"form,omitempty"`
	URL  *struct{} `json:"url,omitempty"`
}

// ServerCapabilities are the capabilities of a server.
type ServerCapabilities struct {
	Extensions   map[string]any `json:"extensions,omitempty"`
	Experimental map[string]any `json:"experimental,omitempty"`
	Logging      *struct{}      `json:"logging,omitempty"`
	Completions  *struct{}      `json:"completions,omitempty"`
	Prompts      *struct {
		ListChanged bool `json:"listChanged,omitempty"`
	} `json:"prompts,omitempty"`
	Resources *struct {
		Subscribe   bool `json:"subscribe,omitempty"`
		ListChanged bool `json:"listChanged,omitempty"`
	} `json:"resources,omitempty"`
	Tools *struct {
		ListChanged bool `json:"listChanged,omitempty"`
	} `json:"tools,omitempty"`
}

// Notification is embedded in all notifications.
type Notification struct {
	Method string             `json:"method"`
	Params NotificationParams `json:"params,omitzero"`
}

// NotificationParams are the params of a notification.
type NotificationParams struct {
	Meta map[string]any `json:"_meta,omitempty"`
	// AdditionalFields are the members other than "_meta".
	AdditionalFields map[string]any `json:"-"`
}

// MarshalJSON implements [json.Marshaler].
func (p NotificationParams) MarshalJSON() ([]byte, error) {
	members := make(map[string]any, len(p.AdditionalFields)+1)
	maps.Copy(members, p.AdditionalFields)
	if p.Meta != nil {
		members["_meta"] = p.Meta
	}
	return json.Marshal(members)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (p *NotificationParams) UnmarshalJSON(data []byte) error {
	p.Meta, p.AdditionalFields = nil, nil
	if err := json.Unmarshal(data, &p.AdditionalFields); err != nil {
		return err
	}
	p.Meta = ExtractMap(p.AdditionalFields, "_meta")
	delete(p.AdditionalFields, "_meta")
	return nil
}

// JSONRPCNotification is a notification with the members of JSON-RPC.
type JSONRPCNotification struct {
	JSONRPC string `json:"jsonrpc"`
	Notification
}

// ElicitationRequest asks the user a question.
type ElicitationRequest struct {
	Request
	Params ElicitationParams `json:"params"`
}

// ElicitationParams are the params of an [ElicitationRequest].
type ElicitationParams struct {
	Meta    *Meta  `json:"_meta,omitempty"`
	Mode    string `json:"mode,omitempty"`
	Message string `json:"message"`
	// RequestedSchema is the JSON Schema of the form.
	RequestedSchema any    `json:"requestedSchema,omitempty"`
	ElicitationID   string `json:"elicitationId,omitempty"`
	URL             string `json:"url,omitempty"`
}

// The values of Mode. The empty string means a form.
const (
	ElicitationModeForm = "form"
	ElicitationModeURL  = "url"
)

// ElicitationResult is the response of the user.
type ElicitationResult struct {
	Result
	ElicitationResponse
}

// ElicitationResponse contains the action of the user and the values of the form.
type ElicitationResponse struct {
	Action ElicitationResponseAction `json:"action"`
	// Content is a map[string]any, or nil if the user did not accept.
	Content any `json:"content,omitempty"`
}

// ElicitationResponseAction is the action of a user who was asked.
type ElicitationResponseAction string

// The actions of a user who was asked.
const (
	ElicitationResponseActionAccept  ElicitationResponseAction = "accept"
	ElicitationResponseActionDecline ElicitationResponseAction = "decline"
	ElicitationResponseActionCancel  ElicitationResponseAction = "cancel"
)

// LoggingLevel is the severity of a log message.
type LoggingLevel string

// The severities of log messages.
const (
	LoggingLevelDebug     LoggingLevel = "debug"
	LoggingLevelInfo      LoggingLevel = "info"
	LoggingLevelNotice    LoggingLevel = "notice"
	LoggingLevelWarning   LoggingLevel = "warning"
	LoggingLevelError     LoggingLevel = "error"
	LoggingLevelCritical  LoggingLevel = "critical"
	LoggingLevelAlert     LoggingLevel = "alert"
	LoggingLevelEmergency LoggingLevel = "emergency"
)

var levels = []LoggingLevel{
	LoggingLevelDebug, LoggingLevelInfo, LoggingLevelNotice, LoggingLevelWarning,
	LoggingLevelError, LoggingLevelCritical, LoggingLevelAlert, LoggingLevelEmergency,
}

// ShouldSendTo reports whether messages of a level are sent to a client that has set the level
// minLevel. All levels that the protocol defines are sent if minLevel is empty.
func (l LoggingLevel) ShouldSendTo(minLevel LoggingLevel) bool {
	level := slices.Index(levels, l)
	return level >= 0 && level >= slices.Index(levels, minLevel)
}

// LoggingMessageNotification is a log message for the client.
type LoggingMessageNotification struct {
	Notification
	Params LoggingMessageNotificationParams `json:"params"`
}

// LoggingMessageNotificationParams are the params of a [LoggingMessageNotification].
type LoggingMessageNotificationParams struct {
	Level  LoggingLevel `json:"level"`
	Logger string       `json:"logger,omitempty"`
	// Data is any value that can be encoded as JSON.
	Data any `json:"data"`
}

// NewLoggingMessageNotification returns a log message. The name of the logger may be empty.
func NewLoggingMessageNotification(level LoggingLevel, logger string, data any) LoggingMessageNotification {
	return LoggingMessageNotification{
		Notification: Notification{Method: string(MethodNotificationMessage)},
		Params:       LoggingMessageNotificationParams{level, logger, data},
	}
}

// SetLevelRequest sets the least severity of log messages.
type SetLevelRequest struct {
	Request
	Params SetLevelParams `json:"params"`
	Header http.Header    `json:"-"`
}

// SetLevelParams are the params of a [SetLevelRequest].
type SetLevelParams struct {
	Level LoggingLevel `json:"level"`
}

// SubscribeRequest subscribes to updates of a resource.
type SubscribeRequest struct {
	Request
	Params SubscribeParams `json:"params"`
	Header http.Header     `json:"-"`
}

// SubscribeParams are the params of a [SubscribeRequest].
type SubscribeParams struct {
	URI string `json:"uri"`
}

// UnsubscribeRequest ends a subscription.
type UnsubscribeRequest struct {
	Request
	Params UnsubscribeParams `json:"params"`
	Header http.Header       `json:"-"`
}

// UnsubscribeParams are the params of an [UnsubscribeRequest].
type UnsubscribeParams struct {
	URI string `json:"uri"`
}
