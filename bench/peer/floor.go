package peer

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"

	"github.com/go-faster/jx"
)

// floor is not an SDK. It does the least work that a Go program needs for the same bytes. On a pipe it
// scans each line for the id and the name of the tool and writes a prepared response, one at a time.
// Over HTTP it is a handler that reads the body and writes a prepared response. It validates nothing
// and has no types.
type floor struct{ Unsupported }

func (floor) Name() string { return "floor" }

func (floor) Work() string { return "nothing" }

const (
	envelope   = `{"jsonrpc":"2.0","id":`
	greetTail  = `,"result":{"content":[{"type":"text","text":"` + GreetText + `"}]}}`
	helloTail  = `,"result":{"content":[{"type":"text","text":"Hello, gopher"}]}}`
	shakeTail  = `,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"floor","version":"1"}}}`
	elicitLine = envelope + `1,"method":"elicitation/create","params":{"mode":"form","message":"Your name?","requestedSchema":` + askSchema + "}}\n"
)

// scan finds id, method and params.name of a message.
func scan(d *jx.Decoder, line []byte) (id jx.Raw, method, name []byte, err error) {
	d.ResetBytes(line)
	err = d.ObjBytes(func(d *jx.Decoder, key []byte) (err error) {
		switch string(key) {
		case "id":
			id, err = d.Raw()
		case "method":
			method, err = d.StrBytes()
		case "params":
			err = d.ObjBytes(func(d *jx.Decoder, key []byte) (err error) {
				if string(key) != "name" {
					return d.Skip()
				}
				name, err = d.StrBytes()
				return err
			})
		default:
			err = d.Skip()
		}
		return err
	})
	return
}

func (floor) ServeLines(_ context.Context, r io.ReadCloser, w io.WriteCloser) error {
	defer w.Close()
	in := bufio.NewReaderSize(r, 64<<10)
	var d jx.Decoder
	var out []byte
	var asking []byte // the id of the "ask" that waits for a response
	for {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		id, method, name, err := scan(&d, line)
		if err != nil {
			return err
		}
		switch {
		case id == nil:
		case string(name) == "greet":
			out = appendResponse(out, id, greetTail)
		case string(name) == "ask":
			asking = append(asking[:0], id...)
			out = append(out, elicitLine...)
		case string(method) == "initialize":
			out = appendResponse(out, id, shakeTail)
		case bytes.Contains(line, []byte(`"accept"`)):
			out = appendResponse(out, asking, helloTail)
		}
		if len(out) == 0 {
			continue
		}
		if _, err := w.Write(out); err != nil {
			return err
		}
		out = out[:0]
	}
}

func appendResponse(out, id []byte, tail string) []byte {
	return append(append(append(append(out, envelope...), id...), tail...), '\n')
}

var (
	bodies     = sync.Pool{New: func() any { return new(bytes.Buffer) }}
	canned     = []byte(envelope + "1" + greetTail)
	cannedType = []string{"application/json"}
	cannedSize = []string{strconv.Itoa(len(canned))}
	cannedName = []string{"floor-session"}
)

func (p floor) HTTP(mode Mode) (http.Handler, error) {
	if mode == Large {
		return p.large(), nil
	}
	var streams floorStreams
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			streams.serve(w, r)
			return
		}
		body := bodies.Get().(*bytes.Buffer)
		defer bodies.Put(body)
		body.Reset()
		if _, err := body.ReadFrom(r.Body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if bytes.Contains(body.Bytes(), []byte(`"update"`)) {
			streams.update()
		}
		h := w.Header()
		h["Content-Type"], h["Content-Length"], h["Mcp-Session-Id"] = cannedType, cannedSize, cannedName
		_, _ = w.Write(canned)
	}), nil
}

// floorStreams are streams that receive a prepared event with each update.
type floorStreams struct {
	mu  sync.Mutex
	all []chan struct{}
}

func (s *floorStreams) serve(w http.ResponseWriter, r *http.Request) {
	wake := make(chan struct{}, 1)
	s.mu.Lock()
	s.all = append(s.all, wake)
	s.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	_ = http.NewResponseController(w).Flush()
	for {
		select {
		case <-wake:
			_, _ = w.Write(updatedEvent)
			_ = http.NewResponseController(w).Flush()
		case <-r.Context().Done():
			return
		}
	}
}

func (s *floorStreams) update() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, wake := range s.all {
		wake <- struct{}{}
	}
}

var updatedEvent = []byte("id: 0-1\nevent: message\ndata: " + string(updatedLine) + "\n")
