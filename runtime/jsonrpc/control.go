package jsonrpc

import (
	"bytes"
	"encoding/json"
	"math"

	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// The methods that a dispatcher itself has to do with.
const (
	methodInitialize = "initialize"
	methodPing       = "ping"
	methodListen     = "subscriptions/listen"
	methodCancelled  = "notifications/cancelled"
	methodProgress   = "notifications/progress"
)

// checked reads what was accepted before.
var checked = &wire.Frame{Checked: true}

// cancelled is notifications/cancelled, as far as a dispatcher needs it.
type cancelled struct {
	id     wire.RequestID
	reason string
}

var cancelledMembers = wire.NewMembers("cancelled",
	wire.Member{Name: "requestId", In: wire.Always, Required: wire.Always},
	wire.Member{Name: "reason", In: wire.Always},
)

func (*cancelled) Method() string  { return methodCancelled }
func (*cancelled) IsNotification() {}

func (x *cancelled) AppendParams(b []byte, e *wire.Encoder) []byte {
	start := len(b)
	b = append(b, `,"requestId":`...)
	b = e.ID(b, x.id)
	b = append(b, `,"reason":`...)
	b = wire.AppendString(b, x.reason)
	b = wire.AppendMeta(b, e, x, (*noMeta)(nil), 0)
	return wire.CloseObject(b, start)
}

func (x *cancelled) DecodeParams(d *wire.Decoder) {
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

// progress is notifications/progress, as far as a dispatcher needs it.
type progress struct {
	token wire.ProgressToken
	peer.Progress
}

var progressMembers = wire.NewMembers("progress",
	wire.Member{Name: "progressToken", In: wire.Always, Required: wire.Always},
	wire.Member{Name: "progress", In: wire.Always, Required: wire.Always},
	wire.Member{Name: "total", In: wire.Always},
	wire.Member{Name: "message", In: wire.Always},
)

// firstWithMessage is the revision since which a report has a message.
const firstWithMessage = "2025-03-26"

func (*progress) Method() string  { return methodProgress }
func (*progress) IsNotification() {}

func (x *progress) AppendParams(b []byte, e *wire.Encoder) []byte {
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

func (x *progress) DecodeParams(d *wire.Decoder) {
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

// noMeta is the _meta of a message that has none of its own: the frame may
// still have something to say.
type noMeta struct{}

func (*noMeta) AppendJSON(b []byte, e *wire.Encoder) []byte {
	start := len(b)
	return wire.CloseObject(e.Overlay(b), start)
}

func (*noMeta) DecodeJSON(d *wire.Decoder) { d.Skip() }

// ProgressToken finds the progress token in the params of a request, also for a
// transport that handles requests without a [Conn]. It is zero where the request
// asks for no reports, or where it is neither a string nor an integer.
func ProgressToken(params json.RawMessage) wire.ProgressToken {
	// Most requests have none, which takes no more than a look for its name; an
	// escape might hide the name.
	if !bytes.Contains(params, []byte("progressToken")) && bytes.IndexByte(params, '\\') < 0 {
		return wire.ProgressToken{}
	}
	var r tokenReader
	if wire.DecodeParams(params, checked, &r) != nil {
		return wire.ProgressToken{}
	}
	return r.token
}

// tokenReader reads the token out of a request's params.
type tokenReader struct {
	wire.ReadOnly
	token wire.ProgressToken
}

var (
	metaMember  = wire.NewMembers("params", wire.Member{Name: "_meta", In: wire.Always})
	tokenMember = wire.NewMembers("_meta", wire.Member{Name: "progressToken", In: wire.Always})
)

func (r *tokenReader) DecodeParams(d *wire.Decoder) {
	for o := d.Object(metaMember); o.Next(); {
		if o.Name == "" {
			d.Skip()
			continue
		}
		for m := d.Object(tokenMember); m.Next(); {
			if m.Name == "" {
				d.Skip()
				continue
			}
			r.token = d.Token()
		}
	}
}

// withToken returns f with the token written over the _meta of the message.
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
