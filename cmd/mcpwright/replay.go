package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mcpwright/mcp/cmd/mcpwright/internal/check"
	"github.com/mcpwright/mcp/cmd/mcpwright/internal/replay"
	"github.com/mcpwright/mcp/cmd/mcpwright/internal/terminal"
	"github.com/mcpwright/mcp/runtime/mcptest"
)

var replayCommand = command{
	name: "replay", usage: "[flags] FILE SERVER\n       mcpwright replay -serve [flags] FILE",
	summary: "Play a recording of mcpwright trace to a server, or to a client, and print differences.",
	example: "mcpwright replay trace.jsonl -- npx -y @modelcontextprotocol/server-everything",
	help: "It sends the messages of the client in the recorded order, waits for the responses, and compares them member by member. Times, ids and session ids may differ. " +
		"With -serve, it is the server: it responds to each request as recorded, on standard input and output or at -listen, and prints requests that differ or are missing. " +
		"The exit status is 0 without differences, 1 with differences, and 3 if the server cannot be reached.",
	define: func(fs *flag.FlagSet) func(context.Context, *environment, arguments) error {
		r := replayer{secrets: map[string]string{}}
		fs.Var(&r.headers, "header", "send this `header` with each HTTP request, as \"Name: value\"; may be repeated")
		fs.StringVar(&r.config, "config", "", "find the name of the server in this configuration `file` only")
		fs.DurationVar(&r.timeout, "timeout", 10*time.Second, "how long to wait for each message")
		fs.BoolVar(&r.stderr, "stderr", false, "show what the command of the server writes to standard error")
		fs.BoolVar(&r.json, "json", false, "print one JSON document")
		fs.BoolVar(&r.serve, "serve", false, "play the side of the server")
		fs.StringVar(&r.listen, "listen", "", "with -serve, listen at this `address`, such as :9000; without a host it is 127.0.0.1")
		fs.Var((*commaList)(&r.ignore), "ignore", "ignore differences at and below these JSON `pointers`, such as /result/content/*/text; separated by commas")
		fs.BoolVar(&r.silent, "no-notifications", false, "do not compare notifications of the server")
		fs.Var(secretFlag(r.secrets), "secret", "send the value of an environment variable in place of a masked value, as `name=VARIABLE`; may be repeated")
		return r.run
	},
}

// replayer is the subcommand replay.
type replayer struct {
	connection
	serve, silent bool
	listen        string
	ignore        []string
	secrets       map[string]string // names of variables, by the names of members
}

// secretFlag is a flag that collects names of variables.
type secretFlag map[string]string

// String implements [flag.Value].
func (f secretFlag) String() string { return "" }

// Set implements [flag.Value].
func (f secretFlag) Set(text string) error {
	name, variable, ok := strings.Cut(text, "=")
	if !ok || name == "" || variable == "" {
		return errors.New("a secret is name=VARIABLE")
	}
	f[name] = variable
	return nil
}

// findings collects differences.
type findings struct {
	Differences []replay.Difference `json:"differences"`
}

func (r *replayer) run(ctx context.Context, e *environment, args arguments) error {
	if len(args.words) == 0 {
		return usagef("FILE is missing: give a recording of mcpwright trace -out")
	}
	name := args.words[0]
	args.words = args.words[1:]
	if r.timeout <= 0 {
		return usagef("-timeout must be positive")
	}
	recording, err := r.read(e, name)
	if err != nil {
		return err
	}
	found := &findings{Differences: []replay.Difference{}}
	opts := &replay.Options{Ignore: r.ignore, Timeout: r.timeout, Notifications: !r.silent, Report: func(d replay.Difference) {
		found.Differences = append(found.Differences, d)
	}}
	out := e.out
	if r.serve {
		if out, err = r.playServer(ctx, e, &args, recording, opts); err != nil {
			return err
		}
		return r.print(out, found)
	}
	if r.listen != "" {
		return usagef("-listen is for -serve")
	}
	s, err := r.takeServer(e, &args)
	if err == nil && len(args.words) > 0 {
		err = usagef("unexpected argument %q", args.words[0])
	}
	if err == nil {
		err = r.playClient(ctx, e, s, recording, opts)
	}
	if _, ok := errors.AsType[*unreachableError](err); ok || err != nil && len(found.Differences) == 0 {
		return err
	}
	if different := r.print(out, found); err == nil {
		err = different
	}
	return err
}

// read reads the recording, and replaces masked values that would be sent.
func (r *replayer) read(e *environment, name string) (*replay.Recording, error) {
	f, err := os.Open(e.path(name))
	if err != nil {
		return nil, &usageError{err}
	}
	defer f.Close()
	recording, err := replay.Read(f)
	if err != nil {
		return nil, usagef("%s: %w", name, err)
	}
	secrets := map[string]string{}
	for member, variable := range r.secrets {
		value, ok := e.place.Getenv(variable)
		if !ok {
			return nil, usagef("-secret: there is no variable %q", variable)
		}
		secrets[member] = value
	}
	side := "client"
	if r.serve {
		side = "server"
	}
	if err := recording.Fill(side, secrets); err != nil {
		return nil, &usageError{err}
	}
	for _, text := range recording.Skipped {
		e.errs.Printf("not replayed: %s\n", text)
	}
	return recording, nil
}

