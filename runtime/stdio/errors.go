package stdio

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// ErrClaimed is returned by [Serve] where the standard input and output of
// this process are being served already.
var ErrClaimed = errors.New("standard input and output are being served already")

// ExitError says that a child ended, or closed its end of a pipe, while it was
// needed. It is the cause in the [peer.ClosedError] of the calls that were
// waiting for the child.
type ExitError struct {
	// Command is the path that the child was started with.
	Command string
	// State tells how the child ended, nil where it was still running when
	// the connection had broken already.
	State *os.ProcessState
	// Stderr are the last lines that the child wrote to its standard error.
	Stderr []string
	// Cause is what broke the connection where it was neither the end of the
	// child nor that of its output, otherwise nil.
	Cause error
}

// Error implements error.
func (e *ExitError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "child %q ", e.Command)
	switch {
	case e.State != nil:
		fmt.Fprintf(&b, "ended: %v", e.State)
	case e.Cause != nil:
		fmt.Fprintf(&b, "cannot be reached: %v", e.Cause)
	default:
		b.WriteString("closed its standard output")
	}
	if len(e.Stderr) > 0 {
		fmt.Fprintf(&b, "; it last said: %q", strings.Join(e.Stderr, "\n"))
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *ExitError) Unwrap() error { return e.Cause }
