package jsonrpc

import (
	"errors"
	"fmt"

	"github.com/mcpwright/mcp/runtime/wire"
)

// key is an id as tables know it: peers are known to answer, cancel and report
// with "7" where the id was 7, so a string that spells an integer counts as
// that integer. What is written is never changed.
func key(id wire.RequestID) wire.RequestID {
	s, isText := id.Text()
	if !isText || s == "" || s[0] != '-' && (s[0] < '0' || s[0] > '9') || s[len(s)-1] > '9' {
		return id
	}
	if n, err := wire.ParseID([]byte(s)); err == nil && n.String() == s {
		return n
	}
	return id
}

var errUnreadableID = errors.New("it would not come back as it was")

// checkID judges an id of the caller's choice, zero for none: an answer has to
// bring it back.
func checkID(method string, id wire.RequestID) error {
	if id.IsZero() {
		return nil
	}
	back, err := wire.ParseID(id.AppendTo(nil))
	if err == nil && back != id {
		err = errUnreadableID
	}
	if err != nil {
		return fmt.Errorf("send %q: request id %v: %w", method, id, err)
	}
	return nil
}
