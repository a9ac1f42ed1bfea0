// Package limit applies defaults to the limits in options. A limit of zero means
// the default, and a negative limit means no limit. It also shortens texts of a peer.
package limit

import (
	"math"
	"strings"
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

// Name returns a name from the peer for an error. It shortens a long name.
func Name(name string) string { return shorten(name, 200) }

// URI returns a URI from the peer for an error. It shortens a long URI.
func URI(uri string) string { return shorten(uri, 1024) }

func shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
