package check

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Finding is a violation, or a weakness.
type Finding struct {
	ID       string   `json:"id"`
	Severity Severity `json:"severity"`
	Revision string   `json:"revision"`
	// Pointer is the JSON pointer of the value in the message, empty for the whole
	// message.
	Pointer string `json:"pointer"`
	Problem string `json:"problem"`
	// Message is the beginning of the message, empty if there is none.
	Message string `json:"message,omitempty"`
	// Rule is the address of the rule in the specification.
	Rule   string `json:"rule"`
	Advice string `json:"advice"`
	// Count is the number of times that the same problem was found.
	Count int `json:"count"`
}

// RevisionReport describes the check of one revision.
type RevisionReport struct {
	Revision  string `json:"revision"`
	Supported bool   `json:"supported"`
	// Reason is why the revision is not supported.
	Reason string `json:"reason,omitempty"`
	// Cases are the cases that apply, in order.
	Cases []Outcome `json:"cases,omitempty"`
}

// Outcome is the outcome of a case in one revision.
type Outcome struct {
	ID string `json:"id"`
	// Skipped is why the case could not be checked, or empty.
	Skipped string `json:"skipped,omitempty"`
	// Findings is the number of findings.
	Findings int `json:"findings"`
}

// Report is the outcome of [Run].
type Report struct {
	Server    string           `json:"server"`
	Version   string           `json:"version"`
	Transport Transport        `json:"transport"`
	Revisions []RevisionReport `json:"revisions"`
	Findings  []*Finding       `json:"findings"`

	cases   []*Case
	omitted map[string]int
}

// Limits of the findings of one case in one revision: in the report, and in memory.
const (
	maxFindings = 20
	maxStored   = 1000
)

// server stores the name of the server from its first response.
func (r *Report) server(hello *message, handshake bool) {
	info := at(hello.result, "serverInfo")
	if !handshake && info == nil {
		info = at(hello.result, "_meta", "io.modelcontextprotocol/serverInfo")
	}
	r.Server, r.Version = cmp.Or(r.Server, text(at(info, "name"))), cmp.Or(r.Version, text(at(info, "version")))
}

// add adds a finding, or counts it if it is there. Connections find faults in any order,
// so the shortest of the messages is kept.
func (r *Report) add(f *Finding) {
	same, count := (*Finding)(nil), 0
	for _, g := range r.Findings {
		if g.ID != f.ID || g.Revision != f.Revision {
			continue
		}
		count++
		if g.Pointer == f.Pointer && g.Problem == f.Problem {
			same = g
		}
	}
	switch {
	case same != nil:
		same.Count++
		if cmp.Or(cmp.Compare(len(f.Message), len(same.Message)), cmp.Compare(f.Message, same.Message)) < 0 {
			same.Message = f.Message
		}
	case count == maxStored:
		r.omit(f)
	default:
		f.Count = 1
		r.Findings = append(r.Findings, f)
	}
}

// omit counts a finding that is not shown.
func (r *Report) omit(f *Finding) {
	if r.omitted == nil {
		r.omitted = map[string]int{}
	}
	r.omitted[f.Revision+" "+f.ID]++
}

// outcome adds the outcome of a case.
func (r *Report) outcome(revision, id, skipped string) {
	for i := range r.Revisions {
		if r.Revisions[i].Revision == revision {
			r.Revisions[i].Cases = append(r.Revisions[i].Cases, Outcome{ID: id, Skipped: skipped})
		}
	}
}

// finish sorts the findings and counts them.
func (r *Report) finish() {
	index := caseIndex(r.cases)
	for _, revision := range r.Revisions {
		slices.SortFunc(revision.Cases, func(a, b Outcome) int { return cmp.Compare(index[a.ID], index[b.ID]) })
	}
	slices.SortStableFunc(r.Findings, func(a, b *Finding) int {
		return cmp.Or(cmp.Compare(a.Revision, b.Revision), cmp.Compare(index[a.ID], index[b.ID]), cmp.Compare(a.Pointer, b.Pointer), cmp.Compare(a.Problem, b.Problem))
	})
	count := map[string]int{}
	r.Findings = slices.DeleteFunc(r.Findings, func(f *Finding) bool {
		key := f.Revision + " " + f.ID
		if count[key]++; count[key] > maxFindings {
			r.omit(f)
		}
		return count[key] > maxFindings
	})
	for i := range r.Revisions {
		for j := range r.Revisions[i].Cases {
			o := &r.Revisions[i].Cases[j]
			for _, f := range r.Findings {
				if f.Revision == r.Revisions[i].Revision && f.ID == o.ID {
					o.Findings++
				}
			}
		}
	}
}

