// Package proxy passes the bytes between a client and a server on, without a change, and
// shows them to a recorder.
package proxy

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/mcpwright/mcp/cmd/mcpwright/internal/wiretrace"
	"github.com/mcpwright/mcp/runtime/mcptest"
)

// Command is a server that is started as a child process. Its standard input and output
// are copied from and to the client.
type Command struct {
	Args []string // the program and its arguments
	Dir  string
	Env  []string
	// In has the bytes of the client, and Out gets the bytes of the server. They are closed
	// if they are files and the server closes its end.
	In  io.Reader
	Out io.Writer
	// Stderr gets the standard error of the server. A file is passed to the child as it is.
	Stderr io.Writer
	// Signals has the signals to pass on to the child and its descendants. It may be nil.
	Signals <-chan os.Signal
	// Observer gets a copy of all bytes.
	Observer *wiretrace.Pipe
}

// StartError is the error of a command that cannot be started.
type StartError struct{ Err error }

// Error implements error.
func (e *StartError) Error() string { return fmt.Sprintf("start the server: %v", e.Err) }

// Unwrap returns the cause.
func (e *StartError) Unwrap() error { return e.Err }

// outputDelay limits the time between the end of the child and the end of its output,
// which its descendants may hold open.
const outputDelay = time.Second

// Run starts the child, copies until it has ended, and returns its exit status. The
// status is 128 and the number of the signal if a signal has ended the child.
func (c *Command) Run() (int, error) {
	cmd := exec.Command(c.Args[0], c.Args[1:]...)
	cmd.Dir, cmd.Env, cmd.Stderr = c.Dir, c.Env, c.Stderr
	cmd.WaitDelay = outputDelay // for the standard error
	setGroup(cmd)
	in, out, err := start(cmd)
	if err != nil {
		return 0, &StartError{err}
	}
	exited := make(chan struct{})
	go c.copyIn(in) // ends with the input of the client, or with this process
	copied := make(chan struct{})
	go func() { // ends with the output of the server
		defer close(copied)
		c.copyOut(out)
	}()
	go c.passSignals(cmd, exited) // ends with the child
	err = cmd.Wait()
	close(exited)
	select {
	case <-copied:
	case <-time.After(outputDelay):
	}
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		return 0, fmt.Errorf("wait for the server: %w", err)
	}
	return exitStatus(cmd.ProcessState), nil
}

// start starts the child with pipes. The caller closes both ends.
func start(cmd *exec.Cmd) (in, out *os.File, err error) {
	childIn, in, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer childIn.Close()
	out, childOut, err := os.Pipe()
	if err != nil {
		in.Close()
		return nil, nil, err
	}
	defer childOut.Close()
	in.Fd() // reads and writes block a thread from now on, which is faster than the network poller
	out.Fd()
	cmd.Stdin, cmd.Stdout = childIn, childOut
	if err := cmd.Start(); err != nil {
		in.Close()
		out.Close()
		return nil, nil, err
	}
	return in, out, nil
}

// copyIn copies the input of the client to the server.
func (c *Command) copyIn(server *os.File) {
	failed := copyBytes(server, c.In, func(b []byte) { c.Observer.Copied(mcptest.FromClient, b) })
	c.Observer.Ended(mcptest.FromClient)
	server.Close()
	if f, ok := c.In.(*os.File); ok && failed {
		f.Close() // the client gets an error when it writes, as it would from the server
	}
}

// copyOut copies the output of the server to the client.
func (c *Command) copyOut(server *os.File) {
	_ = copyBytes(c.Out, server, func(b []byte) { c.Observer.Copied(mcptest.FromServer, b) })
	c.Observer.Ended(mcptest.FromServer)
	server.Close() // the server gets an error when it writes, if the client has vanished
	if f, ok := c.Out.(*os.File); ok {
		f.Close()
	}
}

// bufferSize is the size of a full pipe on Linux.
const bufferSize = 64 << 10

// copyBytes copies until the end. It observes bytes before it writes them, so before the
// peer can respond to them. It reports whether writing has failed.
func copyBytes(w io.Writer, r io.Reader, observe func([]byte)) (failed bool) {
	buf := make([]byte, bufferSize)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			observe(buf[:n])
			if _, err := w.Write(buf[:n]); err != nil {
				return true
			}
		}
		if err != nil {
			return false
		}
	}
}

// passSignals passes signals on until the child has exited.
func (c *Command) passSignals(cmd *exec.Cmd, exited <-chan struct{}) {
	for {
		select {
		case s := <-c.Signals:
			signalGroup(cmd, s)
		case <-exited:
			return
		}
	}
}
