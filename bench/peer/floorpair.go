package peer

import (
	"bufio"
	"context"
	"io"
	"strconv"
	"sync"

	"github.com/go-faster/jx"
)

// floorPair is the floor with a client, which has a table of calls by id and one goroutine that reads.
type floorPair struct {
	close func()

	mu      sync.Mutex // not held while writing: the pipe has no buffer
	last    int64
	pending map[int64]chan string

	writing sync.Mutex // guards the fields below
	out     io.WriteCloser
	buf     []byte
}

func (f floor) Pair(ctx context.Context, via Via) (Pair, error) {
	if via != Pipe {
		return nil, ErrUnsupported
	}
	sr, cw := io.Pipe()
	cr, sw := io.Pipe()
	p := &floorPair{out: cw, pending: map[int64]chan string{}}
	p.close = func() { cw.Close(); sw.Close(); cr.Close(); sr.Close() }
	go f.ServeLines(ctx, sr, sw) // returns when the pipes are closed
	go p.read(cr)                // returns when the pipes are closed
	return p, nil
}

func (p *floorPair) read(r io.Reader) {
	in := bufio.NewReaderSize(r, 64<<10)
	var d jx.Decoder
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return
		}
		id, isRequest, text := scanMessage(&d, line)
		if isRequest {
			_ = p.write(id, func(b []byte) []byte {
				return append(b, `,"result":{"action":"accept","content":{"name":"gopher"}}}`+"\n"...)
			})
			continue
		}
		p.mu.Lock()
		c := p.pending[id]
		delete(p.pending, id)
		p.mu.Unlock()
		c <- text
	}
}

// scanMessage returns the id of a message, whether it is a request, and the text of a result.
func scanMessage(d *jx.Decoder, line []byte) (id int64, isRequest bool, text string) {
	d.ResetBytes(line)
	_ = d.ObjBytes(func(d *jx.Decoder, key []byte) (err error) {
		switch string(key) {
		case "id":
			id, err = d.Int64()
		case "method":
			isRequest = true
			err = d.Skip()
		case "result":
			text, err = scanText(d)
		default:
			err = d.Skip()
		}
		return err
	})
	return id, isRequest, text
}

func scanText(d *jx.Decoder) (text string, err error) {
	err = d.ObjBytes(func(d *jx.Decoder, key []byte) error {
		if string(key) != "content" {
			return d.Skip()
		}
		return d.Arr(func(d *jx.Decoder) error {
			return d.ObjBytes(func(d *jx.Decoder, key []byte) (err error) {
				if string(key) != "text" {
					return d.Skip()
				}
				text, err = d.Str()
				return err
			})
		})
	})
	return text, err
}

var waiters = sync.Pool{New: func() any { return make(chan string, 1) }}

func (p *floorPair) write(id int64, tail func([]byte) []byte) error {
	p.writing.Lock()
	defer p.writing.Unlock()
	p.buf = tail(strconv.AppendInt(append(p.buf[:0], envelope...), id, 10))
	_, err := p.out.Write(p.buf)
	return err
}

func (p *floorPair) call(tail func([]byte) []byte) (string, error) {
	c := waiters.Get().(chan string)
	p.mu.Lock()
	p.last++
	id := p.last
	p.pending[id] = c
	p.mu.Unlock()
	if err := p.write(id, tail); err != nil {
		return "", err
	}
	text := <-c
	waiters.Put(c)
	return text, nil
}

func (p *floorPair) Greet(_ context.Context, name string, count int) (string, error) {
	return p.call(func(b []byte) []byte {
		b = append(b, `,"method":"tools/call","params":{"name":"greet","arguments":{"name":"`...)
		b = append(append(b, name...), `","count":`...)
		return append(strconv.AppendInt(b, int64(count), 10), "}}}\n"...)
	})
}

func (p *floorPair) Ask(context.Context) (string, error) {
	return p.call(func(b []byte) []byte {
		return append(b, `,"method":"tools/call","params":{"name":"ask","arguments":{}}}`+"\n"...)
	})
}

func (p *floorPair) Close() error { p.close(); return nil }
