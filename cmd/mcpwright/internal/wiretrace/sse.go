package wiretrace

import (
	"bytes"
	"errors"
	"io"
)

// ReadEvents calls a function with the name and the data of each server-sent event, until the stream
// ends. Data of more than limit bytes is clipped.
func ReadEvents(r io.Reader, limit int, event func(name string, data []byte)) error {
	s := &eventSplitter{limit: limit, event: func(name string, data []byte, _ int64) { event(name, data) }}
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		s.add(buf[:n])
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// eventSplitter splits a stream of server-sent events. It stores the beginning of the
// data of an event only.
type eventSplitter struct {
	limit int
	event func(name string, data []byte, size int64)

	begun   bool // the first line, which may begin with a byte order mark, has been read
	cr      bool // the last byte was a carriage return, which ends a line
	line    clipped
	name    string
	data    clipped
	hasData bool
}

// add adds the next bytes of the stream.
func (s *eventSplitter) add(b []byte) {
	for len(b) > 0 {
		if s.cr && b[0] == '\n' { // the second half of a line end
			b, s.cr = b[1:], false
			continue
		}
		s.cr = false
		end := bytes.IndexAny(b, "\r\n")
		if end < 0 {
			s.line.add(b, s.limit+len("data: "))
			return
		}
		s.line.add(b[:end], s.limit+len("data: "))
		s.cr = b[end] == '\r'
		s.endLine()
		b = b[end+1:]
	}
}

// endLine reads a line. An empty line ends an event.
func (s *eventSplitter) endLine() {
	line, size := s.line.take()
	if !s.begun {
		s.begun = true
		line = bytes.TrimPrefix(line, []byte("\ufeff"))
	}
	if len(line) == 0 {
		if s.hasData {
			data, size := s.data.take()
			s.event(s.name, data, size)
		}
		s.name, s.hasData = "", false
		return
	}
	name, value, _ := bytes.Cut(line, []byte{':'})
	value = bytes.TrimPrefix(value, []byte{' '})
	switch string(name) {
	case "event":
		s.name = string(value)
	case "data":
		if s.hasData {
			s.data.add([]byte{'\n'}, s.limit)
		}
		s.hasData = true
		s.data.add(value, s.limit)
		s.data.size += size - int64(len(line)) // bytes of the line that are not stored
	}
}
