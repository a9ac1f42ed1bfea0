package dispatch

import "github.com/mcpwright/mcp/runtime/wire"

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
