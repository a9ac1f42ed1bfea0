package stdio_test

import (
	"io"
	"testing"

	"github.com/mcpwright/mcp/runtime/stdio"
	"github.com/stretchr/testify/require"
)

func TestAnExitErrorSaysWhatIsKnown(t *testing.T) {
	for want, err := range map[string]*stdio.ExitError{
		`child "a" closed its standard output`:                                {},
		`child "a" closed its standard output; it last said: "one\ntwo"`:      {Stderr: []string{"one", "two"}},
		`child "a" cannot be reached: unexpected EOF`:                         {Cause: io.ErrUnexpectedEOF},
		`child "a" cannot be reached: unexpected EOF; it last said: "\"no\""`: {Cause: io.ErrUnexpectedEOF, Stderr: []string{`"no"`}},
	} {
		err.Command = "a"
		require.EqualError(t, err, want)
		require.Equal(t, err.Cause, err.Unwrap())
	}
}
