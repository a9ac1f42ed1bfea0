package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/mcpwright/mcp/cmd/mcpwright/internal/page"
	"github.com/mcpwright/mcp/runtime/mcpclient"
)

var inspectCommand = command{
	name: "inspect", usage: "[flags] SERVER",
	summary: "Show a server in the browser: what it offers, calls, questions, and all messages.",
	example: "mcpwright inspect -- npx -y @modelcontextprotocol/server-everything",
	help: "The page is served on the loopback interface, at a URL with a random token, until Ctrl-C. " +
		"It can connect with both kinds of revision at once, and shows their messages side by side. Secrets in messages are replaced.",
	define: func(fs *flag.FlagSet) func(context.Context, *environment, arguments) error {
		var i inspect
		i.connection.define(fs)
		fs.IntVar(&i.port, "port", 0, "serve the page on this `port` (default a free port)")
		fs.BoolVar(&i.open, "open", true, "open the page in the browser")
		return i.run
	},
}

// inspect is the subcommand inspect.
type inspect struct {
	connection
	port int
	open bool
}

// pageShutdown limits the time that requests of the page may take at the end.
const pageShutdown = time.Second

func (i *inspect) run(ctx context.Context, e *environment, args arguments) error {
	s, err := i.takeServer(e, &args)
	if err != nil {
		return err
	}
	if len(args.words) > 0 {
		return usagef("unexpected argument %q", args.words[0])
	}
	if err := i.connection.check(); err != nil {
		return err
	}
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(i.port)))
	if err != nil {
		return fmt.Errorf("serve the page: %w", err)
	}
	frames, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		l.Close()
		return fmt.Errorf("serve the views of the page: %w", err)
	}
	p := page.New(l.Addr(), page.Options{
		Name: s.name, Command: s.URL == "", Frames: frames.Addr(), Mask: newMask(e, s),
		Connect: func(ctx context.Context, to *page.Connection) (*mcpclient.Client, error) {
			return i.connectPage(ctx, e, s, to)
		},
	})
	server := &http.Server{Handler: p, ReadHeaderTimeout: 10 * time.Second}
	views := &http.Server{Handler: p.Frames(), ReadHeaderTimeout: 10 * time.Second}
	defer views.Close()
	failed := make(chan error, 2)
	go func() { failed <- server.Serve(l) }()     // returns when the server is closed
	go func() { failed <- views.Serve(frames) }() // likewise
	i.announce(e, p.URL())
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	p.Close()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pageShutdown)
	defer cancel()
	if server.Shutdown(ctx) != nil {
		server.Close()
	}
	return err
}

// announce prints the URL of the page, and opens it.
func (i *inspect) announce(e *environment, url string) {
	if i.json {
		_ = e.printJSON(map[string]string{"url": url}) // standard output is closed, and the page still works
	} else {
		e.out.Printf("%s\nThe page is open to this URL only. Ctrl-C ends it.\n", url)
	}
	if !i.open {
		return
	}
	if err := e.openBrowser(url); err != nil {
		e.errs.Printf("mcpwright inspect: the browser did not open (%v); open the URL yourself\n", err)
	}
}

// connectPage opens a connection for the page.
func (i *inspect) connectPage(ctx context.Context, e *environment, s *server, to *page.Connection) (*mcpclient.Client, error) {
	c := i.connection
	if to.Second {
		c.revision = ""
	}
	c.recorder, c.childErrs, c.showLogin = to.Recorder, to.Stderr, to.Login
	client, err := c.connect(ctx, e, s, to.Client)
	if err, ok := errors.AsType[*unreachableError](err); ok {
		return nil, err.error
	}
	return client, err
}
