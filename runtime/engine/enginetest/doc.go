// Package enginetest tests implementations of package engine.
//
// [Run] reports all failures, and [Check] returns the first one. [RunLossy] tests an engine over connections that
// fail. [Lossy] makes an
// engine that loses responses, for tests of programs that use an engine.
package enginetest
