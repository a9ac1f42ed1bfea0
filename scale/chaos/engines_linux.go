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

// oneNATS is a NATS server as a process.
type oneNATS struct {
	run     *run
	config  *config
	process *process
}

func startOneNATS(r *run) (engineProcess, error) {
	ports, err := freePorts(1)
	if err != nil {
		return nil, err
	}
	e := &oneNATS{run: r, config: &config{Name: "nats", Node: &natsNode{Port: ports[0], Dir: filepath.Join(r.dir, "nats")}}}
	e.process, _, err = startProgram(e.config, r.output)
	return e, err
}

func (e *oneNATS) address() string { return fmt.Sprintf("127.0.0.1:%d", e.config.Node.Port) }

func (e *oneNATS) configure(c *config, toEngine *link) {
	toEngine.setTarget(e.address())
	c.NATS, c.Copies = toEngine.address(), 1
}

func (e *oneNATS) restart() (err error) {
	e.process.kill()
	e.process, _, err = startProgram(e.config, e.run.output)
	return err
}

func (e *oneNATS) pause(stopped bool) { e.process.stop(stopped) }

func (e *oneNATS) sessions(ctx context.Context) (int, error) { return natsSessions(ctx, e.address()) }

func (e *oneNATS) end() { e.process.kill() }

// natsSessions counts the records of sessions in NATS.
func natsSessions(ctx context.Context, address string) (n int, err error) {
	conn, err := nats.Connect("nats://" + address)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		return 0, err
	}
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
	return e, e.start()
}

func (e *redisServer) start() (err error) {
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

func (e *redisServer) configure(c *config, toEngine *link) {
	toEngine.setTarget(e.address)
	c.Redis = toEngine.address()
}

func (e *redisServer) restart() error {
	e.process.kill()
	return e.start()
}

func (e *redisServer) pause(stopped bool) { e.process.stop(stopped) }

func (e *redisServer) end() { e.process.kill() }

func (e *redisServer) sessions(ctx context.Context) (n int, err error) {
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{e.address}, ForceSingleClient: true, DisableCache: true})
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
