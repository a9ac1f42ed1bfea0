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

// The tests' server and witness are this program again, the server told so by
// its environment.
const roleVariable = "GATE_TEST_ROLE"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == witnessVerb {
		os.Exit(witness(os.Args[2:]))
	}
	if role := os.Getenv(roleVariable); role != "" {
		if role == "stubborn server" {
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

func TestExpectationsNameWhatTheSuiteHas(t *testing.T) {
	e, err := readExpectations()
	require.NoError(t, err)
	sizes := map[string]int{}
	for _, l := range e.Legs {
		sizes[l.String()] = len(l.Checks)
		for name, n := range l.Checks {
			require.Positive(t, n, name)
			require.False(t, covered(e.Ignored, name, ""), "%s is judged and ignored", name)
		}
	}
	require.Equal(t, map[string]int{
		"server 2025-11-25": 33, "server 2026-07-28": 49, "client 2025-11-25": 23, "client 2026-07-28": 37,
	}, sizes)
}

func TestAScenarioIsJudged(t *testing.T) {
	e := &expectations{
		Ignored:  []exception{{Scenario: "auth/*", Why: "later"}},
		Warnings: []exception{{Scenario: "tolerated", Check: "known", Why: "harmless"}},
		Exits:    []exception{{Scenario: "refuses", Why: "meant to"}},
	}
	ok := check{Status: "SUCCESS"}
	for name, c := range map[string]struct {
		scenario string
		side     string
		report   *report
		want     string
	}{
		"good":                           {"s", "client", &report{[]check{ok, ok}, "0"}, ""},
		"a server has no exit":           {"s", "server", &report{[]check{ok, ok}, ""}, ""},
		"more than wanted":               {"s", "server", &report{[]check{ok, ok, ok, {Status: "INFO"}, {Status: "SKIPPED"}}, ""}, ""},
		"missing":                        {"s", "client", nil, "did not run"},
		"vacuous":                        {"s", "client", &report{nil, "0"}, "0 successful checks, wanted 2"},
		"failure":                        {"s", "client", &report{[]check{ok, ok, {"x", "FAILURE", "why"}}, "0"}, "FAILURE x: why"},
		"warning":                        {"s", "client", &report{[]check{ok, ok, {"x", "WARNING", "why"}}, "0"}, "WARNING x: why"},
		"warning with a reason":          {"tolerated", "client", &report{[]check{ok, ok, {"known", "WARNING", ""}}, "0"}, ""},
		"another warning":                {"tolerated", "client", &report{[]check{ok, ok, {"other", "WARNING", ""}}, "0"}, "WARNING other"},
		"bad exit":                       {"s", "client", &report{[]check{ok, ok}, "3"}, "exit status was 3"},
		"hung":                           {"s", "client", &report{[]check{ok, ok}, ""}, "never seen"},
		"bad exit that is meant":         {"refuses", "client", &report{[]check{ok, ok}, "1"}, ""},
		"hung where an error was meant":  {"refuses", "client", &report{[]check{ok, ok}, ""}, "never seen"},
		"new scenario nobody thought of": {"unknown", "server", &report{[]check{ok}, ""}, "does not know it"},
		"ignored":                        {"auth/x", "client", &report{nil, "9"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			l := leg{Side: c.side, Checks: map[string]int{}}
			if c.scenario != "unknown" && c.scenario != "auth/x" {
				l.Checks[c.scenario] = 2
			}
			found := map[string]report{}
			if c.report != nil {
				found[c.scenario] = *c.report
			}
			v := e.judge(l, found)
			var out strings.Builder
			v.print(&out)
			if c.want == "" {
				require.Zero(t, v.complaints(), out.String())
				return
			}
			require.Equal(t, 1, v.complaints())
			require.Contains(t, out.String(), c.want)
		})
	}
}

func TestReportsAreCollectedByScenario(t *testing.T) {
	for side, prefix := range map[string]string{"server": "server-", "client": ""} {
		dir := filepath.Join(t.TempDir(), side+"-2026-07-28")
		put(t, filepath.Join(dir, prefix+"auth", "x-2026-01-02T03-04-05-678Z", "checks.json"), `[{"id":"a","status":"SUCCESS","details":{}}]`)
		put(t, filepath.Join(dir, prefix+"server-initialize-2026-01-02T03-04-05-678Z", "checks.json"), `[]`)
		put(t, exitFile(dir, "auth/x"), "7")
		found, err := collect(dir)
		require.NoError(t, err)
		require.Equal(t, map[string]report{
			"auth/x":            {[]check{{ID: "a", Status: "SUCCESS"}}, "7"},
			"server-initialize": {[]check{}, ""},
		}, found)
	}
}

func TestReportsThatCannotBeReadAreErrors(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "client-2026-07-28")
	put(t, filepath.Join(dir, "x-2026-01-02T03-04-05-678Z", "checks.json"), `[{]`)
	_, err := collect(dir)
	require.ErrorContains(t, err, "report on x")

	put(t, filepath.Join(dir, "x-2026-01-02T03-04-05-678Z", "checks.json"), `[]`)
	put(t, filepath.Join(dir, "x-2026-01-02T03-04-05-999Z", "checks.json"), `[]`)
	_, err = collect(dir)
	require.ErrorContains(t, err, "twice on x")
}

func TestAWitnessWritesDownHowAClientEnded(t *testing.T) {
	t.Setenv("MCP_CONFORMANCE_SCENARIO", "auth/x")
	dir := t.TempDir()
	for command, want := range map[string]int{`test "$1" = url && true`: 0, "exit 3;": 3, "no-such-program": 127} {
		require.Equal(t, want, witness([]string{dir, command, "url"}), command)
		data, err := os.ReadFile(exitFile(dir, "auth/x"))
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint(want), string(data))
	}
	require.Equal(t, 2, witness(nil))
	require.Equal(t, 1, witness([]string{filepath.Join(dir, "absent"), "true", "url"}))
}

func put(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o755))
}
