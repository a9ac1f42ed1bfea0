package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
)

// Server is the server to check: a program, or an endpoint.
type Server struct {
	// Start starts the program. It is nil for an endpoint.
	Start func(ctx context.Context) (*Process, error)
	// URL is the address of the endpoint.
	URL string
	// Header is sent with each request to the endpoint.
	Header http.Header
	// Client sends the requests. Nil is [http.DefaultClient].
	Client *http.Client

	sse bool // Start opens a stream of the endpoint
}

func (s *Server) client() *http.Client {
	if s.Client == nil {
		return http.DefaultClient
	}
	return s.Client
}

// transport returns the transport of the server.
func (s *Server) transport() Transport {
	switch {
	case s.sse:
		return SSE
	case s.Start != nil:
		return Stdio
	}
	return HTTP
}

// local reports whether the endpoint is on this machine.
func (s *Server) local() bool {
	u, err := url.Parse(s.URL)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// Options configures [Run].
type Options struct {
	// Only and Skip select cases by id. An id may end with "*".
	Only, Skip []string
	// Call calls all tools. Without it, only tools are called that are annotated as
	// read-only.
	Call bool
	// Timeout limits the wait for each response. It is longer for a process that is
	// starting, or that sends other messages meanwhile. Zero is 10 seconds.
	Timeout time.Duration
	// Revisions limits the revisions. Nil is all.
	Revisions []mcp.Revision
	// Progress is called before each case, and with an empty id at the end. It is not
	// called concurrently. It may be nil.
	Progress func(revision mcp.Revision, id string)
}

// maxApart returns how many cases with connections of their own run at once.
func (s *Server) maxApart() int {
	if s.URL != "" && !s.local() {
		return 4
	}
	return max(16, runtime.NumCPU())
}

// ErrUnreachable is returned by [Run] for a server that supports no revision, or cannot
// be reached.
var ErrUnreachable = errors.New("server not reachable")

// suite is one run of the checks.
type suite struct {
	ctx           context.Context
	server        *Server
	opts          Options
	cases         []*Case
	byID          map[string]*Case
	stages        []*stage
	onlyStateless atomic.Bool   // set after discovery, while links may still read the end of a response
	apart         chan struct{} // limits the cases that run apart
	starting      chan struct{} // limits the processes that have not sent a message

	mu        sync.Mutex
	report    *Report
	firstWait time.Duration // the longest wait for the first message of a process
}

// Run checks a server and returns the report.
func Run(ctx context.Context, server *Server, opts Options) (*Report, error) {
	if opts.Timeout == 0 {
		opts.Timeout = 10 * time.Second
	}
	cases, err := selectCases(Cases(), opts.Only, opts.Skip)
	if err != nil {
		return nil, err
	}
	s := &suite{ctx: ctx, server: server, opts: opts, cases: cases, byID: map[string]*Case{}, apart: make(chan struct{}, server.maxApart()),
		starting: make(chan struct{}, max(2, runtime.NumCPU())),
		report:   &Report{Transport: server.transport(), cases: cases}}
	for _, c := range cases {
		s.byID[c.ID] = c
	}
	reasons := s.discover()
	if len(s.stages) == 0 && server.Start == nil && ctx.Err() == nil {
		reasons = append(reasons, s.discoverSSE()...)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(s.stages) == 0 {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, errors.Join(reasons...))
	}
	var checking sync.WaitGroup
	for _, st := range s.stages {
		checking.Go(st.check) // ends with its cases
	}
	checking.Wait()
	if opts.Progress != nil {
		opts.Progress(mcp.Revision{}, "")
	}
	s.report.finish()
	return s.report, ctx.Err()
}

// discover finds the revisions that the server supports, and returns why others are not
// supported. It asks for all revisions at once, each on a connection of its own. If there are arguments, it
// asks only for these revisions.
func (s *suite) discover(only ...mcp.Revision) (reasons []error) {
	var all []*stage
	for _, info := range mcp.Revisions {
		if only != nil && !slices.Contains(only, info.Revision) {
			continue
		}
		if s.opts.Revisions == nil || slices.Contains(s.opts.Revisions, info.Revision) {
			all = append(all, &stage{suite: s, revision: info.Revision, handshake: info.Handshake})
		}
	}
	errs := make([]error, len(all))
	var beginning sync.WaitGroup
	for i, st := range all {
		beginning.Go(func() { errs[i] = st.begin() }) // ends with the response, at the latest after the timeout
	}
	beginning.Wait()
	for i, st := range all {
		if err := errs[i]; err != nil {
			reasons = append(reasons, fmt.Errorf("revision %v: %w", st.revision, err))
			s.report.Revisions = append(s.report.Revisions, RevisionReport{Revision: st.revision.String(), Reason: err.Error()})
			continue
		}
		s.report.server(st.hello, st.handshake)
		s.report.Revisions = append(s.report.Revisions, RevisionReport{Revision: st.revision.String(), Supported: true})
		s.stages = append(s.stages, st)
	}
	newest := map[bool]*stage{}
	for _, st := range s.stages {
		newest[st.handshake] = st
	}
	for _, st := range newest {
		st.newest = true
	}
	s.onlyStateless.Store(newest[true] == nil && s.opts.Revisions == nil)
	return reasons
}

// discoverSSE tries HTTP+SSE, the transport of the first revision, if the endpoint supports no revision
// otherwise.
func (s *suite) discoverSSE() []error {
	streamable := *s.report
	s.server = s.server.overSSE()
	s.report.Revisions, s.report.Transport = nil, SSE
	var reasons []error
	for _, err := range s.discover(mcp.Revision20241105) {
		reasons = append(reasons, fmt.Errorf("over HTTP+SSE: %w", err))
	}
	if len(s.stages) == 0 {
		s.report.Revisions, s.report.Transport = streamable.Revisions, streamable.Transport
		return reasons
	}
	for _, r := range streamable.Revisions {
		if r.Revision != mcp.Revision20241105.String() {
			s.report.Revisions = append(s.report.Revisions, r)
		}
	}
	return nil
}

// stage is the check of one revision.
type stage struct {
	*suite
	revision  mcp.Revision
	handshake bool
	newest    bool     // the revision is the newest of its kind that the server supports
	main      *conn    // the connection that uses the server normally
	abused    *conn    // the connection for hostile messages, or nil
	hello     *message // response to initialize or server/discover
	offers    offers
}

// begin connects in the revision. It returns an error if the server does not support it.
func (s *stage) begin() (err error) {
	c, err := s.dial(true)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			c.close()
		}
	}()
	if s.handshake {
		if s.hello, err = c.shake(s.revision.String()); err != nil {
			return err
		}
	} else if err = s.findStateless(c); err != nil {
		return err
	}
	s.main = c
	return nil
}

