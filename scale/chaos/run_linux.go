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
	name     string
	replicas int
	clients  int
	lease    time.Duration
	engine   func(r *run) (engineProcess, error)
	faults   []fault
}

// engineProcess is the engine of a run, if it runs apart from the replicas.
type engineProcess interface {
	// configure sets the address of the engine in the configuration of a replica, for its links.
	configure(c *config, toEngine *link)
	// restart kills the engine and starts it again.
	restart() error
	// pause stops the engine, or continues it.
	pause(stopped bool)
	// sessions returns the number of records of sessions.
	sessions(ctx context.Context) (int, error)
	end()
}

// run is a run of a setup.
type run struct {
	*setup
	dir     string
	seed    uint64
	random  *rand.Rand // used by the goroutine of the faults
	output  io.Writer  // of processes
	history *recorder
	files   []string // of the history
	engine  engineProcess
	slots   []*slot
	balance *balancer
	front   *link // between clients and the balancer
	url     string
	counts  map[string]int // of faults, by name
	orphans atomic.Int64
	ends    []func()
}

// slot is the place of a replica. After the end of a process, another one takes the place.
type slot struct {
	number   int
	process  *process // nil if there is none
	address  string   // of the process
	starts   int
	toEngine *link
	inbound  *link   // of the balancer
	peers    []*link // from other slots, by number
	name     string  // the host by which other replicas find it; no process listens there
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
		if s.toEngine, err = r.link(true); err != nil {
			return err
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

// startReplica starts a process in a slot.
func (r *run) startReplica(s *slot) error {
	s.starts++
	name := fmt.Sprintf("%s.%d", s.name, s.starts)
	c := &config{
		Name: name, Address: s.name + ":80", Links: make(map[string]string), Lease: r.lease, Grace: 2 * r.lease, Idle: sessionIdle,
		History: filepath.Join(r.dir, name+".jsonl"),
	}
	for _, other := range r.slots {
		c.Links[other.name+":80"] = other.peers[s.number].address()
	}
	r.engine.configure(c, s.toEngine)
	p, address, err := startProgram(c, r.output)
	if err != nil {
		return err
	}
	s.process, s.address = p, address
	for _, l := range append([]*link{s.inbound}, s.peers...) {
		l.setTarget(address)
	}
	return nil
}

// sessionIdle is the time after which the server ends a session without a client.
const sessionIdle = 15 * time.Second

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
	r.random = rand.New(rand.NewPCG(r.seed, 1<<32))
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
	for _, s := range r.slots {
		for i := range s.starts {
			r.files = append(r.files, filepath.Join(r.dir, fmt.Sprintf("%s.%d.jsonl", s.name, i+1)))
		}
	}
	return readHistory(r.files...)
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
	deadline := time.Now().Add(sessionIdle + 15*time.Second)
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
