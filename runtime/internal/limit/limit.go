// Package limit completes the limits among options: zero is the default, and a
// negative one is none.
package limit

import (
	"math"
	"time"
)

// Count completes how many there may be of something. None, and whatever is beyond
// that, is more than there will ever be; four times as many can still be counted.
func Count(n, byDefault int) int { return complete(n, byDefault, math.MaxInt/4) }

// Time does the same for how long something may take. From now on none is a moment
// that can be written down.
func Time(d, byDefault time.Duration) time.Duration { return complete(d, byDefault, math.MaxInt64/4) }

func complete[T int | time.Duration](n, byDefault, none T) T {
	switch {
	case n == 0:
		return byDefault
	case n < 0:
		return none
	}
	return min(n, none)
}