// findStateless asks the server for the revisions that it supports.
func (s *stage) findStateless(c *conn) error {
	c.mu.Lock()
	c.hostile = true // a server without the revision may respond with anything
	c.mu.Unlock()
	m := c.call("server/discover", nil)
	switch {
	case m == nil:
		return errNoResponse
	case m.err != nil:
		return fmt.Errorf("server/discover: error %s: %s", m.err.Code, m.err.Message)
	}
	var versions []string
	for _, v := range array(at(m.result, "supportedVersions")) {
		versions = append(versions, text(v))
	}
	if !slices.Contains(versions, s.revision.String()) {
		return fmt.Errorf("server/discover: the server supports %q", versions)
	}
	c.mu.Lock()
	c.hostile, c.prepared = false, true
	c.logging = at(m.result, "capabilities", "logging") != nil
	c.mu.Unlock()
	s.hello = c.call("server/discover", nil) // again, validated
	if !s.hello.ok() {
		return errNoResponse
	}
	return nil
}

// capability returns a capability of the server, or nil if it is not declared.
func (s *stage) capability(path ...string) []byte {
	return at(s.hello.result, append([]string{"capabilities"}, path...)...)
}

// check uses the server and runs the cases. Cases with connections of their own run at
// the same time as the others.
func (s *stage) check() {
	defer s.endMain()
	s.progress("list")
	s.listAll()
	var apart sync.WaitGroup
	defer apart.Wait()
	for _, c := range s.cases {
		if c.apart && s.applies(c) {
			apart.Go(func() { s.runApart(c) }) // ends with the case
		}
	}
	s.progress("use")
	s.use()
	for _, c := range s.cases {
		if !c.apart && s.applies(c) && s.ctx.Err() == nil {
			s.progress(c.ID)
			s.runCase(c)
		}
	}
}

