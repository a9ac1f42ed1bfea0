package peer

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// subscribers are sessions on in-memory pipes. Their clients are not clients of an SDK, so that only
// the server is measured.
type subscribers []*subscriber

type subscriber struct {
	in    *io.PipeReader
	out   *io.PipeWriter
	got   func()
	ready chan error
}

// subscribe connects n sessions to a server, completes the handshakes, and subscribes each session to
// ResourceURI.
func subscribe(n int, got func(), connect func(io.ReadCloser, io.WriteCloser) error) (subscribers, error) {
	var all subscribers
	for range n {
		sr, cw := io.Pipe()
		cr, sw := io.Pipe()
		s := &subscriber{in: cr, out: cw, got: got, ready: make(chan error, 2)}
		all = append(all, s)
		if err := errors.Join(connect(sr, sw), s.start()); err != nil {
			all.close()
			return nil, err
		}
	}
	return all, nil
}

func (all subscribers) close() {
	for _, s := range all {
		s.out.Close()
		s.in.Close()
	}
}

func (s *subscriber) start() error {
	go s.read() // ends when the pipe is closed
	if _, err := io.WriteString(s.out, Initialize+"\n"); err != nil {
		return err
	}
	if err := <-s.ready; err != nil {
		return err
	}
	if _, err := io.WriteString(s.out, Initialized+"\n"+Subscribe+"\n"); err != nil {
		return err
	}
	return <-s.ready
}

func (s *subscriber) read() {
	in := bufio.NewReaderSize(s.in, 4<<10)
	for {
		line, err := in.ReadSlice('\n')
		switch {
		case err != nil:
			s.ready <- err
			return
		case bytes.Contains(line, []byte(`"notifications/resources/updated"`)):
			s.got()
		case bytes.Contains(line, []byte(`"error"`)):
			s.ready <- fmt.Errorf("unexpected response %s", line)
		case bytes.Contains(line, []byte(`"result"`)):
			s.ready <- nil
		}
	}
}
