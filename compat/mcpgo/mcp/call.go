package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"
)

// CallToolRequest is a call of a tool.
type CallToolRequest struct {
	Request
	// Header contains the HTTP headers of the request, or is nil.
	Header http.Header    `json:"-"`
	Params CallToolParams `json:"params"`
}

// CallToolParams are the params of a [CallToolRequest].
type CallToolParams struct {
	Name string `json:"name"`
	// Arguments are the decoded arguments, usually a map[string]any.
	Arguments any         `json:"arguments,omitempty"`
	Meta      *Meta       `json:"_meta,omitempty"`
	Task      *TaskParams `json:"task,omitempty"`
	// RawArguments are the arguments as they were received, or nil.
	RawArguments json.RawMessage `json:"-"`
}

// TaskParams asks for a call to be a task.
type TaskParams struct {
	// TTL is how long the task is stored, in milliseconds, or nil.
	TTL *int64 `json:"ttl,omitempty"`
}

// MarshalJSON implements [json.Marshaler].
func (p CallToolParams) MarshalJSON() ([]byte, error) {
	if p.RawArguments != nil {
		p.Arguments = p.RawArguments
	}
	type plain CallToolParams
	return json.Marshal(plain(p))
}

// UnmarshalJSON implements [json.Unmarshaler].
func (p *CallToolParams) UnmarshalJSON(data []byte) error {
	type plain CallToolParams
	v := struct {
		*plain
		Arguments json.RawMessage `json:"arguments"`
	}{plain: (*plain)(p)}
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	p.RawArguments, p.Arguments = v.Arguments, nil
	if v.Arguments == nil {
		return nil
	}
	return json.Unmarshal(v.Arguments, &p.Arguments)
}

// GetArguments returns the arguments by name. It returns nil if they are not an object.
func (r CallToolRequest) GetArguments() map[string]any {
	args, _ := r.Params.Arguments.(map[string]any)
	return args
}

// GetRawArguments returns the arguments as they were received, a [json.RawMessage], or
// Params.Arguments if they were not received.
func (r CallToolRequest) GetRawArguments() any {
	if r.Params.RawArguments != nil {
		return r.Params.RawArguments
	}
	return r.Params.Arguments
}

// BindArguments decodes the arguments into target, a pointer, like [json.Unmarshal].
func (r CallToolRequest) BindArguments(target any) error {
	data := r.Params.RawArguments
	if data == nil {
		var err error
		if data, err = json.Marshal(r.Params.Arguments); err != nil {
			return fmt.Errorf("mcp: encode arguments: %w", err)
		}
	}
	return json.Unmarshal(data, target)
}

// The conversions below accept the same values as mcp-go: a model that sends "2" for a number
// still gets an answer.

func text(v any) (string, bool) {
	s, ok := v.(string)
	return s, ok
}

func integer(v any) (int, bool) {
	switch v := v.(type) {
	case int:
		return v, true
	case float64:
		return int(v), true
	case string:
		i, err := strconv.Atoi(v)
		return i, err == nil
	}
	return 0, false
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true
	case float64:
		return v, true
	case string:
		f, err := strconv.ParseFloat(v, 64)
		return f, err == nil && !math.IsNaN(f)
	}
	return 0, false
}

func boolean(v any) (bool, bool) {
	switch v := v.(type) {
	case bool:
		return v, true
	case int:
		return v != 0, true
	case float64:
		return v != 0, true
	case string:
		b, err := strconv.ParseBool(v)
		return b, err == nil
	}
	return false, false
}

// slice returns a conversion of lists whose items convert reports as valid.
func slice[T any](convert func(any) (T, bool)) func(any) ([]T, bool) {
	return func(v any) ([]T, bool) {
		if list, ok := v.([]T); ok {
			return list, true
		}
		list, ok := v.([]any)
		if !ok {
			return nil, false
		}
		values := make([]T, 0, len(list))
		for _, item := range list {
			value, ok := convert(item)
			if !ok {
				return nil, false
			}
			values = append(values, value)
		}
		return values, true
	}
}

func get[T any](r CallToolRequest, key string, byDefault T, convert func(any) (T, bool)) T {
	if value, ok := convert(r.GetArguments()[key]); ok {
		return value
	}
	return byDefault
}

func require[T any](r CallToolRequest, key, kind string, convert func(any) (T, bool)) (T, error) {
	arg, ok := r.GetArguments()[key]
	if !ok {
		var zero T
		return zero, fmt.Errorf("required argument %q not found", key)
	}
	value, ok := convert(arg)
	if !ok {
		return value, fmt.Errorf("argument %q is not %s", key, kind)
	}
	return value, nil
}

