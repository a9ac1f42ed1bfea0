package stdio

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/mcpwright/mcp/runtime/internal/lazy"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
)

const (
	// briefWait limits the waits for the rest of the output of a child that has
	// ended, and for the exit state of a child that closed its output. Both are
	// usually available at once, unless a descendant holds the pipes open or the
	// child still runs. It also limits the grace after the context of Shutdown
	// has ended.
	briefWait = 250 * time.Millisecond
	// drainTimeout limits the time for which the output of a child that has
	// ended is read, because a descendant may continue to write to it.
	drainTimeout = time.Second
	// shutdownTimeout limits the shutdown of the dispatcher, and the time in
	// which StartOptions.Stderr has to accept the rest of the text.
	shutdownTimeout = 2 * time.Second
	// killTimeout limits the time that a killed child may take to end.
	killTimeout = 5 * time.Second
)

// waitExit waits until the child has ended.
func (p *Process) waitExit() {
	_ = p.cmd.Wait() // cmd.ProcessState has the same information
	close(p.exited)
}

// read handles the messages of the child. After the end of the connection it
// discards the rest of the output, so that the child can finish writing.
func (p *Process) read(ctx context.Context) {
	p.readErr = p.conn.ReadLines(lazy.Values(ctx), &p.fromChild, jsonrpc.Source{Transport: newTransport(p)})
	_, _ = io.Copy(io.Discard, p.stdout)
	close(p.outputEnd)
}

// supervise waits until the connection must end, ends the child and its
// descendants, and releases all resources.
func (p *Process) supervise(ctx context.Context) {
	defer close(p.done)
	p.err = p.reason(ctx)
	close(p.disconnecting)
	p.disconnect(ctx)
	if p.killErr = p.endChild(); p.killErr == nil {
		p.endDescendants()
	}
	waitFor(p.outputEnd, briefWait)
	p.stdout.Close()
	<-p.outputEnd
	waitFor(p.log.done, briefWait)
	p.stderr.Close()
	<-p.log.done
	waitFor(p.log.flushed(), shutdownTimeout)
}

// reason waits until the connection must end and returns why, or nil after Close.
func (p *Process) reason(ctx context.Context) error {
	select {
	case <-p.closing:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-p.exited:
		p.drain()
	case <-p.outputEnd:
		waitFor(p.exited, briefWait)
	case <-p.toChild.failed:
		waitFor(p.exited, briefWait)
	}
	return p.exitError()
}

// drain waits until the output that the child wrote before its end has been read. It
// cannot rely on the end of the output, because a descendant may hold the pipe open.
func (p *Process) drain() {
	for deadline := time.Now().Add(drainTimeout); time.Now().Before(deadline); {
		size := p.fromChild.size.Load()
		if waitFor(p.outputEnd, briefWait) || p.fromChild.size.Load() == size {
			return
		}
	}
}

// exitError returns the reason why the child ended or disconnected, as far as it is
// available now.
func (p *Process) exitError() error {
	e := &ExitError{Command: p.cmd.Path}
	if closed(p.exited) {
		e.State = p.cmd.ProcessState
		waitFor(p.log.done, briefWait)
	}
	switch {
	case closed(p.outputEnd):
		e.Cause = p.readErr
	case closed(p.toChild.failed):
		e.Cause = p.toChild.err
	}
	e.Stderr = p.log.last()
	return e
}

// disconnect ends the connection: calls in progress fail with p.err, and the input of
// the child is closed.
func (p *Process) disconnect(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	p.conn.Shutdown(ctx, p.err)
	p.stdin.Close()
}

// endChild waits until the child ends by itself within its grace. Otherwise it asks
// the child to terminate, and then kills it.
func (p *Process) endChild() error {
	if p.endsByItself() {
		return nil
	}
	log := p.opts.logger().With("command", p.cmd.Path, "pid", p.PID())
	if canTerminate {
		log.Info("child still runs after its standard input was closed; terminating it")
		terminate(p.cmd)
		if waitFor(p.exited, p.opts.killAfter()) {
			return nil
		}
	}
	log.Warn("child did not terminate; killing it")
	kill(p.cmd)
	if waitFor(p.exited, killTimeout) {
		return nil
	}
	return fmt.Errorf("kill child %q: process %d still runs", p.cmd.Path, p.PID())
}

// endsByItself waits for the child during its grace and reports whether it has ended.
func (p *Process) endsByItself() bool {
	timer := time.NewTimer(p.opts.grace())
	defer timer.Stop()
	select {
	case <-p.exited:
	case <-p.hurry:
		return waitFor(p.exited, min(briefWait, p.opts.grace()))
	case <-timer.C:
	}
	return closed(p.exited)
}

// endDescendants ends the processes that the child started and left behind.
func (p *Process) endDescendants() {
	if !hasDescendants(p.cmd) {
		return
	}
	terminate(p.cmd)
	if p.descendantsEnd(p.opts.killAfter()) {
		return
	}
	kill(p.cmd)
	p.descendantsEnd(briefWait)
}

// descendantsEnd waits until all descendants of the child have ended, at most for d,
// and reports whether they have. It polls, because a process is notified only of the
// end of its own children.
func (p *Process) descendantsEnd(d time.Duration) bool {
	deadline := time.Now().Add(d)
	for hasDescendants(p.cmd) {
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(5 * time.Millisecond)
	}
	return true
}
