package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

// setup is a configuration of replicas and an engine.
type setup struct {
	name       string
	replicas   int
	clients    int
	together   int // faults at a time
	lease      time.Duration
	engine     func(r *run) (engineProcess, error)
	replicated bool // the engine has several nodes
	embedded   bool // the nodes of the engine are parts of replicas
	faults     []fault
}

// engineProcess is the engine of a run: nodes that run apart from the replicas, or are parts of them.
type engineProcess interface {
	// links returns the number of links that a replica needs.
	links() int
	// configure sets the addresses of the engine in the configuration of a replica, for its links.
	configure(c *config, s *slot)
	// nodes returns the number of nodes that run apart.
	nodes() int
	kill(node int)
	start(node int) error
	// pause stops a node, or continues it.
	pause(node int, stopped bool)
	// fill makes the engine refuse new data, or ends that.
	fill(ctx context.Context, full bool) error
	// sessions returns the number of records of sessions.
	sessions(ctx context.Context) (int, error)
	end()
}

// run is a run of a setup.
type run struct {
	*setup
	dir     string
	seed    uint64
	output  io.Writer // of processes
	history *recorder
	engine  engineProcess
	slots   []*slot
	balance *balancer
	front   *link // between clients and the balancer
	url     string
	orphans atomic.Int64

	engineBusy sync.Mutex // held during a fault of the engine

	mu     sync.Mutex
	files  []string       // of the history
	counts map[string]int // of faults, by name
	ends   []func()
}

// slot is the place of a replica. After the end of a process, another one takes the place.
type slot struct {
	number   int
	process  *process // nil if there is none
	address  string   // of the process
	starts   int
	busy     sync.Mutex // held during a fault
	toEngine []*link    // to the nodes of the engine
	inbound  *link      // of the balancer
	peers    []*link    // from other slots, by number
	name     string     // the host by which other replicas find it; no process listens there
}

// start starts everything.
func (r *run) start() (err error) {
	r.counts = make(map[string]int)
	if r.history, err = newRecorder(filepath.Join(r.dir, "clients.jsonl")); err != nil {
		return err
	}
	r.files = append(r.files, r.history.file.Name())
	if r.engine, err = r.setup.engine(r); err != nil {
		return err
	}
	r.ends = append(r.ends, r.engine.end)
	var inbound []*link
	for i := range r.replicas {
		s := &slot{number: i, name: fmt.Sprintf("replica-%d", i)}
		r.slots = append(r.slots, s)
		for range r.replicas {
			l, err := r.link(true)
			if err != nil {
				return err
			}
			s.peers = append(s.peers, l)
		}
		for range r.engine.links() {
			l, err := r.link(true)
			if err != nil {
				return err
			}
			s.toEngine = append(s.toEngine, l)
		}
		if s.inbound, err = r.link(true); err != nil {
			return err
		}
		inbound = append(inbound, s.inbound)
	}
	if err := r.each(r.startReplica); err != nil {
		return err
	}
	return r.startBalancer(inbound)
}

// each calls f for all slots concurrently.
func (r *run) each(f func(*slot) error) error {
	var all sync.WaitGroup
	results := make([]error, len(r.slots))
	for i, s := range r.slots {
		all.Go(func() { results[i] = f(s) }) // ends with the call
	}
	all.Wait()
	return errors.Join(results...)
}

func (r *run) startBalancer(inbound []*link) error {
	r.balance = newBalancer(inbound)
	address, end, err := r.balance.serve()
	if err != nil {
		return err
	}
	r.ends = append(r.ends, end)
	if r.front, err = r.link(false); err != nil {
		return err
	}
	r.front.setTarget(address)
	r.url = "http://" + r.front.address() + "/mcp"
	return nil
}

// link returns a new link, which ends with the run.
func (r *run) link(greets bool) (*link, error) {
	l, err := newLink(greets)
	if err == nil {
		r.ends = append(r.ends, l.close)
	}
	return l, err
}

// startTime is the time in which a replica starts. It ends at once if it does not reach the engine, and is started
// again.
const startTime = 90 * time.Second

// startReplica starts a process in a slot.
func (r *run) startReplica(s *slot) error {
	for deadline := time.Now().Add(startTime); ; {
		err := r.tryStart(s)
		if err == nil || time.Now().After(deadline) {
			return err
		}
		<-time.After(200 * time.Millisecond)
	}
}

