package scale

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpwright/mcp/runtime/engine"
	"github.com/mcpwright/mcp/runtime/internal/limit"
	"github.com/mcpwright/mcp/runtime/internal/sealed"
)

// Options are the options of a [Node].
type Options struct {
	// Address is the base URL at which other replicas reach this one, such as
	// "http://10.0.0.7:8080". Forwarded requests have the path of the original request. They
	// must pass the same middleware and guards as requests of clients.
	Address string
	// Keys encrypt the data in the engine and sign the ids of sessions. All replicas must have the
	// same keys, of at least 32 bytes each. The first one is used for new data. To replace a key,
	// first add the new key at the end, then move it to the front, and then remove the old key.
	// The keys may be those of mcpserver.QuestionOptions.
	Keys [][]byte
	// Lease is the time after which a replica that does not renew its lease counts as gone, at
	// least one second. It should be twice as long as the engine takes to replace a node of its own.
	// Default 15 s.
	Lease time.Duration
	// Grace limits the time for which a replica serves its sessions while it cannot reach the
	// engine, after its lease. Default 60 s.
	Grace time.Duration
	// Transport sends requests to other replicas. Nil is a transport with a pool of HTTP/1.1
	// connections.
	Transport http.RoundTripper
	// Logger receives errors that no caller gets. Nil means [slog.Default].
	Logger *slog.Logger
}

const (
	engineTimeout = 5 * time.Second        // of an operation with the engine
	dialTimeout   = 500 * time.Millisecond // of a connection to another replica
	firstDelay    = 10 * time.Millisecond  // before an operation is repeated; doubled each time
	maxDelay      = 500 * time.Millisecond
	maxTakeovers  = 64 // at a time
)

// Node is a replica. It is safe for concurrent use. The caller ends it with [Node.Shutdown].
type Node struct {
	table engine.Table
	log   engine.Log
	opts  Options
	keys  sealed.Ring
	tag   string
	start time.Time

	renewing   chan struct{} // has a value while the lease is renewed
	version    uint64        // of the record of this replica; belongs to the goroutine that renews the lease
	lastFailed atomic.Int64  // time since start when the last failed renewal began
	unreadable atomic.Int64  // time since start when the last failed read of a record began, without a lease
	renewed    atomic.Int64  // time since start when the last renewal of the lease began
	heldSince  atomic.Int64  // time since start from which on the lease was held all the time
	leaving    atomic.Bool
	stop       context.CancelFunc
	running    sync.WaitGroup // goroutines that end after stop
	takeovers  chan struct{}  // limits takeovers

	mu        sync.Mutex
	members   map[string]*member // other replicas, by tag
	endpoints []*endpoint
}

// NewNode adds a replica to the replicas that share an engine. It returns an error if the
// options are invalid, or if the engine cannot be reached.
func NewNode(table engine.Table, log engine.Log, opts *Options) (*Node, error) {
	n := &Node{table: table, log: log, opts: *opts, tag: newTag(), start: time.Now(), renewing: make(chan struct{}, 1), takeovers: make(chan struct{}, maxTakeovers)}
	if err := n.opts.complete(); err != nil {
		return nil, fmt.Errorf("scale: %w", err)
	}
	n.keys, _ = sealed.NewRing(keyUse, n.opts.Keys)
	ctx, cancel := context.WithTimeout(context.Background(), engineTimeout)
	defer cancel()
	if err := n.renew(ctx); err != nil { // no other goroutine does so yet
		return nil, fmt.Errorf("scale: the engine refused the record of this replica: %w", err)
	}
	running, stop := context.WithCancel(context.Background())
	n.stop = stop
	n.running.Go(func() { n.repeat(running, n.keepLease) }) // ends with Shutdown
	n.running.Go(func() { n.repeat(running, n.maintain) })  // ends with Shutdown
	return n, nil
}

// complete validates the options and sets defaults.
func (o *Options) complete() error {
	u, err := url.Parse(o.Address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "" {
		return fmt.Errorf("address %q is not a URL such as \"http://10.0.0.7:8080\"", o.Address)
	}
	if _, err := sealed.NewRing(keyUse, o.Keys); err != nil {
		return err
	}
	o.Lease, o.Grace = limit.Time(o.Lease, 15*time.Second), limit.Time(o.Grace, time.Minute)
	if o.Lease < time.Second {
		return fmt.Errorf("lease of %v is shorter than a second", o.Lease)
	}
	if o.Transport == nil {
		o.Transport = newTransport()
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return nil
}

func (n *Node) now() time.Duration { return time.Since(n.start) }

// memberKey returns the key of the record of a replica.
func memberKey(tag string) string { return "m/" + tag }

// repeat calls f four times in a lease, until ctx ends.
func (n *Node) repeat(ctx context.Context, f func(context.Context)) {
	ticker := time.NewTicker(n.opts.Lease / 4)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			f(ctx)
		}
	}
}

