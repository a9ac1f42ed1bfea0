package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/mcpwright/mcp/cmd/mcpwright/internal/proxy"
	"github.com/mcpwright/mcp/cmd/mcpwright/internal/wiretrace"
)

var traceCommand = command{
	name: "trace", usage: "[flags] SERVER",
	summary: "Print the messages between a client and a server.",
	example: "mcpwright trace -out trace.jsonl -- npx -y @modelcontextprotocol/server-everything",
	help: "Put it in the place of the server. A command gets what this program reads from standard input, and its standard output is passed on. " +
		"For a URL, it listens at -listen, and passes each request to the server. No byte of a message changes. " +
		"Messages are printed to standard error, with the time, the number of the request that a response belongs to, the latency, and violations of the protocol. " +
		"The exit status is the exit status of the command, and 3 if it cannot be started.",
	define: func(fs *flag.FlagSet) func(context.Context, *environment, arguments) error {
		var t trace
		fs.StringVar(&t.config, "config", "", "find the name of the server in this configuration `file` only")
		fs.StringVar(&t.listen, "listen", "", "for a URL, listen at this `address`, such as :9000; without a host it is 127.0.0.1")
		fs.StringVar(&t.out, "out", "", "record the messages in this `file`, one JSON document on a line, for mcpwright replay")
		fs.StringVar(&t.log, "log", "", "print to this `file` instead of standard error")
		fs.BoolVar(&t.json, "json", false, "print one JSON document on each line")
		fs.BoolVar(&t.full, "full", false, "print whole messages instead of their beginning")
		fs.BoolVar(&t.quiet, "quiet", false, "print only messages with violations")
		fs.Var((*commaList)(&t.mask), "mask", "mask the values of members, headers and environment variables with these `names`, too; separated by commas")
		return t.run
	},
}

// trace is the subcommand trace.
type trace struct {
	connection
	listen, out, log string
	full, quiet      bool
	mask             []string
}

// closeTimeout limits the time to end after a signal, or after the end of the other side.
const closeTimeout = 5 * time.Second

// Garbage is collected rarely while the heap is small, because a collection delays messages. The memory limit
// exceeds what a full queue of the recorder needs.
const (
	gcPercent   = 400
	memoryLimit = 96 << 20
)

// printTimeout limits the time to print the last messages, if there was no signal.
const printTimeout = time.Minute

func (t *trace) run(ctx context.Context, e *environment, args arguments) error {
	s, err := t.takeServer(e, &args)
	switch {
	case err != nil:
		return err
	case len(args.words) > 0:
		return usagef("unexpected argument %q", args.words[0])
	case s.URL == "" && t.listen != "":
		return usagef("-listen is for the URL of a server; a command uses standard input and output")
	case s.URL != "" && t.listen == "":
		return usagef("-listen is missing: the address for clients of %s, such as -listen :9000", s.name)
	}
	p := &printer{full: t.full, quiet: t.quiet, json: t.json, errs: e.errs}
	if err := t.open(e, p); err != nil {
		return err
	}
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(memoryLimit))
	recorder := wiretrace.NewRecorder(wiretrace.Options{OnEvent: p.event, OnIdle: p.flush, Mask: newMask(e, s, t.mask...)})
	if s.URL != "" {
		err = t.serve(ctx, e, s, recorder)
	} else {
		err = t.command(e, s, recorder)
	}
	p.close(ctx, recorder)
	return err
}

