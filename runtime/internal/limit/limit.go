// Package limit applies defaults to the limits in options. A limit of zero means
// the default, and a negative limit means no limit.
package limit

import (
	"math"
	"time"
)

// Count returns the effective limit on a number of things. No limit is returned as
// math.MaxInt/4, which is also the maximum. Callers can multiply the result by 4
// without an overflow.
func Count(n, byDefault int) int { return complete(n, byDefault, math.MaxInt/4) }

// Time returns the effective limit on a duration. No limit is returned as
// math.MaxInt64/4 nanoseconds, about 73 years, which is also the maximum. Adding
// the result to the current time gives a valid time.
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