// keepLease renews the lease, and looks for replicas that are gone.
func (n *Node) keepLease(ctx context.Context) {
	attempt, cancel := context.WithTimeout(ctx, min(n.opts.Lease/4, engineTimeout))
	defer cancel()
	err := n.beginRenewal(attempt)
	if err == nil {
		err = n.renew(attempt)
		n.endRenewal()
	}
	if err != nil && ctx.Err() == nil {
		n.opts.Logger.WarnContext(ctx, "could not renew the lease of this replica", "error", err)
	}
	n.checkMembers(attempt)
}

// maintain looks after the records of sessions.
func (n *Node) maintain(ctx context.Context) {
	for _, e := range n.listEndpoints() {
		e.maintain(ctx)
	}
}

func (n *Node) listEndpoints() []*endpoint {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]*endpoint(nil), n.endpoints...)
}

// beginRenewal lets the caller renew the lease, until it calls endRenewal. It fails if ctx ends first.
func (n *Node) beginRenewal(ctx context.Context) error {
	select {
	case n.renewing <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (n *Node) endRenewal() { <-n.renewing }

// renew renews the lease. The caller has called beginRenewal.
func (n *Node) renew(ctx context.Context) error {
	began := n.now()
	data := n.keys.Seal([]byte(n.opts.Address), memberKey(n.tag))
	version, err := sealed.Put(ctx, n.table, memberKey(n.tag), data, n.version, n.opts.Lease)
	if errors.Is(err, engine.ErrConflict) { // the record has ended, or the reply to an earlier renewal was lost
		r, getErr := n.table.Get(ctx, memberKey(n.tag))
		if getErr != nil && !errors.Is(getErr, engine.ErrNone) {
			n.lastFailed.Store(int64(began))
			return getErr
		}
		version, err = sealed.Put(ctx, n.table, memberKey(n.tag), data, r.Version, n.opts.Lease)
	}
	if err != nil {
		n.lastFailed.Store(int64(began))
		return err
	}
	if now := n.now(); n.version == 0 || now-time.Duration(n.renewed.Load()) > n.opts.Lease { // it had ended
		n.heldSince.Store(int64(now))
	}
	n.version = version
	n.renewed.Store(int64(began))
	return nil
}

// leaseHeld reports whether the replica holds its lease, so that no other one takes sessions over.
func (n *Node) leaseHeld() bool { return n.now()-time.Duration(n.renewed.Load()) <= n.opts.Lease }

const (
	lateTimeout = time.Second     // of the renewal of a lease that has ended, while a request waits
	lateRetry   = 2 * time.Second // after the begin of a renewal or a read that failed
)

// renewLate renews a lease that has ended. The process may have been stopped for a while, and other replicas may
// have its sessions: a renewal that began before that counts for nothing, whether it succeeds or fails. If a
// renewal has begun and failed recently, renewLate does nothing.
func (n *Node) renewLate(ctx context.Context) {
	if n.leaseHeld() || n.recently(&n.lastFailed) {
		return
	}
	began := n.now()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lateTimeout) // others use the result
	defer cancel()
	if n.beginRenewal(ctx) != nil {
		n.lastFailed.Store(int64(began))
		return
	}
	defer n.endRenewal()
	if !n.leaseHeld() && !n.recently(&n.lastFailed) {
		_ = n.renew(ctx) // the next renewal logs an error
	}
}

// recently reports whether an attempt that failed has begun a moment ago.
func (n *Node) recently(failed *atomic.Int64) bool {
	last := time.Duration(failed.Load())
	return last != 0 && n.now()-last < lateRetry
}

// cutOff reports whether the engine has not been reached for so long that sessions are not served.
func (n *Node) cutOff() bool {
	return n.now()-time.Duration(n.renewed.Load()) > n.opts.Lease+n.opts.Grace
}

// mayJudge reports whether the replica may decide that others are gone. After an outage of the
// engine, all leases have ended, and the others need time to renew theirs.
func (n *Node) mayJudge() bool {
	return n.leaseHeld() && n.now()-time.Duration(n.heldSince.Load()) >= n.opts.Lease
}

// member is another replica.
type member struct {
	tag     string
	base    *url.URL
	checked time.Time
	ctx     context.Context // of requests that are forwarded to it; ends when the replica is gone
	cancel  context.CancelFunc
}

// member returns another replica, or nil if it is gone. An error leaves that open.
func (n *Node) member(ctx context.Context, tag string) (*member, error) {
	n.mu.Lock()
	m := n.members[tag]
	fresh := m != nil && time.Since(m.checked) < n.opts.Lease/4
	n.mu.Unlock()
	if fresh {
		return m, nil
	}
	checked, err := n.checkMember(ctx, tag)
	if err != nil && m != nil {
		return m, nil // without the engine, requests are forwarded as before
	}
	return checked, err
}

// checkMember reads the record of another replica.
func (n *Node) checkMember(ctx context.Context, tag string) (*member, error) {
	ctx, cancel := context.WithTimeout(ctx, engineTimeout)
	defer cancel()
	r, err := n.table.Get(ctx, memberKey(tag))
	if err != nil && !errors.Is(err, engine.ErrNone) {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	m := n.members[tag]
	if err != nil {
		if m != nil {
			m.cancel()
			delete(n.members, tag)
		}
		return nil, nil
	}
	if m == nil {
		address, err := n.keys.Open(r.Data, memberKey(tag))
		if err != nil {
			return nil, fmt.Errorf("record of replica %q: %w", tag, err)
		}
		base, err := url.Parse(string(address))
		if err != nil {
			return nil, fmt.Errorf("record of replica %q: %w", tag, err)
		}
		m = &member{tag: tag, base: base}
		m.ctx, m.cancel = context.WithCancel(context.Background())
		if n.members == nil {
			n.members = make(map[string]*member)
		}
		n.members[tag] = m
	}
	m.checked = time.Now()
	return m, nil
}

// checkMembers reads the records of all replicas to which requests were forwarded.
func (n *Node) checkMembers(ctx context.Context) {
	n.mu.Lock()
	tags := make([]string, 0, len(n.members))
	for tag := range n.members {
		tags = append(tags, tag)
	}
	n.mu.Unlock()
	for _, tag := range tags {
		if _, err := n.checkMember(ctx, tag); err != nil {
			n.opts.Logger.WarnContext(ctx, "could not read the record of a replica", "error", err)
		}
	}
}

// awaitTakeovers waits for takeovers that began before this replica was leaving, so that it hands their sessions over
// too.
func (n *Node) awaitTakeovers(ctx context.Context) {
	for range maxTakeovers {
		select {
		case n.takeovers <- struct{}{}:
			defer func() { <-n.takeovers }()
		case <-ctx.Done():
			n.opts.Logger.WarnContext(ctx, "could not wait for takeovers before the shutdown")
			return
		}
	}
}

// Shutdown hands the sessions of this replica over: other replicas continue them. A session moves
// when its requests have finished; when ctx ends, the remaining requests are cancelled. Then Shutdown
// ends the lease. It does not shut the servers down, which serve requests outside sessions.
// It returns an error if the engine cannot be reached; then the sessions move when the lease
// has ended. Later calls do nothing.
func (n *Node) Shutdown(ctx context.Context) error {
	if n.leaving.Swap(true) {
		return nil
	}
	n.awaitTakeovers(ctx)
	var all sync.WaitGroup
	for _, e := range n.listEndpoints() {
		all.Go(func() { e.handOver(ctx) }) // ends with ctx
	}
	all.Wait()
	n.stop()
	n.running.Wait()
	n.mu.Lock()
	for _, m := range n.members {
		m.cancel()
	}
	n.members = nil
	n.mu.Unlock()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), engineTimeout)
	defer cancel()
	if err := n.beginRenewal(last); err != nil {
		return fmt.Errorf("could not end the lease of this replica: %w", err)
	}
	defer n.endRenewal()
	if err := n.table.Delete(last, memberKey(n.tag), n.version); err != nil && !errors.Is(err, engine.ErrConflict) {
		return fmt.Errorf("could not end the lease of this replica: %w", err)
	}
	return nil
}
