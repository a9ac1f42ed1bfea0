package jsonrpc

import (
	"bufio"
	"context"
	"errors"
	"io"
	"runtime"
	"sync/atomic"
	"time"
)

// reading is a stream of lines being read, by one goroutine at a time.
//
// Where a peer makes one request at a time, the goroutine that has read it handles
// it: to wake another one takes longer than most handlers do. The reading is lent
// out meanwhile. If the handler calls the peer, or is not done soon, another
// goroutine reads on, and this one ends with its request. With one processor nothing
// is lent out.
type reading struct {
	conn   *Conn
	ctx    context.Context
	origin Source
	lines  lineReader
	ended  chan error // holds one

	holdsThread bool // a read that waits keeps a thread
	single      bool // one processor: whoever is to read on would wait for it, too

	// held grows whenever the reading changes hands, and is odd while it is lent
	// out.
	held atomic.Uint64

	// The clock looks after what is lent out. It runs while something goes on.
	clock   *time.Timer
	running atomic.Bool
	seen    uint64 // what the clock has seen of held
}

// soon is how long the reading is lent out at most, or twice that.
const soon = time.Millisecond

func (c *Conn) newReading(ctx context.Context, in io.Reader, o Source) *reading {
	o.Buffer, o.Release = nil, nil
	r := &reading{conn: c, ctx: ctx, origin: o, ended: make(chan error, 1)}
	r.lines = lineReader{r: bufio.NewReaderSize(in, 32<<10), most: c.opts.MaxMessage}
	_, r.holdsThread = in.(ThreadHolder)
	r.single = runtime.GOMAXPROCS(0) == 1
	r.clock = time.AfterFunc(time.Hour, r.look)
	r.clock.Stop()
	return r
}

// read reads until the stream ends, or another goroutine reads on. Should a hook or
// a handler end this one, as a failing test does, another takes its place.
func (r *reading) read() {
	at, left := elsewhere, false
	defer func() {
		switch at {
		case atStream:
			r.ended <- errReadExited
		case atMessage:
			go r.read() // ends as this one would have
		}
	}()
	for {
		x, err := r.deliver(&at, left)
		at, left = elsewhere, x == nil
		switch {
		case err != nil:
			r.clock.Stop()
			r.ended <- err
			return
		case x != nil:
			lent := r.lend()
			x.serve()
			r.conn.state.leave()
			if !r.held.CompareAndSwap(lent, lent+1) {
				return
			}
		}
	}
}

// place is what a goroutine is at that reads.
type place int

const (
	elsewhere place = iota // at what may be the reading of another by now
	atStream
	atMessage
)

// deliver delivers the next line, and says what it is at. It returns the request in
// it if that is to be handled here. The error is errOver at the end. The line before
// may have been left to others.
func (r *reading) deliver(at *place, left bool) (*exchange, error) {
	if *at = atStream; left && r.holdsThread && r.lines.r.Buffered() == 0 {
		runtime.Gosched() // they may need the thread
	}
	line, err := r.lines.next()
	*at = atMessage
	switch {
	case r.conn.over() || errors.Is(err, io.EOF):
		err = errOver
	case r.ctx.Err() != nil:
		err = context.Cause(r.ctx)
	case errors.Is(err, errLongLine):
		r.conn.tooLong(parcel{line.Bytes, lender{line}}, &r.origin)
		return nil, nil
	}
	if err != nil {
		if line != nil {
			line.Free()
		}
		return nil, err
	}
	more := r.lines.r.Buffered() > 0
	return r.conn.deliver(r.ctx, parcel{line.Bytes, lender{line}}, &r.origin, arrival{more: more, alone: !more && !r.single}), nil
}

// lend lends the reading out, and returns what is held until somebody takes it.
func (r *reading) lend() uint64 {
	lent := r.held.Add(1)
	r.watch()
	return lent
}

// readOn has another goroutine read on, if the reading is lent out and has been
// since held was that.
func (r *reading) readOn(held uint64) {
	if held%2 == 1 && r.held.CompareAndSwap(held, held+1) {
		r.conn.state.handOn()
		go r.read() // ends with the stream, or when yet another one reads on
	}
}

// watch has the clock run.
func (r *reading) watch() {
	if r.running.CompareAndSwap(false, true) {
		r.clock.Reset(soon)
	}
}

// look is what the clock does: it stops when nothing has happened since it last
// looked.
func (r *reading) look() {
	held := r.held.Load()
	if held != r.seen {
		r.seen = held
		r.clock.Reset(soon)
		return
	}
	r.readOn(held)
	r.running.Store(false)
	if r.held.Load() != held {
		r.watch() // somebody thought that it was running
	}
}

// serial counts the requests in a row that came alone, when no other was being
// handled.
type serial int

const (
	// fewInARow are too few to think that the peer makes one request at a time.
	fewInARow = 4
	// manyInARow is how many may have come so for no other reason than that the one
	// before was handled by the reader: the next is handed on, to see whether another
	// comes meanwhile.
	manyInARow = 64
	// aWhile is how many requests are handed on after one whose handler should not
	// have been the reader's: the next are likely to be of its kind.
	aWhile = 64
)

// comes counts a request. It tells whether its reader is to handle it.
func (n *serial) comes(alone bool) bool {
	if !alone {
		*n = min(*n, 0)
		return false
	}
	*n++
	return *n >= fewInARow && *n%manyInARow != 0
}
