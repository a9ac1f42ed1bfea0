package brokenpipe

// systemErrors is empty, because Plan 9 has no error of its own for this.
var systemErrors []error
