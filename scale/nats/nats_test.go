package nats_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/internal/bustest"
	"github.com/mcpwright/mcp/internal/enginelink"
	"github.com/mcpwright/mcp/internal/engineoutage"
	"github.com/mcpwright/mcp/internal/sharedtasks"
	"github.com/mcpwright/mcp/runtime/engine/enginetest"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	natsengine "github.com/mcpwright/mcp/scale/nats"
)

// config is the configuration of a server with a system account.
const config = `
listen: "127.0.0.1:%d"
server_name: %s
accounts { SYS { users: [{user: sys, password: sys}] }, APP { jetstream: enabled, users: [{user: app, password: app}] } }
system_account: SYS
jetstream { store_dir: %q, sync_interval: %s }
`

// start starts a server that ends with the test.
func start(t *testing.T, name, sync, more string, port int) *server.Server {
	file := filepath.Join(t.TempDir(), "nats.conf")
	require.NoError(t, os.WriteFile(file, []byte(fmt.Sprintf(config, port, name, t.TempDir(), sync)+more), 0o600))
	o, err := server.ProcessConfigFile(file)
	require.NoError(t, err)
	o.NoSigs = true
	s, err := server.NewServer(o)
	require.NoError(t, err)
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	require.True(t, s.ReadyForConnections(10*time.Second))
	return s
}

// connect connects a user whose name is its password.
func connect(t *testing.T, s *server.Server, user string) *nats.Conn {
	c, err := nats.Connect(s.ClientURL(), nats.UserInfo(user, user))
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func TestEngine(t *testing.T) {
	s := start(t, "one", "always", "", -1)
	e, err := natsengine.New(t.Context(), connect(t, s, "app"), &natsengine.Options{System: connect(t, s, "sys")})
	require.NoError(t, err)
	enginetest.Run(t, e, e)
}

// connectThrough connects a user through a link that fails.
func connectThrough(t *testing.T, s *server.Server, user string) (*enginelink.Link, *nats.Conn) {
	link, address := enginelink.New(t, func() (net.Conn, error) { return net.Dial("tcp", s.Addr().String()) })
	c, err := nats.Connect("nats://"+address, nats.UserInfo(user, user), nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond), nats.IgnoreDiscoveredServers())
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return link, c
}

func newEngine(t *testing.T, c *nats.Conn) *natsengine.Engine {
	e, err := natsengine.New(t.Context(), c, &natsengine.Options{Unsynced: true, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	return e
}

func newBus(t *testing.T, c *nats.Conn) *natsengine.Bus {
	bus, err := newEngine(t, c).NewBus(t.Context())
	require.NoError(t, err)
	return bus
}

func TestEngineWhoseResponsesAreLost(t *testing.T) {
	link, c := connectThrough(t, start(t, "one", "always", "", -1), "app")
	e := newEngine(t, c)
	enginetest.RunLossy(t, e, e, link.LoseResponse)
}

func TestReplicasWhoseEngineIsMissing(t *testing.T) {
	link, c := connectThrough(t, start(t, "one", "always", "", -1), "app")
	engineoutage.Run(t, newEngine(t, c), "", link.Cut)
}

func TestReplicasWhoseEngineIsSlow(t *testing.T) {
	link, c := connectThrough(t, start(t, "one", "always", "", -1), "app")
	engineoutage.Run(t, newEngine(t, c), "context deadline exceeded", link.Hold)
}

func TestReplicasWhoseEngineIsFull(t *testing.T) {
	s := start(t, "one", "always", "", -1)
	e := newEngine(t, connect(t, s, "app"))
	js, err := jetstream.New(connect(t, s, "app"))
	require.NoError(t, err)
	engineoutage.Run(t, e, "maximum bytes exceeded", func(full bool) {
		for _, name := range []string{"KV_mcp", "mcp-log"} {
			stream, err := js.Stream(t.Context(), name)
			require.NoError(t, err)
			config := stream.CachedInfo().Config
			config.MaxBytes = -1
			if full {
				config.MaxBytes, config.Discard = int64(max(stream.CachedInfo().State.Bytes, 1)), jetstream.DiscardNew
			}
			_, err = js.UpdateStream(t.Context(), config)
			require.NoError(t, err)
		}
	})
}

// TestOneServerThatDoesNotSyncIsRefused starts three servers, of which one has the wrong setting.
func TestOneServerThatDoesNotSyncIsRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("three servers elect a leader for seconds")
	}
	servers := startCluster(t, "always", "always", `"2m"`)
	_, err := natsengine.New(t.Context(), connect(t, servers[0], "app"), &natsengine.Options{System: connect(t, servers[1], "sys"), Copies: 3})
	require.EqualError(t, err, `nats: server "node2" has the setting "sync_interval: 2m0s"; set "sync_interval: always"`)
}

func TestSettingsOfAnOperatorAreKept(t *testing.T) {
	c := connect(t, start(t, "one", "always", "", -1), "app")
	newBus(t, c)
	js, err := jetstream.New(c)
	require.NoError(t, err)
	limit := func(name string, bytes int64, discard jetstream.DiscardPolicy) {
		stream, err := js.Stream(t.Context(), name)
		require.NoError(t, err)
		config := stream.CachedInfo().Config
		config.MaxBytes, config.Discard = bytes, discard
		_, err = js.UpdateStream(t.Context(), config)
		require.NoError(t, err)
	}
	for _, name := range []string{"KV_mcp", "mcp-log"} {
		limit(name, 1<<20, jetstream.DiscardNew)
	}
	limit("mcp-bus", 1<<20, jetstream.DiscardOld)
	newBus(t, c)
	for _, name := range []string{"KV_mcp", "mcp-log", "mcp-bus"} {
		stream, err := js.Stream(t.Context(), name)
		require.NoError(t, err)
		require.EqualValues(t, 1<<20, stream.CachedInfo().Config.MaxBytes, name)
	}
	limit("mcp-log", 1<<20, jetstream.DiscardOld)
	o := natsengine.Options{Unsynced: true}
	_, err = natsengine.New(t.Context(), c, &o)
	require.EqualError(t, err, `nats: stream "mcp-log" would delete messages at its limits; set "discard: new"`)
	limit("mcp-log", -1, jetstream.DiscardOld)
	_, err = natsengine.New(t.Context(), c, &o)
	require.NoError(t, err)
	o.Copies = 3
	_, err = natsengine.New(t.Context(), c, &o)
	require.ErrorContains(t, err, `nats: stream "KV_mcp" has 1 copies, and Options.Copies is 3`)
}

