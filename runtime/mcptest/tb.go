package mcptest

import (
	"context"
	"sync"
)

// TB is what this package needs of a test. Every [testing.TB] is one.
type TB interface {
	Helper()
	Context() context.Context
	Cleanup(func())
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// reporter reports to a test while it runs.
type reporter struct {
	mu sync.Mutex
	t  TB // nil when it is over
}

func (r *reporter) report(v *Violation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.t != nil {
		r.t.Helper()
		r.t.Errorf("%v", v)
	}
}

func (r *reporter) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.t = nil
}
