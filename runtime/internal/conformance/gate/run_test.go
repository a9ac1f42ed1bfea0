package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fakeNode stands in for Node and the suite: it says its version, and in place
// of a leg it runs the client for each scenario that the test has named, and
// writes the report that the test has prepared.
const fakeNode = `#!/bin/sh
if [ "$1" = --version ]; then echo "$FAKE_VERSION"; exit; fi
while [ $# -gt 0 ]; do
	case "$1" in
	-o) out=$2; shift ;;
	--command) command=$2; shift ;;
	esac
	shift
done
for scenario in $FAKE_SCENARIOS; do
	[ -n "$command" ] && MCP_CONFORMANCE_SCENARIO=$scenario sh -c "$command http://localhost/"
	mkdir -p "$out/$scenario-2026-01-02T03-04-05-678Z"
	echo "$FAKE_REPORT" >"$out/$scenario-2026-01-02T03-04-05-678Z/checks.json"
done
[ -n "$FAKE_SCENARIOS" ] || { echo "no legs today"; exit 1; }
`

const fakeNPM = `#!/bin/sh
[ -z "$FAKE_NPM" ] || { echo "$FAKE_NPM"; exit 1; }
mkdir -p node_modules/@modelcontextprotocol/conformance/dist
touch node_modules/@modelcontextprotocol/conformance/dist/index.js
`

// fake puts a Node, an npm and an empty cache in place, and returns the
// options of a gate that finds the suite's folder.
func fake(t *testing.T) options {
	bin := t.TempDir()
	put(t, filepath.Join(bin, "node"), fakeNode)
	put(t, filepath.Join(bin, "npm"), fakeNPM)
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("FAKE_VERSION", "v22.1.0")
	return options{suite: "../../../../.ci/conformance"}
}

func TestWhatIsMissingIsSaid(t *testing.T) {
	o := fake(t)
	require.ErrorContains(t, run(t.Context(), o, nil), "server, client or both")
	require.ErrorContains(t, run(t.Context(), o, []string{"gateway"}), "server, client or both")
	t.Setenv("FAKE_VERSION", "v18.20.0")
	require.ErrorContains(t, run(t.Context(), o, []string{"client"}), "node v18.20.0 is too old")
	t.Setenv("FAKE_VERSION", "v20.1.0")
	t.Setenv("FAKE_NPM", "no network")
	require.ErrorContains(t, run(t.Context(), o, []string{"client"}), "no network")
	require.ErrorContains(t, run(t.Context(), options{suite: t.TempDir()}, []string{"client"}), "-suite must name the folder")
	t.Setenv("PATH", t.TempDir())
	require.ErrorContains(t, run(t.Context(), o, []string{"client"}), `"node" is missing`)
}

func TestTheCommandSaysHowItIsUsed(t *testing.T) {
	for _, c := range []struct {
		args   []string
		status int
		want   string
	}{
		{nil, 1, "server, client or both"},
		{[]string{"-h"}, 2, "usage: gate [flags] server|client"},
		{[]string{witnessVerb}, 2, ""},
		{[]string{"-suite", "nowhere", "client"}, 1, "-suite must name the folder"},
	} {
		fake(t)
		var out strings.Builder
		require.Equal(t, c.status, command(c.args, &out))
		require.Contains(t, out.String(), c.want)
	}
}

func TestNothingTestedIsNotAPass(t *testing.T) {
	o := fake(t)
	o.command, o.revision = "true", "2024-11-05"
	require.ErrorContains(t, run(t.Context(), o, []string{"client"}), `nothing for a client of revision "2024-11-05"`)
}

func TestTheSuiteIsInstalledOnce(t *testing.T) {
	o := fake(t)
	s, err := prepare(t.Context(), o.suite)
	require.NoError(t, err)
	require.False(t, s.shim)
	t.Setenv("FAKE_NPM", "not asked again")
	t.Setenv("FAKE_VERSION", "v20.1.0")
	again, err := prepare(t.Context(), o.suite)
	require.NoError(t, err)
	require.Equal(t, s.dir, again.dir)
	require.True(t, again.shim)
}