// GetString returns an argument that is a string, or a default.
func (r CallToolRequest) GetString(key, defaultValue string) string {
	return get(r, key, defaultValue, text)
}

// RequireString returns an argument that is a string.
func (r CallToolRequest) RequireString(key string) (string, error) {
	return require(r, key, "a string", text)
}

// GetInt returns an argument as an int, or a default. Strings are converted, and the fraction of
// a number is dropped.
func (r CallToolRequest) GetInt(key string, defaultValue int) int {
	return get(r, key, defaultValue, integer)
}

// RequireInt is like [CallToolRequest.GetInt] but returns an error instead of a default.
func (r CallToolRequest) RequireInt(key string) (int, error) {
	return require(r, key, "an int", integer)
}

// GetFloat returns an argument as a float64, or a default. Strings are converted.
func (r CallToolRequest) GetFloat(key string, defaultValue float64) float64 {
	return get(r, key, defaultValue, number)
}

// RequireFloat is like [CallToolRequest.GetFloat] but returns an error instead of a default.
func (r CallToolRequest) RequireFloat(key string) (float64, error) {
	return require(r, key, "a float64", number)
}

// GetBool returns an argument as a bool, or a default. Strings are converted like
// [strconv.ParseBool], and a number is true if it is not 0.
func (r CallToolRequest) GetBool(key string, defaultValue bool) bool {
	return get(r, key, defaultValue, boolean)
}

// RequireBool is like [CallToolRequest.GetBool] but returns an error instead of a default.
func (r CallToolRequest) RequireBool(key string) (bool, error) {
	return require(r, key, "a bool", boolean)
}

// GetStringSlice returns an argument that is a list of strings, or a default.
func (r CallToolRequest) GetStringSlice(key string, defaultValue []string) []string {
	return get(r, key, defaultValue, slice(text))
}

// RequireStringSlice returns an argument that is a list of strings.
func (r CallToolRequest) RequireStringSlice(key string) ([]string, error) {
	return require(r, key, "a string slice", slice(text))
}

// GetIntSlice returns an argument as a list of ints, or a default. In mcp-go items that cannot be
// converted are left out; here the default is returned.
func (r CallToolRequest) GetIntSlice(key string, defaultValue []int) []int {
	return get(r, key, defaultValue, slice(integer))
}

// RequireIntSlice returns an argument as a list of ints.
func (r CallToolRequest) RequireIntSlice(key string) ([]int, error) {
	return require(r, key, "an int slice", slice(integer))
}

// GetFloatSlice returns an argument as a list of numbers, or a default.
func (r CallToolRequest) GetFloatSlice(key string, defaultValue []float64) []float64 {
	return get(r, key, defaultValue, slice(number))
}

// RequireFloatSlice returns an argument as a list of numbers.
func (r CallToolRequest) RequireFloatSlice(key string) ([]float64, error) {
	return require(r, key, "a float64 slice", slice(number))
}

// GetBoolSlice returns an argument as a list of bools, or a default.
func (r CallToolRequest) GetBoolSlice(key string, defaultValue []bool) []bool {
	return get(r, key, defaultValue, slice(boolean))
}

// RequireBoolSlice returns an argument as a list of bools.
func (r CallToolRequest) RequireBoolSlice(key string) ([]bool, error) {
	return require(r, key, "a bool slice", slice(boolean))
}

type integral interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

func integralOf[T integral](v any) (T, bool) {
	f, ok := number(v)
	if i, err := strconv.ParseInt(fmt.Sprint(v), 10, 64); err == nil {
		return T(i), int64(T(i)) == i && (T(i) < 0) == (i < 0)
	}
	return T(f), ok && float64(T(f)) == math.Trunc(f)
}

// ParseArgument returns an argument, or a default if it is absent.
func ParseArgument(request CallToolRequest, key string, defaultVal any) any {
	if v, ok := request.GetArguments()[key]; ok {
		return v
	}
	return defaultVal
}

// ParseString returns an argument as a string, or a default. Numbers and booleans are formatted.
func ParseString(request CallToolRequest, key string, defaultValue string) string {
	return get(request, key, defaultValue, func(v any) (string, bool) {
		switch v := v.(type) {
		case string:
			return v, true
		case float64:
			return strconv.FormatFloat(v, 'f', -1, 64), true
		case bool, int:
			return fmt.Sprint(v), true
		}
		return "", false
	})
}