// applies reports whether a case applies to the revision and the transport.
func (s *stage) applies(c *Case) bool {
	_, applies := c.rule(s.revision)
	return applies && (c.Transport == "" || c.Transport == s.server.transport()) && (!c.Once || s.newest)
}

// runApart runs a case when less than the limit of such cases run.
func (s *stage) runApart(c *Case) {
	select {
	case s.apart <- struct{}{}:
		defer func() { <-s.apart }()
		s.progress(c.ID)
		s.runCase(c)
	case <-s.ctx.Done():
	}
}

func (s *stage) progress(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opts.Progress != nil {
		s.opts.Progress(s.revision, id)
	}
}

func (s *stage) endMain() {
	for _, c := range []*conn{s.main, s.abused} {
		if c != nil {
			c.close()
		}
	}
}

// runCase runs one case and stores its outcome.
func (s *stage) runCase(c *Case) {
	t := &trial{stage: s, c: c}
	switch {
	case c.Needs != "" && s.capability(c.Needs) == nil:
		t.skip("the server does not declare %q", c.Needs)
	case c.run != nil:
		c.run(t)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.report.outcome(s.revision.String(), c.ID, t.skipped)
}

// connection returns the main connection, and opens it again if the server has ended it.
// It returns nil if that fails.
func (s *stage) connection() *conn {
	if s.main != nil && !s.main.over() {
		return s.main
	}
	if s.main != nil {
		s.main.close()
	}
	s.main, _ = s.open(true) // nil is reported by the cases that need it
	return s.main
}

// find reports a finding of a case, unless the case is not selected or does not apply.
func (s *stage) find(id string, raw []byte, pointer, format string, args ...any) {
	s.findIn("", id, raw, pointer, format, args...)
}

// findIn is find with another section of the specification than the case's.
func (s *stage) findIn(section, id string, raw []byte, pointer, format string, args ...any) {
	c := s.byID[id]
	if c == nil {
		return
	}
	r, applies := c.rule(s.revision)
	if !applies {
		return
	}
	r.Section = cmp.Or(section, r.Section)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.report.add(&Finding{
		ID: id, Severity: r.Severity, Revision: s.revision.String(), Pointer: pointer,
		Problem: fmt.Sprintf(format, args...), Message: clip(raw), Rule: r.URL(s.revision), Advice: c.Advice,
	})
}

// trial is one case in one revision.
type trial struct {
	*stage
	c       *Case
	section string // of the rule, instead of the case's
	skipped string
}

// find reports a finding of the case.
func (t *trial) find(raw []byte, pointer, format string, args ...any) {
	t.stage.findIn(t.section, t.c.ID, raw, pointer, format, args...)
}

// skip notes why the case could not be checked.
func (t *trial) skip(format string, args ...any) { t.skipped = fmt.Sprintf(format, args...) }

// withConn runs a function with a new connection. It reports the server that does not
// accept one.
func (t *trial) withConn(declared bool, run func(*conn)) {
	c, err := t.open(declared)
	if err != nil {
		t.skip("no connection: %v", err)
		return
	}
	defer c.close()
	run(c)
}
