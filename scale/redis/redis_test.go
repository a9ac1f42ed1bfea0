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

// start starts a server on a Unix socket. It ends with the test.
func start(t *testing.T, program string, args ...string) rueidis.Client {
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
	for _, program := range programs(t) {
		t.Run(program, func(t *testing.T) {
			client := start(t, program, "--appendonly", "yes", "--appendfsync", "always")
			e, err := redis.New(t.Context(), client, nil)
			require.NoError(t, err)
			enginetest.Run(t, e, e)
		})
	}
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
