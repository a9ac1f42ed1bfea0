package connection

import (
	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Check tells whether the peer may be asked for this: whether it declared what
// the request needs, and whether the request makes sense. Sending does the same
// first; Check is for requests that travel in other ways.
func (c *Connection) Check(req peer.Message) error {
	_, err := c.door().judge(req, methodOf(req))
	return err
}

// checked is what remains to be done when an answer is there.
type checked struct {
	form *mcp.RequestedSchema // what an accepted answer has to fit, nil for none
}

// check judges a request from the server by what its method means. A type of
// the caller's own is read as the protocol's type of that method.
func (d door) check(req peer.Message) (checked, error) {
	if d.conn.client {
		return checked{}, nil
	}
	switch req.Method() {
	case mcp.MethodCreateMessage:
		m, err := as[mcp.CreateMessageRequest](req, d.facts.revision)
		if err != nil {
			return checked{}, err
		}
		return checked{}, d.checkSampling(m)
	case mcp.MethodElicit:
		m, err := as[mcp.ElicitRequest](req, d.facts.revision)
		if err != nil {
			return checked{}, err
		}
		return d.checkElicit(m)
	}
	return checked{}, nil
}

// as returns req as a T, through the codec where it is of another type.
func as[T any, P interface {
	*T
	peer.Message
}](req peer.Message, r wire.Revision) (P, error) {
	if m, ok := req.(P); ok {
		return m, nil
	}
	raw, err := wire.AppendParams(nil, plainFrame(r), req)
	if err != nil {
		return nil, err
	}
	m := P(new(T))
	if err := wire.DecodeParams(raw, &wire.Frame{Revision: r, Checked: true}, m); err != nil {
		return nil, &InvalidError{Method: req.Method(), Err: err}
	}
	return m, nil
}

// answer judges what came back.
func (c checked) answer(res wire.Value) error {
	got, ok := res.(*mcp.ElicitResult)
	if c.form == nil || !ok || got.Action != mcp.ElicitActionAccept {
		return nil
	}
	if err := CheckContent(c.form, got.Content); err != nil {
		return &InvalidError{Method: mcp.MethodElicit, Answer: true, Err: err}
	}
	return nil
}
