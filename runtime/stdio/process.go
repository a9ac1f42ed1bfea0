package stdio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"

	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Process is a child process that is a server on its standard input and output, and
// the connection to it. It is a [peer.Outbound] and safe for concurrent use.
//
// When a child ends by itself, the connection ends as well. Calls that wait for a
// response then fail with a *[peer.ClosedError] whose cause is an *[ExitError]. A
// Process does not restart its child; call [Start] again.
type Process struct {
	cmd       *exec.Cmd
	opts      StartOptions
	conn      *jsonrpc.Conn
	log       *stderrLog
	toChild   *output // writes to stdin
	fromChild input   // reads from stdout

	stdin, stdout, stderr *os.File // this process's ends of the pipes

	closeOnce     sync.Once     // for closing
	closing       chan struct{} // closed by Close
	hurryOnce     sync.Once     // for hurry
	hurry         chan struct{} // closed when the context of Shutdown ends: cut the grace short
	exited        chan struct{} // closed when the child has ended, after cmd.ProcessState is set
	outputEnd     chan struct{} // closed at the end of the child's output, after readErr is set
	readErr       error         // error of reading the output
	disconnecting chan struct{} // closed when the connection must end, after err is set
	err           error         // result of Wait
	done          chan struct{} // closed when all resources are released, after killErr is set
	killErr       error         // not nil if the child could not be killed
}

// Start starts a program and exchanges messages with it over its standard input
// and output.
//
// The context applies as long as the child runs, and not only to Start. When the
// context ends, the child is ended as by [Process.Close]. The handler of the child's
// messages receives the values of the context.
func Start(ctx context.Context, c Command, opts *StartOptions) (*Process, error) {
	p := &Process{
		cmd:           c.build(),
		closing:       make(chan struct{}),
		hurry:         make(chan struct{}),
		exited:        make(chan struct{}),
		outputEnd:     make(chan struct{}),
		disconnecting: make(chan struct{}),
		done:          make(chan struct{}),
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
	p.toChild, p.fromChild.r, p.fromChild.end = newOutput(p.stdin), p.stdout, p.disconnecting
	if f := p.opts.Observe; f != nil {
		p.toChild.w, p.fromChild.r = io.MultiWriter(sent(f), p.stdin), observed(p.stdout, f)
	}
	p.conn = jsonrpc.New(jsonrpc.NewLineWriter(p.toChild), &p.opts.JSONRPC)
	if p.opts.Ready != nil {
		p.opts.Ready(p)
	}
	go p.waitExit()     // returns when the child has ended
	go p.read(ctx)      // returns at the end of the child's output, at the latest when supervise closes it
	go p.supervise(ctx) // returns when all resources of the child are released
	return p, nil
}

// launch starts the child with three pipes. This process keeps the other ends.
func (p *Process) launch() error {
	var childEnds [3]*os.File
	pipes := []struct {
		own     **os.File
		isInput bool // this process writes, the child reads
	}{{&p.stdin, true}, {&p.stdout, false}, {&p.stderr, false}}
	defer closeAll(childEnds[:])
	for i, end := range pipes {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll([]*os.File{p.stdin, p.stdout})
			return err
		}
		childEnds[i], *end.own = w, r
		if end.isInput {
			childEnds[i], *end.own = r, w
		}
	}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = childEnds[0], childEnds[1], childEnds[2]
	if err := p.cmd.Start(); err != nil {
		closeAll([]*os.File{p.stdin, p.stdout, p.stderr})
		return err
	}
	return nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close() // returns an error for nil
	}
}

// Call implements [peer.Outbound].
func (p *Process) Call(ctx context.Context, req peer.Message, res wire.Value, opts ...peer.CallOption) error {
	err := p.conn.Call(ctx, req, res, opts...)
	if err != nil && closed(p.toChild.failed) && peer.AsError(err) == nil {
		return p.explain(ctx, req, err)
	}
	return err
}

// explain returns why a request could not be written. Writing to the child fails a
// little before its exit state is available, so explain waits for that.
func (p *Process) explain(ctx context.Context, req peer.Message, err error) error {
	if _, ok := errors.AsType[*ExitError](err); ok {
		return err
	}
	select {
	case <-p.disconnecting:
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

// Conn returns the dispatcher that sends and receives the messages.
func (p *Process) Conn() *jsonrpc.Conn { return p.conn }

// PID returns the process id of the child.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Stderr returns the last lines that the child wrote to its standard error, see
// [ExitError].
func (p *Process) Stderr() []string { return p.log.last() }

// Done returns a channel that is closed when the child has ended and its pipes and
// goroutines are released.
func (p *Process) Done() <-chan struct{} { return p.done }

// State returns the exit state of the child. It returns nil before [Process.Done] is
// closed, or if the child could not be killed.
func (p *Process) State() *os.ProcessState {
	if !closed(p.done) || !closed(p.exited) {
		return nil
	}
	return p.cmd.ProcessState
}

// Wait waits until [Process.Done] is closed and returns why the child ended: nil
// after Close, an *[ExitError] if the child ended by itself, or the cause of the
// context's end. If the child could not be killed, Wait returns an error for that as well.
func (p *Process) Wait() error {
	<-p.done
	if p.killErr != nil {
		return errors.Join(p.err, p.killErr)
	}
	return p.err
}

// Close ends the child and waits until [Process.Done] is closed. Calls that wait for
// a response fail. Close first closes the standard input of the child. If the child
// does not end within the grace, it is asked to terminate, and after another wait
// killed. Descendants that the child left behind are ended as well.
//
// Close may be called more than once. It returns the result of [Process.Wait].
func (p *Process) Close() error {
	p.closeOnce.Do(func() { close(p.closing) })
	return p.Wait()
}

// Shutdown is like Close, but when ctx ends it cuts the grace of the child short: the
// child is asked to terminate very soon afterwards.
func (p *Process) Shutdown(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { p.hurryOnce.Do(func() { close(p.hurry) }) })
	defer stop()
	return p.Close()
}
