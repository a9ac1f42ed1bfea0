package wire

import (
	"encoding/json"
	"math"
)

// Message is one JSON-RPC message: a request, a notification, or a response
// with a result or an error.
type Message struct {
	ID     RequestID // zero for a notification, and for an error that answers no known request
	NullID bool      // "id" was there, and null
	Method string    // "" for a response

	// Params and Result are objects, already checked: decode them with
	// Frame.Checked. They alias the input. nil is absent.
	Params json.RawMessage
	Result json.RawMessage

	// Into is what Params have been read into already, by [ReadMessageInto]; nil
	// where they have not.
	Into Params

	Error *ErrorObject
}

// ErrorObject is the "error" of a response.
type ErrorObject struct {
	Code    int64
	Message string
	Data    json.RawMessage // nil is absent
}

var (
	envelopeMembers = NewMembers("message",
		Member{Name: "jsonrpc", In: Always, Required: Always},
		Member{Name: "id", In: Always},
		Member{Name: "method", In: Always},
		Member{Name: "params", In: Always},
		Member{Name: "result", In: Always},
		Member{Name: "error", In: Always},
	)
	errorMembers = NewMembers("error",
		Member{Name: "code", In: Always, Required: Always},
		Member{Name: "message", In: Always, Required: Always},
		Member{Name: "data", In: Always},
	)
)

// DecodeJSON reads the error; members of other names are checked and dropped.
func (x *ErrorObject) DecodeJSON(d *Decoder) {
	for o := d.Object(errorMembers); o.Next(); {
		switch o.Name {
		case "code":
			x.Code = d.Int(math.MinInt64, math.MaxInt64)
		case "message":
			x.Message = d.String()
		case "data":
			x.Data = d.Raw()
		default:
			d.Skip()
		}
	}
}

// AppendJSON appends the error.
func (x *ErrorObject) AppendJSON(b []byte, e *Encoder) []byte {
	start := len(b)
	b = append(b, `,"code":`...)
	b = AppendInt(b, x.Code)
	b = append(b, `,"message":`...)
	b = AppendString(b, x.Message)
	if x.Data != nil {
		b = append(b, `,"data":`...)
		b = e.Raw(b, x.Data, "")
	}
	return CloseObject(b, start)
}