func (r *run) tryStart(s *slot) error {
	s.starts++
	name := fmt.Sprintf("%s.%d", s.name, s.starts)
	c := &config{
		Name: name, Address: s.name + ":80", Links: make(map[string]string), Lease: r.lease, Grace: 2 * r.lease, Idle: r.sessionIdle(),
		History: filepath.Join(r.dir, name+".jsonl"),
	}
	for _, other := range r.slots {
		c.Links[other.name+":80"] = other.peers[s.number].address()
	}
	r.engine.configure(c, s)
	p, address, err := startProgram(c, r.output)
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.files = append(r.files, c.History)
	r.mu.Unlock()
	s.process, s.address = p, address
	for _, l := range append([]*link{s.inbound}, s.peers...) {
		l.setTarget(address)
	}
	return nil
}

// sessionIdle returns the time after which the server ends a session without a client. Requests may not reach the
// owner of a session for a few leases.
func (r *run) sessionIdle() time.Duration { return 5 * r.lease }

// end ends everything.
func (r *run) end() {
	for _, s := range r.slots {
		if s.process != nil {
			s.process.kill()
		}
	}
	for i := len(r.ends) - 1; i >= 0; i-- {
		r.ends[i]()
	}
}

// do runs clients and faults for a time, and returns the history.
func (r *run) do(length time.Duration, logger *slog.Logger) ([]observation, error) {
	transport := &http.Transport{MaxIdleConnsPerHost: 256}
	defer transport.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(context.Background(), length)
	defer cancel()
	var clients []*client
	var all sync.WaitGroup
	for i := range r.clients {
		c := &client{
			number: i, url: r.url, revision: revisions[i%len(revisions)], principal: fmt.Sprintf("user-%d", i%7), history: r.history,
			random: rand.New(rand.NewPCG(r.seed, uint64(i))), http: &http.Client{Transport: transport}, logger: logger, orphans: &r.orphans,
		}
		clients = append(clients, c)
		all.Go(func() { c.run(ctx) }) // ends with ctx, and the timeout of a call
	}
	err := r.injectFaults(ctx)
	all.Wait()
	if err != nil {
		return nil, err
	}
	r.rest(clients)
	transport.CloseIdleConnections()
	if err := r.findRest(); err != nil {
		return nil, err
	}
	return readHistory(r.files...)
}

// injectFaults makes faults until ctx ends, and ends them.
func (r *run) injectFaults(ctx context.Context) error {
	var all sync.WaitGroup
	results := make([]error, r.together)
	for i := range results {
		in := &injector{r, rand.New(rand.NewPCG(r.seed, 1<<32+uint64(i)))}
		all.Go(func() { results[i] = in.inject(ctx) }) // ends with ctx, after its last fault
	}
	all.Wait()
	return errors.Join(results...)
}

// count counts a fault.
func (r *run) count(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[name]++
}

// restTimeout is the time in which calls succeed again after the last fault.
const restTimeout = 45 * time.Second

// rest waits until all clients have succeeded, and ends their sessions.
func (r *run) rest(clients []*client) {
	ctx, cancel := context.WithTimeout(context.Background(), restTimeout)
	defer cancel()
	var all sync.WaitGroup
	for _, c := range clients {
		all.Go(func() { // ends with ctx, and the timeouts of calls
			c.rest(ctx)
			c.end()
		})
	}
	all.Wait()
}

// findRest records what is left in replicas and in the engine, when it does not get less. Sessions without a
// client end when they were not used for a while.
func (r *run) findRest() error {
	deadline := time.Now().Add(r.sessionIdle() + 15*time.Second)
	for _, s := range r.slots {
		for {
			stats, err := s.stats()
			if err != nil {
				return err
			}
			if *stats == (replicaStats{}) || time.Now().After(deadline) {
				r.recordLeft(s, stats)
				break
			}
			r.balance.transport.CloseIdleConnections()
			<-time.After(200 * time.Millisecond)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	n, err := r.engine.sessions(ctx)
	if err != nil {
		return err
	}
	r.history.record(observation{Kind: left, Number: max(0, n-int(r.orphans.Load())), Text: "records of sessions in the engine"})
	return nil
}

func (r *run) recordLeft(s *slot, stats *replicaStats) {
	for text, n := range map[string]int{
		"sessions": stats.Sessions, "requests": stats.Requests, "streams": stats.Streams, "goroutines": stats.Goroutines,
	} {
		r.history.record(observation{Kind: left, Number: max(n, 0), Text: text, Replica: s.name})
	}
	if stats.Goroutines > 0 {
		if list, err := s.get("/goroutines"); err == nil {
			_ = os.WriteFile(filepath.Join(r.dir, s.name+".goroutines"), list, 0o600)
		}
	}
}

func (s *slot) get(path string) ([]byte, error) {
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Get("http://" + s.address + path)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	return io.ReadAll(res.Body)
}

// stats returns the numbers of the replica.
func (s *slot) stats() (*replicaStats, error) {
	data, err := s.get("/stats")
	if err != nil {
		return nil, err
	}
	stats := new(replicaStats)
	return stats, json.Unmarshal(data, stats)
}
