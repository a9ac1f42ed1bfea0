package stdio

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/mcpwright/mcp/runtime/jsonrpc"
)

const (
	// lastWords is how long to wait for more of what a dead child wrote, and
	// for the exit status of a silent one. Both are there already, unless the
	// child left somebody behind who holds its pipes, or lives on. It is also what
	// is left of its grace to a child that somebody wants to end in a hurry.
	lastWords = 250 * time.Millisecond
	// afterlife bounds the time in which such a somebody passes for the child by
	// writing on.
	afterlife = time.Second
	// goodbye bounds the farewell of the dispatcher, and that of a writer
	// that takes the child's standard error.
	goodbye = 2 * time.Second
	// deathBed is how long a killed child may take to disappear.
	deathBed = 5 * time.Second
)

// reap waits for the child.
func (p *Process) reap() {
	_ = p.cmd.Wait() // the state tells it all
	close(p.exited)
}

// read delivers what the child writes. When the connection is over it goes on
// to read, or else the child could not finish writing.
func (p *Process) read(ctx context.Context) {
	p.broken = p.conn.ReadLines(context.WithoutCancel(ctx), &p.output, jsonrpc.Source{Transport: newTransport(p)})
	_, _ = io.Copy(io.Discard, p.stdout)
	close(p.silent)
}

// intake reads from r as long as end is not closed.
type intake struct {
	r    io.Reader
	end  <-chan struct{}
	size atomic.Int64 // of what has been read
}

// Read implements [io.Reader].
func (in *intake) Read(b []byte) (int, error) {
	if closed(in.end) {
		return 0, io.EOF
	}
	n, err := in.r.Read(b)
	in.size.Add(int64(n))
	return n, err
}

// supervise waits for the end, whoever brings it about, and leaves nothing
// behind.
func (p *Process) supervise(ctx context.Context) {
	defer close(p.done)
	p.err = p.reason(ctx)
	close(p.over)
	p.part(ctx)
	if p.left = p.end(); p.left == nil {
		p.sweep()
	}
	within(lastWords, p.silent)
	p.stdout.Close()
	<-p.silent
	within(lastWords, p.log.done)
	p.stderr.Close()
	<-p.log.done
	within(goodbye, p.log.flushed())
}

// reason waits until the connection has to end and returns why: nil where
// somebody wants it to.
func (p *Process) reason(ctx context.Context) error {
	select {
	case <-p.closing:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-p.exited:
		p.drain()
	case <-p.silent:
		within(lastWords, p.exited)
	case <-p.input.failed:
		within(lastWords, p.exited)
	}
	return p.exitError()
}

// drain waits until what the child wrote before its end has been read. The end
// of the output does not always tell, for a descendant may hold it open.
func (p *Process) drain() {
	for deadline := time.Now().Add(afterlife); time.Now().Before(deadline); {
		size := p.output.size.Load()
		if within(lastWords, p.silent) || p.output.size.Load() == size {
			return
		}
	}
}

// exitError tells how the child ended, as far as that is known by now.
func (p *Process) exitError() error {
	e := &ExitError{Command: p.cmd.Path}
	if closed(p.exited) {
		e.State = p.cmd.ProcessState
		within(lastWords, p.log.done)
	}
	switch {
	case closed(p.silent):
		e.Cause = p.broken
	case closed(p.input.failed):
		e.Cause = p.input.err
	}
	e.Stderr = p.log.last()
	return e
}

// part ends the connection: what waits fails because of p.err, and the child
// sees the end of its input.
func (p *Process) part(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
	defer cancel()
	p.conn.Shutdown(ctx, p.err)
	p.stdin.Close()
}

// end makes the child end.
func (p *Process) end() error {
	if p.endsByItself() {
		return nil
	}
	log := p.opts.logger().With("command", p.cmd.Path, "pid", p.PID())
	if canAsk {
		log.Info("child goes on after the end of its input; asking it to terminate")
		ask(p.cmd)
		if within(p.opts.killAfter(), p.exited) {
			return nil
		}
	}
	log.Warn("child does not terminate; killing it")
	kill(p.cmd)
	if within(deathBed, p.exited) {
		return nil
	}
	return fmt.Errorf("child %q (process %d) cannot be killed", p.cmd.Path, p.PID())
}

// endsByItself waits as long as the child has grace, and tells whether it has ended.
func (p *Process) endsByItself() bool {
	timer := time.NewTimer(p.opts.grace())
	defer timer.Stop()
	select {
	case <-p.exited:
	case <-p.hurry:
		return within(min(lastWords, p.opts.grace()), p.exited)
	case <-timer.C:
	}
	return closed(p.exited)
}

// sweep ends what the child started and left behind.
func (p *Process) sweep() {
	if !orphans(p.cmd) {
		return
	}
	ask(p.cmd)
	if p.alone(p.opts.killAfter()) {
		return
	}
	kill(p.cmd)
	p.alone(lastWords)
}

// alone waits, not longer than d, until no descendant of the child is left.
// Nothing tells of the end of another's child: one has to look.
func (p *Process) alone(d time.Duration) bool {
	deadline := time.Now().Add(d)
	for orphans(p.cmd) {
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(5 * time.Millisecond)
	}
	return true
}

// within waits for c, not longer than d, and reports whether it was closed.
func within(d time.Duration, c <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c:
		return true
	case <-timer.C:
		return closed(c)
	}
}

// closed tells whether c is closed.
func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
