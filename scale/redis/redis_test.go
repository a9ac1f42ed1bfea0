package redis_test

import (
	"context"
	"crypto/tls"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/internal/sharedtasks"
	"github.com/mcpwright/mcp/runtime/engine/enginetest"
	"github.com/mcpwright/mcp/scale/redis"
)

// programs are the servers that are tested if they are installed.
var programs = []string{"redis-server", "valkey-server"}

// start starts a server on a Unix socket. It ends with the test.
func start(t *testing.T, program string, args ...string) rueidis.Client {
	path, err := exec.LookPath(program)
	if err != nil {
		t.Skipf("%s is not installed: the engine was not tested with it", program)
	}
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
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{"unix"}, ForceSingleClient: true, DisableCache: true,
		DialCtxFn: func(ctx context.Context, _ string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
			return d.DialContext(ctx, "unix", socket)
		},
	})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return client
}

func TestEngine(t *testing.T) {
	for _, program := range programs {
		t.Run(program, func(t *testing.T) {
			client := start(t, program, "--appendonly", "yes", "--appendfsync", "always")
			e, err := redis.New(t.Context(), client, nil)
			require.NoError(t, err)
			enginetest.Run(t, e, e)
		})
	}
}

func TestTasks(t *testing.T) {
	for _, program := range programs {
		t.Run(program, func(t *testing.T) {
			e, err := redis.New(t.Context(), start(t, program, "--appendonly", "yes", "--appendfsync", "always"), nil)
			require.NoError(t, err)
			sharedtasks.Run(t, e)
		})
	}
}

func TestServersThatEvictAreRefused(t *testing.T) {
	client := start(t, "redis-server", "--maxmemory-policy", "allkeys-lru")
	_, err := redis.New(t.Context(), client, nil)
	require.EqualError(t, err, `redis: the server has the setting "maxmemory-policy allkeys-lru"; set "maxmemory-policy noeviction"`)
}

func TestLogKeepsTheLastThousandEntries(t *testing.T) {
	e, err := redis.New(t.Context(), start(t, "redis-server"), &redis.Options{Prefix: "other:"})
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
