package stdio

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"

	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Process is a child that serves on its standard input and output, and the
// connection to it: it is a [peer.Outbound], safe for concurrent use.
//
// A child that ends by itself takes the connection with it: what waits for an
// answer fails at once with a *[peer.ClosedError] whose cause is an
// *[ExitError]. A new child takes a new Start.
type Process struct {
	cmd    *exec.Cmd
	opts   StartOptions
	conn   *jsonrpc.Conn
	stdin  *os.File
	input  *outlet // before stdin
	stdout *os.File
	output intake // before stdout
	stderr *os.File
	log    *stderrLog

	once    sync.Once     // for closing
	closing chan struct{} // closed when somebody wants the child to end
	haste   sync.Once     // for hurry
	hurry   chan struct{} // closed when nobody has the patience for its grace
	exited  chan struct{} // closed when the child has ended; cmd.ProcessState is set
	silent  chan struct{} // closed at the end of the child's output; broken is set
	broken  error         // why the output could not be read to its end
	over    chan struct{} // closed when the connection is to end; err is set
	err     error
	done    chan struct{} // closed when nothing is left; left is set
	left    error         // why something is left after all
}

// Start runs a program and speaks with it over its standard input and output.
//
// The context is for the whole life of the child, not for its start: when it
// ends, so does the child, as if by [Process.Close]. Its values reach the handler
// of what the child asks.
func Start(ctx context.Context, c Command, opts *StartOptions) (*Process, error) {
	p := &Process{
		cmd:     c.build(),
		closing: make(chan struct{}),
		hurry:   make(chan struct{}),
		exited:  make(chan struct{}),
		silent:  make(chan struct{}),
		over:    make(chan struct{}),
		done:    make(chan struct{}),
	}
	if opts != nil {
		p.opts = *opts
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("start %q: %w", c.Path, context.Cause(ctx))
	}
	if err := p.launch(); err != nil {
		return nil, fmt.Errorf("start %q: %w", c.Path, err)
	}
	p.log = readStderr(p.stderr, p.opts.Stderr, p.opts.logger())
	p.opts.JSONRPC.Client = true
	p.input, p.output.r, p.output.end = newOutlet(p.stdin), p.stdout, p.over
	p.conn = jsonrpc.New(jsonrpc.NewLineWriter(p.input), &p.opts.JSONRPC)
	if p.opts.Ready != nil {
		p.opts.Ready(p)
	}
	go p.reap()         // ends when the child has
	go p.read(ctx)      // ends with the child's output, at the latest when supervise closes it
	go p.supervise(ctx) // ends when nothing of the child is left
	return p, nil
}

// launch starts the child with three pipes, of which we keep the other ends.
func (p *Process) launch() error {
	var theirs [3]*os.File
	pipes := []struct {
		ours   **os.File
		writes bool // we write, the child reads
	}{{&p.stdin, true}, {&p.stdout, false}, {&p.stderr, false}}
	defer closeAll(theirs[:])
	for i, end := range pipes {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll([]*os.File{p.stdin, p.stdout})
			return err
		}
		theirs[i], *end.ours = w, r
		if end.writes {
			theirs[i], *end.ours = r, w
		}
	}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = theirs[0], theirs[1], theirs[2]
	if err := p.cmd.Start(); err != nil {
		closeAll([]*os.File{p.stdin, p.stdout, p.stderr})
		return err
	}
	return nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close() // a nil file refuses, and says so to nobody
	}
}

// Call implements [peer.Outbound].
func (p *Process) Call(ctx context.Context, req peer.Message, res wire.Value, opts ...peer.CallOption) error {
	err := p.conn.Call(ctx, req, res, opts...)
	if err != nil && closed(p.input.failed) && peer.AsError(err) == nil {
		return p.explain(ctx, req, err)
	}
	return err
}

// explain finds out why a request could not be written: what became of the
// child is known a little later than that its input is broken.
func (p *Process) explain(ctx context.Context, req peer.Message, err error) error {
	if _, known := errors.AsType[*ExitError](err); known {
		return err
	}
	select {
	case <-p.over:
		before, isClosed := errors.AsType[*peer.ClosedError](err)
		return &peer.ClosedError{Method: req.Method(), Cause: p.err, Unsent: isClosed && before.Unsent}
	case <-ctx.Done():
		return err
	}
}

// Notify implements [peer.Outbound].
func (p *Process) Notify(ctx context.Context, n peer.Notification, opts ...peer.CallOption) error {
	return p.conn.Notify(ctx, n, opts...)
}

// Conn is the dispatcher that carries the messages.
func (p *Process) Conn() *jsonrpc.Conn { return p.conn }

// PID is the number of the child's process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Stderr returns the last lines that the child wrote to its standard error.
func (p *Process) Stderr() []string { return p.log.last() }

// Done is closed when the child has ended and nothing of it is left: no
// process, no pipe, no goroutine.
func (p *Process) Done() <-chan struct{} { return p.done }

// State tells how the child ended, nil before [Process.Done] is closed and for
// a child that could not be ended.
func (p *Process) State() *os.ProcessState {
	if !closed(p.done) || !closed(p.exited) {
		return nil
	}
	return p.cmd.ProcessState
}

// Wait waits until the child has ended and returns why: nil after Close, an
// *[ExitError] where it ended by itself, the cause of the context's end.
func (p *Process) Wait() error {
	<-p.done
	if p.left != nil {
		return errors.Join(p.err, p.left)
	}
	return p.err
}

// Close ends the child in order and waits until nothing of it is left. Calls
// that wait for an answer fail. The child sees the end of its standard input;
// if that does not make it end, it is asked to terminate, and at last killed,
// and so are those that it started and left behind.
//
// It may be called more than once, and returns what [Process.Wait] does.
func (p *Process) Close() error {
	p.once.Do(func() { close(p.closing) })
	return p.Wait()
}

// Shutdown is Close that lets the child end by itself hardly longer than ctx lasts:
// then it is asked to terminate, though its grace is not over.
func (p *Process) Shutdown(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { p.haste.Do(func() { close(p.hurry) }) })
	defer stop()
	return p.Close()
}
