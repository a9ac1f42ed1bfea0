package stdio

import "io"

// inherited are the variables that every child gets.
var inherited = []string{"cputype", "home", "objtype", "path", "service", "sysname", "user"}

// hangups are the errors of writing to somebody who has gone; the system has none
// that could be told apart.
var hangups = []error{io.ErrClosedPipe}
