package tasks

import (
	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Ref refers to a task. All requests of the extension contain it.
type Ref struct {
	// ID identifies the task.
	ID string
}

// Extension implements [peer.Extension].
func (*Ref) Extension() string { return Name }

// NameMember implements [peer.Named].
func (r *Ref) NameMember() string { return r.ID }

// GetRequest requests the current state of a task.
type GetRequest struct{ Ref }

// UpdateRequest sends responses to the input requests of a task. Responses to other
// requests are ignored, and missing responses may be sent later.
type UpdateRequest struct {
	Ref
	// InputResponses are the responses, by the key of the input request. A value
	// that is not a valid response is decoded as nil, and its input request
	// remains open.
	InputResponses mcp.InputResponses
}

// CancelRequest requests the cancellation of a task. The task may still complete or
// fail.
type CancelRequest struct{ Ref }

// Ack is an empty result. A GetRequest returns the effect of the request on the task.
type Ack struct{}

var (
	_ peer.Request[*Task] = (*GetRequest)(nil)
	_ peer.Request[*Ack]  = (*UpdateRequest)(nil)
	_ peer.Request[*Ack]  = (*CancelRequest)(nil)
	_ peer.Named          = (*GetRequest)(nil)
	_ peer.Extension      = (*GetRequest)(nil)
)

// Method implements [peer.Message].
func (*GetRequest) Method() string { return MethodGet }

// NewResult implements [peer.Request].
func (*GetRequest) NewResult() *Task { return new(Task) }

// Method implements [peer.Message].
func (*UpdateRequest) Method() string { return MethodUpdate }

// NewResult implements [peer.Request].
func (*UpdateRequest) NewResult() *Ack { return new(Ack) }

// Method implements [peer.Message].
func (*CancelRequest) Method() string { return MethodCancel }

// NewResult implements [peer.Request].
func (*CancelRequest) NewResult() *Ack { return new(Ack) }

var paramsMembers = wire.NewMembers("params",
	wire.Member{Name: "taskId", In: wire.Always, Required: wire.Always},
	wire.Member{Name: "inputResponses", In: wire.Always},
)

// AppendParams implements [wire.Params].
func (r *Ref) AppendParams(b []byte, _ *wire.Encoder) []byte {
	return append(wire.AppendString(append(b, `{"taskId":`...), r.ID), '}')
}

// DecodeParams implements [wire.Params].
func (r *Ref) DecodeParams(d *wire.Decoder) {
	for p := d.Object(paramsMembers); p.Next(); {
		if p.Name == "taskId" {
			r.ID = d.String()
		} else {
			d.Skip()
		}
	}
}

// AppendParams implements [wire.Params].
func (r *UpdateRequest) AppendParams(b []byte, e *wire.Encoder) []byte {
	b = wire.AppendString(append(b, `{"taskId":`...), r.ID)
	b = wire.AppendMap(append(b, `,"inputResponses":`...), e, r.InputResponses, appendInputResponse)
	return append(b, '}')
}

// DecodeParams implements [wire.Params].
func (r *UpdateRequest) DecodeParams(d *wire.Decoder) {
	for p := d.Object(paramsMembers); p.Next(); {
		switch p.Name {
		case "taskId":
			r.ID = d.String()
		case "inputResponses":
			r.InputResponses = wire.Map(d, decodeInputResponse)
		default:
			d.Skip()
		}
	}
}

func appendInputResponse(b []byte, e *wire.Encoder, r mcp.InputResponse) []byte {
	if r == nil {
		return e.Missing(b, "InputResponse")
	}
	return r.AppendJSON(b, e)
}

func decodeInputResponse(d *wire.Decoder) mcp.InputResponse {
	raw := d.Raw()
	if d.Err() != nil {
		return nil
	}
	response, _ := mcp.UnmarshalInputResponse(raw)
	return response
}

// AppendJSON implements [wire.Value].
func (*Ack) AppendJSON(b []byte, _ *wire.Encoder) []byte { return append(b, "{}"...) }

// DecodeJSON implements [wire.Value].
func (*Ack) DecodeJSON(d *wire.Decoder) {
	for o := d.Object(nil); o.Next(); {
		d.Skip()
	}
}

// CreateResult is the result of a request that continues as a task.
type CreateResult struct{ Task }

// AppendJSON implements [wire.Value].
func (c *CreateResult) AppendJSON(b []byte, e *wire.Encoder) []byte {
	start := len(b)
	return wire.CloseObject(c.members(append(b, `,"resultType":"task"`...), e), start)
}
