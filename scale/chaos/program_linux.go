package chaos

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/mcpwright/mcp/runtime/tasks"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/redis/rueidis"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/engine"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/scale"
	"github.com/mcpwright/mcp/runtime/streamable"
	natsengine "github.com/mcpwright/mcp/scale/nats"
	redisengine "github.com/mcpwright/mcp/scale/redis"
)

// envConfig is the environment variable with the configuration of a program.
const envConfig = "CHAOS_CONFIG"

// config is the configuration of a program.
type config struct {
	Name    string            // of the process
	Address string            // of the replica for other replicas; "" for a program that is only an engine
	Links   map[string]string // the link to another replica, by its address
	Redis   string            // the link to a Redis server, or ""
	NATS    string            // the links to NATS servers, or ""
	Node    *natsNode         // a NATS server in this process, or nil
	Copies  int               // NATS servers that store each write
	Lease   time.Duration
	Grace   time.Duration
	Idle    time.Duration // the time after which an unused session ends
	History string        // a file
}

// natsNode is the configuration of a NATS server.
type natsNode struct {
	Name              string
	Port, ClusterPort int
	Dir               string
	Routes            []string
}

// keys are the keys of all replicas.
var keys = [][]byte{[]byte("a key of thirty-two bytes, or so")}

// headerUser is the header with the principal of a request. The clients of this test are trusted.
const headerUser = "X-User"

// runProgram runs a program until it gets a signal, or until its standard input ends.
func runProgram(text string) error {
	var c config
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	go func() { // ends with the standard input
		defer stop()
		_, _ = io.Copy(io.Discard, os.Stdin)
	}()
	if c.Node != nil {
		s, err := startNATS(&c)
		if err != nil {
			return err
		}
		defer s.WaitForShutdown()
		defer s.Shutdown()
		if c.Address == "" {
			fmt.Println(s.Addr())
			<-ctx.Done()
			return nil
		}
		c.NATS = "nats://" + s.Addr().String()
	}
	return serveReplica(ctx, &c)
}

// startNATS starts a NATS server that writes each change to the disk before it acknowledges it.
func startNATS(c *config) (*server.Server, error) {
	o := &server.Options{
		ServerName: c.Node.Name, Host: "127.0.0.1", Port: c.Node.Port, JetStream: true, StoreDir: c.Node.Dir, SyncAlways: true, NoSigs: true, NoLog: true,
	}
	if len(c.Node.Routes) > 0 {
		o.Cluster = server.ClusterOpts{Name: "chaos", Host: "127.0.0.1", Port: c.Node.ClusterPort, NoAdvertise: true}
		o.Routes = server.RoutesFromStr(strings.Join(c.Node.Routes, ","))
	}
	s, err := server.NewServer(o)
	if err != nil {
		return nil, err
	}
	s.Start()
	if !s.ReadyForConnections(20 * time.Second) {
		return nil, errors.New("NATS has not started")
	}
	return s, nil
}

// storage is an engine.
type storage interface {
	engine.Table
	engine.Log
}

// connectEngine connects to the engine.
func connectEngine(ctx context.Context, c *config) (storage, mcpserver.Bus, error) {
	quiet := slog.New(slog.DiscardHandler)
	if c.Redis != "" {
		client, err := rueidis.NewClient(rueidis.ClientOption{
			InitAddress: []string{c.Redis}, ForceSingleClient: true, DisableCache: true, ConnWriteTimeout: 5 * time.Second,
			DialCtxFn: func(ctx context.Context, address string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
				return dialLink(ctx, address)
			},
		})
		if err != nil {
			return nil, nil, err
		}
		e, err := redisengine.New(ctx, client, &redisengine.Options{Logger: quiet})
		if err != nil {
			return nil, nil, err
		}
		return e, e.NewBus(), nil
	}
	options := []nats.Option{nats.MaxReconnects(-1), nats.ReconnectWait(200 * time.Millisecond), nats.PingInterval(2 * time.Second)}
	if c.Node == nil {
		options = append(options, nats.SetCustomDialer(natsDialer{}))
	}
	conn, err := nats.Connect(c.NATS, options...)
	if err != nil {
		return nil, nil, err
	}
	for { // a cluster first elects its leaders
		e, bus, err := newNATSEngine(ctx, conn, &natsengine.Options{Logger: quiet, Copies: c.Copies})
		if err == nil || ctx.Err() != nil {
			return e, bus, err
		}
		fmt.Fprintf(os.Stderr, "%s: engine: %v\n", c.Name, err)
		select {
		case <-time.After(500 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

func newNATSEngine(ctx context.Context, conn *nats.Conn, o *natsengine.Options) (storage, mcpserver.Bus, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	e, err := natsengine.New(ctx, conn, o)
	if err != nil {
		return nil, nil, err
	}
	bus, err := e.NewBus(ctx)
	return e, bus, err
}

// natsDialer connects to a NATS server through a link.
type natsDialer struct{}

// Dial implements [nats.CustomDialer].
func (natsDialer) Dial(_, address string) (net.Conn, error) {
	return dialLink(context.Background(), address)
}

// serveReplica serves until ctx ends. It prints its address when it is ready.
func serveReplica(ctx context.Context, c *config) error {
	starting, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	shared, bus, err := connectEngine(starting, c)
	if err != nil {
		return err
	}
	history, err := newRecorder(c.History)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 256, DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
		return dialLink(ctx, c.Links[address])
	}}
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil)).With("process", c.Name)
	node, err := scale.NewNode(shared, shared, &scale.Options{
		Address: "http://" + c.Address, Keys: keys, Lease: c.Lease, Grace: c.Grace, Transport: transport, Logger: logger,
	})
	if err != nil {
		return err
	}
	r := &replica{config: c, history: history}
	s := r.newServer(node, shared, bus, logger)
	mux := http.NewServeMux()
	mux.Handle("/mcp", node.Handler(s, &streamable.Options{
		Principal:          func(r *http.Request) string { return r.Header.Get(headerUser) },
		Events:             &observedStore{streamable.NewMemoryStore(nil), r},
		SessionIdleTimeout: c.Idle, MaxSessionsPerPrincipal: -1, MaxInFlightPerPrincipal: -1, RetryInterval: 200 * time.Millisecond, Logger: logger,
	}))
	mux.HandleFunc("/stats", func(w http.ResponseWriter, _ *http.Request) {
		transport.CloseIdleConnections()
		stats := s.Stats()
		_ = json.NewEncoder(w).Encode(&replicaStats{
			Sessions: stats.Sessions, Requests: stats.Requests, Streams: stats.Streams, Goroutines: len(ownGoroutines()),
		})
	})
	mux.HandleFunc("/goroutines", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, strings.Join(ownGoroutines(), "\n\n"))
	})
	httpServer := streamable.NewHTTPServer("", mux)
	go httpServer.Serve(listener) // ends with Shutdown
	fmt.Println(listener.Addr())

	<-ctx.Done()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return errors.Join(node.Shutdown(last), s.Shutdown(last), httpServer.Shutdown(last))
}

