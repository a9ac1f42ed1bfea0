package budget

import (
	"sync"
	"sync/atomic"
)

// resultSizes contains the sizes of recent large results. A server cannot recognize a large result
// before its handler has returned, and then it exists already. Without an expectation, all requests
// in flight could return a large result at the same time.
type resultSizes struct {
	used atomic.Bool // some size was recorded

	mu    sync.RWMutex
	bytes map[resultName]int
}

type resultName struct{ method, name string }

// maxResultSizes limits the recorded sizes.
const maxResultSizes = 1024

// ExpectedResult returns how many bytes the result of a request is expected to have, judging by
// recent results of the same method and the same tool, prompt or resource. It returns 0 if they were
// small. A transport reserves these bytes before it calls a handler.
func (b *Budget) ExpectedResult(method, name string) int {
	s := &b.results
	if !s.used.Load() {
		return 0
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.bytes[resultName{method, name}]
}

// RecordResult records the size of a result for ExpectedResult. The expectation follows a larger
// result at once, and smaller ones slowly.
func (b *Budget) RecordResult(method, name string, n int) {
	before := b.ExpectedResult(method, name)
	if n > minCounted || before > 0 {
		b.results.record(resultName{method, name}, max(n, before-before/8))
	}
}

func (s *resultSizes) record(key resultName, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.bytes[key]; s.bytes == nil || !known && len(s.bytes) >= maxResultSizes {
		s.bytes = make(map[resultName]int)
	}
	if s.bytes[key] = n; n <= minCounted {
		delete(s.bytes, key)
	}
	s.used.Store(len(s.bytes) > 0)
}
