package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"os/exec"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/mcpwright/mcp/cmd/mcpwright/internal/hostconfig"
	"github.com/mcpwright/mcp/cmd/mcpwright/internal/proxy"
	"github.com/mcpwright/mcp/cmd/mcpwright/internal/wiretrace"
	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	httpclient "github.com/mcpwright/mcp/runtime/streamable/client"
)

// tokenVariable is the environment variable with the bearer token for servers over HTTP.
const tokenVariable = "MCPWRIGHT_TOKEN"

// connection has the flags by which a subcommand connects to a server.
type connection struct {
	revision string
	headers  headers
	config   string
	patience time.Duration // with a command that does not end, before it is terminated and then killed; 0 is the default
	timeout  time.Duration
	stderr   bool
	json     bool

	recorder  *wiretrace.Recorder // observes the messages, or nil
	childErrs io.Writer           // receives the standard error of a command, or nil
	showLogin func(page string)   // see transport; nil for the browser
}

func (c *connection) define(fs *flag.FlagSet) {
	fs.StringVar(&c.revision, "revision", "", "use only this `revision` of the protocol, such as 2025-11-25")
	fs.Var(&c.headers, "header", "send this `header` with each HTTP request, as \"Name: value\"; may be repeated")
	fs.StringVar(&c.config, "config", "", "find the name of the server in this configuration `file` only")
	fs.DurationVar(&c.timeout, "timeout", 60*time.Second, "how long to wait for each response")
	fs.BoolVar(&c.stderr, "stderr", false, "show what the command of the server writes to standard error")
	fs.BoolVar(&c.json, "json", false, "print one JSON document")
}

// headers is a flag that collects HTTP headers.
type headers struct{ http.Header }

// String implements [flag.Value].
func (h *headers) String() string { return "" }

// Set implements [flag.Value].
func (h *headers) Set(text string) error {
	name, value, ok := strings.Cut(text, ":")
	if !ok || strings.TrimSpace(name) == "" {
		return errors.New(`a header is "Name: value"`)
	}
	if h.Header == nil {
		h.Header = make(http.Header)
	}
	h.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	return nil
}

// takeServer removes SERVER from the words, unless a command after -- is the server.
func (c *connection) takeServer(e *environment, args *arguments) (*server, error) {
	if args.server != nil {
		return &server{name: args.server[0], fromLine: true, Server: hostconfig.Server{Command: args.server[0], Args: args.server[1:]}}, nil
	}
	if len(args.words) == 0 {
		return nil, usagef("SERVER is missing: give a URL, a name (mcpwright servers lists them), or a command after --")
	}
	word := args.words[0]
	args.words = args.words[1:]
	if strings.Contains(word, "://") {
		u, err := url.Parse(word)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, usagef("%q is not a URL of the scheme http or https", word)
		}
		return &server{name: u.Redacted(), Server: hostconfig.Server{URL: word}}, nil
	}
	found, err := c.find(e, word)
	if err != nil {
		return nil, err
	}
	return &server{name: word, Server: found}, nil
}

