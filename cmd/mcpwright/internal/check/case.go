package check

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpwright/mcp/generated/mcp"
)

// Severity is the weight of a finding.
type Severity uint8

// The severities. An Error violates a MUST of the specification, a Warning violates a
// SHOULD. A Note is a weakness that the specification does not rule out.
const (
	Note Severity = iota
	Warning
	Error
)

// String returns "note", "warning" or "error".
func (s Severity) String() string { return [...]string{"note", "warning", "error"}[s] }

// MarshalText implements [encoding.TextMarshaler].
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// ParseSeverity returns the severity with a name.
func ParseSeverity(name string) (Severity, error) {
	for _, s := range []Severity{Note, Warning, Error} {
		if s.String() == name {
			return s, nil
		}
	}
	return 0, fmt.Errorf("unknown severity %q: use note, warning or error", name)
}

// Transport is the transport of a server.
type Transport string

// The transports. An empty Transport of a case stands for all.
const (
	Stdio Transport = "stdio"
	HTTP  Transport = "http"
	SSE   Transport = "http+sse" // of revision 2024-11-05
)

// The dates of the revisions, for the table of cases.
const (
	r2024     = "2024-11-05"
	r2025     = "2025-03-26"
	r2025June = "2025-06-18"
	r2025Nov  = "2025-11-25"
	r2026     = "2026-07-28"
)

// Rule is the part of the specification that a case checks, in some revisions.
type Rule struct {
	Since, Until string // revisions, inclusive
	Severity     Severity
	Section      string // path and anchor below the revision
}

// URL returns the address of the rule in a revision.
func (r Rule) URL(revision mcp.Revision) string {
	return fmt.Sprintf("https://modelcontextprotocol.io/specification/%v/%s", revision, r.Section)
}

// Case is one check.
type Case struct {
	ID     string
	Title  string
	Advice string
	// Transport is the only transport of the case, or empty for all.
	Transport Transport
	// Needs is a capability that the server must declare, or empty.
	Needs string
	// Rules contains the rule for each revision that the case applies to.
	Rules []Rule
	// Once limits the case to the newest supported revision of each kind: with and
	// without a handshake.
	Once bool

	// apart is true if run uses only connections of its own, so that it can run at the
	// same time as other cases.
	apart bool
	// run checks the server. It is nil for a case that is checked by observing all
	// messages.
	run func(*trial)
}

// rule returns the rule for a revision, and whether the case applies to it.
func (c *Case) rule(revision mcp.Revision) (Rule, bool) {
	date := revision.String()
	for _, r := range c.Rules {
		if r.Since <= date && date <= r.Until {
			return r, true
		}
	}
	return Rule{}, false
}

// Revisions returns the revisions that the case applies to.
func (c *Case) Revisions() []mcp.Revision {
	var list []mcp.Revision
	for _, r := range mcp.Revisions {
		if _, ok := c.rule(r.Revision); ok {
			list = append(list, r.Revision)
		}
	}
	return list
}

// Severities returns the severities of the case's rules, the highest first.
func (c *Case) Severities() []Severity {
	var list []Severity
	for _, r := range c.Rules {
		if !slices.Contains(list, r.Severity) {
			list = append(list, r.Severity)
		}
	}
	slices.SortFunc(list, func(a, b Severity) int { return int(b) - int(a) })
	return list
}

// Cases returns all cases in the order in which they run and are reported.
func Cases() []*Case {
	return slices.Concat(messageCases(), toolCases(), listCases(), robustCases(), httpCases(), sseCases(), statelessCases(), hostileCases())
}

// caseIndex returns the place of each case in a list, by its id.
func caseIndex(cases []*Case) map[string]int {
	index := make(map[string]int, len(cases))
	for i, c := range cases {
		index[c.ID] = i
	}
	return index
}

// ErrUnknownCase is returned by [Run] for a case that does not exist.
var ErrUnknownCase = errors.New("no case")

// selectCases returns the cases that -only and -skip leave. A pattern may end with "*".
func selectCases(cases []*Case, only, skip []string) ([]*Case, error) {
	matches := func(pattern, id string) bool {
		prefix, open := strings.CutSuffix(pattern, "*")
		return pattern == id || open && strings.HasPrefix(id, prefix)
	}
	for _, pattern := range slices.Concat(only, skip) {
		if !slices.ContainsFunc(cases, func(c *Case) bool { return matches(pattern, c.ID) }) {
			return nil, fmt.Errorf("%w %q: list the cases with -list", ErrUnknownCase, pattern)
		}
	}
	var left []*Case
	for _, c := range cases {
		match := func(pattern string) bool { return matches(pattern, c.ID) }
		if (len(only) == 0 || slices.ContainsFunc(only, match)) && !slices.ContainsFunc(skip, match) {
			left = append(left, c)
		}
	}
	return left, nil
}

// always returns a rule for all revisions.
func always(s Severity, section string) []Rule {
	return []Rule{{Since: r2024, Until: r2026, Severity: s, Section: section}}
}

// since returns a rule for a revision and all later ones.
func since(revision string, s Severity, section string) []Rule {
	return []Rule{{Since: revision, Until: r2026, Severity: s, Section: section}}
}

// handshakes returns a rule for the revisions with a handshake.
func handshakes(s Severity, section string) []Rule {
	return []Rule{{Since: r2024, Until: r2025Nov, Severity: s, Section: section}}
}

// stateless returns a rule for the revisions without a handshake.
func stateless(s Severity, section string) []Rule {
	return []Rule{{Since: r2026, Until: r2026, Severity: s, Section: section}}
}

// basic returns a rule for all revisions on the page of the base protocol. In the first
// revision it is on another page, with the same sections.
func basic(s Severity, section string) []Rule {
	first := Rule{Since: r2024, Until: r2024, Severity: s, Section: "basic/messages"}
	if section != "messages" { // which is the page itself
		first.Section += "#" + section
	}
	return append([]Rule{first},
		since(r2025, s, "basic#"+section)...)
}

// sending returns a rule about messages to an endpoint.
func sending(s Severity) []Rule {
	return append([]Rule{{Since: r2025, Until: r2025Nov, Severity: s, Section: "basic/transports#sending-messages-to-the-server"}},
		stateless(s, "basic/transports/streamable-http#sending-messages")...)
}
