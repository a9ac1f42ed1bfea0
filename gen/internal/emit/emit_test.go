package emit

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/gen/internal/ir"
)

func TestComment(t *testing.T) {
	got := comment("Tool", "describes one tool a server offers: what it is called, what it takes and what it gives.\n\nIt is a value.", "since then. Use another.").GoString()
	require.Equal(t, `// Tool describes one tool a server offers: what it is called, what it takes
// and what it gives.
//
// It is a value.
//
// Deprecated: since then. Use another.`, got)
}

// A description in the schema of an extension may have any text.
func TestCommentsAreNoCode(t *testing.T) {
	got := comment("Day", "x\n/* */ func init() {}\n//go:embed a\n*/", "").GoString()
	require.Equal(t, "// Day x\n//\n// /* */ func init() {}\n//\n// //go:embed a\n//\n// */", got)
}

func TestErrorSentences(t *testing.T) {
	for name, want := range map[string][2]string{
		"UnsupportedProtocolVersionError": {"Unsupported protocol version", "unsupported protocol version"},
		"URLElicitationRequiredError":     {"URL elicitation required", "URL elicitation required"},
		"ParseError":                      {"Parse", "parse"},
	} {
		e := &ir.Error{Name: name}
		require.Equal(t, want, [2]string{sentence(e), lowerSentence(sentence(e))})
	}
}

func TestWindowName(t *testing.T) {
	p := &ir.Package{}
	for _, name := range []string{"2024-01-01", "2025-01-01", "2026-01-01", "2027-01-01"} {
		p.Revisions = append(p.Revisions, &ir.Revision{Name: name})
	}
	ever := ^ir.Window(0)
	for want, w := range map[string]ir.Window{
		"since20260101":          ever &^ 0b0011,
		"since20270101":          ever &^ 0b0111,
		"only20250101":           0b0010,
		"until20260101":          0b0111,
		"from20250101to20260101": 0b0110,
		"in20240101and20260101":  0b0101,
	} {
		require.Equal(t, want, windowName(p, w))
	}
}

func TestWindowNamesAreUnique(t *testing.T) {
	p := &ir.Package{}
	for _, name := range []string{"2024-01-01", "2025-01-01", "2026-01-01", "2027-01-01"} {
		p.Revisions = append(p.Revisions, &ir.Revision{Name: name})
	}
	ever, seen := ^ir.Window(0), make(map[string]ir.Window)
	for w := ir.Window(1); w < 1<<4; w++ {
		for _, w := range []ir.Window{w, w | ever<<4} {
			if w == w&0b1111 && w.Has(3) || w != w&0b1111 && !w.Has(3) {
				continue // a window has future revisions if and only if it has the newest one
			}
			name := windowName(p, w)
			require.NotContains(t, seen, name, "%b and %b", w, seen[name])
			seen[name] = w
		}
	}
}
