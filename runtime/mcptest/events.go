package mcptest

import "bytes"

// events takes the messages out of a stream of server-sent events, as they come.
type events struct {
	message func(data []byte)

	begun bool     // the first line, which may have a mark before it, has been read
	rest  []byte   // a line whose end has not come yet
	cr    bool     // the last byte was a carriage return, which ends a line
	kind  string   // of the event that has not ended yet
	data  [][]byte // of the same
}

// take reads more of the stream.
func (e *events) take(b []byte) {
	for _, c := range b {
		switch {
		case c == '\n' && e.cr: // the second half of the end of a line
		case c == '\n' || c == '\r':
			e.line(e.rest)
			e.rest = nil
		default:
			e.rest = append(e.rest, c)
		}
		e.cr = c == '\r'
	}
}

// line reads a line; an empty one ends an event.
func (e *events) line(line []byte) {
	if !e.begun {
		line, e.begun = bytes.TrimPrefix(line, []byte("\ufeff")), true
	}
	if len(line) == 0 {
		data := bytes.Join(e.data, []byte("\n"))
		if (e.kind == "" || e.kind == "message") && len(data) > 0 {
			e.message(data)
		}
		e.kind, e.data = "", nil
		return
	}
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "data":
		e.data = append(e.data, value)
	case "event":
		e.kind = string(value)
	}
}
