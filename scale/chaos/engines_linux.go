package chaos

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/rueidis"
)

// freePorts returns ports of the loopback interface that were free.
func freePorts(n int) (ports []int, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

// natsNodes are NATS servers. Each one is a process, or a part of a replica.
type natsNodes struct {
	run       *run
	configs   []*config
	processes []*process // empty if the servers are parts of replicas
}

// startNATSNodes starts servers as processes.
func startNATSNodes(n int) func(*run) (engineProcess, error) {
	return func(r *run) (engineProcess, error) {
		e, err := newNATSNodes(r, n)
		if err != nil {
			return nil, err
		}
		e.processes = make([]*process, n)
		for i := range n {
			if err := e.start(i); err != nil {
				e.end()
				return nil, err
			}
		}
		return e, nil
	}
}

// embedNATS returns an engine whose servers the first three replicas start.
func embedNATS(r *run) (engineProcess, error) { return newNATSNodes(r, 3) }

func newNATSNodes(r *run, n int) (*natsNodes, error) {
	ports, err := freePorts(2 * n)
	if err != nil {
		return nil, err
	}
	var routes []string
	for _, p := range ports[n:] {
		routes = append(routes, fmt.Sprintf("nats://127.0.0.1:%d", p))
	}
	if n == 1 {
		routes = nil
	}
	e := &natsNodes{run: r}
	for i := range n {
		name := fmt.Sprintf("nats-%d", i)
		e.configs = append(e.configs, &config{Name: name, Node: &natsNode{
			Name: name, Port: ports[i], ClusterPort: ports[n+i], Dir: filepath.Join(r.dir, name), Routes: routes,
		}})
	}
	return e, nil
}

func (e *natsNodes) address(i int) string { return fmt.Sprintf("127.0.0.1:%d", e.configs[i].Node.Port) }

func (e *natsNodes) links() int { return len(e.configs) }

func (e *natsNodes) nodes() int { return len(e.processes) }

func (e *natsNodes) configure(c *config, s *slot) {
	c.Copies = len(e.configs)
	if len(e.processes) == 0 && s.number < len(e.configs) {
		c.Node = e.configs[s.number].Node
		return
	}
	var list []string
	for i, l := range s.toEngine {
		l.setTarget(e.address(i))
		list = append(list, "nats://"+l.address())
	}
	c.NATS = strings.Join(list, ",")
}

func (e *natsNodes) start(i int) (err error) {
	e.processes[i], _, err = startProgram(e.configs[i], e.run.output)
	return err
}

func (e *natsNodes) kill(i int) { e.processes[i].kill() }

func (e *natsNodes) pause(i int, stopped bool) { e.processes[i].stop(stopped) }

func (e *natsNodes) end() {
	for _, p := range e.processes {
		if p != nil {
			p.kill()
		}
	}
}

// connect connects to the servers.
func (e *natsNodes) connect() (jetstream.JetStream, func(), error) {
	var list []string
	for i := range e.configs {
		list = append(list, "nats://"+e.address(i))
	}
	conn, err := nats.Connect(strings.Join(list, ","))
	if err != nil {
		return nil, nil, err
	}
	js, err := jetstream.New(conn)
	if err != nil {
		conn.Close()
	}
	return js, conn.Close, err
}

// fill limits the streams to their size, so that servers refuse new data, or ends that.
func (e *natsNodes) fill(ctx context.Context, full bool) error {
	js, end, err := e.connect()
	if err != nil {
		return err
	}
	defer end()
	for _, name := range []string{"KV_mcp", "mcp-log"} {
		s, err := js.Stream(ctx, name)
		if err != nil {
			return err
		}
		info := s.CachedInfo()
		c := info.Config
		c.MaxBytes = -1
		if full {
			c.MaxBytes, c.Discard = int64(max(info.State.Bytes, 1)), jetstream.DiscardNew
		}
		if _, err := js.UpdateStream(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// sessions counts the records of sessions.
func (e *natsNodes) sessions(ctx context.Context) (n int, err error) {
	js, end, err := e.connect()
	if err != nil {
		return 0, err
	}
	defer end()
	bucket, err := js.KeyValue(ctx, "mcp")
	if err != nil {
		return 0, err
	}
	list, err := bucket.ListKeys(ctx)
	if err != nil {
		return 0, err
	}
	for key := range list.Keys() {
		if strings.HasPrefix(key, "s/") {
			n++
		}
	}
	return n, nil
}

// redisServer is a Redis or Valkey server as a process.
type redisServer struct {
	path    string
	args    []string
	address string
	process *process
	run     *run
}

// redisProgram returns the path of a server that is installed, or "".
func redisProgram() string {
	for _, program := range []string{"redis-server", "valkey-server"} {
		if path, err := exec.LookPath(program); err == nil {
			return path
		}
	}
	return ""
}

func startRedis(r *run) (engineProcess, error) {
	ports, err := freePorts(1)
	if err != nil {
		return nil, err
	}
	e := &redisServer{run: r, path: redisProgram(), address: fmt.Sprintf("127.0.0.1:%d", ports[0]), args: []string{
		"--bind", "127.0.0.1", "--port", fmt.Sprint(ports[0]), "--dir", r.dir, "--save", "", "--appendonly", "yes", "--appendfsync", "always",
	}}
	return e, e.start(0)
}

func (e *redisServer) start(int) (err error) {
	cmd := exec.Command(e.path, e.args...)
	cmd.Stderr = e.run.output
	if e.process, err = startProcess(cmd); err != nil {
		return err
	}
	for deadline := time.Now().Add(20 * time.Second); ; {
		c, err := net.Dial("tcp", e.address)
		if err == nil {
			return c.Close()
		}
		if time.Now().After(deadline) || !e.process.runs() {
			return fmt.Errorf("%s has not started: %w", e.path, err)
		}
		<-time.After(10 * time.Millisecond)
	}
}

func (e *redisServer) links() int { return 1 }

func (e *redisServer) nodes() int { return 1 }

func (e *redisServer) configure(c *config, s *slot) {
	s.toEngine[0].setTarget(e.address)
	c.Redis = s.toEngine[0].address()
}

func (e *redisServer) kill(int) { e.process.kill() }

func (e *redisServer) pause(_ int, stopped bool) { e.process.stop(stopped) }

func (e *redisServer) end() { e.process.kill() }

func (e *redisServer) connect() (rueidis.Client, error) {
	return rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{e.address}, ForceSingleClient: true, DisableCache: true})
}

// fill limits the memory of the server, so that it refuses new data, or ends that.
func (e *redisServer) fill(ctx context.Context, full bool) error {
	client, err := e.connect()
	if err != nil {
		return err
	}
	defer client.Close()
	limit := "0"
	if full {
		limit = "1"
	}
	return client.Do(ctx, client.B().ConfigSet().ParameterValue().ParameterValue("maxmemory", limit).Build()).Error()
}

func (e *redisServer) sessions(ctx context.Context) (n int, err error) {
	client, err := e.connect()
	if err != nil {
		return 0, err
	}
	defer client.Close()
	list, err := client.Do(ctx, client.B().Keys().Pattern("mcp:record:s/*").Build()).AsStrSlice()
	return len(list), err
}

// stop stops the process, or continues it.
func (p *process) stop(stopped bool) {
	if stopped {
		p.signal(syscall.SIGSTOP)
	} else {
		p.signal(syscall.SIGCONT)
	}
}