// print prints the differences. It returns an error if there are any.
func (r *replayer) print(out *terminal.Output, found *findings) error {
	if r.json {
		if err := (&environment{out: out}).printJSON(found); err != nil {
			return err
		}
	} else {
		for _, d := range found.Differences {
			out.Println(d.String())
		}
		out.Printf("%d differences\n", len(found.Differences))
	}
	if n := len(found.Differences); n > 0 {
		return &reportedError{fmt.Errorf("%d differences", n)}
	}
	return nil
}

// playServer plays the side of the server. It returns the output for differences.
func (r *replayer) playServer(ctx context.Context, e *environment, args *arguments, recording *replay.Recording, opts *replay.Options) (*terminal.Output, error) {
	if len(args.words) > 0 || args.server != nil {
		return nil, usagef("with -serve there is no SERVER")
	}
	player := replay.NewPlayer(recording, opts)
	defer player.Finish()
	if r.listen != "" {
		return e.out, e.serve(ctx, r.listen, player.Handler(ctx), func(address string) string { return "listening on http://" + address })
	}
	return e.errs, player.Serve(ctx, e.stdin, e.out.Unwrap())
}

// playClient plays the side of the client, with a connection for each connection of the
// recording.
func (r *replayer) playClient(ctx context.Context, e *environment, s *server, recording *replay.Recording, opts *replay.Options) error {
	target, err := r.target(e, s)
	if err != nil {
		return err
	}
	for _, list := range recording.Connections {
		link, err := openLink(ctx, target)
		if err != nil {
			return &unreachableError{fmt.Errorf("cannot start %s: %w%s", s.name, err, hint(s, err))}
		}
		err = replay.Play(ctx, list, &link.Link, opts)
		link.close()
		if cause := link.unreachable(); cause != nil {
			return &unreachableError{fmt.Errorf("cannot connect to %s: %w%s", s.name, cause, hint(s, cause))}
		}
		if err != nil {
			return fmt.Errorf("replay to %s: %w", s.name, err)
		}
	}
	return nil
}

// link is a connection to a server.
type link struct {
	replay.Link
	close     func()
	transport *headerTransport // nil for a command
}

// openLink starts a command, or begins a session over HTTP. The caller closes the link.
func openLink(ctx context.Context, target *check.Server) (*link, error) {
	if target.Start != nil {
		process, err := target.Start(ctx)
		if err != nil {
			return nil, err
		}
		return &link{Link: replay.Link{In: process.In, Out: process.Out}, close: func() { closeProcess(process) }}, nil
	}
	fromServer, out := io.Pipe()
	l := &link{transport: &headerTransport{header: target.Header, next: http.DefaultTransport, unreachable: func() { out.Close() }}}
	if target.Client != nil && target.Client.Transport != nil {
		l.transport.next = target.Client.Transport
	}
	ctx, cancel := context.WithCancel(ctx)
	legacy := &replay.Legacy{Next: l.transport}
	in, toServer := io.Pipe()
	done := make(chan struct{})
	go func() { // ends when toServer is closed, at the latest with ctx
		defer close(done)
		_ = mcptest.URL(target.URL, &http.Client{Transport: legacy}).ServeStreams(ctx, in, out) // requests get an error response
	}()
	l.Link = replay.Link{In: toServer, Out: fromServer}
	l.close = func() {
		toServer.Close()
		defer cancel()
		defer legacy.Close()
		select {
		case <-done:
		case <-time.After(closeTimeout):
		}
		fromServer.Close()
	}
	return l, nil
}

// closeProcess ends the input of a server, and ends the server if it does not exit.
func closeProcess(p *check.Process) {
	p.In.Close()
	select {
	case <-p.Exited:
	case <-time.After(closeTimeout):
		p.Kill()
	}
	if c, ok := p.Out.(io.Closer); ok {
		c.Close()
	}
}

// unreachable returns the error of the first request, if no request got a response.
func (l *link) unreachable() error {
	if l.transport == nil || l.transport.responded.Load() {
		return nil
	}
	if err := l.transport.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// headerTransport adds headers to requests.
type headerTransport struct {
	header    http.Header
	next      http.RoundTripper
	responded atomic.Bool
	failed    atomic.Pointer[error]
	// unreachable is called if a request fails before any request got a response.
	unreachable func()
}

// RoundTrip implements [http.RoundTripper].
func (t *headerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, values := range t.header {
		r.Header[name] = values
	}
	res, err := t.next.RoundTrip(r)
	if err != nil {
		if t.failed.CompareAndSwap(nil, &err) && !t.responded.Load() {
			t.unreachable()
		}
	} else {
		t.responded.Store(true)
	}
	return res, err
}
