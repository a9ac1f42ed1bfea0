package jsonrpc

import (
	"math"

	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Methods that need special treatment.
const (
	methodInitialize = "initialize"
	methodPing       = "ping"
	methodListen     = "subscriptions/listen"
	methodCancelled  = "notifications/cancelled"
	methodProgress   = "notifications/progress"
)

// validated is the frame for params that have been validated before.
var validated = &wire.Frame{Checked: true}

// cancelNotification is the notification that cancels a request.
type cancelNotification struct {
	id     wire.RequestID
	reason string
}

var cancelledMembers = wire.NewMembers("cancelled",
	wire.Member{Name: "requestId", In: wire.Always, Required: wire.Always},
	wire.Member{Name: "reason", In: wire.Always},
)

func (*cancelNotification) Method() string  { return methodCancelled }
func (*cancelNotification) IsNotification() {}

func (x *cancelNotification) AppendParams(b []byte, e *wire.Encoder) []byte {
	start := len(b)
	b = append(b, `,"requestId":`...)
	b = e.ID(b, x.id)
	b = append(b, `,"reason":`...)
	b = wire.AppendString(b, x.reason)
	b = wire.AppendMeta(b, e, x, (*noMeta)(nil), 0)
	return wire.CloseObject(b, start)
}

func (x *cancelNotification) DecodeParams(d *wire.Decoder) {
	for o := d.Object(cancelledMembers); o.Next(); {
		switch o.Name {
		case "requestId":
			x.id = d.ID()
		case "reason":
			x.reason = d.String()
		default:
			d.Skip()
		}
	}
}

// progressReport is the notification that reports progress of a request.
type progressReport struct {
	token wire.ProgressToken
	peer.Progress
}

var progressMembers = wire.NewMembers("progress",
	wire.Member{Name: "progressToken", In: wire.Always, Required: wire.Always},
	wire.Member{Name: "progress", In: wire.Always, Required: wire.Always},
	wire.Member{Name: "total", In: wire.Always},
	wire.Member{Name: "message", In: wire.Always},
)

// firstWithMessage is the first revision whose progress reports have a message.
const firstWithMessage = "2025-03-26"

func (*progressReport) Method() string  { return methodProgress }
func (*progressReport) IsNotification() {}

func (x *progressReport) AppendParams(b []byte, e *wire.Encoder) []byte {
	start := len(b)
	b = append(b, `,"progressToken":`...)
	b = e.Token(b, x.token)
	b = append(b, `,"progress":`...)
	b = e.Number(b, x.Progress.Progress, -math.MaxFloat64, math.MaxFloat64)
	if x.Total != nil {
		b = append(b, `,"total":`...)
		b = e.Number(b, *x.Total, -math.MaxFloat64, math.MaxFloat64)
	}
	if x.Message != "" && e.Revision().String() >= firstWithMessage {
		b = append(b, `,"message":`...)
		b = wire.AppendString(b, x.Message)
	}
	b = wire.AppendMeta(b, e, x, (*noMeta)(nil), 0)
	return wire.CloseObject(b, start)
}

func (x *progressReport) DecodeParams(d *wire.Decoder) {
	for o := d.Object(progressMembers); o.Next(); {
		switch o.Name {
		case "progressToken":
			x.token = d.Token()
		case "progress":
			x.Progress.Progress = d.Number(-math.MaxFloat64, math.MaxFloat64)
		case "total":
			x.Total = new(d.Number(-math.MaxFloat64, math.MaxFloat64))
		case "message":
			x.Message = d.String()
		default:
			d.Skip()
		}
	}
}

// noMeta encodes the _meta of a message that has no _meta of its own. The frame may add entries.
type noMeta struct{}

func (*noMeta) AppendJSON(b []byte, e *wire.Encoder) []byte {
	start := len(b)
	return wire.CloseObject(e.Overlay(b), start)
}

func (*noMeta) DecodeJSON(d *wire.Decoder) { d.Skip() }

// withToken returns a copy of f that adds the progress token to the _meta of a message. The frame f
// may be nil.
func withToken(f *wire.Frame, token wire.ProgressToken) *wire.Frame {
	var own wire.Frame
	if f != nil {
		own = *f
	}
	entries := make([]wire.Entry, 0, len(own.Meta)+1)
	for _, e := range own.Meta {
		if e.Name != "progressToken" {
			entries = append(entries, e)
		}
	}
	own.Meta = append(entries, wire.Entry{Name: "progressToken", Value: token.AppendTo(nil)})
	return &own
}
