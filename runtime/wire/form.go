package wire

import "fmt"

var formMembers = NewMembers("request",
	Member{Name: "method", In: Always, Required: Always},
	Member{Name: "params", In: Always},
)

// AppendMessageForm appends a request that travels inside another message:
// an object with method and params. Params that are {} are left out unless the
// revision is in required. The frame's meta stays outside.
func AppendMessageForm(b []byte, e *Encoder, method string, p Params, required Window) []byte {
	top, over, met := e.top, e.over, e.met
	e.top, e.over, e.met = nil, false, true
	b = append(b, `{"method":`...)
	b = AppendString(b, method)
	b = e.params(b, p, e.Needs(required))
	e.top, e.over, e.met = top, over, met
	return append(b, '}')
}

// DecodeMessageForm reads what AppendMessageForm writes: the method must be
// the given one, and params may be absent unless the revision is in required.
// Members of other names are checked and dropped.
func DecodeMessageForm(d *Decoder, method string, p Params, required Window) {
	found, start := false, d.pos
	for o := d.Object(formMembers); o.Next(); {
		switch o.Name {
		case "method":
			d.Const(method)
		case "params":
			found = true
			p.DecodeParams(d)
		default:
			d.Skip()
		}
	}
	if !found && d.Needs(required) {
		d.fail(start, false, fmt.Errorf("missing member %q", "params"))
	}
}
