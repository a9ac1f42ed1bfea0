package check

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/streamable"
)

func run(t *testing.T, s *Server, opts Options) *Report {
	t.Helper()
	report, err := Run(t.Context(), s, opts)
	require.NoError(t, err)
	return report
}

func reportText(t *testing.T, r *Report) string {
	var b strings.Builder
	require.NoError(t, r.WriteText(&b))
	return b.String()
}

// TestGoodServers finds no fault in a good server, over both transports.
func TestGoodServers(t *testing.T) {
	for name, server := range map[string]*Server{"in process": {Start: new(flaw).start()}, "process": process(t), "http": endpoint(t, nil)} {
		t.Run(name, func(t *testing.T) {
			report := run(t, server, Options{Call: true})
			require.Empty(t, report.Findings, reportText(t, report))
			for _, r := range report.Revisions {
				require.True(t, r.Supported, r.Revision)
				require.Greater(t, len(r.Cases), 20)
			}
			require.Equal(t, "subject", report.Server)
		})
	}
}

// TestServerWithoutAnything finds no fault in a server that offers nothing.
func TestServerWithoutAnything(t *testing.T) {
	s := httptest.NewServer(streamable.NewHandler(mcpserver.New(mcp.Implementation{Name: "empty", Version: "1"}, nil), nil))
	defer s.Close()
	report := run(t, &Server{URL: s.URL}, Options{})
	require.Empty(t, report.Findings, reportText(t, report))
}

func TestUnreachable(t *testing.T) {
	_, err := Run(t.Context(), &Server{URL: "http://127.0.0.1:1/"}, Options{Timeout: time.Second})
	require.ErrorIs(t, err, ErrUnreachable)
	_, err = Run(t.Context(), &Server{Start: Command(nil, "", nil, "/no/such/program")}, Options{})
	require.ErrorIs(t, err, ErrUnreachable)
}

func TestSelection(t *testing.T) {
	server := &Server{Start: new(flaw).start()}
	_, err := Run(t.Context(), server, Options{Only: []string{"no-such-case"}})
	require.ErrorIs(t, err, ErrUnknownCase)
	left, err := selectCases(Cases(), []string{"hostile-*"}, []string{"hostile-text"})
	require.NoError(t, err)
	require.Len(t, left, len(hostileInputs())-1)
}

// TestCasesAreComplete checks the table: ids are unique, and each case has a title, advice
// and rules.
func TestCasesAreComplete(t *testing.T) {
	cases := Cases()
	require.Len(t, caseIndex(cases), len(cases))
	for _, c := range cases {
		require.NotEmpty(t, c.Title, c.ID)
		require.NotEmpty(t, c.Advice, c.ID)
		require.NotEmpty(t, c.Revisions(), c.ID)
	}
}

// broken returns a report with findings of each kind of text.
func broken(t *testing.T) *Report {
	f := &flaw{alter: func(method string, line []byte) []string {
		if method == "tools/list" {
			return []string{strings.Replace(string(line), `"name":"echo"`, `"name":7`, 1)}
		}
		return []string{string(line)}
	}}
	report := run(t, &Server{Start: f.start()}, Options{Only: []string{"message-schema", "tool-name", "ping"}})
	require.NotEmpty(t, report.Findings)
	return report
}

// TestReports reads each format again.
func TestReports(t *testing.T) {
	report := broken(t)
	var junit bytes.Buffer
	require.NoError(t, report.WriteJUnit(&junit, Error))
	var suites junitSuites
	require.NoError(t, xml.Unmarshal(junit.Bytes(), &suites))
	require.Len(t, suites.Suites, 5)
	require.Equal(t, 5, suites.Failures)
	d := xml.NewDecoder(bytes.NewReader(junit.Bytes()))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else {
			require.NoError(t, err)
		}
	}
	var plain bytes.Buffer
	require.NoError(t, report.WriteJSON(&plain))
	var again Report
	require.NoError(t, json.Unmarshal(bytes.ReplaceAll(plain.Bytes(), []byte(`"severity": "`), []byte(`"ignored": "`)), &again))
	require.Len(t, again.Findings, len(report.Findings))
	require.Contains(t, reportText(t, report), "/result/tools/0/name")
}

