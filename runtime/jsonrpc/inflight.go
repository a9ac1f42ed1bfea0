package jsonrpc

import "github.com/mcpwright/mcp/runtime/wire"

// InFlight is the table of the peer's requests that are being handled.
type InFlight struct{ table requestTable }

type requestTable interface {
	cancelRequest(id wire.RequestID, reason string) bool
	requestIDs() []wire.RequestID
}

// Cancel stops the handling of a request as if its sender had asked for it:
// the context of its handler ends with a *[CancelledError], and it is not
// answered. "7" and 7 are the same id. It returns false where no such request
// is being handled.
func (f *InFlight) Cancel(id wire.RequestID) bool { return f.table.cancelRequest(id, "") }

// IDs lists the requests being handled, in no order.
func (f *InFlight) IDs() []wire.RequestID { return f.table.requestIDs() }

// Answering lists the way out of each request that is being handled, in no order:
// [Source].Back, or the connection's own.
func (c *Conn) Answering() []Writer { return c.state.answering() }

func (c *Conn) cancelRequest(id wire.RequestID, reason string) bool {
	return c.cancel(id, reason, 0)
}

func (c *Conn) cancel(id wire.RequestID, reason string, most int) bool {
	x := c.state.cancel(id, most)
	if x == nil {
		return false
	}
	x.gate.mute()
	x.ctx.Cancel(&CancelledError{Reason: reason})
	return true
}

func (c *Conn) requestIDs() []wire.RequestID { return c.state.list() }