// open opens the files of -log and -out.
func (t *trace) open(e *environment, p *printer) error {
	p.text = bufio.NewWriter(e.errs)
	if t.log != "" {
		f, err := os.OpenFile(e.path(t.log), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
		if err != nil {
			return usagef("open the file of -log: %w", err)
		}
		p.files = append(p.files, f)
		p.text = bufio.NewWriter(f)
	}
	if t.out != "" {
		f, err := os.OpenFile(e.path(t.out), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
		if err == nil {
			p.files = append(p.files, f)
			err = restrict(f)
		}
		if err != nil {
			return usagef("open the file of -out: %w", err)
		}
		p.recording = bufio.NewWriter(f)
	}
	return nil
}

// restrict makes a file readable by its owner only. Devices and pipes are not changed.
func restrict(f *os.File) error {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	return f.Chmod(0o600)
}

// newMask returns the mask for a server, with more names of secrets. It replaces the values of
// environment variables with secret names.
func newMask(e *environment, s *server, names ...string) *wiretrace.Mask {
	mask := wiretrace.NewMask()
	mask.AddNames(names...)
	for _, v := range append(e.childEnvironment(s), e.environ...) {
		if name, value, _ := strings.Cut(v, "="); mask.SecretName(name) {
			mask.AddValues(value)
		}
	}
	for name, value := range s.Headers {
		if mask.SecretName(name) {
			mask.AddValues(value)
		}
	}
	return mask
}

// command starts the server and copies until it ends. The context is not used, because
// signals are passed on to the server.
func (t *trace) command(e *environment, s *server, recorder *wiretrace.Recorder) error {
	signals := make(chan os.Signal, 8)
	defer proxy.NotifySignals(signals)()
	env := e.childEnvironment(s)
	if !s.fromLine {
		env = append(e.fewVariables(), env...)
	}
	c := &proxy.Command{
		Args: append([]string{s.Command}, s.Args...), Dir: s.Dir, Env: env, In: e.stdin, Out: e.out.Unwrap(), Stderr: e.errs.Unwrap(),
		Signals: signals, Observer: recorder.Pipe(),
	}
	status, err := c.Run()
	if start, ok := errors.AsType[*proxy.StartError](err); ok {
		return &unreachableError{fmt.Errorf("cannot start %s: %w%s", s.name, start.Err, hint(s, err))}
	}
	if err == nil && status != 0 {
		err = &statusError{status}
	}
	return err
}

// serve listens and passes requests on until the context ends.
func (t *trace) serve(ctx context.Context, e *environment, s *server, recorder *wiretrace.Recorder) error {
	target, err := url.Parse(s.URL)
	if err != nil {
		return &usageError{err}
	}
	return e.serve(ctx, t.listen, proxy.Handler(target, recorder), func(address string) string {
		return fmt.Sprintf("listening on http://%s%s for %s", address, target.EscapedPath(), s.name)
	})
}

// serve listens at an address and prints it. It serves requests until the context ends.
func (e *environment) serve(ctx context.Context, listen string, h http.Handler, describe func(address string) string) error {
	address, onLoopback, err := listenAddress(listen)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("listen for clients: %w", err)
	}
	if onLoopback {
		h = proxy.OnLoopback(h)
	}
	e.errs.Println(describe(l.Addr().String()))
	server := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0)}
	defer context.AfterFunc(ctx, func() { server.Close() })()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve clients: %w", err)
	}
	return nil
}

// listenAddress returns the address to listen at, and whether it is a loopback address.
func listenAddress(text string) (address string, onLoopback bool, err error) {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return "", false, usagef("-listen: %w; an address is host:port or :port", err)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	ip := net.ParseIP(host)
	return net.JoinHostPort(host, port), host == "localhost" || ip != nil && ip.IsLoopback(), nil
}

// printer prints and records events. The goroutine of the recorder owns it until close.
type printer struct {
	full, quiet, json bool
	errs              io.Writer
	text, recording   *bufio.Writer // recording is nil without -out, and after an error
	files             []*os.File
	buf               []byte
	failed            error // of the recording
}

func (p *printer) event(e *wiretrace.Event) {
	var line []byte
	if p.recording != nil || p.json {
		p.buf = e.AppendJSON(p.buf[:0])
		line = p.buf
	}
	if p.recording != nil {
		_, err := p.recording.Write(line)
		p.check(err)
	}
	switch {
	case p.quiet && len(e.Violations) == 0:
	case p.json:
		_, _ = p.text.Write(line) // standard error may be closed
	default:
		p.buf = e.AppendText(p.buf[:0], p.full)
		_, _ = p.text.Write(p.buf)
	}
	if cap(p.buf) > maxBuffer {
		p.buf = nil
	}
}

// maxBuffer limits the memory that is kept for the next event.
const maxBuffer = 1 << 20

// flush writes the events that are in buffers.
func (p *printer) flush() {
	_ = p.text.Flush() // standard error may be closed
	if p.recording != nil {
		p.check(p.recording.Flush())
	}
}

// check ends the recording if it cannot be written. The messages are still passed on.
func (p *printer) check(err error) {
	if err != nil {
		p.failed = fmt.Errorf("write the recording: %w; the recording is not complete", err)
		p.recording = nil
		fmt.Fprintf(p.errs, "mcpwright trace: %v\n", p.failed)
	}
}

// close prints the last events, and closes the files.
func (p *printer) close(ctx context.Context, recorder *wiretrace.Recorder) {
	begun := time.Now()
	for !recorder.Close(100 * time.Millisecond) {
		waited := time.Since(begun)
		if waited > printTimeout || ctx.Err() != nil && waited > closeTimeout {
			fmt.Fprintf(p.errs, "mcpwright trace: the last messages could not be printed in %v\n", waited.Round(time.Second))
			return
		}
	}
	if n := recorder.Lost(); n > 0 {
		fmt.Fprintf(p.errs, "mcpwright trace: %d messages were passed on, but are not in the output, because printing was too slow\n", n)
	}
	for _, f := range p.files {
		if err := f.Close(); err != nil && p.failed == nil {
			fmt.Fprintf(p.errs, "mcpwright trace: close %q: %v\n", f.Name(), err)
		}
	}
}