func TestAClientThatExitsAtOnceIsNotPassed(t *testing.T) {
	o := fake(t)
	o.command, o.revision, o.out = "exit 3;", "2025-11-25", t.TempDir()
	t.Setenv("FAKE_SCENARIOS", "initialize")
	t.Setenv("FAKE_REPORT", "[]")
	require.ErrorContains(t, run(t.Context(), o, []string{"client"}), "is missing (reports in "+o.out)
	exit, err := os.ReadFile(exitFile(filepath.Join(o.out, "client-2025-11-25"), "initialize"))
	require.NoError(t, err)
	require.Equal(t, "3", string(exit))
}

func TestAllWellLeavesNothingBehind(t *testing.T) {
	o := fake(t)
	o.command, o.revision = "true", "2025-11-25"
	e, err := readExpectations()
	require.NoError(t, err)
	for _, l := range e.Legs {
		if l.String() == "client 2025-11-25" {
			t.Setenv("FAKE_SCENARIOS", strings.Join(slices.Collect(maps.Keys(l.Checks)), " "))
		}
	}
	t.Setenv("FAKE_REPORT", "["+strings.Repeat(`{"status":"SUCCESS"},`, 40)+`{"status":"INFO"}]`)
	require.Zero(t, command([]string{"-suite", o.suite, "-command", "true", "-revision", o.revision, "client"}, os.Stderr))
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "conformance-*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestAReportThatCannotBeReadIsAnError(t *testing.T) {
	o := fake(t)
	o.command, o.revision = "true", "2025-11-25"
	t.Setenv("FAKE_SCENARIOS", "initialize")
	t.Setenv("FAKE_REPORT", "[")
	require.ErrorContains(t, run(t.Context(), o, []string{"client"}), "report on initialize")
	o.out = filepath.Join(o.suite, "package.json")
	require.Error(t, run(t.Context(), o, []string{"client"}))
}

func TestASuiteWithoutReportsIsAnError(t *testing.T) {
	o := fake(t)
	o.command = "true"
	require.ErrorContains(t, run(t.Context(), o, []string{"client"}), "no legs today")
}

func TestAServerRunsDuringItsLegs(t *testing.T) {
	t.Setenv(roleVariable, "server")
	f, err := startFixture(t.Context(), "server", os.Args[0], t.TempDir())
	require.NoError(t, err)
	target, err := f.target(t.TempDir())
	require.NoError(t, err)
	require.Equal(t, []string{"--url", "http://" + f.address + "/mcp"}, target)
	require.NoError(t, f.alive())
	f.stop()
	require.ErrorContains(t, f.alive(), "ended by itself")
}

func TestAServerThatEndsIsAnError(t *testing.T) {
	_, err := startFixture(t.Context(), "server", "sh -c 'echo no luck >&2; exit 4'", t.TempDir())
	require.ErrorContains(t, err, "exit status 4")
	require.ErrorContains(t, err, "no luck")
}

func TestAServerThatDoesNotHeedAnInterruptIsKilled(t *testing.T) {
	t.Setenv(roleVariable, "stubborn server")
	f, err := startFixture(t.Context(), "server", os.Args[0], t.TempDir())
	require.NoError(t, err)
	f.patience = time.Millisecond
	f.stop()
	require.Contains(t, f.server.ProcessState.String(), "killed")
	f.stop() // again does no harm
}

func TestAFixtureThatDoesNotBuildIsAnError(t *testing.T) {
	_, err := startFixture(t.Context(), "nothing", "", t.TempDir())
	require.ErrorContains(t, err, "building the nothing")
}

func TestALegIsReported(t *testing.T) {
	o := fake(t)
	t.Setenv(roleVariable, "server")
	t.Setenv("FAKE_SCENARIOS", "initialize")
	t.Setenv("FAKE_REPORT", `[{"id":"a","status":"FAILURE","errorMessage":"why"}]`)
	o.command, o.revision = os.Args[0], "2026-07-28"
	err := run(t.Context(), o, []string{"server"})
	require.ErrorContains(t, err, fmt.Sprint(49+2)) // none of the 49 ran; another one is unknown and failed
}