// find returns the server with a name in the configuration files.
func (c *connection) find(e *environment, name string) (hostconfig.Server, error) {
	files := hostconfig.Find(e.place)
	if c.config != "" {
		f, err := hostconfig.Read(c.config)
		if err != nil {
			return hostconfig.Server{}, &usageError{err}
		}
		files = []hostconfig.File{f}
	}
	var names []string
	for _, f := range files {
		if f.Err != nil {
			e.errs.Printf("mcpwright: %v\n", f.Err)
		}
		for _, s := range f.Servers {
			if s.Name == name {
				s, err := s.Expand(e.place)
				if err != nil {
					return s, usagef("%s: %w", f.Path, err)
				}
				return s, nil
			}
			names = append(names, s.Name)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) == 0 {
		return hostconfig.Server{}, usagef("no configuration file declares the server %q; give a URL, or a command after --", name)
	}
	return hostconfig.Server{}, usagef("no configuration file declares the server %q; the servers are %s", name, strings.Join(names, ", "))
}

// server is the server that the arguments name.
type server struct {
	name     string
	fromLine bool // its command is on the command line
	hostconfig.Server
}

// connect opens a client. The caller closes it.
func (c *connection) connect(ctx context.Context, e *environment, s *server, opts *mcpclient.Options) (*mcpclient.Client, error) {
	if opts == nil {
		opts = new(mcpclient.Options)
	}
	opts.Info = mcp.Implementation{Name: "mcpwright", Version: version()}
	opts.Timeout = c.timeout
	opts.Logger = slog.New(slog.DiscardHandler)
	opts.Tasks = true
	if err := c.check(); err != nil {
		return nil, err
	}
	if c.revision != "" {
		opts.Revision, _ = mcp.ParseRevision(c.revision)
		opts.ProbeTimeout = c.timeout // there is no other revision to try
	}
	to, err := c.endpoint(e, s)
	if err != nil {
		return nil, err
	}
	client, err := mcpclient.Connect(ctx, to, opts)
	if err != nil {
		return nil, &unreachableError{fmt.Errorf("cannot connect to %s: %w%s", s.name, err, hint(s, err))}
	}
	return client, nil
}

// check reports a flag with an invalid value.
func (c *connection) check() error {
	if _, ok := mcp.ParseRevision(c.revision); !ok && c.revision != "" {
		return usagef("%q is not a revision; the revisions are %s", c.revision, strings.Join(revisionNames(), ", "))
	}
	return nil
}

// endpoint returns the endpoint of a server.
func (c *connection) endpoint(e *environment, s *server) (mcpclient.Endpoint, error) {
	if s.URL == "" {
		to := mcpclient.Command(s.Command, s.Args...)
		to.Dir = s.Dir
		to.Env = e.childEnvironment(s)
		to.Start.Stderr, to.Start.Grace, to.Start.KillAfter = c.stderrOf(e), c.patience, c.patience
		if c.recorder != nil {
			observeCommand(to, c.recorder)
		}
		return to, nil
	}
	to := mcpclient.URL(s.URL)
	to.LegacySSE = true
	to.HTTP.Header = make(http.Header)
	if token, ok := e.place.Getenv(tokenVariable); ok && token != "" {
		to.HTTP.Header.Set("Authorization", "Bearer "+token)
	}
	for name, value := range s.Headers {
		to.HTTP.Header.Set(name, value)
	}
	for name, values := range c.headers.Header {
		to.HTTP.Header[http.CanonicalHeaderKey(name)] = values
	}
	base := http.DefaultTransport
	if c.recorder != nil {
		base = proxy.Observe(base, c.recorder, endpointPath(s.URL))
		to.HTTP.HTTPClient = &http.Client{Transport: base}
	}
	if to.HTTP.Header.Get("Authorization") != "" {
		return to, nil
	}
	transport, err := e.transport(s, base, c.showLogin)
	if err != nil {
		return nil, usagef("%s: %w", s.name, err)
	}
	to.HTTP.HTTPClient = &http.Client{Transport: transport}
	return to, nil
}

// endpointPath returns the path of a URL, or "" if the URL is invalid, which the client reports.
func endpointPath(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return u.Path
}

// stderrOf returns the writer for the standard error of a command, or nil.
func (c *connection) stderrOf(e *environment) io.Writer {
	switch {
	case c.stderr && c.childErrs != nil:
		return io.MultiWriter(e.errs, c.childErrs)
	case c.stderr:
		return e.errs
	}
	return c.childErrs
}

// childEnvironment returns the environment that is added for the command of a server. A command on
// the command line has the environment of this program, as in a shell. A command of a configuration
// file has a few variables only, as in the hosts. Neither has our token.
func (e *environment) childEnvironment(s *server) (env []string) {
	if s.fromLine {
		for _, v := range e.environ {
			if !strings.HasPrefix(v, tokenVariable+"=") {
				env = append(env, v)
			}
		}
	}
	for name, value := range s.Env {
		env = append(env, name+"="+value)
	}
	return env
}

// hint returns what the user can do about an error, or "".
func hint(s *server, err error) string {
	if e, ok := errors.AsType[*httpclient.HTTPError](err); ok && e.Status == http.StatusUnauthorized {
		return fmt.Sprintf("\nThe server requires authorization. Run mcpwright login, set %s to a token, or send a header with -header.", tokenVariable)
	}
	switch {
	case errors.Is(err, errNoLogin):
		return fmt.Sprintf("\nRun mcpwright login %s, or set %s to a token.", s.name, tokenVariable)
	case errors.Is(err, syscall.ECONNREFUSED):
		return "\nNothing listens at this address. Start the server, or check the port."
	case s.URL == "" && errors.Is(err, fs.ErrNotExist):
		return "\nThe command, its interpreter or its folder does not exist."
	case errors.Is(err, exec.ErrNotFound):
		return "\nThe command is not in PATH."
	}
	return ""
}

func revisionNames() (names []string) {
	for _, r := range mcp.Revisions {
		names = append(names, r.Revision.String())
	}
	return names
}

// version returns the version of the program.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
