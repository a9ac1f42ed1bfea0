package mcpserver

import (
	"errors"
	"fmt"
)

// RegistrationError is why something cannot be registered. What registers panics
// with it: what a program has of its own, and cannot be used, is a mistake in the
// program. For what comes from elsewhere there is [Try].
type RegistrationError struct {
	// Item is what was to be registered.
	Item Item
	// Err is what is wrong with it.
	Err error
}

// Error implements error.
func (e *RegistrationError) Error() string {
	return fmt.Sprintf("mcpserver: %s %q: %v", e.Item.Kind, e.Item.Name, e.Err)
}

// Unwrap returns Err.
func (e *RegistrationError) Unwrap() error { return e.Err }

// Try registers what comes from elsewhere, such as the tools of another server:
// where register panics with a [*RegistrationError], it returns that. What was
// registered before it stays.
//
//	err := mcpserver.Try(func() { server.AddRawTool(tool, upstream.CallTool) })
func Try(register func()) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *RegistrationError:
			err = r
		default:
			panic(r)
		}
	}()
	register()
	return nil
}

var errNoHandler = errors.New("want a handler")

// registration panics if something to be registered cannot be.
func registration(kind Kind, name string, err error) {
	if err != nil {
		panic(&RegistrationError{Item{kind, name}, err})
	}
}