// Count returns the number of findings that have at least a severity.
func (r *Report) Count(least Severity) (n int) {
	for _, f := range r.Findings {
		if f.Severity >= least {
			n++
		}
	}
	return n
}

// WriteText writes the report for people.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s over %s\n\n", cmp.Or(plain(r.Server), "unnamed server"), plain(r.Version), r.Transport)
	for _, rev := range r.Revisions {
		if !rev.Supported {
			fmt.Fprintf(&b, "%s  not supported: %s\n", rev.Revision, plain(rev.Reason))
			continue
		}
		passed, failed, skipped := rev.counts()
		fmt.Fprintf(&b, "%s  %d cases passed, %d with findings, %d not checked\n", rev.Revision, passed, failed, skipped)
	}
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "\n%s  %s  %s\n", f.Severity, f.ID, f.Revision)
		fmt.Fprintf(&b, "  %s\n", plain(f.Problem))
		if f.Pointer != "" {
			fmt.Fprintf(&b, "  at       %s\n", plain(f.Pointer))
		}
		if f.Count > 1 {
			fmt.Fprintf(&b, "  found    %d times\n", f.Count)
		}
		if f.Message != "" {
			fmt.Fprintf(&b, "  message  %s\n", plain(f.Message))
		}
		fmt.Fprintf(&b, "  rule     %s\n  advice   %s\n", f.Rule, f.Advice)
	}
	for _, key := range sortedNames(r.omitted) {
		fmt.Fprintf(&b, "\n%d more findings of %s are not shown\n", r.omitted[key], key)
	}
	errors, warnings, notes := r.Count(Error), r.Count(Warning)-r.Count(Error), r.Count(Note)-r.Count(Warning)
	fmt.Fprintf(&b, "\n%s, %s, %s\n", plural(errors, "error"), plural(warnings, "warning"), plural(notes, "note"))
	_, err := io.WriteString(w, b.String())
	return err
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func sortedNames(m map[string]int) (names []string) {
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// plain replaces control characters in a text of the server, which a terminal could
// interpret.
func plain(s string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f || c >= 0x80 && c < 0xa0 || c >= 0x202a && c <= 0x202e || c >= 0x2066 && c <= 0x2069 {
			return '\uFFFD'
		}
		return c
	}, s)
}

// counts returns the numbers of cases by outcome.
func (r *RevisionReport) counts() (passed, failed, skipped int) {
	for _, o := range r.Cases {
		switch {
		case o.Findings > 0:
			failed++
		case o.Skipped != "":
			skipped++
		default:
			passed++
		}
	}
	return passed, failed, skipped
}

// WriteJSON writes the report as one JSON document.
func (r *Report) WriteJSON(w io.Writer) error {
	if r.Findings == nil {
		r.Findings = []*Finding{}
	}
	return writeJSON(w, r)
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// WriteCases writes the table of cases as JSON.
func WriteCases(w io.Writer) error {
	type rule struct {
		Revision string   `json:"revision"`
		Severity Severity `json:"severity"`
		URL      string   `json:"url"`
	}
	type row struct {
		ID        string    `json:"id"`
		Title     string    `json:"title"`
		Advice    string    `json:"advice"`
		Transport Transport `json:"transport,omitempty"`
		Needs     string    `json:"needs,omitempty"`
		Rules     []rule    `json:"rules"`
	}
	var rows []row
	for _, c := range Cases() {
		r := row{ID: c.ID, Title: c.Title, Advice: c.Advice, Transport: c.Transport, Needs: c.Needs}
		for _, revision := range c.Revisions() {
			found, _ := c.rule(revision)
			r.Rules = append(r.Rules, rule{revision.String(), found.Severity, found.URL(revision)})
		}
		rows = append(rows, r)
	}
	return writeJSON(w, rows)
}
