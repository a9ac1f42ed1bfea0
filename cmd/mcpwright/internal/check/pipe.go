package check

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// Process is a running server with standard input and output.
type Process struct {
	In  io.WriteCloser
	Out io.Reader
	// Exited is closed when the process has ended.
	Exited <-chan struct{}
	// Kill ends the process.
	Kill func()
}

// Command returns a function for [Server.Start] that starts a program with a working
// directory and an environment. It writes its standard error to stderr, nil for nowhere.
func Command(stderr io.Writer, dir string, env []string, args ...string) func(context.Context) (*Process, error) {
	return func(ctx context.Context) (*Process, error) {
		cmd := exec.CommandContext(ctx, args[0], args[1:]...)
		cmd.Stderr = stderr
		cmd.Dir, cmd.Env = dir, env
		cmd.WaitDelay = time.Second
		in, err := cmd.StdinPipe()
		if err != nil {
			return nil, err
		}
		out, writer, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		cmd.Stdout = writer
		if err := cmd.Start(); err != nil {
			out.Close()
			writer.Close()
			return nil, err
		}
		writer.Close()
		exited := make(chan struct{})
		go func() { // ends with the process
			_ = cmd.Wait() // the status does not matter
			close(exited)
		}()
		return &Process{In: in, Out: out, Exited: exited, Kill: func() { _ = cmd.Process.Kill() }}, nil
	}
}

// maxLine limits a line of the server.
const maxLine = 64 << 20

// pipe is the link to a process.
type pipe struct {
	conn    *conn
	process *Process
	writing sync.Mutex
	gate    sync.Mutex // locked while the client does not read
	reading sync.WaitGroup
}

func newPipe(c *conn, p *Process) *pipe {
	l := &pipe{conn: c, process: p}
	l.reading.Go(l.read) // ends with the output of the process, at the latest after close
	return l
}

// send writes a line.
func (p *pipe) send(_ context.Context, raw []byte) {
	p.write(append(bytes.Clone(raw), '\n'))
}

// write writes bytes. It gives up if the server does not read them in time.
func (p *pipe) write(b []byte) {
	done := make(chan struct{})
	go func() { // ends when the server has read the bytes, at the latest with the process
		defer close(done)
		p.writing.Lock()
		defer p.writing.Unlock()
		_, _ = p.process.In.Write(b) // fails if the server has ended, which the reader reports
	}()
	select {
	case <-done:
	case <-time.After(p.conn.stage.opts.Timeout):
	case <-p.conn.ended:
	}
}

// read reads lines until the output ends.
func (p *pipe) read() {
	defer p.conn.end()
	lines := bufio.NewScanner(p.process.Out)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		p.gate.Lock()
		p.line(lines.Bytes())
		p.gate.Unlock()
	}
	if lines.Err() != nil {
		p.process.Kill()
	}
}

// line receives a line of the server.
func (p *pipe) line(line []byte) {
	line = bytes.TrimSuffix(line, []byte("\r"))
	if len(bytes.TrimSpace(line)) == 0 {
		return
	}
	if kind := bytes.TrimSpace(line)[0]; !json.Valid(line) || kind != '{' && kind != '[' {
		p.conn.stage.find("stdout-not-a-message", line, "", "standard output has a line that is not a message")
		return
	}
	p.conn.deliver(line)
}

// closeInput ends the input of the server, and reports whether the server exits in time.
func (p *pipe) closeInput(timeout time.Duration) bool {
	p.process.In.Close()
	select {
	case <-p.process.Exited:
		return true
	case <-time.After(timeout):
		return false
	case <-p.conn.stage.ctx.Done():
		return false
	}
}

// close ends the process.
func (p *pipe) close() {
	if !p.closeInput(time.Second) {
		p.process.Kill()
	}
	if c, ok := p.process.Out.(io.Closer); ok {
		c.Close()
	}
	p.reading.Wait()
}
