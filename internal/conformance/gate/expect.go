package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"path"
)

//go:embed expect.json
var expectFile []byte

// expectations are the requirements for the suite's reports.
type expectations struct {
	Runs []testRun `json:"runs"`
	// Ignored scenarios may have any report.
	Ignored []exception `json:"ignored"`
	// Skipped scenarios run, and the suite itself skips all their checks.
	Skipped []exception `json:"skipped"`
	// Warnings are warnings that are allowed.
	Warnings []exception `json:"warnings"`
	// Exits are the scenarios whose client may exit with an error.
	Exits []exception `json:"exits"`
}

// A testRun is one run of the suite: one side in one revision.
type testRun struct {
	Side     string `json:"side"`
	Revision string `json:"revision"`
	// Named means that the suite runs each scenario by its name. It does not run the scenarios of
	// extensions otherwise.
	Named bool `json:"named"`
	// Checks is the minimum number of successful checks of each scenario.
	Checks map[string]int `json:"checks"`
}

func (r testRun) String() string {
	if r.Named {
		return r.Side + " " + r.Revision + " named"
	}
	return r.Side + " " + r.Revision
}

// An exception names scenarios by a pattern of path.Match, with the reason for the
// exception. If Check is not empty, the exception is only for that check.
type exception struct {
	Scenario string `json:"scenario"`
	Check    string `json:"check"`
	Why      string `json:"why"`
}

// covers reports whether the exception is for a check of a scenario.
func (e exception) covers(scenario, check string) bool {
	ok, _ := path.Match(e.Scenario, scenario) // readExpectations has checked the pattern
	return ok && (e.Check == "" || e.Check == check)
}

// covered reports whether one of the exceptions is for a check of a scenario.
func covered(list []exception, scenario, check string) bool {
	for _, e := range list {
		if e.covers(scenario, check) {
			return true
		}
	}
	return false
}

// readExpectations reads expect.json.
func readExpectations() (*expectations, error) {
	dec := json.NewDecoder(bytes.NewReader(expectFile))
	dec.DisallowUnknownFields()
	e := new(expectations)
	if err := dec.Decode(e); err != nil {
		return nil, fmt.Errorf("read expect.json: %w", err)
	}
	for _, list := range [][]exception{e.Ignored, e.Skipped, e.Warnings, e.Exits} {
		for _, x := range list {
			if _, err := path.Match(x.Scenario, ""); err != nil || x.Why == "" {
				return nil, fmt.Errorf("read expect.json: exception %q has no valid pattern or no reason", x.Scenario)
			}
		}
	}
	return e, nil
}