// TestSARIF checks what code scanning requires of a SARIF document.
func TestSARIF(t *testing.T) {
	report := broken(t)
	var b bytes.Buffer
	require.NoError(t, report.WriteSARIF(&b, "README.md"))
	var doc struct {
		Version string `json:"version"`
		Runs    []struct {
			Tool struct {
				Driver struct {
					Name  string `json:"name"`
					Rules []struct {
						ID, HelpURI string
					} `json:"rules"`
				} `json:"driver"`
			} `json:"tool"`
			Results []struct {
				RuleID    string `json:"ruleId"`
				RuleIndex int    `json:"ruleIndex"`
				Level     string
				Message   struct{ Text string }
				Locations []struct {
					PhysicalLocation struct {
						ArtifactLocation struct{ URI string }
						Region           struct{ StartLine int }
					}
				}
				PartialFingerprints map[string]string
			} `json:"results"`
		} `json:"runs"`
	}
	d := json.NewDecoder(&b)
	require.NoError(t, d.Decode(&doc))
	require.Equal(t, "2.1.0", doc.Version)
	require.Len(t, doc.Runs, 1)
	require.Len(t, doc.Runs[0].Results, len(report.Findings))
	for _, r := range doc.Runs[0].Results {
		require.Equal(t, r.RuleID, doc.Runs[0].Tool.Driver.Rules[r.RuleIndex].ID)
		require.Contains(t, []string{"error", "warning", "note"}, r.Level)
		require.NotEmpty(t, r.Message.Text)
		require.Len(t, r.Locations, 1)
		require.Equal(t, "README.md", r.Locations[0].PhysicalLocation.ArtifactLocation.URI)
		require.Equal(t, 1, r.Locations[0].PhysicalLocation.Region.StartLine)
		require.NotEmpty(t, r.PartialFingerprints)
	}
}

// TestReportIsStable checks that two runs have the same report.
func TestReportIsStable(t *testing.T) {
	require.Equal(t, reportText(t, broken(t)), reportText(t, broken(t)))
}

// TestControlCharacters checks that a server cannot control a terminal by its texts.
func TestControlCharacters(t *testing.T) {
	require.Equal(t, "a\uFFFD[31mb\uFFFD", plain("a\x1b[31mb\u202e"))
}

// TestCancel ends a run at once.
func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Run(ctx, endpoint(t, func(next http.Handler) http.Handler { return next }), Options{})
	require.ErrorIs(t, err, context.Canceled)
}

// TestReportHasNoOrder checks that a report does not depend on the order in which
// connections find faults, and has at most a number of findings of a case.
func TestReportHasNoOrder(t *testing.T) {
	var findings []Finding
	for i := range maxFindings + 5 {
		for _, message := range []string{"a longer message", "b", "a"} {
			findings = append(findings, Finding{ID: "ping", Revision: r2024, Problem: fmt.Sprintf("%02d", i), Message: message})
		}
	}
	texts := func() string {
		r := &Report{cases: Cases()}
		for _, f := range findings {
			r.add(&f)
		}
		r.finish()
		require.Len(t, r.Findings, maxFindings)
		require.Equal(t, 5, r.omitted[r2024+" ping"])
		require.Equal(t, "a", r.Findings[0].Message)
		require.Equal(t, 3, r.Findings[0].Count)
		return reportText(t, r)
	}
	want := texts()
	slices.Reverse(findings)
	require.Equal(t, want, texts())
}

// TestCasesRunAtOnce starts a server whose second process starts with its third one: cases
// with connections of their own do not wait for each other.
func TestCasesRunAtOnce(t *testing.T) {
	var started atomic.Int32
	both := make(chan struct{})
	start := new(flaw).start()
	server := &Server{Start: func(ctx context.Context) (*Process, error) {
		switch started.Add(1) {
		case 2:
			select {
			case <-both:
			case <-time.After(time.Minute):
				return nil, errors.New("no other process was started")
			}
		case 3:
			close(both)
		}
		return start(ctx)
	}}
	report := run(t, server, Options{Only: []string{"notification-response", "duplicate-id", "cancel-race"}, Revisions: []mcp.Revision{mcp.Revision20251125}})
	require.Empty(t, report.Findings, reportText(t, report))
	require.EqualValues(t, 4, started.Load())
	for _, o := range report.Revisions[0].Cases {
		require.Empty(t, o.Skipped, o.ID)
	}
}

// TestSlowStart waits longer than the timeout for the first message of a process.
func TestSlowStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &flaw{take: func(line []byte) (bool, []string) {
			if strings.Contains(string(line), `"initialize"`) {
				time.Sleep(2500 * time.Millisecond)
			}
			return true, nil
		}}
		opts := Options{Only: []string{"ping", "initialize-version"}, Timeout: time.Second, Revisions: []mcp.Revision{mcp.Revision20251125}}
		report := run(t, &Server{Start: slow.start()}, opts)
		require.Empty(t, report.Findings, reportText(t, report))
	})
}
