package stdio_test

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/stdio"
)

func TestExitErrorText(t *testing.T) {
	for want, err := range map[string]*stdio.ExitError{
		`child "a" closed its standard output`:                                           {},
		`child "a" closed its standard output; last lines of standard error: "one\ntwo"`: {Stderr: []string{"one", "two"}},
		`child "a" disconnected: unexpected EOF`:                                         {Cause: io.ErrUnexpectedEOF},
		`child "a" disconnected: unexpected EOF; last lines of standard error: "\"no\""`: {Cause: io.ErrUnexpectedEOF, Stderr: []string{`"no"`}},
	} {
		err.Command = "a"
		require.EqualError(t, err, want)
		require.Equal(t, err.Cause, err.Unwrap())
	}
}
