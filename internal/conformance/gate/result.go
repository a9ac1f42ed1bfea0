package main

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A report is the suite's report about one scenario.
type report struct {
	checks []check
	// exit is the exit status of the client. It is empty for a server, and for a client
	// that did not exit by itself.
	exit string
}

// A check is one line of a report.
type check struct {
	ID      string `json:"id"`
	Status  string `json:"status"`
	Message string `json:"errorMessage"`
}

// count returns the number of checks with a status.
func (r report) count(status string) int {
	n := 0
	for _, c := range r.checks {
		if c.Status == status {
			n++
		}
	}
	return n
}

// timestamp is the end of the name of a report's folder.
var timestamp = regexp.MustCompile(`-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d+Z$`)

// readReports reads the reports of a test run, by scenario.
func readReports(dir string) (map[string]report, error) {
	reports := map[string]report{}
	return reports, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "checks.json" {
			return err
		}
		rel, err := filepath.Rel(dir, filepath.Dir(path))
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(timestamp.ReplaceAllString(filepath.ToSlash(rel), ""), reportPrefix(dir))
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var r report
		if err := json.Unmarshal(data, &r.checks); err != nil {
			return fmt.Errorf("read report on %s: %w", name, err)
		}
		if exit, err := os.ReadFile(exitFile(dir, name)); err == nil {
			r.exit = string(exit)
		}
		if _, twice := reports[name]; twice {
			return fmt.Errorf("read report on %s: there are two", name)
		}
		reports[name] = r
		return nil
	})
}

// reportPrefix returns the prefix of the names of a server's reports, or "".
func reportPrefix(dir string) string {
	if strings.HasPrefix(filepath.Base(dir), "server-") {
		return "server-"
	}
	return ""
}

// A result compares the reports of a test run with the expectations.
type result struct {
	run       testRun
	scenarios []scenarioResult
	ignored   int
}

// A scenarioResult has the problems of one scenario.
type scenarioResult struct {
	name     string
	report   report
	problems []string
}

// compare compares the reports of a test run with the expectations.
func (e *expectations) compare(run testRun, reports map[string]report) result {
	res := result{run: run}
	names := slices.Collect(maps.Keys(run.Checks))
	for name := range reports {
		if _, known := run.Checks[name]; !known {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if covered(e.Ignored, name, "") {
			res.ignored++
			continue
		}
		r, ran := reports[name]
		res.scenarios = append(res.scenarios, scenarioResult{name, r, e.problems(run, name, r, ran)})
	}
	return res
}

// problems returns the problems of one scenario.
func (e *expectations) problems(run testRun, name string, r report, ran bool) []string {
	if !ran {
		return []string{"the suite did not run it"}
	}
	var list []string
	least, known := run.Checks[name]
	if !known {
		list = append(list, "it is not in expect.json")
	}
	skipped := covered(e.Skipped, name, "")
	for _, c := range r.checks {
		if skipped && c.Status != "SKIPPED" {
			list = append(list, fmt.Sprintf("%s %s: the suite no longer skips it", c.Status, c.ID))
			continue
		}
		if c.Status == "FAILURE" || c.Status == "WARNING" && !covered(e.Warnings, name, c.ID) {
			list = append(list, fmt.Sprintf("%s %s: %s", c.Status, c.ID, c.Message))
		}
	}
	if n := r.count("SUCCESS"); n < least {
		list = append(list, fmt.Sprintf("%d successful checks, want %d", n, least))
	}
	if run.Side == "client" && r.exit != "0" && !(r.exit != "" && covered(e.Exits, name, "")) {
		list = append(list, exitText(r.exit))
	}
	return list
}

func exitText(exit string) string {
	if exit == "" {
		return "the client did not exit, or was not started"
	}
	return "the client's exit status was " + exit
}

// countProblems returns the number of problems of all scenarios.
func (r result) countProblems() int {
	n := 0
	for _, s := range r.scenarios {
		n += len(s.problems)
	}
	return n
}

// print writes one line for the test run, and the problems of each scenario.
func (r result) print(w io.Writer) {
	passed, checks := 0, 0
	for _, s := range r.scenarios {
		checks += s.report.count("SUCCESS")
		if len(s.problems) == 0 {
			passed++
		}
	}
	fmt.Fprintf(w, "%-18s %3d of %3d scenarios, %4d checks, %d ignored\n", r.run, passed, len(r.scenarios), checks, r.ignored)
	for _, s := range r.scenarios {
		if len(s.problems) > 0 {
			fmt.Fprintf(w, "  %s\n    %s\n", s.name, strings.Join(s.problems, "\n    "))
		}
	}
}
