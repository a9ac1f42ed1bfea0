package check

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

// The elements of a JUnit report.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Skipped *junitSkipped `xml:"skipped"`
		Failure *junitFailure `xml:"failure"`
		Output  string        `xml:"system-out,omitempty"`
	}
	junitSkipped struct {
		Message string `xml:"message,attr"`
	}
	junitFailure struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",chardata"`
	}
)

// WriteJUnit writes the report as JUnit XML: a suite for each revision and a test for each
// case. A case fails if it has a finding with at least a severity. Other findings are
// output of the test.
func (r *Report) WriteJUnit(w io.Writer, least Severity) error {
	all := junitSuites{Name: strings.TrimSpace("mcpwright " + r.Server)}
	titles := map[string]string{}
	for _, c := range r.cases {
		titles[c.ID] = c.Title
	}
	for _, rev := range r.Revisions {
		if !rev.Supported {
			continue
		}
		s := junitSuite{Name: rev.Revision}
		for _, o := range rev.Cases {
			c := junitCase{Class: "mcp." + rev.Revision, Name: o.ID + ": " + titles[o.ID]}
			r.addFindings(&c, rev.Revision, o.ID, least)
			switch {
			case c.Failure != nil:
				s.Failures++
			case o.Skipped != "" && o.Findings == 0:
				c.Skipped = &junitSkipped{o.Skipped}
				s.Skipped++
			}
			s.Cases = append(s.Cases, c)
		}
		s.Tests = len(s.Cases)
		all.Tests, all.Failures = all.Tests+s.Tests, all.Failures+s.Failures
		all.Suites = append(all.Suites, s)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// addFindings adds the findings of a case.
func (r *Report) addFindings(c *junitCase, revision, id string, least Severity) {
	for _, f := range r.Findings {
		if f.Revision != revision || f.ID != id {
			continue
		}
		text := fmt.Sprintf("%s\nat: %s\nmessage: %s\nrule: %s\nadvice: %s\n", f.Problem, f.Pointer, f.Message, f.Rule, f.Advice)
		switch {
		case f.Severity < least:
			c.Output += text
		case c.Failure == nil:
			c.Failure = &junitFailure{Message: f.Problem, Type: f.Severity.String(), Text: text}
		default:
			c.Failure.Text += "\n" + text
		}
	}
}
