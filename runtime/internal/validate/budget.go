package validate

import (
	"errors"
	"regexp/syntax"
	"time"
)

// maxWork limits the time to validate a document; the limit of a short document
// is lower. No clock is used, so that the result for a document is the same on
// each machine: each step of the validator has a nominal time, which is
// subtracted from the budget before the step.
const (
	maxWork     = 1 * time.Second
	minWork     = 50 * time.Millisecond
	workPerByte = 20 * time.Microsecond
)

// Nominal times in nanoseconds. They are for a slow machine and the worst
// document for each step.
const (
	perVisit       = 200  // to compare a value with a schema
	perMember      = 100  // of an object or an array
	perProblem     = 5000 // to report a problem
	perStep        = 100  // of the pointer to a problem
	perName        = 200  // to report a name
	perByte        = 2    // of a string or a name
	perEscapedByte = 20   // of a string or a name with escapes
	perInstruction = 5    // of a pattern, for each byte that it is matched with
	perValue       = 50   // to compare with another value
	perDigit       = 50   // of a number that is not short, to compute with it
	perKey         = 300  // to write a value in the canonical form

	matchOverhead = 10 // bytes that cost as much as the start of a match
)

// maxDepth limits how many schemas are being compared with values at a time, one
// in another.
const maxDepth = 10_000

var errOverBudget = errors.New("validation would take too long")

// budget is the remaining time of one validation.
type budget struct {
	left  time.Duration
	depth int // schemas that are being compared with values
}

// newBudget returns the budget for a document of size bytes.
func newBudget(size int) budget {
	return budget{left: min(minWork+time.Duration(size)*workPerByte, maxWork)}
}

// spend subtracts a time in nanoseconds from the budget. It panics with
// errOverBudget if the time is not left.
func (b *budget) spend(nanoseconds int) {
	if b.left -= time.Duration(nanoseconds); b.left < 0 {
		panic(errOverBudget)
	}
}

// enter begins to compare a value with a schema.
func (b *budget) enter() {
	b.left -= perVisit
	if b.depth++; b.left < 0 || b.depth > maxDepth {
		panic(errOverBudget)
	}
}

// maxInstructions limits the total size of the patterns of a schema. A short
// pattern such as ((a{99}){99}){99} needs a large program.
const maxInstructions = 1 << 20

// instructions returns about the number of instructions of the program that
// matches a pattern.
func instructions(re *syntax.Regexp) int {
	n := 2
	for _, sub := range re.Sub {
		n = min(n+instructions(sub), maxInstructions+1)
	}
	switch re.Op {
	case syntax.OpLiteral:
		n += len(re.Rune)
	case syntax.OpCharClass:
		n += len(re.Rune) / 8 // a large class takes longer to match
	case syntax.OpRepeat:
		n *= max(re.Min, re.Max, 1)
	}
	return min(n, maxInstructions+1)
}
