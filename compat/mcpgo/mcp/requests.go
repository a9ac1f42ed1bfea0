package mcp

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// DiscoverRequest asks a server for its revisions and capabilities, in the revision 2026-07-28.
type DiscoverRequest struct {
	Request
	Params DiscoverParams `json:"params,omitzero"`
	Header http.Header    `json:"-"`
}

// DiscoverParams are the params of a [DiscoverRequest].
type DiscoverParams struct {
	Meta *Meta `json:"_meta,omitempty"`
}

// DiscoverResult is the response to a [DiscoverRequest].
type DiscoverResult struct {
	CacheableResult
	SupportedVersions []string           `json:"supportedVersions"`
	Capabilities      ServerCapabilities `json:"capabilities"`
	Instructions      string             `json:"instructions,omitempty"`
}

// CacheableResult is embedded in results that a client may store.
type CacheableResult struct {
	Result
	// TTLMs is the number of milliseconds for which the client may store the result.
	TTLMs      *int64     `json:"ttlMs,omitempty"`
	CacheScope CacheScope `json:"cacheScope,omitempty"`
}

// CacheScope limits the clients that may share a stored result.
type CacheScope string

// The scopes.
const (
	CacheScopePublic  CacheScope = "public"
	CacheScopePrivate CacheScope = "private"
)

// SubscriptionFilter selects notifications.
type SubscriptionFilter struct {
	ToolsListChanged     bool `json:"toolsListChanged,omitempty"`
	PromptsListChanged   bool `json:"promptsListChanged,omitempty"`
	ResourcesListChanged bool `json:"resourcesListChanged,omitempty"`
	// ResourceSubscriptions are the URIs of resources.
	ResourceSubscriptions []string `json:"resourceSubscriptions,omitempty"`
}

// IsEmpty reports whether the filter selects no notifications.
func (f SubscriptionFilter) IsEmpty() bool {
	return !f.ToolsListChanged && !f.PromptsListChanged && !f.ResourcesListChanged && len(f.ResourceSubscriptions) == 0
}

// SubscriptionsListenRequest opens a stream of notifications, in the revision 2026-07-28.
type SubscriptionsListenRequest struct {
	Request
	Params SubscriptionsListenParams `json:"params"`
	Header http.Header               `json:"-"`
}

// SubscriptionsListenParams are the params of a [SubscriptionsListenRequest].
type SubscriptionsListenParams struct {
	Notifications SubscriptionFilter `json:"notifications"`
	Meta          *Meta              `json:"_meta,omitempty"`
}

// SubscriptionsListenResult ends the stream of a [SubscriptionsListenRequest].
type SubscriptionsListenResult struct{ Result }

// ResourceReference refers to a resource or a resource template.
type ResourceReference struct {
	Type string `json:"type"`
	URI  string `json:"uri"`
}

// PromptReference refers to a prompt.
type PromptReference struct {
	Type string `json:"type"`
	Name string `json:"name"`
}

// CompleteRequest asks for values that complete an argument.
type CompleteRequest struct {
	Request
	Params CompleteParams `json:"params"`
	Header http.Header    `json:"-"`
}

// CompleteParams are the params of a [CompleteRequest].
type CompleteParams struct {
	// Ref is a [PromptReference] or a [ResourceReference].
	Ref      any              `json:"ref"`
	Argument CompleteArgument `json:"argument"`
	Context  CompleteContext  `json:"context,omitzero"`
	Meta     *Meta            `json:"_meta,omitempty"`
}

// UnmarshalJSON implements [json.Unmarshaler].
func (p *CompleteParams) UnmarshalJSON(data []byte) error {
	type plain CompleteParams
	v := struct {
		*plain
		Ref json.RawMessage `json:"ref"`
	}{plain: (*plain)(p)}
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	var kind struct{ Type string }
	if err := json.Unmarshal(v.Ref, &kind); err != nil {
		return err
	}
	var err error
	switch kind.Type {
	case "ref/prompt":
		p.Ref, err = decoded[PromptReference](v.Ref)
	case "ref/resource":
		p.Ref, err = decoded[ResourceReference](v.Ref)
	default:
		err = fmt.Errorf("unknown type of reference %q", kind.Type)
	}
	return err
}

func decoded[T any](data []byte) (any, error) {
	var v T
	err := json.Unmarshal(data, &v)
	return v, err
}

// CompleteArgument is the argument to complete.
type CompleteArgument struct {
	Name string `json:"name"`
	// Value is the beginning of the value.
	Value string `json:"value"`
}

