package main

import (
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// roleVariable is the environment variable that makes the test program run as a server.
// As a fixture's client, the test program runs recordExit.
const roleVariable = "GATE_TEST_ROLE"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == recordExitVerb {
		os.Exit(recordExit(os.Args[2:]))
	}
	if role := os.Getenv(roleVariable); role != "" {
		if role == "server without interrupt" {
			signal.Ignore(os.Interrupt)
		}
		l, err := net.Listen("tcp", strings.TrimPrefix(os.Args[len(os.Args)-1], "-http="))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		for {
			c, err := l.Accept()
			if err != nil {
				os.Exit(1)
			}
			c.Close()
		}
	}
	os.Exit(m.Run())
}

func TestExpectations(t *testing.T) {
	e, err := readExpectations()
	require.NoError(t, err)
	sizes := map[string]int{}
	for _, r := range e.Runs {
		sizes[r.String()] = len(r.Checks)
		for name, n := range r.Checks {
			require.Equal(t, covered(e.Skipped, name, ""), n == 0, name)
			require.GreaterOrEqual(t, n, 0, name)
			require.False(t, covered(e.Ignored, name, ""), "%s has checks and is ignored", name)
		}
	}
	require.Equal(t, map[string]int{
		"server 2025-11-25": 33, "server 2026-07-28": 50, "client 2025-11-25": 25, "client 2026-07-28": 39,
		"server 2025-11-25 named": 3, "server 2026-07-28 named": 3, "client 2026-07-28 named": 4,
	}, sizes)
}

func TestCompare(t *testing.T) {
	e := &expectations{
		Ignored:  []exception{{Scenario: "auth/*", Why: "not supported"}},
		Skipped:  []exception{{Scenario: "pending", Why: "the suite has no checks"}},
		Warnings: []exception{{Scenario: "tolerated", Check: "known", Why: "harmless"}},
		Exits:    []exception{{Scenario: "rejects", Why: "the server is invalid"}},
	}
	ok := check{Status: "SUCCESS"}
	for name, c := range map[string]struct {
		scenario string
		side     string
		report   *report
		want     string
	}{
		"passed":                      {"s", "client", &report{[]check{ok, ok}, "0"}, ""},
		"server without exit status":  {"s", "server", &report{[]check{ok, ok}, ""}, ""},
		"more checks than required":   {"s", "server", &report{[]check{ok, ok, ok, {Status: "INFO"}, {Status: "SKIPPED"}}, ""}, ""},
		"not run":                     {"s", "client", nil, "did not run"},
		"no checks":                   {"s", "client", &report{nil, "0"}, "0 successful checks, want 2"},
		"failure":                     {"s", "client", &report{[]check{ok, ok, {"x", "FAILURE", "why"}}, "0"}, "FAILURE x: why"},
		"warning":                     {"s", "client", &report{[]check{ok, ok, {"x", "WARNING", "why"}}, "0"}, "WARNING x: why"},
		"allowed warning":             {"tolerated", "client", &report{[]check{ok, ok, {"known", "WARNING", ""}}, "0"}, ""},
		"another warning":             {"tolerated", "client", &report{[]check{ok, ok, {"other", "WARNING", ""}}, "0"}, "WARNING other"},
		"exit with error":             {"s", "client", &report{[]check{ok, ok}, "3"}, "exit status was 3"},
		"no exit":                     {"s", "client", &report{[]check{ok, ok}, ""}, "did not exit"},
		"allowed exit with error":     {"rejects", "client", &report{[]check{ok, ok}, "1"}, ""},
		"no exit instead of an error": {"rejects", "client", &report{[]check{ok, ok}, ""}, "did not exit"},
		"unknown scenario":            {"unknown", "server", &report{[]check{ok}, ""}, "not in expect.json"},
		"skipped":                     {"pending", "client", &report{[]check{{Status: "SKIPPED"}}, "0"}, ""},
		"no longer skipped":           {"pending", "client", &report{[]check{ok}, "0"}, "the suite no longer skips it"},
		"ignored":                     {"auth/x", "client", &report{nil, "9"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			run := testRun{Side: c.side, Checks: map[string]int{}}
			if c.scenario != "unknown" && c.scenario != "auth/x" {
				run.Checks[c.scenario] = 2
			}
			if c.scenario == "pending" {
				run.Checks[c.scenario] = 0
			}
			reports := map[string]report{}
			if c.report != nil {
				reports[c.scenario] = *c.report
			}
			res := e.compare(run, reports)
			var out strings.Builder
			res.print(&out)
			if c.want == "" {
				require.Zero(t, res.countProblems(), out.String())
				return
			}
			require.Equal(t, 1, res.countProblems())
			require.Contains(t, out.String(), c.want)
		})
	}
}

func TestReadReports(t *testing.T) {
	for side, prefix := range map[string]string{"server": "server-", "client": ""} {
		dir := filepath.Join(t.TempDir(), side+"-2026-07-28")
		put(t, filepath.Join(dir, prefix+"auth", "x-2026-01-02T03-04-05-678Z", "checks.json"), `[{"id":"a","status":"SUCCESS","details":{}}]`)
		put(t, filepath.Join(dir, prefix+"server-initialize-2026-01-02T03-04-05-678Z", "checks.json"), `[]`)
		put(t, exitFile(dir, "auth/x"), "7")
		reports, err := readReports(dir)
		require.NoError(t, err)
		require.Equal(t, map[string]report{
			"auth/x":            {[]check{{ID: "a", Status: "SUCCESS"}}, "7"},
			"server-initialize": {[]check{}, ""},
		}, reports)
	}
}

func TestReadInvalidReports(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "client-2026-07-28")
	put(t, filepath.Join(dir, "x-2026-01-02T03-04-05-678Z", "checks.json"), `[{]`)
	_, err := readReports(dir)
	require.ErrorContains(t, err, "report on x")

	put(t, filepath.Join(dir, "x-2026-01-02T03-04-05-678Z", "checks.json"), `[]`)
	put(t, filepath.Join(dir, "x-2026-01-02T03-04-05-999Z", "checks.json"), `[]`)
	_, err = readReports(dir)
	require.ErrorContains(t, err, "report on x: there are two")
}

func TestRecordExit(t *testing.T) {
	t.Setenv("MCP_CONFORMANCE_SCENARIO", "auth/x")
	dir := t.TempDir()
	for command, want := range map[string]int{`test "$1" = url && true`: 0, "exit 3;": 3, "no-such-program": 127} {
		require.Equal(t, want, recordExit([]string{dir, command, "url"}), command)
		data, err := os.ReadFile(exitFile(dir, "auth/x"))
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint(want), string(data))
	}
	require.Equal(t, 2, recordExit(nil))
	require.Equal(t, 1, recordExit([]string{filepath.Join(dir, "absent"), "true", "url"}))
}

// put writes a file, and creates its folder.
func put(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o755))
}
