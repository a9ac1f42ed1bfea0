package chaos

import (
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	length = flag.Duration("length", 40*time.Second, "the length of a run, without its end")
	seed   = flag.Uint64("seed", 1, "the seed of the setup and of the faults")
	only   = flag.String("fault", "", "the name of the only fault; empty means all")
	keep   = flag.String("keep", "", "a folder for the files of runs; empty removes them")
)

// TestMain runs another program if the test was started as one.
func TestMain(m *testing.M) {
	text, isProgram := os.LookupEnv(envConfig)
	if !isProgram {
		os.Exit(m.Run())
	}
	if err := runProgram(text); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// replicaFaults are faults of replicas and of their links.
var replicaFaults = []fault{killReplica, pauseReplica, shutDownReplica, cutPeers, cutClients, breakConnections, slowNetwork, fillEngine}

// engineFaults are faults of an engine that runs apart from the replicas, and of the links to it.
var engineFaults = []fault{cutEngine, loseResponses, stopEngine, killEngine}

// placements are the ways in which engines run.
var placements = map[string][]setup{
	"nats": {
		{name: "one server", engine: startNATSNodes(1)},
		{name: "three servers", engine: startNATSNodes(3), replicated: true},
		{name: "servers in three replicas", engine: embedNATS, replicated: true, embedded: true},
	},
	"redis": {{name: "one server", engine: startRedis}},
}

// newSetup returns the setup of an engine for a seed. Nine seeds cover all placements, three to five replicas, and one to
// three faults at a time, also in each placement.
func newSetup(engine string, seed uint64) *setup {
	n := seed - 1
	s := placements[engine][n%uint64(len(placements[engine]))]
	s.clients, s.replicas, s.together = 60, 3+int((n+n/3)%3), 1+int((n+1+n/3)%3)
	s.faults = append(s.faults, replicaFaults...)
	if !s.embedded {
		s.faults = append(s.faults, engineFaults...)
	}
	s.lease = 3 * time.Second
	if s.replicated {
		s.lease = 10 * time.Second // twice the time of an election
	}
	return &s
}

func TestChaos(t *testing.T) {
	if testing.Short() {
		t.Skip("a run takes at least a minute")
	}
	for _, engine := range []string{"nats", "redis"} {
		t.Run(engine, func(t *testing.T) { testSetup(t, engine, newSetup(engine, *seed)) })
	}
}

func testSetup(t *testing.T, engine string, s *setup) {
	t.Logf("seed %d: %d replicas, %s, faults at a time: %d", *seed, s.replicas, s.name, s.together)
	if engine == "redis" && redisProgram() == "" {
		t.Skip("neither redis-server nor valkey-server is installed: replicas were not tested with them")
	}
	dir := t.TempDir()
	if *keep != "" {
		dir = filepath.Join(*keep, fmt.Sprintf("%s-%d", engine, *seed))
		require.NoError(t, os.RemoveAll(dir))
		require.NoError(t, os.MkdirAll(dir, 0o700))
	}
	output, err := os.Create(filepath.Join(dir, "output"))
	require.NoError(t, err)
	defer output.Close()
	if *only != "" {
		s.faults = slices.DeleteFunc(slices.Clone(s.faults), func(f fault) bool { return f.name != *only })
		require.NotEmpty(t, s.faults)
	}
	r := &run{setup: s, dir: dir, seed: *seed, output: output}
	defer r.end()
	require.NoError(t, r.start())
	history, err := r.do(*length, slog.New(slog.NewTextHandler(output, &slog.HandlerOptions{Level: level()})))
	require.NoError(t, err)
	figures(t, r, history)
	for i, v := range check(history) {
		if i < 50 {
			t.Error(v)
		}
	}
}

// level returns the level of the messages of clients.
func level() slog.Level {
	if *keep != "" {
		return slog.LevelDebug
	}
	return slog.LevelWarn
}

// figures logs the numbers of a run.
func figures(t *testing.T, r *run, history []observation) {
	kinds, results := make(map[kind]int), make(map[string]int)
	for _, o := range history {
		kinds[o.Kind]++
		if o.Kind == ended {
			results[o.Result]++
		}
	}
	t.Logf("faults: %v", r.counts)
	t.Logf("calls: %v", results)
	t.Logf("observations: %v; connections without an end: %d", kinds, r.orphans.Load())
	require.Greater(t, results[resultOK], kinds[ended]/2)
}