// CompleteContext has other values that are known already.
type CompleteContext struct {
	Arguments map[string]string `json:"arguments,omitempty"`
}

// CompleteResult is the response to a [CompleteRequest].
type CompleteResult struct {
	Result
	Completion Completion `json:"completion"`
}

// Completion has values that complete an argument.
type Completion struct {
	Values []string `json:"values"`
	// Total is the number of all values, or 0 if it is unknown.
	Total   int  `json:"total,omitempty"`
	HasMore bool `json:"hasMore,omitempty"`
}

// TaskStatus is the state of a task.
type TaskStatus string

// The states of tasks.
const (
	TaskStatusWorking       TaskStatus = "working"
	TaskStatusInputRequired TaskStatus = "input_required"
	TaskStatusCompleted     TaskStatus = "completed"
	TaskStatusFailed        TaskStatus = "failed"
	TaskStatusCancelled     TaskStatus = "cancelled"
)

// IsTerminal reports whether the state is final.
func (s TaskStatus) IsTerminal() bool {
	return s == TaskStatusCompleted || s == TaskStatusFailed || s == TaskStatusCancelled
}

// Task is the state of a request that continues after its first response.
type Task struct {
	TaskId        string     `json:"taskId"`
	Status        TaskStatus `json:"status"`
	StatusMessage string     `json:"statusMessage,omitempty"`
	CreatedAt     string     `json:"createdAt"`
	LastUpdatedAt string     `json:"lastUpdatedAt"`
	// TTL is the number of milliseconds for which the task is kept, or nil for no limit.
	TTL *int64 `json:"ttl"`
	// PollInterval is the suggested number of milliseconds between two requests.
	PollInterval *int64 `json:"pollInterval,omitempty"`
}

// GetName returns the id.
func (t Task) GetName() string { return t.TaskId }

// CreateTaskResult is the result of a handler whose calls can be tasks. The other fields become the
// result of the call.
type CreateTaskResult struct {
	Result
	Task              Task      `json:"task"`
	Content           []Content `json:"-"`
	StructuredContent any       `json:"-"`
	IsError           bool      `json:"-"`
}

// GetTaskRequest asks for the state of a task.
type GetTaskRequest struct {
	Request
	Params GetTaskParams `json:"params"`
	Header http.Header   `json:"-"`
}

// GetTaskParams are the params of a [GetTaskRequest].
type GetTaskParams struct {
	TaskId string `json:"taskId"`
	Meta   *Meta  `json:"_meta,omitempty"`
}

// GetTaskResult is the response to a [GetTaskRequest].
type GetTaskResult struct {
	Result
	Task
}

// ListTasksRequest asks for a page of tasks.
type ListTasksRequest struct {
	PaginatedRequest
	Header http.Header `json:"-"`
}

// ListTasksResult is a page of tasks.
type ListTasksResult struct {
	PaginatedResult
	Tasks []Task `json:"tasks"`
}

// TaskResultRequest asks for the result of a task, and waits for it.
type TaskResultRequest struct {
	Request
	Params TaskResultParams `json:"params"`
	Header http.Header      `json:"-"`
}

// TaskResultParams are the params of a [TaskResultRequest].
type TaskResultParams struct {
	TaskId string `json:"taskId"`
	Meta   *Meta  `json:"_meta,omitempty"`
}

// TaskResultResult is the result of a tool that ran as a task.
type TaskResultResult struct {
	Result
	Content           []Content `json:"content,omitempty"`
	StructuredContent any       `json:"structuredContent,omitempty"`
	IsError           bool      `json:"isError,omitempty"`
}

// UnmarshalJSON implements [json.Unmarshaler].
func (r *TaskResultResult) UnmarshalJSON(data []byte) error {
	var v CallToolResult
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	*r = TaskResultResult{v.Result, v.Content, v.StructuredContent, v.IsError}
	return nil
}

// CancelTaskRequest ends a task.
type CancelTaskRequest struct {
	Request
	Params CancelTaskParams `json:"params"`
	Header http.Header      `json:"-"`
}

// CancelTaskParams are the params of a [CancelTaskRequest].
type CancelTaskParams struct {
	TaskId string `json:"taskId"`
	Meta   *Meta  `json:"_meta,omitempty"`
}

// CancelTaskResult is the response to a [CancelTaskRequest].
type CancelTaskResult struct {
	Result
	Task
}
