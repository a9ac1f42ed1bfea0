package redis_test

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/internal/bustest"
	"github.com/mcpwright/mcp/internal/enginelink"
	"github.com/mcpwright/mcp/internal/engineoutage"
	"github.com/mcpwright/mcp/internal/sharedtasks"
	"github.com/mcpwright/mcp/runtime/engine/enginetest"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/scale/redis"
)

// programs returns the servers that are installed.
func programs(t *testing.T) (list []string) {
	for _, program := range []string{"redis-server", "valkey-server"} {
		if _, err := exec.LookPath(program); err == nil {
			list = append(list, program)
		}
	}
	if list == nil {
		t.Skip("neither redis-server nor valkey-server is installed: the engine was not tested")
	}
	return list
}

// start starts a server. It ends with the test.
func start(t *testing.T, program string, args ...string) rueidis.Client {
	return connect(t, startServer(t, program, args...))
}

// startServer starts a server on a Unix socket, and returns a function that connects to it.
func startServer(t *testing.T, program string, args ...string) func() (net.Conn, error) {
	path, err := exec.LookPath(program)
	require.NoError(t, err)
	socket := filepath.Join(t.TempDir(), "server.sock")
	args = append([]string{"--port", "0", "--unixsocket", socket, "--dir", t.TempDir(), "--save", ""}, args...)
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, path, args...)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // the error is that the process was killed
	})
	require.Eventually(t, func() bool {
		c, err := net.Dial("unix", socket)
		if err == nil {
			c.Close()
		}
		return err == nil
	}, 10*time.Second, 10*time.Millisecond)
	return func() (net.Conn, error) { return net.Dial("unix", socket) }
}

// connect connects a client with a function.
func connect(t *testing.T, dial func() (net.Conn, error)) rueidis.Client {
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{"server"}, ForceSingleClient: true, DisableCache: true,
		DialCtxFn: func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error) { return dial() },
	})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return client
}

func TestEngine(t *testing.T) {
	for _, program := range programs(t) {
		t.Run(program, func(t *testing.T) {
			client := start(t, program, "--appendonly", "yes", "--appendfsync", "always")
			e, err := redis.New(t.Context(), client, nil)
			require.NoError(t, err)
			enginetest.Run(t, e, e)
		})
	}
}

// connectThrough connects a client through a link that fails.
func connectThrough(t *testing.T, dial func() (net.Conn, error)) (*enginelink.Link, rueidis.Client) {
	link, address := enginelink.New(t, dial)
	return link, connect(t, func() (net.Conn, error) { return net.Dial("tcp", address) })
}

func newEngine(t *testing.T, client rueidis.Client) *redis.Engine {
	e, err := redis.New(t.Context(), client, &redis.Options{Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	return e
}

func TestEngineWhoseResponsesAreLost(t *testing.T) {
	for _, program := range programs(t) {
		t.Run(program, func(t *testing.T) {
			link, client := connectThrough(t, startServer(t, program))
			e := newEngine(t, client)
			enginetest.RunLossy(t, e, e, link.LoseResponse)
		})
	}
}

func TestReplicasWhoseEngineIsMissing(t *testing.T) {
	link, client := connectThrough(t, startServer(t, programs(t)[0]))
	engineoutage.Run(t, newEngine(t, client), "redis: ", link.Cut)
}

func TestReplicasWhoseEngineIsSlow(t *testing.T) {
	link, client := connectThrough(t, startServer(t, programs(t)[0]))
	engineoutage.Run(t, newEngine(t, client), "redis: context deadline exceeded", link.Hold)
}

func TestReplicasWhoseEngineIsFull(t *testing.T) {
	client := start(t, programs(t)[0])
	engineoutage.Run(t, newEngine(t, client), "redis: OOM", func(full bool) {
		limit := "0"
		if full {
			limit = "1"
		}
		require.NoError(t, client.Do(t.Context(), client.B().ConfigSet().ParameterValue().ParameterValue("maxmemory", limit).Build()).Error())
	})
}

func TestMissingServerIsReported(t *testing.T) {
	link, client := connectThrough(t, startServer(t, programs(t)[0]))
	link.Cut(true)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := redis.New(ctx, client, nil)
	require.ErrorContains(t, err, "redis: ")
}

func TestBus(t *testing.T) {
	for _, program := range programs(t) {
		t.Run(program, func(t *testing.T) {
			dial := startServer(t, program)
			link, client := connectThrough(t, dial)
			bustest.Run(t, newEngine(t, connect(t, dial)).NewBus(), newEngine(t, client).NewBus(), link.Cut)
		})
	}
}

func TestBusReportsAGap(t *testing.T) {
	dial := startServer(t, programs(t)[0])
	link, client := connectThrough(t, dial)
	other := connect(t, dial)
	publisher := newEngine(t, other).NewBus()
	events := bustest.Events(t, newEngine(t, client).NewBus())
	require.Equal(t, bustest.Publish(t, publisher, 1), bustest.Next(t, events))
	link.Cut(true)
	bustest.Publish(t, publisher, 2)
	require.NoError(t, other.Do(t.Context(), other.B().Del().Key("mcp:bus").Build()).Error()) // as if the server had lost it
	last := bustest.Publish(t, publisher, 3)
	link.Cut(false)
	require.Equal(t, mcpserver.Event{Lost: true}, bustest.Next(t, events))
	require.Equal(t, last, bustest.Next(t, events))
}

func TestTasks(t *testing.T) {
	for _, program := range programs(t) {
		t.Run(program, func(t *testing.T) {
			e, err := redis.New(t.Context(), start(t, program, "--appendonly", "yes", "--appendfsync", "always"), nil)
			require.NoError(t, err)
			sharedtasks.Run(t, e)
		})
	}
}

func TestServersThatEvictAreRefused(t *testing.T) {
	client := start(t, programs(t)[0], "--maxmemory-policy", "allkeys-lru")
	_, err := redis.New(t.Context(), client, nil)
	require.EqualError(t, err, `redis: the server has the setting "maxmemory-policy allkeys-lru"; set "maxmemory-policy noeviction"`)
}

func TestLogKeepsTheLastThousandEntries(t *testing.T) {
	e, err := redis.New(t.Context(), start(t, programs(t)[0]), &redis.Options{Prefix: "other:"})
	require.NoError(t, err)
	var last uint64
	for i := range 1100 {
		last, err = e.Append(t.Context(), "key", []byte(strconv.Itoa(i)), last, time.Minute)
		require.NoError(t, err)
	}
	list, err := e.Read(t.Context(), "key", 0)
	require.NoError(t, err)
	require.Len(t, list, 1000)
	require.Equal(t, "100", string(list[0].Data))
}
