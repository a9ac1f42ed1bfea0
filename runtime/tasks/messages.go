package tasks

import (
	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Of is what the requests of the extension have in common: the task that they are
// about.
type Of struct {
	// ID identifies the task.
	ID string
}

// Extension implements [peer.Extension].
func (*Of) Extension() string { return Name }

// NameMember implements [peer.Named].
func (o *Of) NameMember() string { return o.ID }

// GetRequest asks how far a task has come.
type GetRequest struct{ Of }

// UpdateRequest brings answers to what a task waits for. Those that nobody waits for
// are ignored, and those that are missing may come later.
type UpdateRequest struct {
	Of
	// InputResponses are the answers, by the key of the question. What is no answer
	// at all is read as nil, and leaves its question open.
	InputResponses mcp.InputResponses
}

// CancelRequest asks for a task to be given up. It may come to another end all the
// same.
type CancelRequest struct{ Of }

// Done is the answer that says nothing: what came of the request is seen at the
// task.
type Done struct{}

var (
	_ peer.Request[*Task] = (*GetRequest)(nil)
	_ peer.Request[*Done] = (*UpdateRequest)(nil)
	_ peer.Request[*Done] = (*CancelRequest)(nil)
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
func (*UpdateRequest) NewResult() *Done { return new(Done) }

// Method implements [peer.Message].
func (*CancelRequest) Method() string { return MethodCancel }

// NewResult implements [peer.Request].
func (*CancelRequest) NewResult() *Done { return new(Done) }

var paramsMembers = wire.NewMembers("params",
	wire.Member{Name: "taskId", In: wire.Always, Required: wire.Always},
	wire.Member{Name: "inputResponses", In: wire.Always},
)

// AppendParams implements [wire.Params].
func (o *Of) AppendParams(b []byte, _ *wire.Encoder) []byte {
	return append(wire.AppendString(append(b, `{"taskId":`...), o.ID), '}')
}

// DecodeParams implements [wire.Params].
func (o *Of) DecodeParams(d *wire.Decoder) {
	for p := d.Object(paramsMembers); p.Next(); {
		if p.Name == "taskId" {
			o.ID = d.String()
		} else {
			d.Skip()
		}
	}
}

// AppendParams implements [wire.Params].
func (r *UpdateRequest) AppendParams(b []byte, e *wire.Encoder) []byte {
	b = wire.AppendString(append(b, `{"taskId":`...), r.ID)
	b = wire.AppendMap(append(b, `,"inputResponses":`...), e, r.InputResponses, appendAnswer)
	return append(b, '}')
}

// DecodeParams implements [wire.Params].
func (r *UpdateRequest) DecodeParams(d *wire.Decoder) {
	for p := d.Object(paramsMembers); p.Next(); {
		switch p.Name {
		case "taskId":
			r.ID = d.String()
		case "inputResponses":
			r.InputResponses = wire.Map(d, decodeAnswer)
		default:
			d.Skip()
		}
	}
}

func appendAnswer(b []byte, e *wire.Encoder, a mcp.InputResponse) []byte {
	if a == nil {
		return e.Missing(b, "InputResponse")
	}
	return a.AppendJSON(b, e)
}

func decodeAnswer(d *wire.Decoder) mcp.InputResponse {
	raw := d.Raw()
	if d.Err() != nil {
		return nil
	}
	answer, _ := mcp.UnmarshalInputResponse(raw)
	return answer
}

// AppendJSON implements [wire.Value].
func (*Done) AppendJSON(b []byte, _ *wire.Encoder) []byte { return append(b, "{}"...) }

// DecodeJSON implements [wire.Value].
func (*Done) DecodeJSON(d *wire.Decoder) {
	for o := d.Object(nil); o.Next(); {
		d.Skip()
	}
}

// Created is what a server answers in place of a result: a task that has begun.
type Created struct{ Task }

// AppendJSON implements [wire.Value].
func (c *Created) AppendJSON(b []byte, e *wire.Encoder) []byte {
	start := len(b)
	return wire.CloseObject(c.members(append(b, `,"resultType":"task"`...), e), start)
}
