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

// fakeNode replaces Node and the suite. It prints its version. Instead of a test run, it
// runs the client and writes FAKE_REPORT for each scenario in FAKE_SCENARIOS.
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
[ -n "$FAKE_SCENARIOS" ] || { echo "no scenarios today"; exit 1; }
`

// fakeNPM replaces npm. It fails with the text of FAKE_NPM, if that is not empty.
const fakeNPM = `#!/bin/sh
[ -z "$FAKE_NPM" ] || { echo "$FAKE_NPM"; exit 1; }
mkdir -p node_modules/@modelcontextprotocol/conformance/dist
touch node_modules/@modelcontextprotocol/conformance/dist/index.js
`

// fakeSuite replaces Node, npm, and the cache folder, and returns options with the
// suite's folder.
func fakeSuite(t *testing.T) options {
	bin := t.TempDir()
	put(t, filepath.Join(bin, "node"), fakeNode)
	put(t, filepath.Join(bin, "npm"), fakeNPM)
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("FAKE_VERSION", "v22.1.0")
	return options{suite: "../../../.ci/conformance"}
}

func TestMissingRequirements(t *testing.T) {
	o := fakeSuite(t)
	require.ErrorContains(t, run(t.Context(), o, nil), "server, replicas or client")
	require.ErrorContains(t, run(t.Context(), o, []string{"gateway"}), "server, replicas or client")
	t.Setenv("FAKE_VERSION", "v18.20.0")
	require.ErrorContains(t, run(t.Context(), o, []string{"client"}), "node v18.20.0 is too old")
	t.Setenv("FAKE_VERSION", "v20.1.0")
	t.Setenv("FAKE_NPM", "no network")
	require.ErrorContains(t, run(t.Context(), o, []string{"client"}), "no network")
	require.ErrorContains(t, run(t.Context(), options{suite: t.TempDir()}, []string{"client"}), "read the folder of -suite")
	t.Setenv("PATH", t.TempDir())
	require.ErrorContains(t, run(t.Context(), o, []string{"client"}), `"node" is missing`)
}

func TestUsage(t *testing.T) {
	for _, c := range []struct {
		args   []string
		status int
		want   string
	}{
		{nil, 1, "server, replicas or client"},
		{[]string{"-h"}, 2, "usage: gate [flags] server|replicas|client"},
		{[]string{recordExitVerb}, 2, ""},
		{[]string{"-suite", "nowhere", "client"}, 1, "read the folder of -suite"},
	} {
		fakeSuite(t)
		var out strings.Builder
		require.Equal(t, c.status, command(c.args, &out))
		require.Contains(t, out.String(), c.want)
	}
}

func TestUnknownRevisionFails(t *testing.T) {
	o := fakeSuite(t)
	o.command, o.revision = "true", "2024-11-05"
	require.ErrorContains(t, run(t.Context(), o, []string{"client"}), `no client with revision "2024-11-05"`)
}

func TestSuiteIsInstalledOnce(t *testing.T) {
	o := fakeSuite(t)
	s, err := prepareSuite(t.Context(), o.suite)
	require.NoError(t, err)
	require.False(t, s.loader)
	t.Setenv("FAKE_NPM", "called again")
	t.Setenv("FAKE_VERSION", "v20.1.0")
	again, err := prepareSuite(t.Context(), o.suite)
	require.NoError(t, err)
	require.Equal(t, s.dir, again.dir)
	require.True(t, again.loader)
}

func TestClientThatExitsImmediatelyFails(t *testing.T) {
	o := fakeSuite(t)
	o.command, o.revision, o.out = "exit 3;", "2025-11-25", t.TempDir()
	t.Setenv("FAKE_SCENARIOS", "initialize")
	t.Setenv("FAKE_REPORT", "[]")
	require.ErrorContains(t, run(t.Context(), o, []string{"client"}), " problems (reports in "+o.out)
	exit, err := os.ReadFile(exitFile(filepath.Join(o.out, "client-2025-11-25"), "initialize"))
	require.NoError(t, err)
	require.Equal(t, "3", string(exit))
}

func TestSuccessDeletesTheReports(t *testing.T) {
	o := fakeSuite(t)
	o.command, o.revision = "true", "2025-11-25"
	e, err := readExpectations()
	require.NoError(t, err)
	for _, r := range e.Runs {
		if r.String() == "client 2025-11-25" {
			t.Setenv("FAKE_SCENARIOS", strings.Join(slices.Collect(maps.Keys(r.Checks)), " "))
		}
	}
	t.Setenv("FAKE_REPORT", "["+strings.Repeat(`{"status":"SUCCESS"},`, 40)+`{"status":"INFO"}]`)
	require.Zero(t, command([]string{"-suite", o.suite, "-command", "true", "-revision", o.revision, "client"}, os.Stderr))
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "conformance-*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestInvalidReportFails(t *testing.T) {
	o := fakeSuite(t)
	o.command, o.revision = "true", "2025-11-25"
	t.Setenv("FAKE_SCENARIOS", "initialize")
	t.Setenv("FAKE_REPORT", "[")
	require.ErrorContains(t, run(t.Context(), o, []string{"client"}), "report on initialize")
	o.out = filepath.Join(o.suite, "package.json")
	require.Error(t, run(t.Context(), o, []string{"client"}))
}

func TestSuiteWithoutReportsFails(t *testing.T) {
	o := fakeSuite(t)
	o.command = "true"
	require.ErrorContains(t, run(t.Context(), o, []string{"client"}), "no scenarios today")
}

func TestServerRunsUntilItIsStopped(t *testing.T) {
	t.Setenv(roleVariable, "server")
	f, err := startFixture(t.Context(), "server", os.Args[0], "", t.TempDir())
	require.NoError(t, err)
	target, err := f.target(t.TempDir())
	require.NoError(t, err)
	require.Equal(t, []string{"--url", "http://" + f.address + "/mcp"}, target)
	require.NoError(t, f.checkRunning())
	f.stop()
	require.ErrorContains(t, f.checkRunning(), "the server has exited")
}

func TestServerThatExitsFails(t *testing.T) {
	_, err := startFixture(t.Context(), "server", "sh -c 'echo no luck >&2; exit 4'", "", t.TempDir())
	require.ErrorContains(t, err, "exit status 4")
	require.ErrorContains(t, err, "no luck")
}

func TestServerThatIgnoresInterruptsIsKilled(t *testing.T) {
	t.Setenv(roleVariable, "server without interrupt")
	f, err := startFixture(t.Context(), "server", os.Args[0], "", t.TempDir())
	require.NoError(t, err)
	f.stopTimeout = time.Millisecond
	f.stop()
	require.Contains(t, f.server.ProcessState.String(), "killed")
	f.stop() // a second call does nothing
}

func TestFixtureThatDoesNotBuildFails(t *testing.T) {
	_, err := startFixture(t.Context(), "nothing", "", "", t.TempDir())
	require.ErrorContains(t, err, "build the nothing")
}

func TestProblemsAreCounted(t *testing.T) {
	o := fakeSuite(t)
	t.Setenv(roleVariable, "server")
	t.Setenv("FAKE_SCENARIOS", "initialize")
	t.Setenv("FAKE_REPORT", `[{"id":"a","status":"FAILURE","errorMessage":"why"}]`)
	o.command, o.revision = os.Args[0], "2026-07-28"
	err := run(t.Context(), o, []string{"server"})
	require.ErrorContains(t, err, fmt.Sprint(50+2+3+2)) // in two runs no scenario ran, and an unknown one failed
}
