package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// A check is one line of the suite's report about a scenario.
type check struct {
	ID      string `json:"id"`
	Status  string `json:"status"`
	Message string `json:"errorMessage"`
}

// A report is what the suite says about one scenario.
type report struct {
	checks []check
	// exit is the status with which the client ended, empty where none was
	// seen: for a server, and for a client that had to be killed.
	exit string
}

func (r report) count(status string) int {
	n := 0
	for _, c := range r.checks {
		if c.Status == status {
			n++
		}
	}
	return n
}

var stamp = regexp.MustCompile(`-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d+Z$`)

// collect reads the reports of a leg, by scenario.
func collect(dir string) (map[string]report, error) {
	found := map[string]report{}
	return found, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "checks.json" {
			return err
		}
		rel, err := filepath.Rel(dir, filepath.Dir(path))
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(stamp.ReplaceAllString(filepath.ToSlash(rel), ""), legPrefix(dir))
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var r report
		if err := json.Unmarshal(data, &r.checks); err != nil {
			return fmt.Errorf("the suite's report on %s: %w", name, err)
		}
		if exit, err := os.ReadFile(exitFile(dir, name)); err == nil {
			r.exit = string(exit)
		}
		if _, twice := found[name]; twice {
			return fmt.Errorf("the suite reported twice on %s", name)
		}
		found[name] = r
		return nil
	})
}

// legPrefix is what the suite puts before the names of a server's scenarios.
func legPrefix(dir string) string {
	if strings.HasPrefix(filepath.Base(dir), "server-") {
		return "server-"
	}
	return ""
}
