package terminal

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSafe(t *testing.T) {
	for text, want := range map[string]string{
		"plain\n\ttext é":   "plain\n\ttext é",
		"\x1b[2J\a\r":       `\x1b[2J\x07\x0d`,
		"\u009b31m\u007f":   `\x9b31m\x7f`,
		"a\u202eb\u2066c":   `a\u202eb\u2066c`,
		"bytes \xff":        `bytes \ufffd`,
		"zero width\u200bx": "zero width\u200bx",
	} {
		require.Equal(t, want, Safe(text))
	}
}

func TestOnlyTerminalsAreProtected(t *testing.T) {
	var out strings.Builder
	NewFixed(&out, 0).Println("\x1b[31m")
	require.Equal(t, "\x1b[31m\n", out.String())
	out.Reset()
	NewFixed(&out, 40).Println("\x1b[31m")
	require.Equal(t, `\x1b[31m`+"\n", out.String())
}

func TestTextIsWrapped(t *testing.T) {
	var out strings.Builder
	o := NewFixed(&out, 30)
	o.Paragraph("  ", "one two three four five six seven")
	require.Equal(t, "  one two three four five six\n  seven\n", out.String())
	out.Reset()
	o.Table([][]string{{"a", "one two three four five six seven"}, {"long", "x"}})
	require.Equal(t, "a     one two three four five\n      six seven\nlong  x\n", out.String())
	out.Reset()
	o.Table([][]string{{"  a long name", "one two", "three four five six seven"}, {"  b", "x", "y"}})
	require.Equal(t, "  a long name\n      one two\n      three four five six\n      seven\n  b\n      x\n      y\n", out.String())
}
