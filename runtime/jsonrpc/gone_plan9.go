package jsonrpc

// brokenPipe is what the system says about a pipe that nobody reads any more:
// on Plan 9 nothing that could be told apart.
var brokenPipe []error
