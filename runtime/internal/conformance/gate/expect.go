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

// expectations are what the gate wants of the suite's reports.
type expectations struct {
	Legs []leg `json:"legs"`
	// Ignored scenarios are run by the suite and not judged.
	Ignored []exception `json:"ignored"`
	// Warnings are those that may stand.
	Warnings []exception `json:"warnings"`
	// Exits are the scenarios whose client may exit with an error.
	Exits []exception `json:"exits"`
}

// A leg is what the suite runs at a time: one side in one revision.
type leg struct {
	Side     string `json:"side"`
	Revision string `json:"revision"`
	// Checks is how many successful checks each scenario has at least.
	Checks map[string]int `json:"checks"`
}

func (l leg) String() string { return l.Side + " " + l.Revision }

// An exception names scenarios by a pattern of path.Match, and why they are
// exceptions. Check narrows it to one check.
type exception struct {
	Scenario string `json:"scenario"`
	Check    string `json:"check"`
	Why      string `json:"why"`
}

func (e exception) covers(scenario, check string) bool {
	ok, _ := path.Match(e.Scenario, scenario) // patterns are judged when they are read
	return ok && (e.Check == "" || e.Check == check)
}

func covered(list []exception, scenario, check string) bool {
	for _, e := range list {
		if e.covers(scenario, check) {
			return true
		}
	}
	return false
}

func readExpectations() (*expectations, error) {
	dec := json.NewDecoder(bytes.NewReader(expectFile))
	dec.DisallowUnknownFields()
	e := new(expectations)
	if err := dec.Decode(e); err != nil {
		return nil, fmt.Errorf("expect.json: %w", err)
	}
	for _, list := range [][]exception{e.Ignored, e.Warnings, e.Exits} {
		for _, x := range list {
			if _, err := path.Match(x.Scenario, ""); err != nil || x.Why == "" {
				return nil, fmt.Errorf("expect.json: the exception %q needs a good pattern and a reason", x.Scenario)
			}
		}
	}
	return e, nil
}