// ParseStringMap returns an argument that is an object, or a default.
func ParseStringMap(request CallToolRequest, key string, defaultValue map[string]any) map[string]any {
	return get(request, key, defaultValue, func(v any) (map[string]any, bool) {
		m, ok := v.(map[string]any)
		return m, ok
	})
}

// ParseBoolean is [CallToolRequest.GetBool].
func ParseBoolean(request CallToolRequest, key string, defaultValue bool) bool {
	return request.GetBool(key, defaultValue)
}

// ParseFloat64 is [CallToolRequest.GetFloat].
func ParseFloat64(request CallToolRequest, key string, defaultValue float64) float64 {
	return request.GetFloat(key, defaultValue)
}

// ParseFloat32 is like [ParseFloat64].
func ParseFloat32(request CallToolRequest, key string, defaultValue float32) float32 {
	return float32(request.GetFloat(key, float64(defaultValue)))
}

// ParseInt returns an argument as an integer, or a default. Strings are converted, and the
// fraction of a number is dropped. A value outside of the range of the type counts as absent.
func ParseInt(request CallToolRequest, key string, defaultValue int) int {
	return get(request, key, defaultValue, integralOf[int])
}

// ParseInt8 is like [ParseInt].
func ParseInt8(request CallToolRequest, key string, defaultValue int8) int8 {
	return get(request, key, defaultValue, integralOf[int8])
}

// ParseInt16 is like [ParseInt].
func ParseInt16(request CallToolRequest, key string, defaultValue int16) int16 {
	return get(request, key, defaultValue, integralOf[int16])
}

// ParseInt32 is like [ParseInt].
func ParseInt32(request CallToolRequest, key string, defaultValue int32) int32 {
	return get(request, key, defaultValue, integralOf[int32])
}

// ParseInt64 is like [ParseInt].
func ParseInt64(request CallToolRequest, key string, defaultValue int64) int64 {
	return get(request, key, defaultValue, integralOf[int64])
}

// ParseUInt is like [ParseInt].
func ParseUInt(request CallToolRequest, key string, defaultValue uint) uint {
	return get(request, key, defaultValue, integralOf[uint])
}

// ParseUInt8 is like [ParseInt].
func ParseUInt8(request CallToolRequest, key string, defaultValue uint8) uint8 {
	return get(request, key, defaultValue, integralOf[uint8])
}

// ParseUInt16 is like [ParseInt].
func ParseUInt16(request CallToolRequest, key string, defaultValue uint16) uint16 {
	return get(request, key, defaultValue, integralOf[uint16])
}

// ParseUInt32 is like [ParseInt].
func ParseUInt32(request CallToolRequest, key string, defaultValue uint32) uint32 {
	return get(request, key, defaultValue, integralOf[uint32])
}

// ParseUInt64 is like [ParseInt].
func ParseUInt64(request CallToolRequest, key string, defaultValue uint64) uint64 {
	return get(request, key, defaultValue, integralOf[uint64])
}

// TypedToolHandlerFunc handles calls whose arguments have been decoded into a T.
type TypedToolHandlerFunc[T any] func(ctx context.Context, request CallToolRequest, args T) (*CallToolResult, error)

// StructuredToolHandlerFunc is a [TypedToolHandlerFunc] that returns structured content.
type StructuredToolHandlerFunc[TArgs, TResult any] func(ctx context.Context, request CallToolRequest, args TArgs) (TResult, error)

// NewTypedToolHandler returns a handler that decodes the arguments and calls another one. If they
// cannot be decoded, the model receives the error.
func NewTypedToolHandler[T any](handler TypedToolHandlerFunc[T]) func(context.Context, CallToolRequest) (*CallToolResult, error) {
	return func(ctx context.Context, request CallToolRequest) (*CallToolResult, error) {
		var args T
		if err := request.BindArguments(&args); err != nil {
			return NewToolResultErrorf("failed to bind arguments: %v", err), nil
		}
		return handler(ctx, request, args)
	}
}

// NewStructuredToolHandler is like [NewTypedToolHandler] for a handler that returns structured
// content. An error of the handler is sent to the model.
func NewStructuredToolHandler[TArgs, TResult any](handler StructuredToolHandlerFunc[TArgs, TResult]) func(context.Context, CallToolRequest) (*CallToolResult, error) {
	return NewTypedToolHandler(func(ctx context.Context, request CallToolRequest, args TArgs) (*CallToolResult, error) {
		result, err := handler(ctx, request, args)
		if err != nil {
			return NewToolResultErrorf("tool execution failed: %v", err), nil
		}
		return NewToolResultStructuredOnly(result), nil
	})
}
