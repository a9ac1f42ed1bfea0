// Package brokenpipe recognizes the error of writing to a pipe or connection that its reader has
// closed.
package brokenpipe

import (
	"errors"
	"slices"
)

// Is reports whether the operating system returned err because the pipe or
// connection has no reader.
func Is(err error) bool {
	return slices.ContainsFunc(systemErrors, func(e error) bool { return errors.Is(err, e) })
}
