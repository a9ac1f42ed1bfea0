package repo

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// lastUnchecked is the last commit whose subject is not checked. Move it forward if a commit with
// another subject has been merged.
const lastUnchecked = "64b84cc3614ecdc6def985f89a372934bf1914a6"

// maxSubject is the length of the longest subject, in characters.
const maxSubject = 72

// subject is the form of a subject: the folders of the packages, or "all", and what the commit does.
var subject = regexp.MustCompile(`^(all|[a-z0-9_.-]+(/[a-z0-9_.-]+)*(, [a-z0-9_.-]+(/[a-z0-9_.-]+)*)*): \S.*[^.]$`)

func TestCommitsNameTheirPackage(t *testing.T) {
	if git(t, "rev-parse", "--is-shallow-repository") != "false" {
		t.Skip("the history is not complete, or this is no git repository")
	}
	if git(t, "rev-parse", "--verify", "--quiet", lastUnchecked+"^{commit}") == "" {
		t.Skip("this is another history")
	}
	for line := range strings.Lines(git(t, "log", "--no-merges", "--format=%h %s", lastUnchecked+"..HEAD")) {
		commit, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		require.Empty(t, problem(text), "commit %s: %q; CONTRIBUTING.md has the form", commit, text)
	}
}

// problem returns the reason why a subject is not valid, or "".
func problem(text string) string {
	switch {
	case strings.HasPrefix(text, "Revert \""):
		return ""
	case utf8.RuneCountInString(text) > maxSubject:
		return "the subject is longer than 72 characters"
	case !subject.MatchString(text):
		return `want "folder/of/package: what the commit does", without a full stop`
	}
	return ""
}

// git returns the output of a git command, or "" if the command fails.
func git(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("git", append([]string{"-C", root}, args...)...).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

func TestSubjects(t *testing.T) {
	for text, valid := range map[string]bool{
		"runtime/streamable: resume streams after a lost GET":       true,
		"gen, generated/mcp: generate one decoder for each union":   true,
		"all: rename Revision to ProtocolVersion":                   true,
		".ci: run the fuzz targets after the tests":                 true,
		`Revert "all: rename Revision to ProtocolVersion"`:          true,
		"Resume streams after a lost GET":                           false,
		"runtime/streamable: resume streams after a lost GET.":      false,
		"runtime/streamable:resume":                                 false,
		"Runtime: resume":                                           false,
		"runtime/streamable: " + strings.Repeat("x", maxSubject-19): false,
	} {
		require.Equal(t, valid, problem(text) == "", text)
	}
}