// replicaStats are numbers that are 0 in a replica without clients.
type replicaStats struct {
	Sessions, Requests, Streams, Goroutines int
}

// ownGoroutines returns the stacks of other goroutines that run code of package scale or of the server, and do
// not run as long as the process.
func ownGoroutines() (list []string) {
	buffer := make([]byte, 8<<20)
	stacks := string(buffer[:runtime.Stack(buffer, true)])
	for i, stack := range strings.Split(stacks, "\n\n") {
		if i > 0 && strings.Contains(stack, "github.com/mcpwright/mcp/runtime/") && !strings.Contains(stack, "scale.(*Node).repeat") {
			list = append(list, stack)
		}
	}
	return list
}

// replica is a server whose tools record what they do.
type replica struct {
	*config
	history *recorder
}

// input has the arguments of the tools.
type input struct {
	Call   string `json:"call"`
	Stream string `json:"stream,omitempty"`
	Nonce  string `json:"nonce,omitempty"`
	First  int    `json:"first,omitempty"`
	Count  int    `json:"count,omitempty"`
	Pause  int    `json:"pause,omitempty"` // milliseconds
	Ask    bool   `json:"ask,omitempty"`
}

// observedStore records the events that are in the engine. A node stores them here afterwards.
type observedStore struct {
	streamable.EventStore
	replica *replica
}

// Append implements [streamable.EventStore].
func (s *observedStore) Append(ctx context.Context, e streamable.Event) error {
	err := s.EventStore.Append(ctx, e)
	var m struct{ Params struct{ Data string } }
	if err == nil && json.Unmarshal(e.Data, &m) == nil {
		if number, stream, ok := parseEvent(m.Params.Data); ok {
			s.replica.history.record(observation{Kind: stored, Stream: stream, Number: number, Replica: s.replica.Name})
		}
	}
	return err
}

const (
	gapURI  = "chaos://gap"  // nothing changes this resource
	noteURI = "chaos://note" // the tool "touch" changes this resource
)

func (r *replica) newServer(node *scale.Node, shared engine.Table, bus mcpserver.Bus, logger *slog.Logger) *mcpserver.Server {
	s := mcpserver.New(mcp.Implementation{Name: "chaos", Version: "1"}, &mcpserver.Options{
		Capabilities: mcp.ServerCapabilities{Logging: map[string]json.RawMessage{}}, Bus: bus, Logger: logger,
		Tasks: &tasks.Options{
			StartAfter: -1, TTL: r.Idle, PollInterval: 200 * time.Millisecond, MaxTasksPerPrincipal: -1, MaxTasks: -1, NewID: node.NewTaskID, Table: shared, Lease: r.Lease,
		},
		Questions: mcpserver.QuestionOptions{SealKeys: keys},
	})
	mcpserver.AddTool(s, &mcp.Tool{Name: "effect"}, r.effect)
	mcpserver.AddTool(s, &mcp.Tool{Name: "announce"}, r.announce)
	mcpserver.AddTool(s, &mcp.Tool{Name: "ask"}, r.ask)
	mcpserver.AddTool(s, &mcp.Tool{Name: "work", Execution: &mcp.ToolExecution{TaskSupport: mcp.TaskSupportOptional}}, r.work)
	mcpserver.AddTool(s, &mcp.Tool{Name: "touch"}, func(ctx context.Context, session *mcp.ServerSession, in input) (string, error) {
		r.started(ctx, session, in.Call)
		r.history.record(observation{Kind: touching, Call: in.Call, Replica: r.Name})
		if err := s.ResourceUpdated(ctx, noteURI); err != nil {
			return "", err
		}
		r.history.record(observation{Kind: touched, Call: in.Call, Replica: r.Name})
		return in.Call, nil
	})
	for _, uri := range []string{gapURI, noteURI} {
		s.AddResource(&mcp.Resource{Name: uri, URI: uri}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{}, nil
		})
	}
	return s
}
