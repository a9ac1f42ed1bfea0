package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// JSONRPCMessage is a [JSONRPCNotification], a [JSONRPCResponse] or a [JSONRPCError].
type JSONRPCMessage any

// RequestId is the id of a request: a string, an int64, a float64, or nil.
type RequestId struct{ value any }

// NewRequestId returns an id with a value.
func NewRequestId(value any) RequestId { return RequestId{value} }

// Value returns the value of the id.
func (r RequestId) Value() any { return r.value }

// IsNil reports whether there is no id.
func (r RequestId) IsNil() bool { return r.value == nil }

// String returns the type and the value of the id.
func (r RequestId) String() string {
	switch v := r.value.(type) {
	case nil:
		return "<nil>"
	case string:
		return "string:" + v
	default:
		return fmt.Sprintf("%T:%v", v, v)
	}
}

// MarshalJSON implements [json.Marshaler].
func (r RequestId) MarshalJSON() ([]byte, error) { return json.Marshal(r.value) }

// UnmarshalJSON implements [json.Unmarshaler].
func (r *RequestId) UnmarshalJSON(data []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(&r.value); err != nil {
		return err
	}
	switch v := r.value.(type) {
	case nil, string:
	case json.Number:
		if n, err := v.Int64(); err == nil {
			r.value = n
			return nil
		}
		return json.Unmarshal(data, &r.value)
	default:
		return fmt.Errorf("mcp: the id of a request is a %T", v)
	}
	return nil
}

// JSONRPCResponse is the response to a request that succeeded.
type JSONRPCResponse struct {
	JSONRPC string    `json:"jsonrpc"`
	ID      RequestId `json:"id"`
	Result  any       `json:"result"`
}

// JSONRPCError is the response to a request that failed.
type JSONRPCError struct {
	JSONRPC string              `json:"jsonrpc"`
	ID      RequestId           `json:"id"`
	Error   JSONRPCErrorDetails `json:"error"`
}

// JSONRPCErrorDetails describes an error.
type JSONRPCErrorDetails struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	// Data is any value that can be encoded as JSON, or nil.
	Data any `json:"data,omitempty"`
}

// NewJSONRPCErrorDetails returns the description of an error.
func NewJSONRPCErrorDetails(code int, message string, data any) JSONRPCErrorDetails {
	return JSONRPCErrorDetails{code, message, data}
}

// NewJSONRPCResultResponse returns the response to a request that succeeded.
func NewJSONRPCResultResponse(id RequestId, result any) JSONRPCResponse {
	return JSONRPCResponse{JSONRPC_VERSION, id, result}
}

// NewJSONRPCError returns the response to a request that failed.
func NewJSONRPCError(id RequestId, code int, message string, data any) JSONRPCError {
	return JSONRPCError{JSONRPC_VERSION, id, NewJSONRPCErrorDetails(code, message, data)}
}
