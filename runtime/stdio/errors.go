package stdio

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/mcpwright/mcp/runtime/internal/brokenpipe"
)

// ErrClaimed is the error of [Serve] if another Serve already uses the standard
// input and output of this process.
var ErrClaimed = errors.New("standard input and output are already being served")

// ExitError is the error of a child that ended by itself, or that closed its end
// of a pipe. It is the cause in the [peer.ClosedError] of the calls that were
// waiting for the child.
type ExitError struct {
	// Command is the path that the child was started with.
	Command string
	// State is the exit state of the child. It is nil if the child was still
	// running when the connection broke.
	State *os.ProcessState
	// Stderr has the last lines that the child wrote to its standard error. If the last
	// line that states an error comes before them, it is the first.
	Stderr []string
	// Cause is the error that broke the connection. It is nil if the
	// connection ended because the child ended or closed its output.
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
		fmt.Fprintf(&b, "disconnected: %v", e.Cause)
	default:
		b.WriteString("closed its standard output")
	}
	if len(e.Stderr) > 0 {
		fmt.Fprintf(&b, "; last lines of standard error: %q", strings.Join(e.Stderr, "\n"))
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *ExitError) Unwrap() error { return e.Cause }

// isClosedPipe reports whether writing failed because the reader closed the pipe.
func isClosedPipe(err error) bool {
	return brokenpipe.Is(err) || errors.Is(err, io.ErrClosedPipe)
}
