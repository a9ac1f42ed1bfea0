//go:build race

package scale_test

import "runtime"

// With the race detector, the tests of this package use one processor. In a
// bubble of testing/synctest, all timers share one context of the race
// detector, and two timers that fire on two processors at the same time crash
// it (golang.org/issue/78156). The tests of scale/nats and scale/redis run the
// same code outside of bubbles, on all processors.
func init() { runtime.GOMAXPROCS(1) }
