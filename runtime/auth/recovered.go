package auth

import (
	"fmt"
	"runtime/debug"
)

// recovered makes a panic of what others have written an error, so that it ends no more
// than what it was called for. It is to be deferred.
func recovered(what string, err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("%s panicked: %v\n%s", what, v, debug.Stack())
	}
}
