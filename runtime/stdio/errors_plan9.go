package stdio

import "io"

// closedPipe has the errors of writing to a pipe that the reader closed. The
// system itself has no distinct error for that.
var closedPipe = []error{io.ErrClosedPipe}