func TestMissingServersAreReported(t *testing.T) {
	link, c := connectThrough(t, start(t, "one", "always", "", -1), "app")
	link.Cut(true)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := natsengine.New(ctx, c, &natsengine.Options{Unsynced: true})
	require.ErrorContains(t, err, `nats: create bucket "mcp": `)
}

func TestBus(t *testing.T) {
	s := start(t, "one", "always", "", -1)
	link, c := connectThrough(t, s, "app")
	bustest.Run(t, newBus(t, connect(t, s, "app")), newBus(t, c), link.Cut)
}

func TestBusReportsAGap(t *testing.T) {
	s := start(t, "one", "always", "", -1)
	link, c := connectThrough(t, s, "app")
	publisher := newBus(t, connect(t, s, "app"))
	events := bustest.Events(t, newBus(t, c))
	require.Equal(t, bustest.Publish(t, publisher, 1), bustest.Next(t, events))
	link.Cut(true)
	bustest.Publish(t, publisher, 2)
	js, err := jetstream.New(connect(t, s, "app"))
	require.NoError(t, err)
	stream, err := js.Stream(t.Context(), "mcp-bus")
	require.NoError(t, err)
	require.NoError(t, stream.Purge(t.Context()))
	last := bustest.Publish(t, publisher, 3)
	link.Cut(false)
	require.Equal(t, mcpserver.Event{Lost: true}, bustest.Next(t, events))
	require.Equal(t, last, bustest.Next(t, events))
}

func TestTasks(t *testing.T) {
	s := start(t, "one", "always", "", -1)
	e, err := natsengine.New(t.Context(), connect(t, s, "app"), &natsengine.Options{System: connect(t, s, "sys")})
	require.NoError(t, err)
	sharedtasks.Run(t, e)
}

// TestReadOfALogThatIsDropped drops logs while they are read. The end of a log must not delay the reader.
func TestReadOfALogThatIsDropped(t *testing.T) {
	s := start(t, "one", "always", "", -1)
	e, err := natsengine.New(t.Context(), connect(t, s, "app"), &natsengine.Options{System: connect(t, s, "sys")})
	require.NoError(t, err)
	for range 100 {
		_, err := e.Append(t.Context(), "key", []byte("data"), 0, time.Minute)
		require.NoError(t, err)
		read := make(chan error, 1)
		go func() { // ends with Read
			_, err := e.Read(t.Context(), "key", 0)
			read <- err
		}()
		require.NoError(t, e.Drop(t.Context(), "key"))
		require.NoError(t, <-read)
	}
}

// freePorts returns ports of the loopback interface that were free.
func freePorts(t *testing.T, n int) (ports []int) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

// startCluster starts servers with settings of sync_interval.
func startCluster(t *testing.T, syncs ...string) (servers []*server.Server) {
	ports := freePorts(t, len(syncs))
	var routes []string
	for _, p := range ports {
		routes = append(routes, fmt.Sprintf("nats://127.0.0.1:%d", p))
	}
	for i, p := range ports {
		cluster := fmt.Sprintf("cluster { name: test, listen: \"127.0.0.1:%d\", routes: [%s] }\n", p, strings.Join(routes, ","))
		servers = append(servers, start(t, fmt.Sprint("node", i), syncs[i], cluster, -1))
	}
	return servers
}

func TestEngineWithThreeCopies(t *testing.T) {
	if testing.Short() {
		t.Skip("three servers elect a leader for seconds")
	}
	servers := startCluster(t, "always", "always", "always")
	conn, sys := connect(t, servers[1], "app"), connect(t, servers[2], "sys")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	e, err := natsengine.New(ctx, conn, &natsengine.Options{System: sys, Copies: 3}) // waits for the leaders
	require.NoError(t, err)
	enginetest.Run(t, e, e)
}

func TestServersThatDoNotSyncAreRefused(t *testing.T) {
	s := start(t, "lazy", `"2m"`, "", -1)
	conn, sys := connect(t, s, "app"), connect(t, s, "sys")
	_, err := natsengine.New(t.Context(), conn, &natsengine.Options{System: sys})
	require.EqualError(t, err, `nats: server "lazy" has the setting "sync_interval: 2m0s"; set "sync_interval: always"`)
	_, err = natsengine.New(t.Context(), conn, &natsengine.Options{System: conn})
	require.ErrorContains(t, err, "no access to the system account")
	_, err = natsengine.New(t.Context(), conn, &natsengine.Options{Unsynced: true})
	require.NoError(t, err)
}

func TestServersWithoutJetStreamAreRefused(t *testing.T) {
	s := start(t, "plain", "always", "", -1)
	_, err := natsengine.New(t.Context(), connect(t, s, "sys"), &natsengine.Options{Unsynced: true})
	require.ErrorContains(t, err, `nats: create bucket "mcp"`)
}
